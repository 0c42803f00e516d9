//! The system catalogs, as tables that the planner reads: computed from the catalog of the transaction.

mod builtins;
mod databases;
mod definitions;
pub(crate) mod functions;
mod information_schema;
mod objects;
mod oids;
mod pg_catalog;
pub(crate) mod printed;
mod privileges;
mod routines;
mod seen;
mod table;
mod type_functions;
mod updatable;

use crate::activity::Known;
use crate::counts::{Collected, RelationSize, TableNumbers};
use crate::identity::Identity;
use crate::reclamation::Reclamation;
use crate::told::{DescribedSetting, OpenCursor, PreparedStatement};
use crate::trace::Number;
use scaledb_catalog::Catalog;
use scaledb_locks::Locks;
use scaledb_planner::bind::Lookup;
use scaledb_planner::plan::Computed;
use scaledb_types::{Result, SqlError, Type, Value};
use std::sync::Arc;
use table::SystemCatalog;

pub(crate) use seen::end_of_name;

/// What the system catalogs are computed from: the session, and the database around it.
pub(crate) trait Facts {
    /// The catalog of the transaction.
    fn catalog(&self) -> &Catalog;
    /// Where statements find tables.
    fn lookup(&self) -> &dyn Lookup;
    /// The schemas to look names up in.
    fn path(&self) -> &[String];
    /// All settings.
    fn settings(&self) -> Vec<(String, String)>;
    /// The number and the unit of a setting that has one.
    fn number_of_setting(&self, name: &str, value: &str) -> Option<(String, &'static str)>;
    /// What there is to tell of a setting besides its value; nothing of one of a client's own.
    fn described_setting(&self, name: &str) -> Option<DescribedSetting>;
    /// The statement that runs, as it is shown to others.
    fn running(&self) -> Option<Arc<str>>;
    /// The statements that the session has prepared.
    fn prepared(&self) -> Vec<PreparedStatement>;
    /// The cursors that the session has opened.
    fn cursors(&self) -> Vec<OpenCursor>;
    /// All sessions of the database.
    fn sessions(&self) -> Vec<(u32, Known)>;
    /// The text of a statement, if it is remembered.
    fn statement(&self, number: Number) -> Option<Arc<str>>;
    /// User and database.
    fn names(&self) -> (&str, &str);
    /// What the first database is called.
    fn first_database(&self) -> &str;
    /// Who the session is.
    fn identity(&self) -> &Identity;
    /// What the database has counted: names and values.
    fn counters(&self) -> Vec<(String, u64)>;
    /// What the sessions of the database have counted.
    fn collected(&self) -> &Collected;
    /// The memory of a relation, if there is one.
    fn size(&self, oid: u32) -> Option<RelationSize>;
    /// The memory of all.
    fn memory(&self) -> u64;
    /// The memory of the tables and indexes of another database than the first.
    fn size_of_database(&self, oid: u32) -> u64;
    /// Tables, with what was done with them.
    fn table_numbers(&self) -> Vec<TableNumbers>;
    /// What keeps memory from being used again, with all sessions.
    fn reclamation(&self) -> (Reclamation, Vec<(u32, Known)>);
    /// How the database and its server are: names and values.
    fn status(&self) -> Vec<(String, String)>;
    /// The last value of a sequence, and whether it was given.
    fn sequence(&self, oid: u32) -> Result<(i64, bool)>;
    /// Who holds which locks, and who waits.
    fn locks(&self) -> &Locks;
}

/// All catalogs, in the order of their numbers.
fn tables() -> impl Iterator<Item = &'static SystemCatalog> {
    pg_catalog::TABLES.iter().chain(information_schema::TABLES).copied()
}

/// The catalog of a name, and its columns.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<(Computed, &'static [(&'static str, Type)])> {
    let fits = |table: &&SystemCatalog| {
        table.name == name && schema.map_or(table.schema == "pg_catalog", |schema| schema == table.schema)
    };
    let (number, table) = tables().enumerate().find(|(_, table)| fits(table))?;
    Some((Computed::Catalog { number, schema: table.schema, name: table.name }, table.columns))
}

/// All catalogs: schema, name, oid, columns.
fn all() -> impl Iterator<Item = (&'static str, &'static str, u32, &'static [(&'static str, Type)])> {
    tables().map(|table| (table.schema, table.name, table.oid, table.columns))
}

/// The rows of a catalog, each with the oid of the catalog behind its columns.
///
/// # Errors
/// The engine's.
pub(crate) fn rows(facts: &dyn Facts, table: Computed) -> Result<Vec<Vec<Value>>> {
    match table {
        Computed::Catalog { number, .. } => {
            let table =
                tables().nth(number).ok_or_else(|| SqlError::internal("a catalog that is not there"))?;
            let with_oid = |mut row: table::Row| {
                row.values.push(Value::Oid(table.oid));
                row.values
            };
            Ok((table.rows)(facts)?.into_iter().map(with_oid).collect())
        }
        Computed::Sequence(oid) => {
            let (last, called) = facts.sequence(oid)?;
            Ok(vec![vec![Value::Int8(last), Value::Int8(0), Value::Bool(called)]])
        }
        Computed::Written { .. } => Err(SqlError::internal("rows of a statement, and not of the catalog")),
    }
}
