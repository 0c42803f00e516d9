//! CREATE TYPE .. AS ENUM, ALTER TYPE and DROP TYPE.
//!
//! Columns name their type by its oid, and rows have the orders of labels. What is kept as text (defaults, CHECK
//! constraints, views) has the names of types and labels in it: it is changed with them where that is certain, and
//! what would not mean the same any more is a reason to refuse the change.

use super::super::Session;
use super::alter::depends;
use super::{MAX_NAME, new_name};
use crate::api::Tag;
use crate::bind::literal::literal_text;
use crate::bind::names::{check_database, find_enum, is_temporary, own_schema, shown, split};
use crate::parse::alter_type::{AlterType, Change, Neighbour};
use crate::parse::lex::{Kind, Lexer, name_of, quoted};
use scaledb_catalog::{
    EnumDesc, LabelDesc, ObjectKind, Relation, Returned, RoutineDesc, TableDesc, ViewDesc,
};
use scaledb_engine::Engine;
use scaledb_types::enums::MAX_LABEL_LENGTH;
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::{Expr as Ast, Ident, ObjectName, UserDefinedTypeRepresentation};
use std::collections::BTreeSet;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// CREATE TYPE.
    pub(super) fn create_type(
        &mut self,
        name: &ObjectName,
        representation: Option<&UserDefinedTypeRepresentation>,
    ) -> Result<Tag> {
        use UserDefinedTypeRepresentation::{Composite, Enum, Range, SqlDefinition};
        let labels = match representation {
            Some(Enum { labels }) => labels,
            Some(Composite { .. }) => return Err(SqlError::unsupported("composite types are not supported")),
            Some(Range { .. }) => return Err(SqlError::unsupported("range types are not supported")),
            Some(SqlDefinition { .. }) | None => {
                return Err(SqlError::unsupported("base types are not supported"));
            }
        };
        check_database(name, Some(&self.state.database_name))?;
        let (schema, name) = split(name)?;
        let schema = self.schema_for(schema, false)?;
        if is_temporary(&schema) {
            return Err(SqlError::unsupported("temporary types are not supported"));
        }
        let name = new_name(&Ident::with_quote('"', name));
        self.begin_change()?;
        self.check_free_type(&schema, &name)?;
        let new_oid = || self.state.shared.new_oid();
        let mut desc = EnumDesc { oid: new_oid(), array_oid: new_oid(), schema, name, labels: Vec::new() };
        for label in labels {
            if label.quote_style != Some('\'') {
                let what = format!("syntax error at or near \"{label}\": a label is a text");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            check_label(&label.value)?;
            if desc.labels.iter().any(|known| known.text == label.value) {
                let what = format!("enum label \"{}\" used more than once", label.value);
                return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
            }
            let order = desc.order_at(desc.labels.len()).ok_or_else(no_room)?;
            desc.labels.push(LabelDesc { oid: new_oid(), order, text: label.value.clone() });
        }
        self.put_enum(desc);
        Ok(Tag::plain("CREATE TYPE"))
    }

    /// ALTER TYPE.
    ///
    /// # Errors
    /// 42704, 42710, 22023, 42602; 0A000 if a text that is kept names what is to get another name; 54000.
    pub(in crate::session) fn alter_type(&mut self, alter: &AlterType) -> Result<Tag> {
        self.begin_change()?;
        let mut desc = (*self.enum_named(alter.schema.as_deref(), &alter.name)?).clone();
        if !matches!(alter.change, Change::OwnerTo(_)) {
            self.state.check_owner(desc.oid)?;
        }
        match &alter.change {
            Change::AddValue { label, if_not_exists, neighbour } => {
                check_label(label)?;
                if desc.labels.iter().any(|known| known.text == *label) {
                    let what = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
                    }
                    self.skip(&format!("{what}, skipping"), SqlState::DUPLICATE_OBJECT);
                    return Ok(Tag::plain("ALTER TYPE"));
                }
                let place = place_of(&desc, neighbour.as_ref())?;
                let order = desc.order_at(place).ok_or_else(no_room)?;
                let oid = self.state.shared.new_oid();
                desc.labels.insert(place, LabelDesc { oid, order, text: label.clone() });
                // rows that others read have no such label before this commits
                self.put_enum(desc);
            }
            Change::RenameValue { from, to } => self.rename_label(desc, from, to)?,
            Change::RenameTo(name) => {
                self.check_may_create_in(&desc.schema)?;
                let name = new_name(&Ident::with_quote('"', name));
                self.check_free_type(&desc.schema, &name)?;
                let old = std::mem::replace(&mut desc.name, name);
                let new = desc.name.clone();
                self.change_texts(desc, &|_, text| renamed_type(text, &old, &new))?;
            }
            Change::OwnerTo(name) => {
                let owner = super::owner::named(name);
                self.set_owner(ObjectKind::Type, desc.oid, Some(&desc.schema), &owner)?;
            }
        }
        Ok(Tag::plain("ALTER TYPE"))
    }

    fn rename_label(&mut self, mut desc: EnumDesc, from: &str, to: &str) -> Result<()> {
        check_label(to)?;
        let at = place(&desc, from)?;
        if desc.labels.iter().any(|known| known.text == to) {
            let what = format!("enum label \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        to.clone_into(&mut desc.labels[at].text);
        let oid = desc.oid;
        // the default of a column of this type is a label of it, if it is a text
        self.change_texts(desc, &|column, text| match crate::parse::expression(text) {
            Ok(ast) if column == Some(oid) && is_label(&ast, from) => {
                text.replacen(&as_literal(from), &as_literal(to), 1)
            }
            _ => text.to_owned(),
        })
    }

    /// Puts a changed type in place, and changes what is kept as text; the texts get with them the oid of the type of
    /// the column whose default they are. Transactions that have used tables with columns of the type do not commit.
    fn change_texts(&mut self, desc: EnumDesc, change: &dyn Fn(Option<u32>, &str) -> String) -> Result<()> {
        let (oid, array) = (desc.oid, desc.array_oid);
        let views = self.views_over(&desc);
        // a text may name it otherwise than behind ::
        let name = self.state.catalog.enum_of(oid).map_or_else(String::new, |before| before.name.clone());
        self.put_enum(desc);
        let tables: Vec<Arc<TableDesc>> = self.state.catalog.tables().cloned().collect();
        for table in tables {
            let mut changed = (*table).clone();
            for column in &mut changed.columns {
                let of = column.type_oid;
                column.default.iter_mut().for_each(|text| *text = change(Some(of), text));
                let computed = column.generated.iter_mut().chain(&mut column.key);
                computed.for_each(|text| *text = change(None, text));
            }
            let predicates = changed.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
            predicates.for_each(|predicate| predicate.text = change(None, &predicate.text));
            changed.checks.iter_mut().for_each(|check| check.expression = change(None, &check.expression));
            let uses = table.columns.iter().any(|column| [oid, array].contains(&column.type_oid));
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

    /// The views whose queries may name a type or labels of it: they use the type, tables with columns of it, or such
    /// views.
    fn views_over(&self, desc: &EnumDesc) -> Vec<Arc<ViewDesc>> {
        let catalog = &self.state.catalog;
        let has = |table: &&Arc<TableDesc>| {
            table.columns.iter().any(|column| [desc.oid, desc.array_oid].contains(&column.type_oid))
        };
        let mut related: BTreeSet<u32> = catalog.tables().filter(has).map(|table| table.oid).collect();
        related.insert(desc.oid);
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

    /// DROP TYPE.
    pub(super) fn drop_types(&mut self, if_exists: bool, names: &[ObjectName], cascade: bool) -> Result<Tag> {
        let mut cascaded = Vec::new();
        for name in names {
            let (schema, name) = split(name)?;
            match self.enum_named(schema.as_deref(), &name) {
                Ok(desc) => {
                    self.check_may_drop(desc.oid, &desc.schema)?;
                    self.drop_enum(&desc, cascade, &mut cascaded)?;
                }
                Err(error) if error.code() == SqlState::WRONG_OBJECT_TYPE => {
                    let ty = Type::by_typname(&name).unwrap_or(Type::UNKNOWN).sql_name();
                    let what = format!("cannot drop type {ty} because it is required by the database system");
                    return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what));
                }
                Err(_) if if_exists => {
                    let shown = shown(schema.as_deref(), &name);
                    let what = format!("type \"{shown}\" does not exist, skipping");
                    self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                }
                Err(error) => return Err(error),
            }
        }
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain("DROP TYPE"))
    }

    pub(super) fn drop_enum(
        &mut self,
        desc: &EnumDesc,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let what = format!("type {}", quoted(&desc.name));
        let has = |oid: u32| oid == desc.oid || oid == desc.array_oid;
        let tables: Vec<Arc<TableDesc>> = self.state.catalog.tables().cloned().collect();
        for table in &tables {
            let columns = table.visible().filter(|column| has(column.type_oid));
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
        let user = self.state.catalog.relations().find(|relation| relation.reads(desc.oid));
        if let Some(view) = user.filter(|_| !cascade) {
            return Err(depends(&what, &format!("{} {}", view.kind(), view.name())));
        }
        let over = |routine: &RoutineDesc| {
            let returned = matches!(routine.returns, Returned::Value(oid) if has(oid));
            returned || routine.parameters.iter().any(|parameter| has(parameter.type_oid))
        };
        self.drop_routines_over(&what, over, cascade, cascaded)?;
        self.remove_enum(desc.oid);
        for view in self.state.catalog.definitions().collect::<Vec<_>>() {
            let changed = |oid: u32| tables.iter().any(|table| table.oid == oid && !self.has(table));
            // those of other sessions cannot be looked at
            let own = own_schema(&self.state.path, &view.schema).is_some();
            let affected = view.uses.iter().any(|&oid| oid == desc.oid || own && changed(oid));
            if affected && self.state.catalog.get(view.oid).is_some() && !self.means_the_same(&view) {
                cascaded.push(self.kind_and_name(&view));
                if let Some(relation) = self.state.catalog.get(view.oid).cloned() {
                    self.drop_relation(&relation, &[], true, cascaded)?;
                }
            }
        }
        // what is computed by a cast to the type, or has it in a condition
        for table in self.state.catalog.tables().cloned().collect::<Vec<_>>() {
            if names_type(&table, &desc.name) && self.check_expressions(&table).is_err() {
                let user = format!("an expression of table {}", table.name);
                let error = depends(&what, &user);
                return Err(
                    error.hint("Drop what has the expression first: CASCADE drops columns and views.")
                );
            }
        }
        Ok(())
    }

    /// Whether the catalog has this very descriptor.
    fn has(&self, table: &Arc<TableDesc>) -> bool {
        self.state.catalog.table(table.oid).is_some_and(|current| Arc::ptr_eq(current, table))
    }

    /// # Errors
    /// 42704 if there is no type of this name, 42809 if it is no enum type.
    fn enum_named(&self, schema: Option<&str>, name: &str) -> Result<Arc<EnumDesc>> {
        // types that are always there come before all others
        let system = Type::by_typname(name).filter(|_| schema.is_none_or(|schema| schema == "pg_catalog"));
        if let Some(ty) = system {
            let what = format!("{} is not an enum", ty.sql_name());
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        find_enum(&self.state.catalog, &self.state.path, schema, name).cloned().ok_or_else(|| {
            let what = format!("type \"{}\" does not exist", shown(schema, name));
            SqlError::new(SqlState::UNDEFINED_OBJECT, what)
        })
    }

    /// # Errors
    /// 42710 if a type or a relation has this name.
    fn check_free_type(&self, schema: &str, name: &str) -> Result<()> {
        if Type::by_typname(name).is_some() || Type::parse(name).is_ok() {
            let what = format!("a type of one's own with the name of a built-in one, {name},");
            return Err(SqlError::unsupported(format!("{what} is not supported")));
        }
        let catalog = &self.state.catalog;
        if catalog.enum_named(schema, name).is_some() || catalog.lookup(schema, name).is_some() {
            let what = format!("type \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        Ok(())
    }

    /// Changes the descriptor of a type; the commit writes it.
    pub(super) fn put_enum(&mut self, desc: EnumDesc) {
        let (oid, schema) = (desc.oid, desc.schema.clone());
        let is_new = self.state.catalog.enum_of(oid).is_none();
        self.edit_catalog(|catalog| catalog.put_enum(Arc::new(desc)));
        if is_new {
            self.own(ObjectKind::Type, oid, Some(&schema));
        }
    }

    fn remove_enum(&mut self, oid: u32) {
        self.edit_catalog(|catalog| {
            catalog.remove_enum(oid);
        });
    }
}

/// # Errors
/// 42602.
fn check_label(label: &str) -> Result<()> {
    debug_assert_eq!(MAX_LABEL_LENGTH, MAX_NAME, "labels are names");
    if label.len() > MAX_LABEL_LENGTH {
        let what = format!("invalid enum label \"{label}\"");
        let detail = format!("Labels must be {MAX_LABEL_LENGTH} bytes or less.");
        return Err(SqlError::new(SqlState::INVALID_NAME, what).detail(detail));
    }
    Ok(())
}

/// 54000: between two labels of a type there is no order left.
fn no_room() -> SqlError {
    let what = "no further label fits between two labels of this type";
    let hint = "Create a new type with all labels, and change the columns to it.";
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what).hint(hint)
}

/// The place of a label.
fn place(desc: &EnumDesc, label: &str) -> Result<usize> {
    desc.labels
        .iter()
        .position(|known| known.text == label)
        .ok_or_else(|| SqlError::invalid_parameter(format!("\"{label}\" is not an existing enum label")))
}

/// The place of a new label.
fn place_of(desc: &EnumDesc, neighbour: Option<&Neighbour>) -> Result<usize> {
    match neighbour {
        None => Ok(desc.labels.len()),
        Some(neighbour) => Ok(place(desc, &neighbour.label)? + usize::from(neighbour.after)),
    }
}

/// 0A000: an expression of a table would not be understood after a change.
fn named_in(table: &str, error: &SqlError) -> SqlError {
    SqlError::unsupported(format!("an expression of table \"{table}\" would not mean the same: {error}"))
        .hint("Drop the default or the constraint, make the change, and set it again.")
}

/// Whether an expression is this text, perhaps with a type behind it.
fn is_label(ast: &Ast, label: &str) -> bool {
    match ast {
        Ast::Value(value) => literal_text(&value.value) == Some(label),
        Ast::Cast { expr, .. } => matches!(&**expr, Ast::Value(_)) && is_label(expr, label),
        _ => false,
    }
}

fn as_literal(label: &str) -> String {
    format!("'{}'", label.replace('\'', "''"))
}

/// Whether a text that is kept with a table has the name of a type in it.
fn names_type(table: &TableDesc, name: &str) -> bool {
    let of_columns = table.columns.iter().flat_map(|column| column.default.iter().chain(&column.generated));
    let predicates = table.indexes.iter().filter_map(|index| index.predicate.as_ref().map(|part| &part.text));
    let checks = table.checks.iter().map(|check| &check.expression);
    let mut texts = of_columns.chain(predicates).chain(checks);
    texts.any(|text| Lexer::new(text).any(|token| name_of(token, text).as_deref() == Some(name)))
}

/// A text with another name for a type, where it stands behind `::`, perhaps after its schema.
fn renamed_type(text: &str, old: &str, new: &str) -> String {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let casts = |at: usize| at > 0 && tokens[at - 1].of(text) == "::";
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
