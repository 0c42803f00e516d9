//! What enum types and domains have in common: names, texts that name them, and what goes with them.

use super::super::Session;
use super::alter::depends;
use scaledb_catalog::{
    Catalog, DomainDesc, EnumDesc, ObjectKind, Relation, Returned, RoutineDesc, TableDesc, ViewDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Kind, Lexer, name_of, quoted};
use scaledb_planner::bind::names::own_schema;
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An enum type or a domain.
#[derive(Clone, Debug)]
pub(super) enum OwnType {
    Enum(Arc<EnumDesc>),
    Domain(Arc<DomainDesc>),
}

impl OwnType {
    /// The one of an oid.
    pub(super) fn of(catalog: &Catalog, oid: u32) -> Option<Self> {
        let of_enum = catalog.enum_of(oid).cloned().map(Self::Enum);
        of_enum.or_else(|| catalog.domain_of(oid).cloned().map(Self::Domain))
    }

    /// Those of a schema, by oid.
    pub(super) fn within(catalog: &Catalog, schema: &str) -> Vec<Self> {
        let enums = catalog.enums().cloned().map(Self::Enum);
        let all = enums.chain(catalog.domains().cloned().map(Self::Domain));
        let mut found: Vec<Self> = all.filter(|own| own.schema() == schema).collect();
        found.sort_by_key(Self::oid);
        found
    }

    pub(super) fn oid(&self) -> u32 {
        match self {
            Self::Enum(desc) => desc.oid,
            Self::Domain(desc) => desc.oid,
        }
    }

    fn array_oid(&self) -> u32 {
        match self {
            Self::Enum(desc) => desc.array_oid,
            Self::Domain(desc) => desc.array_oid,
        }
    }

    pub(super) fn schema(&self) -> &str {
        match self {
            Self::Enum(desc) => &desc.schema,
            Self::Domain(desc) => &desc.schema,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Enum(desc) => &desc.name,
            Self::Domain(desc) => &desc.name,
        }
    }

    pub(super) fn with_name(&self, name: String) -> Self {
        match self {
            Self::Enum(desc) => Self::Enum(Arc::new(EnumDesc { name, ..(**desc).clone() })),
            Self::Domain(desc) => Self::Domain(Arc::new(DomainDesc { name, ..(**desc).clone() })),
        }
    }

    pub(super) fn with_schema(&self, schema: String) -> Self {
        match self {
            Self::Enum(desc) => Self::Enum(Arc::new(EnumDesc { schema, ..(**desc).clone() })),
            Self::Domain(desc) => Self::Domain(Arc::new(DomainDesc { schema, ..(**desc).clone() })),
        }
    }

    /// Whether it is the very type of something of this oid, or that of its elements.
    fn is_of(&self, type_oid: u32) -> bool {
        [self.oid(), self.array_oid()].contains(&type_oid)
    }
}

/// What to do with a text: the oid of the enum type that it makes values of, if it is the default of something, comes
/// first.
type Edit<'e> = &'e dyn Fn(Option<u32>, &str) -> String;

impl<E: Engine> Session<E> {
    /// # Errors
    /// 42710 if a type or a relation has this name.
    pub(super) fn check_free_type(&self, schema: &str, name: &str) -> Result<()> {
        if Type::by_typname(name).is_some() || Type::parse(name).is_ok() {
            let what = format!("a type of one's own with the name of a built-in one, {name},");
            return Err(SqlError::unsupported(format!("{what} is not supported")));
        }
        let catalog = &self.state.catalog;
        if catalog.own_type_named(schema, name).is_some() || catalog.lookup(schema, name).is_some() {
            let what = format!("type \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        Ok(())
    }

    /// Changes the descriptor of a type; the commit writes it.
    pub(super) fn put_type(&mut self, own: OwnType) {
        let (oid, schema) = (own.oid(), own.schema().to_owned());
        let is_new = self.state.catalog.own_type(oid).is_none();
        self.edit_catalog(|catalog| match own {
            OwnType::Enum(desc) => catalog.put_enum(desc),
            OwnType::Domain(desc) => catalog.put_domain(desc),
        });
        if is_new {
            self.own(ObjectKind::Type, oid, Some(&schema));
        }
    }

    /// ALTER TYPE and ALTER DOMAIN .. RENAME TO.
    pub(super) fn rename_type(&mut self, own: &OwnType, name: String) -> Result<()> {
        self.check_may_create_in(own.schema())?;
        self.check_free_type(own.schema(), &name)?;
        let (old, new) = (own.name().to_owned(), name.clone());
        self.change_texts(own.with_name(name), &|_, text| renamed_type(text, &old, &new))
    }

    /// ALTER TYPE and ALTER DOMAIN .. SET SCHEMA.
    pub(super) fn move_type(&mut self, own: &OwnType, to: &str) -> Result<()> {
        self.let_views_follow(own.oid(), to)?;
        self.put_type(own.with_schema(to.to_owned()));
        Ok(())
    }

    /// Puts a changed type in place, and changes what is kept as text. Transactions that have used tables with columns
    /// of the type do not commit.
    pub(super) fn change_texts(&mut self, own: OwnType, change: Edit<'_>) -> Result<()> {
        let oid = own.oid();
        let views = self.views_over(&own);
        // a text may name it otherwise than behind ::
        let name = self.state.catalog.own_type(oid).map_or_else(String::new, |(_, name)| name.to_owned());
        self.put_type(own);
        for desc in self.state.catalog.domains().cloned().collect::<Vec<_>>() {
            let mut changed = (*desc).clone();
            let of = self.value_oid(changed.type_oid);
            changed.default.iter_mut().for_each(|text| *text = change(of, text));
            changed.checks.iter_mut().for_each(|check| check.expression = change(None, &check.expression));
            if changed != *desc {
                self.put_type(OwnType::Domain(Arc::new(changed)));
            }
        }
        for desc in self.state.catalog.domains().cloned().collect::<Vec<_>>() {
            self.check_domain(&desc).map_err(|error| {
                let what =
                    format!("an expression of domain \"{}\" would not mean the same: {error}", desc.name);
                SqlError::unsupported(what)
            })?;
        }
        let tables: Vec<Arc<TableDesc>> = self.state.catalog.tables().cloned().collect();
        for table in tables {
            let mut changed = (*table).clone();
            for column in &mut changed.columns {
                let of = self.value_oid(column.type_oid);
                column.default.iter_mut().for_each(|text| *text = change(of, text));
                let computed = column.generated.iter_mut().chain(&mut column.key);
                computed.for_each(|text| *text = change(None, text));
            }
            let predicates = changed.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
            predicates.for_each(|predicate| predicate.text = change(None, &predicate.text));
            changed.checks.iter_mut().for_each(|check| check.expression = change(None, &check.expression));
            let uses = table.columns.iter().any(|column| self.is_over(column.type_oid, oid));
            if uses || changed != *table || names_type(&table, &name) {
                self.check_expressions(&changed).map_err(|error| named_in(&table.name, &error))?;
                self.put(Relation::Table(Arc::new(changed)))?;
            }
        }
        let mut changed = Vec::with_capacity(views.len());
        for view in views {
            let mut view = (*view).clone();
            view.query = change(None, &view.query);
            let view = Arc::new(view);
            self.put_definition(&view)?;
            changed.push(view);
        }
        for view in changed {
            if !self.means_the_same(&view) {
                let what =
                    format!("view \"{}\" would not mean the same: its query names what changes", view.name);
                return Err(SqlError::unsupported(what).hint("Drop the view, and create it again."));
            }
        }
        Ok(())
    }

    /// The oid of the enum type whose values something of a type has.
    fn value_oid(&self, type_oid: u32) -> Option<u32> {
        let ty = self.state.catalog.type_of_oid(type_oid)?;
        ty.as_enum().map(|definition| definition.oid())
    }

    /// Whether a type is one of an oid, has elements of it, or is a domain over such a type.
    fn is_over(&self, type_oid: u32, oid: u32) -> bool {
        self.state.catalog.type_of_oid(type_oid).is_some_and(|ty| mentions(ty, oid))
    }

    /// The views whose queries may name a type or labels of it: they use the type, tables with columns of it, or such
    /// views.
    fn views_over(&self, own: &OwnType) -> Vec<Arc<ViewDesc>> {
        let catalog = &self.state.catalog;
        let has = |table: &&Arc<TableDesc>| {
            table.columns.iter().any(|column| self.is_over(column.type_oid, own.oid()))
        };
        let mut related: BTreeSet<u32> = catalog.tables().filter(has).map(|table| table.oid).collect();
        related.insert(own.oid());
        let mut views: Vec<Arc<ViewDesc>> = Vec::new();
        loop {
            let uses = |view: &Arc<ViewDesc>| {
                !views.iter().any(|known| known.oid == view.oid)
                    && view.uses.iter().any(|oid| related.contains(oid))
            };
            let Some(view) = catalog.definitions().find(uses) else { return views };
            related.insert(view.oid);
            views.push(view);
        }
    }

    /// Drops types: what is over another of them goes before it.
    pub(super) fn drop_types_together(
        &mut self,
        mut types: Vec<OwnType>,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        types.sort_by_key(|own| std::cmp::Reverse(own.oid()));
        types.iter().try_for_each(|own| self.drop_type(own, cascade, cascaded))
    }

    /// Drops a type; with `cascade` what needs it, too, which `cascaded` then names.
    pub(super) fn drop_type(
        &mut self,
        own: &OwnType,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        // gone with another one
        if self.state.catalog.own_type(own.oid()).is_none() {
            return Ok(());
        }
        let what = format!("type {}", quoted(own.name()));
        for domain in self.state.catalog.domains().cloned().collect::<Vec<_>>() {
            if !own.is_of(domain.type_oid) {
                continue;
            }
            let user = format!("type {}", quoted(&domain.name));
            if !cascade {
                return Err(depends(&what, &user));
            }
            cascaded.push(user);
            self.drop_type(&OwnType::Domain(domain), true, cascaded)?;
        }
        let tables: Vec<Arc<TableDesc>> = self.state.catalog.tables().cloned().collect();
        for table in &tables {
            let columns = table.visible().filter(|column| own.is_of(column.type_oid));
            let columns: Vec<String> = columns.map(|column| column.name.clone()).collect();
            if table.is_materialized() {
                if columns.is_empty() || self.state.catalog.get(table.oid).is_none() {
                    continue;
                }
                let user = format!("materialized view {}", table.name);
                if !cascade {
                    return Err(depends(&what, &user));
                }
                cascaded.push(user);
                self.drop_relation(&Relation::Table(table.clone()), &[], true, cascaded)?;
                continue;
            }
            for column in columns {
                let user = format!("column {column} of table {}", table.name);
                if !cascade {
                    return Err(depends(&what, &user));
                }
                self.check_not_pending(table.oid, "ALTER TABLE")?;
                let current = self.table(table.oid)?;
                // it may have gone with one that it was computed from
                if current.desc.column(&column).is_some() {
                    self.drop_column(&current, &column, true)?;
                }
                cascaded.push(user);
            }
        }
        let user = self.state.catalog.relations().find(|relation| relation.reads(own.oid()));
        if let Some(view) = user.filter(|_| !cascade) {
            return Err(depends(&what, &format!("{} {}", view.kind(), view.name())));
        }
        let over = |routine: &RoutineDesc| {
            let returned = matches!(routine.returns, Returned::Value(oid) if own.is_of(oid));
            returned || routine.parameters.iter().any(|parameter| own.is_of(parameter.type_oid))
        };
        self.drop_routines_over(&what, over, cascade, cascaded)?;
        let oid = own.oid();
        self.drop_policies_that(|policy| policy.uses(oid), &[], (&what, cascade), cascaded)?;
        self.edit_catalog(|catalog| {
            catalog.remove_enum(own.oid());
            catalog.remove_domain(own.oid());
        });
        for view in self.state.catalog.definitions().collect::<Vec<_>>() {
            let changed = |oid: u32| tables.iter().any(|table| table.oid == oid && !self.has(table));
            // those of other sessions cannot be looked at
            let in_path = own_schema(&self.state.path, &view.schema).is_some();
            let affected = view.uses.iter().any(|&oid| oid == own.oid() || in_path && changed(oid));
            if affected && self.state.catalog.get(view.oid).is_some() && !self.means_the_same(&view) {
                cascaded.push(self.kind_and_name(&view));
                if let Some(relation) = self.state.catalog.get(view.oid).cloned() {
                    self.drop_relation(&relation, &[], true, cascaded)?;
                }
            }
        }
        // what is computed by a cast to the type, or has it in a condition
        for table in self.state.catalog.tables().cloned().collect::<Vec<_>>() {
            if names_type(&table, own.name()) && self.check_expressions(&table).is_err() {
                self.drop_broken(&what, &table, cascade, cascaded)?;
            }
        }
        for domain in self.state.catalog.domains().cloned().collect::<Vec<_>>() {
            if self.check_domain(&domain).is_err() {
                let error = depends(&what, &format!("an expression of domain {}", quoted(&domain.name)));
                return Err(error.hint("Drop what has the expression first."));
            }
        }
        Ok(())
    }

    /// Drops the constraints and the defaults of a table that cannot be read any more.
    ///
    /// # Errors
    /// 2BP01 unless it is to be done; 0A000 if something else cannot be read, either.
    fn drop_broken(
        &mut self,
        what: &str,
        table: &Arc<TableDesc>,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let mut rest = (**table).clone();
        let checks = std::mem::take(&mut rest.checks);
        let defaults: Vec<Option<String>> =
            rest.columns.iter_mut().map(|column| column.default.take()).collect();
        if self.check_expressions(&rest).is_err() {
            let error = depends(what, &format!("an expression of table {}", table.name));
            return Err(error.hint("Drop what has the expression first: CASCADE drops columns and views."));
        }
        let mut broken = Vec::new();
        let mut left = rest.clone();
        for check in checks {
            let mut with = rest.clone();
            with.checks.push(check.clone());
            match self.check_expressions(&with) {
                Ok(()) => left.checks.push(check),
                Err(_) => broken.push(format!("constraint {} on table {}", check.name, table.name)),
            }
        }
        for (at, default) in defaults.into_iter().enumerate() {
            let mut with = rest.clone();
            with.columns[at].default.clone_from(&default);
            match self.check_expressions(&with) {
                Ok(()) => left.columns[at].default = default,
                Err(_) => {
                    let column = &rest.columns[at].name;
                    broken.push(format!("default value for column {column} of table {}", table.name));
                }
            }
        }
        if let Some(user) = broken.first().filter(|_| !cascade) {
            return Err(depends(what, user));
        }
        cascaded.extend(broken);
        self.check_not_pending(table.oid, "ALTER TABLE")?;
        self.put(Relation::Table(Arc::new(left)))
    }

    /// Whether the catalog has this very descriptor.
    fn has(&self, table: &Arc<TableDesc>) -> bool {
        self.state.catalog.table(table.oid).is_some_and(|current| Arc::ptr_eq(current, table))
    }
}

/// Whether a type is the one of an oid, has elements of it, or is a domain over such a type.
fn mentions(ty: Type, oid: u32) -> bool {
    let own = matches!(ty.base, Base::Enum(definition) if definition.oid() == oid);
    own || ty.domain.is_some_and(|domain| {
        let last = domain.chain().last().unwrap_or(domain);
        let inner = last.base().array_of_domain();
        domain.chain().any(|domain| domain.oid() == oid)
            || inner.is_some_and(|inner| mentions(Type::of_domain(inner), oid))
    })
}

/// 0A000: an expression of a table would not be understood after a change.
fn named_in(table: &str, error: &SqlError) -> SqlError {
    SqlError::unsupported(format!("an expression of table \"{table}\" would not mean the same: {error}"))
        .hint("Drop the default or the constraint, make the change, and set it again.")
}

/// Whether a text that is kept with a table has the name of a type in it.
fn names_type(table: &TableDesc, name: &str) -> bool {
    let of_columns = table.columns.iter().flat_map(|column| column.default.iter().chain(&column.generated));
    let predicates = table.indexes.iter().filter_map(|index| index.predicate.as_ref().map(|part| &part.text));
    let checks = table.checks.iter().map(|check| &check.expression);
    let mut texts = of_columns.chain(predicates).chain(checks);
    texts.any(|text| Lexer::new(text).any(|token| name_of(token, text).as_deref() == Some(name)))
}

/// A text with another name for a type, where it stands behind `::` or `AS`, perhaps after its schema.
fn renamed_type(text: &str, old: &str, new: &str) -> String {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let casts = |at: usize| at > 0 && (tokens[at - 1].of(text) == "::" || is_cast_as(&tokens, text, at - 1));
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (at, &token) in tokens.iter().enumerate() {
        let qualified = at > 1 && tokens[at - 1].is_sign(text, ".") && casts(at - 2);
        let is_name = matches!(token.kind, Kind::Word | Kind::Quoted);
        if is_name && (casts(at) || qualified) && name_of(token, text).as_deref() == Some(old) {
            out.push_str(&text[copied..token.start]);
            out.push_str(&format!("\"{}\"", new.replace('"', "\"\"")));
            copied = token.end;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Whether the token at a place is the AS of `CAST (.. AS type)`: it stands right within the parenthesis of the word.
fn is_cast_as(tokens: &[scaledb_parse::lex::Token], text: &str, at: usize) -> bool {
    if !tokens[at].is(text, "as") {
        return false;
    }
    let mut depth = 0usize;
    for before in (0..at).rev() {
        match tokens[before].of(text) {
            ")" => depth += 1,
            "(" if depth == 0 => return before > 0 && tokens[before - 1].is(text, "cast"),
            "(" => depth -= 1,
            _ => {}
        }
    }
    false
}
