//! `pg_statio_all_tables`: tables, for tools that count their reads.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_statio_all_tables", oid: 12008, rows,
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .tables()
        .map(|table| {
            let row = Row::of(&TABLE).oid("relid", table.oid);
            row.text("schemaname", &table.schema).text("relname", &table.name)
        })
        .collect())
}
