//! The system catalogs, as tables that the planner reads: computed from the catalog of the transaction.

pub(crate) mod functions;
mod information;
mod printed;
mod rows;
mod statistics;
mod tables;

use crate::session::context::Context;
use scaledb_types::{Result, Type, Value};

/// A table whose rows are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A catalog, by its number in the list.
    Catalog(usize),
    /// A sequence, as a table of one row.
    Sequence(u32),
}

impl Source {
    /// The name, for EXPLAIN.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Catalog(number) => tables::TABLES[number].name,
            Self::Sequence(_) => "sequence",
        }
    }

    /// The schema, for EXPLAIN.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Catalog(number) => tables::TABLES[number].schema,
            Self::Sequence(_) => "public",
        }
    }
}

/// The catalog of a name, and its columns.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<(Source, &'static [(&'static str, Type)])> {
    let fits = |table: &tables::Table| {
        table.name == name && schema.map_or(table.schema == "pg_catalog", |schema| schema == table.schema)
    };
    let number = tables::TABLES.iter().position(fits)?;
    Some((Source::Catalog(number), tables::TABLES[number].columns))
}

/// All catalogs: schema, name, oid, columns.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str, u32, &'static [(&'static str, Type)])>
{
    tables::TABLES.iter().map(|table| (table.schema, table.name, table.oid, table.columns))
}

/// The rows of a catalog.
///
/// # Errors
/// The engine's.
pub(crate) fn rows(context: &Context<'_>, source: &Source) -> Result<Vec<Vec<Value>>> {
    match source {
        Source::Catalog(number) => rows::rows(context, tables::TABLES[*number].name),
        Source::Sequence(oid) => {
            let (last, called) = context.host.sequence(*oid)?;
            Ok(vec![vec![Value::Int8(last), Value::Int8(0), Value::Bool(called)]])
        }
    }
}
