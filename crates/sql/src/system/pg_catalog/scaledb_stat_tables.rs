//! `scaledb_stat_tables`: what was done with tables.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_tables", oid: 12905, rows,
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("rows", Type::INT8),
        ("bytes", Type::INT8), ("rows_inserted", Type::INT8), ("rows_updated", Type::INT8), ("rows_deleted", Type::INT8),
        ("seq_scans", Type::INT8), ("index_scans", Type::INT8), ("conflicts", Type::INT8),
        ("sampled_rows", Type::INT8), ("write_to_scan_ms_p5", Type::FLOAT8), ("write_to_scan_ms_p50", Type::FLOAT8),
        ("write_to_scan_ms_p95", Type::FLOAT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let tables = facts.table_numbers().into_iter().map(|table| {
        Row::of(&TABLE)
            .oid("relid", table.oid)
            .text("schemaname", &table.schema)
            .text("relname", &table.name)
            .int8("rows", table.rows)
            .int8("bytes", table.bytes)
            .int8("rows_inserted", table.inserted)
            .int8("rows_updated", table.updated)
            .int8("rows_deleted", table.deleted)
            .int8("seq_scans", table.whole_scans)
            .int8("index_scans", table.indexes.iter().map(|index| index.scans).sum())
            .int8("conflicts", table.conflicts)
            .write_to_scan(&table.write_to_scan())
    });
    Ok(tables.collect())
}
