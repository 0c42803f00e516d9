//! VACUUM, REINDEX and CLUSTER: what they name is looked for. Nothing is done, but that REINDEX computes again what
//! indexes have of functions that somebody has written: these may have come to answer otherwise.

use super::Session;
use crate::api::{Severity, Tag};
use scaledb_catalog::{ObjectKind, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::maintenance::{Maintained, Name};
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::names::{find_relation, own_schema, shown};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// # Errors
    /// 42P01, 42704, 42809, 3F000 for what is not there, 42501 for what is not one's own.
    pub(super) fn maintain(&mut self, about: &Maintained) -> Result<Tag> {
        let mut indexed = Vec::new();
        match about {
            Maintained::Vacuumed(names) => names.iter().try_for_each(|name| self.check_vacuumed(name))?,
            Maintained::Clustered(None) => {}
            Maintained::Clustered(Some((name, index))) => {
                let table = self.maintained_table(name)?;
                self.state.check_owner(table.oid)?;
                if let Some(index) = index.as_ref().filter(|index| !has_index(&table, index)) {
                    let what = format!("index \"{index}\" for table \"{}\" does not exist", table.name);
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
                }
            }
            Maintained::Table(name) => {
                let table = self.maintained_table(name)?;
                self.state.check_owner(table.oid)?;
                indexed.push(table.oid);
            }
            Maintained::Index(name) => indexed.push(self.check_index(name)?),
            Maintained::Schema(name) => {
                self.check_reindexed(name)?;
                let tables = self.state.catalog.tables().filter(|table| table.schema == *name);
                indexed.extend(tables.map(|table| table.oid));
            }
            Maintained::Database(name) => {
                if name.as_ref().is_some_and(|name| *name != self.state.database_name) {
                    return Err(SqlError::unsupported("can only reindex the currently open database"));
                }
                if !self.state.owns(self.state.database.oid) {
                    return Err(self.state.not_owner_of("database", &self.state.database_name));
                }
                indexed.extend(self.state.catalog.tables().map(|table| table.oid));
            }
        }
        let mut again = false;
        for oid in indexed {
            if self.calls_in_indexes(oid)? {
                self.index_again(oid)?;
                again = true;
            }
        }
        if again {
            return Ok(Tag::plain(about.told().0));
        }
        let (tag, what) = about.told();
        self.state.notice(Severity::Notice, SqlError::new(SqlState::SUCCESSFUL_COMPLETION, what));
        Ok(Tag::plain(tag))
    }

    fn maintained(&self, (schema, name): &Name) -> Result<Relation> {
        let binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        binder.relation(schema.as_deref(), name)
    }

    fn maintained_table(&self, name: &Name) -> Result<Arc<TableDesc>> {
        match self.maintained(name)? {
            Relation::Table(table) => Ok(table),
            other => {
                let what = format!("\"{}\" is not a table or materialized view", other.name());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
        }
    }

    /// What VACUUM may not do it leaves out.
    fn check_vacuumed(&self, name: &Name) -> Result<()> {
        let relation = self.maintained(name)?;
        let what = match &relation {
            Relation::Table(table) if self.state.owns(table.oid) => return Ok(()),
            Relation::Table(table) => {
                format!("skipping \"{}\" --- only table or database owner can vacuum it", table.name)
            }
            other => {
                format!("skipping \"{}\" --- cannot vacuum non-tables or special system tables", other.name())
            }
        };
        self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
        Ok(())
    }

    /// The table of an index.
    fn check_index(&self, (schema, name): &Name) -> Result<u32> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let found = match schema {
            Some(schema) => own_schema(path, schema).and_then(|schema| catalog.index(schema, name)),
            None => path.iter().find_map(|schema| catalog.index(schema, name)),
        };
        let Some((table, _)) = found else {
            let shown = shown(schema.as_deref(), name);
            return Err(match find_relation(catalog, path, schema.as_deref(), name) {
                Some(_) => SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not an index")),
                None => {
                    let what = format!("relation \"{shown}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_TABLE, what)
                }
            });
        };
        if self.state.owns(table.oid) { Ok(table.oid) } else { Err(self.state.not_owner_of("index", name)) }
    }

    fn check_reindexed(&self, schema: &str) -> Result<()> {
        let Some(oid) = self.state.catalog.schema_oid(schema) else {
            if matches!(schema, "pg_catalog" | "information_schema") {
                return self.state.check_privilege(
                    ObjectKind::Schema,
                    0,
                    scaledb_catalog::Privileges::CREATE,
                );
            }
            let what = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, what));
        };
        if self.state.owns(oid) { Ok(()) } else { Err(self.state.not_owner_of("schema", schema)) }
    }
}

/// Whether an index of a table has this name.
fn has_index(table: &TableDesc, name: &str) -> bool {
    table.primary_key.as_ref().is_some_and(|key| key.name == name)
        || table.indexes.iter().any(|index| index.name == name)
}
