//! `pg_statio_all_tables`: tables, for tools that count their reads.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_statio_all_tables", oid: 12008, rows,
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME),
        ("heap_blks_read", Type::INT8), ("heap_blks_hit", Type::INT8), ("idx_blks_read", Type::INT8),
        ("idx_blks_hit", Type::INT8), ("toast_blks_read", Type::INT8), ("toast_blks_hit", Type::INT8),
        ("tidx_blks_read", Type::INT8), ("tidx_blks_hit", Type::INT8),
    ],
};

// nothing is read from blocks: all is in memory
fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .tables()
        .map(|table| {
            let row = Row::empty(&TABLE).oid("relid", table.oid);
            row.text("schemaname", &table.schema).text("relname", &table.name)
        })
        .collect())
}
