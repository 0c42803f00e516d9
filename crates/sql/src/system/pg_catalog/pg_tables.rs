//! `pg_tables`: tables.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_tables", oid: 12003, rows,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("tableowner", Type::NAME),
        ("tablespace", Type::NAME), ("hasindexes", Type::BOOL), ("hasrules", Type::BOOL),
        ("hastriggers", Type::BOOL), ("rowsecurity", Type::BOOL),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .tables()
        .filter(|table| !table.is_materialized())
        .map(|table| {
            Row::of(&TABLE)
                .text("schemaname", &table.schema)
                .text("tablename", &table.name)
                .text("tableowner", &role_name(facts, catalog.owner_of(table.oid)).unwrap_or_default())
                .flag("rowsecurity", table.is_secured())
                .flag("hasindexes", table.primary_key.is_some() || !table.indexes.is_empty())
        })
        .collect())
}
