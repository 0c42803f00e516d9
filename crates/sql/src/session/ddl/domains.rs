//! CREATE, ALTER and DROP DOMAIN.
//!
//! What a domain demands stands in its descriptor as text, and becomes a part of each plan that makes values of it. A
//! transaction whose plans were made of another descriptor does not commit; so a constraint that is added holds for all
//! rows once those are looked at that are there.

use super::super::Session;
use super::own_types::OwnType;
use super::{cut, object_name};
use crate::api::Tag;
use scaledb_catalog::{About, CommentDesc, DomainCheckDesc, DomainDesc, ObjectKind};
use scaledb_engine::Engine;
use scaledb_parse::collation;
use scaledb_parse::domain::{Change, Check, DomainStatement, Quality};
use scaledb_parse::lex::{Kind, Lexer, name_of, quoted};
use scaledb_parse::routine::Name;
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::names::{
    Naming, find_relation, is_schema, is_temporary, no_schema, parse_type, shown,
};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{BoundTable, column_type};
use scaledb_types::{Base, Context, DomainType, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{Expr as Ast, Value as Literal};
use std::sync::Arc;

/// What all values of a domain have to fulfil.
enum Demand<'d> {
    NotNull,
    Check(&'d str),
}

impl<E: Engine> Session<E> {
    /// CREATE, ALTER and DROP DOMAIN.
    ///
    /// # Errors
    /// 42704, 42710, 42809, 42804, 2BP01, 23502, 23514 and what is wrong with expressions; 0A000.
    pub(in crate::session) fn domain_statement(&mut self, statement: &DomainStatement) -> Result<Tag> {
        self.begin_change()?;
        match statement {
            DomainStatement::Create { name, of, qualities } => self.create_domain(name, of, qualities)?,
            DomainStatement::Alter { name, change } => self.alter_domain(name, change)?,
            DomainStatement::Drop { if_exists, names, cascade } => {
                self.drop_domains(*if_exists, names, *cascade)?;
            }
        }
        Ok(Tag::plain(statement.tag()))
    }

    fn create_domain(&mut self, (schema, name): &Name, of: &str, qualities: &[Quality]) -> Result<()> {
        let schema = self.schema_for(schema.clone(), false)?;
        if is_temporary(&schema) {
            return Err(SqlError::unsupported("temporary types are not supported"));
        }
        let name = cut(name.clone());
        self.check_free_type(&schema, &name)?;
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let mut tokens = Lexer::new(of);
        if let Some(of_schema) = tokens.next().and_then(|token| name_of(token, of))
            && tokens.next().is_some_and(|token| token.is_sign(of, "."))
            && !is_schema(catalog, path, &of_schema)
        {
            return Err(no_schema(&of_schema));
        }
        let base = parse_type(catalog, path, of)?;
        if matches!(base.base, Base::Unknown | Base::Void | Base::Record | Base::Polymorphic(_)) {
            let what = format!("\"{}\" is not a valid base type for a domain", base.name());
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what));
        }
        self.state.check_type(base)?;
        let of_base = base.as_domain().and_then(|domain| self.state.catalog.domain_of(domain.oid()));
        let inherited = of_base.and_then(|desc| desc.default.clone());
        let mut desc = DomainDesc {
            oid: self.state.shared.new_oid(),
            array_oid: self.state.shared.new_oid(),
            schema,
            name,
            type_oid: base.oid(),
            typmod: base.modifier(),
            not_null: false,
            default: inherited,
            checks: Vec::new(),
            comments: Vec::new(),
        };
        let syntax = |what: &'static str| Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        let (mut given_default, mut given_null, mut given_collation) = (false, None, false);
        for quality in qualities {
            match quality {
                Quality::Collate(_) if std::mem::replace(&mut given_collation, true) => {
                    return syntax("multiple COLLATE clauses not allowed");
                }
                Quality::Collate((schema, name)) => {
                    collation::check_type(base)?;
                    collation::check_name(schema.as_deref(), name)?;
                }
                Quality::Default(_) if std::mem::replace(&mut given_default, true) => {
                    return syntax("multiple default expressions");
                }
                Quality::Default(text) => desc.default = self.kept_default_of(base, &desc.name, text)?,
                Quality::NotNull(not_null)
                    if given_null.replace(*not_null).is_some_and(|b| b != *not_null) =>
                {
                    return syntax("conflicting NULL/NOT NULL constraints");
                }
                Quality::NotNull(not_null) => desc.not_null = *not_null,
                Quality::Check(check) => {
                    let check = self.domain_check(&desc, base, check)?;
                    desc.checks.push(check);
                }
            }
        }
        self.put_domain(desc);
        Ok(())
    }

    /// A CHECK constraint for a domain over a type.
    fn domain_check(&self, desc: &DomainDesc, base: Type, check: &Check) -> Result<DomainCheckDesc> {
        let name = match &check.name {
            Some(name) => {
                let name = cut(name.clone());
                if desc.checks.iter().any(|known| known.name == name) {
                    let what =
                        format!("constraint \"{name}\" for domain {} already exists", in_quotes(&desc.name));
                    return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
                }
                name
            }
            None => self.free_check_name(desc),
        };
        let ast = scaledb_parse::expression(&check.expression)?;
        self.bound_check(&ast, base, Naming::Statement)?;
        let expression = with_value(&self.kept_expression(&ast.to_string()));
        let oid = self.state.shared.new_oid();
        Ok(DomainCheckDesc { oid, name, expression, validated: true })
    }

    /// A name that no constraint of a table or a domain in the schema has.
    fn free_check_name(&self, desc: &DomainDesc) -> String {
        let catalog = &self.state.catalog;
        let taken = |name: &str| {
            let has = |known: &DomainDesc| known.checks.iter().any(|check| check.name == name);
            has(desc)
                || catalog.domains().any(|known| known.schema == desc.schema && has(known))
                || catalog.tables().any(|table| table.schema == desc.schema && table.has_constraint(name))
        };
        let mut numbers = 0..;
        loop {
            let number: u32 = numbers.next().unwrap_or(u32::MAX);
            let suffix = if number == 0 { "check".to_owned() } else { format!("check{number}") };
            let name = object_name(&desc.name, "", &suffix);
            if !taken(&name) {
                return name;
            }
        }
    }

    /// A condition on a value of a type that is in the first slot.
    fn bound_check(&self, ast: &Ast, base: Type, naming: Naming) -> Result<Expr> {
        let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        binder.naming = naming;
        let slot = binder.slot();
        binder.domain_condition(ast, base, slot)
    }

    /// The default of a domain over a type, as it is kept; NULL is none.
    fn kept_default_of(&self, base: Type, name: &str, text: &str) -> Result<Option<String>> {
        let ast = scaledb_parse::expression(text)?;
        let mut bare = &ast;
        while let Ast::Nested(inner) = bare {
            bare = inner;
        }
        if matches!(bare, Ast::Value(value) if value.value == Literal::Null) {
            return Ok(None);
        }
        let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        let typed = binder.expr(&ast).map_err(|error| match error.code() {
            SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE => {
                SqlError::unsupported("cannot use column reference in DEFAULT expression")
            }
            _ => error,
        })?;
        if typed.expr.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in DEFAULT expression"));
        }
        let from = typed.ty;
        binder.coerce(typed, base, Context::Assignment).map_err(|error| match error.code() {
            SqlState::CANNOT_COERCE => SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{name}\" is of type {} but default expression is of type {}",
                    base.sql_name(),
                    from.sql_name()
                ),
            )
            .hint("You will need to rewrite or cast the expression."),
            _ => error,
        })?;
        Ok(Some(self.kept_expression(&ast.to_string())))
    }

    /// What is kept with a domain can be read.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check_domain(&self, desc: &DomainDesc) -> Result<()> {
        let base = self.base_of(desc)?;
        for check in &desc.checks {
            let ast = scaledb_parse::expression(&check.expression)?;
            self.bound_check(&ast, base, Naming::Kept)?;
        }
        if let Some(default) = &desc.default {
            let ast = scaledb_parse::expression(default)?;
            let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
            let typed = binder.apart(Naming::Kept, |binder| binder.expr(&ast))?;
            binder.coerce(typed, base, Context::Assignment)?;
        }
        Ok(())
    }

    fn base_of(&self, desc: &DomainDesc) -> Result<Type> {
        let base = self.state.catalog.type_of_oid(desc.type_oid).ok_or_else(|| {
            let what = format!("type with OID {} does not exist", desc.type_oid);
            SqlError::new(SqlState::UNDEFINED_OBJECT, what)
        })?;
        Ok(base.with_typmod(desc.typmod))
    }

    fn put_domain(&mut self, desc: DomainDesc) {
        self.put_type(OwnType::Domain(Arc::new(desc)));
    }

    /// The domain of a name. Of a type that is none messages say how it was written, or else what it is called.
    ///
    /// # Errors
    /// 42704 if there is no such type, 42809 if it is no domain.
    fn domain_named(&self, (schema, name): &Name, as_written: bool) -> Result<Arc<DomainDesc>> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        if let Some(schema) = schema.as_deref().filter(|schema| !is_schema(catalog, path, schema)) {
            return Err(no_schema(schema));
        }
        let text = match schema {
            Some(schema) => format!("{}.{}", in_quotes(schema), in_quotes(name)),
            None => in_quotes(name),
        };
        let ty = parse_type(catalog, path, &text).ok();
        let found = ty.and_then(Type::as_domain).and_then(|domain| catalog.domain_of(domain.oid()));
        if let Some(found) = found {
            return Ok(found.clone());
        }
        let written = shown(schema.as_deref(), name);
        // the rows of a relation are of a type, too
        if ty.is_none() && find_relation(catalog, path, schema.as_deref(), name).is_none() {
            let what = format!("type \"{written}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
        }
        let called = match ty.filter(|_| !as_written) {
            Some(ty) => ty.sql_name(),
            None if as_written => format!("\"{written}\""),
            None => quoted(name),
        };
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("{called} is not a domain")))
    }

    fn alter_domain(&mut self, name: &Name, change: &Change) -> Result<()> {
        let old = self.domain_named(name, false)?;
        let own = OwnType::Domain(old.clone());
        if let Change::OwnerTo(owner) = change {
            return self.set_owner(ObjectKind::Type, old.oid, Some(&old.schema), owner);
        }
        self.state.check_owner(old.oid)?;
        let mut desc = (*old).clone();
        let base = self.base_of(&desc)?;
        match change {
            Change::Default(None) => desc.default = None,
            Change::Default(Some(text)) => desc.default = self.kept_default_of(base, &desc.name, text)?,
            Change::NotNull(not_null) => {
                if std::mem::replace(&mut desc.not_null, *not_null) == *not_null {
                    return Ok(());
                }
                self.put_domain(desc);
                return if *not_null { self.look_at_values(old.oid, &Demand::NotNull) } else { Ok(()) };
            }
            Change::AddCheck { check, not_valid } => {
                let mut check = self.domain_check(&desc, base, check)?;
                check.validated = !not_valid;
                desc.checks.push(check.clone());
                self.put_domain(desc);
                // a condition that makes values of the domain itself has no end
                if let Some(desc) = self.state.catalog.domain_of(old.oid).cloned() {
                    self.check_demands(&desc)?;
                }
                return match not_valid {
                    true => Ok(()),
                    false => self.look_at_values(old.oid, &Demand::Check(&check.expression)),
                };
            }
            Change::DropConstraint { name, if_exists } => {
                desc.checks.retain(|check| check.name != *name);
                if desc.checks.len() == old.checks.len() {
                    let what =
                        format!("constraint \"{name}\" of domain {} does not exist", in_quotes(&old.name));
                    if !if_exists {
                        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
                    }
                    self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
                    return Ok(());
                }
            }
            Change::RenameConstraint { from, to } => {
                let at = desc.checks.iter().position(|check| check.name == *from);
                let at = at.ok_or_else(|| no_constraint_for(from, &old.name))?;
                let to = cut(to.clone());
                if desc.checks.iter().any(|check| check.name == to) {
                    let what = format!("constraint \"{to}\" for domain {} already exists", quoted(&old.name));
                    return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
                }
                desc.checks[at].name = to;
            }
            Change::ValidateConstraint(name) => {
                let check = desc.checks.iter_mut().find(|check| check.name == *name).ok_or_else(|| {
                    let what =
                        format!("constraint \"{name}\" of domain {} does not exist", in_quotes(&old.name));
                    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
                })?;
                if std::mem::replace(&mut check.validated, true) {
                    return Ok(());
                }
                let expression = check.expression.clone();
                self.put_domain(desc);
                return self.look_at_values(old.oid, &Demand::Check(&expression));
            }
            Change::RenameTo(name) => return self.rename_type(&own, cut(name.clone())),
            Change::SetSchema(name) => {
                let to = self.existing_schema(name)?;
                return self.set_schema_of_type(&own, &to);
            }
            Change::OwnerTo(_) => {}
        }
        self.put_domain(desc);
        Ok(())
    }

    /// All that a domain demands can be looked at.
    ///
    /// # Errors
    /// 54001 if that would look at values of the domain again, for ever.
    fn check_demands(&self, desc: &DomainDesc) -> Result<()> {
        let Some(ty) = self.state.catalog.type_of_oid(desc.oid) else { return Ok(()) };
        let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        let null = scaledb_planner::bind::Typed::constant(Value::Null, Type::UNKNOWN);
        binder.coerce(null, ty, Context::Explicit).map(drop)
    }

    /// Looks at all values of a domain that columns have, for what it demands now. No other session commits a write to
    /// them before the transaction has ended.
    ///
    /// # Errors
    /// 23502 and 23514; 0A000 if a column has arrays of the domain.
    fn look_at_values(&mut self, oid: u32, demand: &Demand<'_>) -> Result<()> {
        let mut found: Vec<(Arc<BoundTable>, Vec<usize>)> = Vec::new();
        let name = self.state.catalog.domain_of(oid).map_or_else(String::new, |desc| desc.name.clone());
        for table in self.state.catalog.tables().cloned().collect::<Vec<_>>() {
            let mut columns = Vec::new();
            for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.hidden) {
                let ty = column_type(&self.state.catalog, column)?;
                match holds(ty, oid) {
                    Holds::Values => columns.push(at),
                    Holds::Arrays => {
                        let user = format!("{}.{}", table.name, column.name);
                        let what = format!("cannot alter type \"{name}\" because column \"{user}\" uses it");
                        return Err(SqlError::unsupported(what));
                    }
                    Holds::Nothing => {}
                }
            }
            if !columns.is_empty() {
                self.check_not_pending(table.oid, "ALTER DOMAIN")?;
                found.push((self.table(table.oid)?, columns));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let base = match self.state.catalog.domain_of(oid).cloned() {
            Some(desc) => self.base_of(&desc)?,
            None => return Ok(()),
        };
        let tables: Vec<u32> = found.iter().map(|(table, _)| table.desc.oid).collect();
        self.bar_everywhere(&tables)?;
        for (table, columns) in &found {
            let mut conditions = Vec::with_capacity(columns.len());
            for &at in columns {
                conditions.push((at, self.demanded(demand, table, at, base)?));
            }
            self.for_each_row(table, |exec, row| {
                exec.frame.clear();
                exec.frame.extend_from_slice(row);
                for (at, condition) in &conditions {
                    let broken = match condition {
                        None => row[*at].is_null(),
                        Some(condition) => matches!(exec.eval(condition)?, Value::Bool(false)),
                    };
                    if broken {
                        return Err(broken_by(demand, table, *at));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The condition on a column of a row; none for NOT NULL.
    fn demanded(
        &self,
        demand: &Demand<'_>,
        table: &BoundTable,
        at: usize,
        base: Type,
    ) -> Result<Option<Expr>> {
        let Demand::Check(text) = demand else { return Ok(None) };
        let ast = scaledb_parse::expression(text)?;
        let condition = self.bind_kept_over(table, |binder| binder.domain_condition(&ast, base, at))?;
        Ok(Some(condition))
    }

    fn drop_domains(&mut self, if_exists: bool, names: &[Name], cascade: bool) -> Result<()> {
        let (mut cascaded, mut types) = (Vec::new(), Vec::new());
        for name in names {
            match self.domain_named(name, true) {
                Ok(desc) => {
                    self.check_may_drop(desc.oid, &desc.schema)?;
                    types.push(OwnType::Domain(desc));
                }
                Err(error) if if_exists && error.code() != SqlState::WRONG_OBJECT_TYPE => {
                    self.skip(&format!("{}, skipping", error.message()), SqlState::SUCCESSFUL_COMPLETION);
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_types_together(types, cascade, &mut cascaded)?;
        self.tell_of_cascade(&cascaded);
        Ok(())
    }

    /// Whether a name is one of a domain.
    pub(super) fn is_domain(&self, name: &Name) -> bool {
        self.domain_named(name, false).is_ok()
    }

    /// COMMENT ON DOMAIN, and on a constraint of one.
    ///
    /// # Errors
    /// 42704, 42809, 42501.
    pub(super) fn comment_on_domain(
        &mut self,
        name: &Name,
        constraint: Option<&str>,
        text: Option<&str>,
    ) -> Result<()> {
        let desc = self.domain_named(name, true)?;
        self.state.check_owner(desc.oid)?;
        let about = match constraint {
            None => About::Relation,
            Some(constraint) => {
                let check = desc.checks.iter().find(|check| check.name == constraint);
                About::Constraint(check.ok_or_else(|| no_constraint_for(constraint, &desc.name))?.oid)
            }
        };
        let mut desc = (*desc).clone();
        desc.comments.retain(|comment| comment.about != about);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            desc.comments.push(CommentDesc { about, text: text.to_owned() });
        }
        self.put_domain(desc);
        Ok(())
    }
}

/// What something of a type holds of the values of a domain.
enum Holds {
    Nothing,
    Values,
    Arrays,
}

fn holds(ty: Type, oid: u32) -> Holds {
    let has = |domain: DomainType| domain.chain().any(|domain| domain.oid() == oid);
    let inner = match ty.as_domain() {
        Some(domain) if has(domain) => return Holds::Values,
        Some(domain) => domain.chain().last().and_then(|last| last.base().array_of_domain()),
        None => ty.array_of_domain(),
    };
    if inner.is_some_and(has) { Holds::Arrays } else { Holds::Nothing }
}

/// 23502 or 23514 for a row that does not do what a domain demands from now on.
fn broken_by(demand: &Demand<'_>, table: &BoundTable, at: usize) -> SqlError {
    let (column, desc) = (table.desc.columns[at].name.as_str(), &table.desc);
    let error = match demand {
        Demand::NotNull => {
            let what = format!("column \"{column}\" of table \"{}\" contains null values", desc.name);
            SqlError::new(SqlState::NOT_NULL_VIOLATION, what)
        }
        Demand::Check(_) => {
            let what = format!(
                "column \"{column}\" of table \"{}\" contains values that violate the new constraint",
                desc.name
            );
            SqlError::new(SqlState::CHECK_VIOLATION, what)
        }
    };
    error.table(desc.schema.as_str(), desc.name.as_str()).column(column)
}

/// 42704 as it is told of a constraint that is looked up by its name alone.
fn no_constraint_for(constraint: &str, domain: &str) -> SqlError {
    let what = format!("constraint \"{constraint}\" for domain {} does not exist", quoted(domain));
    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A condition with VALUE in upper case, as PostgreSQL prints it.
fn with_value(text: &str) -> String {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (at, token) in tokens.iter().enumerate() {
        let sign = |at: Option<usize>, sign: &str| {
            at.and_then(|at| tokens.get(at)).is_some_and(|token| token.of(text) == sign)
        };
        let before = at.checked_sub(1);
        let other =
            sign(before, ".") || sign(before, "::") || sign(Some(at + 1), "(") || sign(Some(at + 1), ".");
        if token.kind == Kind::Word && token.is(text, "value") && !other {
            out.push_str(&text[copied..token.start]);
            out.push_str("VALUE");
            copied = token.end;
        }
    }
    out.push_str(&text[copied..]);
    out
}
