//! Changes of the catalog.
//!
//! The session works with a catalog of its own until the commit writes what has changed in it, and puts it in force for
//! all. The engine adds indexes to a table and drops them; most changes of columns make a new table and copy the
//! rows.

mod alter;
mod callers;
mod comment;
mod constraint;
mod create;
mod databases;
mod definition;
mod differences;
mod domains;
mod drop;
mod enums;
mod exclusion;
mod expression;
mod extensions;
mod follow;
mod generated;
mod grants;
mod kept;
mod like;
mod materialized;
mod own_types;
mod owner;
mod partial;
mod policies;
mod policy_names;
mod rebuild;
mod reindex;
mod roles;
mod routines;
mod schemas;
mod sequence;
mod spread;
mod triggers;
mod view;

use super::Session;
use crate::api::{Severity, Tag};
use scaledb_catalog::{Catalog, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::{MAX_NAME, cut};
use scaledb_planner::bind::names::{
    check_database, data_type, find_relation, fold, is_schema, is_temporary, no_schema, own_schema, split,
    temporary_schema,
};
use scaledb_planner::plan::BoundTable;
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::{DataType, Ident, ObjectName, Statement};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// Runs a statement that changes the catalog.
    pub(super) fn change(&mut self, statement: &Statement) -> Result<Tag> {
        let tag = match statement {
            Statement::CreateTable(create) => self.create_table(create)?,
            Statement::CreateIndex(create) => self.create_index(create)?,
            Statement::CreateView(create) => self.create_view(create)?,
            Statement::CreateSequence {
                temporary,
                name,
                if_not_exists,
                data_type,
                sequence_options,
                owned_by,
            } => self.create_sequence(
                name,
                *temporary,
                *if_not_exists,
                data_type.as_ref(),
                sequence_options,
                owned_by.as_ref(),
            )?,
            Statement::CreateType { name, representation } => {
                self.create_type(name, representation.as_ref())?
            }
            Statement::AlterTable(alter) => self.alter_table(alter)?,
            Statement::AlterIndex { name, operation } => self.alter_index(name, operation)?,
            Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                self.drop_objects(*object_type, *if_exists, names, *cascade)?
            }
            Statement::CreateSchema { if_not_exists, schema_name, .. } => {
                self.create_schema(schema_name, *if_not_exists)?
            }
            Statement::AlterSchema(alter) => self.alter_schema(alter)?,
            other => {
                return Err(SqlError::unsupported(format!("{} is not supported", words_of(other)))
                    .hint("docs/compatibility.md says what is."));
            }
        };
        Ok(tag)
    }

    fn skip(&self, what: &str, code: SqlState) {
        self.state.notice(Severity::Notice, SqlError::new(code, what.to_owned()));
    }

    /// Begins to change the catalog in the transaction at hand.
    pub(super) fn begin_change(&mut self) -> Result<()> {
        if self.transaction.is_read_only() {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                "cannot change the catalog in a read-only transaction",
            ));
        }
        self.ensure_begun()?;
        if !self.transaction.changed {
            // two changes of the catalog conflict at their commits
            self.transaction.changed = true;
            self.transaction.unchanged = Some(self.state.catalog.clone());
            self.cache.clear();
        }
        Ok(())
    }

    /// Works with a changed catalog.
    fn edit_catalog(&mut self, f: impl FnOnce(&mut Catalog)) {
        let mut catalog = (*self.state.catalog).clone();
        f(&mut catalog);
        self.state.use_catalog(Arc::new(catalog));
        self.cache.clear();
    }

    /// Changes a descriptor; the commit writes it.
    fn put(&mut self, relation: Relation) -> Result<()> {
        let oid = relation.oid();
        self.may_change(oid)?;
        self.begin_change()?;
        let is_new = self.state.catalog.get(oid).is_none();
        let (kind, schema) = (Catalog::kind_of_relation(&relation), relation.schema().to_owned());
        self.edit_catalog(|catalog| catalog.put(relation));
        if is_new {
            self.own(kind, oid, Some(&schema));
        }
        Ok(())
    }

    /// Removes a descriptor.
    fn remove(&mut self, oid: u32) -> Result<()> {
        self.may_change(oid)?;
        self.begin_change()?;
        self.edit_catalog(|catalog| {
            catalog.remove(oid);
        });
        Ok(())
    }

    /// Refuses to change a table that the library has made or uses.
    fn may_change(&self, oid: u32) -> Result<()> {
        self.state.catalog.table(oid).map_or(Ok(()), |desc| self.state.shared.may_change(desc))
    }

    /// The schema for a new object, that of the session's temporary ones if it is to be temporary.
    fn schema_for(&mut self, schema: Option<String>, temporary: bool) -> Result<String> {
        let schema = self.schema_named(schema, temporary)?;
        self.check_may_create_in(&schema)?;
        Ok(schema)
    }

    fn schema_named(&mut self, schema: Option<String>, temporary: bool) -> Result<String> {
        let own = temporary_schema(self.state.id);
        match schema.as_deref() {
            Some(schema) if schema == "pg_temp" || schema == own => Ok(self.make_temporary_schema()),
            None if temporary => Ok(self.make_temporary_schema()),
            Some(_) if temporary => Err(SqlError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot create temporary relation in non-temporary schema",
            )),
            None => {
                let system = |schema: &str| matches!(schema, "pg_catalog" | "information_schema");
                let (catalog, path) = (&self.state.catalog, &self.state.path);
                let takes = |schema: &&String| !is_temporary(schema) && is_schema(catalog, path, schema);
                let found = path.iter().filter(takes).find(|schema| !system(schema)).cloned();
                found.ok_or_else(|| {
                    let what = "no schema has been selected to create in";
                    SqlError::new(SqlState::INVALID_SCHEMA_NAME, what)
                })
            }
            Some(schema) if schema.starts_with("pg_") || schema == "information_schema" => {
                Err(SqlError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied to create in schema \"{schema}\""),
                ))
            }
            Some(schema) if is_schema(&self.state.catalog, &self.state.path, schema) => Ok(schema.to_owned()),
            Some(schema) => Err(no_schema(schema)),
        }
    }

    /// The relation of a name.
    fn lookup(&self, name: &ObjectName) -> Result<Option<Relation>> {
        check_database(name, Some(&self.state.database_name))?;
        let (schema, name) = split(name)?;
        Ok(find_relation(&self.state.catalog, &self.state.path, schema.as_deref(), &name).cloned())
    }

    /// The schema that has an index of a name: the given schema, or the first along the search path.
    fn schema_of_index(&self, schema: Option<&str>, name: &str) -> Option<String> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let given = schema.map(|schema| own_schema(path, schema));
        let has = |schema: &&str| catalog.index(schema, name).is_some();
        match given {
            Some(schema) => schema.filter(has).map(str::to_owned),
            None => path.iter().map(String::as_str).find(has).map(str::to_owned),
        }
    }

    /// The type that a syntax tree names.
    fn data_type(&self, ast: &DataType) -> Result<Type> {
        let ty = data_type(&self.state.catalog, &self.state.path, ast)?;
        self.state.check_type(ty)?;
        Ok(ty)
    }

    /// The table of a name.
    fn lookup_table(&self, name: &ObjectName) -> Result<Arc<BoundTable>> {
        match self.lookup(name)? {
            Some(Relation::Table(desc)) => self.table(desc.oid),
            Some(other) => {
                let what = format!("\"{}\" is not a table", other.name());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
            None => {
                let (schema, name) = split(name)?;
                let shown = scaledb_planner::bind::names::shown(schema.as_deref(), &name);
                let what = format!("relation \"{shown}\" does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    /// The answer to a name for a new relation, if something has it.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub(in crate::session) fn taken_for_new(
        &mut self,
        schema: Option<String>,
        name: &str,
        temporary: bool,
    ) -> Result<Option<SqlError>> {
        let schema = self.schema_named(schema, temporary)?;
        Ok(self.state.catalog.is_taken(&schema, name).then(|| self.name_is_taken(&schema, name)))
    }

    /// The answer to a name for a relation that something has.
    fn name_is_taken(&self, schema: &str, name: &str) -> SqlError {
        if self.state.catalog.own_type_named(schema, name).is_none() {
            let what = format!("relation \"{name}\" already exists");
            return SqlError::new(SqlState::DUPLICATE_TABLE, what);
        }
        let hint = "A relation has an associated type of the same name, so you must use a name that doesn't conflict \
                    with any existing type.";
        SqlError::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists")).hint(hint)
    }

    /// A name that no relation, type or index has.
    fn free_name(&self, table: &TableDesc, parts: &[&str], suffix: &str) -> String {
        let (first, others) = parts.split_first().map_or(("", &[][..]), |(first, others)| (*first, others));
        // PostgreSQL adds no more columns to a name that is too long already
        let mut second = String::new();
        for other in others {
            if !second.is_empty() {
                second.push('_');
            }
            second.push_str(other);
            if second.len() > MAX_NAME {
                break;
            }
        }
        let taken = |name: &str| {
            self.state.catalog.is_taken(&table.schema, name)
                || table.has_constraint(name)
                || table.indexes.iter().any(|index| index.name == name)
                || table.name == name
        };
        let mut name = object_name(first, &second, suffix);
        let mut number = 0;
        while taken(&name) {
            number += 1;
            name = object_name(first, &second, &format!("{suffix}{number}"));
        }
        name
    }
}

/// A name made of others, whose longer parts are cut until it is short enough: clients make the same.
fn object_name(first: &str, second: &str, label: &str) -> String {
    let signs = usize::from(!second.is_empty()) + 1;
    let room = MAX_NAME.saturating_sub(label.len() + signs);
    let (mut of_first, mut of_second) = (first.len(), second.len());
    while of_first + of_second > room {
        if of_first > of_second {
            of_first -= 1;
        } else {
            of_second -= 1;
        }
    }
    let first = &first[..first.floor_char_boundary(of_first)];
    let second = &second[..second.floor_char_boundary(of_second)];
    match second {
        "" => format!("{first}_{label}"),
        second => format!("{first}_{second}_{label}"),
    }
}

/// The position of a column.
fn position(desc: &TableDesc, name: &str) -> Result<usize> {
    desc.column(name).ok_or_else(|| {
        let what = format!("column \"{name}\" of relation \"{}\" does not exist", desc.name);
        SqlError::new(SqlState::UNDEFINED_COLUMN, what)
    })
}

/// A name that is given to something.
fn new_name(ident: &Ident) -> String {
    fold(ident)
}

/// The words that a statement begins with: `CREATE FUNCTION`.
fn words_of(statement: &Statement) -> String {
    const WORDS: usize = 3;
    let text = statement.to_string();
    let is_word = |word: &&str| word.bytes().all(|b| b.is_ascii_uppercase());
    let words: Vec<&str> = text.split_whitespace().take_while(is_word).take(WORDS).collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}
