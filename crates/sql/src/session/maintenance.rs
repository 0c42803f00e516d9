//! VACUUM, ANALYZE, REINDEX and CLUSTER: what they name is looked for. Nothing is done, but that ANALYZE counts for the
//! planner, and REINDEX computes again what indexes have of functions that somebody has written: these may have come to
//! answer otherwise.

use super::Session;
use crate::api::{Severity, Tag};
use scaledb_catalog::{ObjectKind, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::maintenance::{Indexed, Maintained, Name, Subject};
use scaledb_planner::bind::names::{find_relation, own_schema, shown};
use scaledb_planner::bind::{Binder, Lookup as _};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// # Errors
    /// 42P01, 42704, 42809, 3F000 and 42703 for what is not there, 42501 for what is not one's own; 25001 for what
    /// stands in a block and may not.
    pub(super) fn maintain(&mut self, about: &Maintained) -> Result<Tag> {
        if let Some(alone) = about.alone() {
            self.check_no_block(alone)?;
        }
        let (tag, what) = about.told();
        let done = match about {
            Maintained::Vacuumed { tables, analyzes: true } => {
                self.analyze(tables, "vacuum")?;
                true
            }
            Maintained::Analyzed(tables) => {
                self.analyze(tables, "analyze")?;
                true
            }
            Maintained::Vacuumed { tables, .. } => {
                for table in tables {
                    self.named_table(&table.name, "vacuum")?;
                }
                false
            }
            Maintained::Clustered(None) => false,
            Maintained::Clustered(Some((name, index))) => {
                let table = self.maintained_table(name)?;
                self.state.check_owner(table.oid)?;
                if let Some(index) = index.as_ref().filter(|index| !has_index(&table, index)) {
                    let what = format!("index \"{index}\" for table \"{}\" does not exist", table.name);
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
                }
                false
            }
            Maintained::Reindexed(indexed, _) => self.index_anew(indexed)?,
        };
        if !done {
            self.state.notice(Severity::Notice, SqlError::new(SqlState::SUCCESSFUL_COMPLETION, what));
        }
        Ok(Tag::plain(tag))
    }

    /// REINDEX: whether there was something to do.
    fn index_anew(&mut self, about: &Indexed) -> Result<bool> {
        let mut indexed = Vec::new();
        match about {
            Indexed::Table(name) => {
                let table = self.maintained_table(name)?;
                self.state.check_owner(table.oid)?;
                indexed.push(table.oid);
            }
            Indexed::Index(name) => indexed.push(self.check_index(name)?),
            Indexed::Schema(name) => {
                self.check_reindexed(name)?;
                let tables = self.state.catalog.tables().filter(|table| table.schema == *name);
                indexed.extend(tables.map(|table| table.oid));
            }
            Indexed::Database(name) | Indexed::System(name) => {
                if name.as_ref().is_some_and(|name| *name != self.state.database_name) {
                    return Err(SqlError::unsupported("can only reindex the currently open database"));
                }
                if !self.state.owns(self.state.database.oid) {
                    return Err(self.state.not_owner_of("database", &self.state.database_name));
                }
                if matches!(about, Indexed::Database(_)) {
                    indexed.extend(self.state.catalog.tables().map(|table| table.oid));
                }
            }
        }
        let mut again = false;
        for oid in indexed {
            if self.calls_in_indexes(oid)? {
                self.index_again(oid)?;
                again = true;
            }
        }
        Ok(again)
    }

    /// Looks at the rows of tables, or of all that are one's own, for the planner; `verb` says which statement does.
    fn analyze(&mut self, tables: &[Subject], verb: &str) -> Result<()> {
        let mut oids = Vec::new();
        for subject in tables {
            let Some(table) = self.named_table(&subject.name, verb)? else { continue };
            for (at, column) in subject.columns.iter().enumerate() {
                if table.column(column).is_none() {
                    let what = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, what));
                }
                if subject.columns[..at].contains(column) {
                    let what =
                        format!("column \"{column}\" of relation \"{}\" appears more than once", table.name);
                    return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
                }
            }
            oids.push(table.oid);
        }
        if tables.is_empty() {
            let all = self.state.catalog.tables().map(|table| table.oid);
            oids.extend(all.filter(|oid| self.state.owns(*oid)));
        }
        for oid in oids {
            self.context().check_cancel()?;
            let table = self.state.table(oid)?;
            self.state.shared.analyze(&table);
        }
        // plans are made by what is known now
        self.cache.clear();
        self.state.database.plans.clear();
        Ok(())
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

    /// A table that VACUUM or ANALYZE names. What they may not do they leave out.
    fn named_table(&self, name: &Name, verb: &str) -> Result<Option<Arc<TableDesc>>> {
        let relation = self.maintained(name)?;
        let what = match relation {
            Relation::Table(table) if self.state.owns(table.oid) => return Ok(Some(table)),
            Relation::Table(table) => {
                format!("skipping \"{}\" --- only table or database owner can {verb} it", table.name)
            }
            other => {
                format!("skipping \"{}\" --- cannot {verb} non-tables or special system tables", other.name())
            }
        };
        self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
        Ok(None)
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
