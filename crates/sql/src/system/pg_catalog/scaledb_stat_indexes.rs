//! `scaledb_stat_indexes`: what was done with indexes.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_indexes", oid: 12906, rows,
    columns: &[
        ("relid", Type::OID), ("indexrelid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME),
        ("indexrelname", Type::NAME), ("scans", Type::INT8), ("entries", Type::INT8), ("bytes", Type::INT8),
        ("conflicts", Type::INT8), ("merges", Type::INT8), ("merged_entries", Type::INT8),
        ("pending_entries", Type::INT8), ("inserted_at_commit", Type::INT8), ("repaired_leaves", Type::INT8),
        ("cleaned", Type::INT8), ("sampled_rows", Type::INT8), ("write_to_scan_ms_p5", Type::FLOAT8),
        ("write_to_scan_ms_p50", Type::FLOAT8), ("write_to_scan_ms_p95", Type::FLOAT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in facts.table_numbers() {
        for index in &table.indexes {
            let engine = &index.engine;
            rows.push(
                Row::of(&TABLE)
                    .oid("relid", table.oid)
                    .oid("indexrelid", index.oid)
                    .text("schemaname", &table.schema)
                    .text("relname", &table.name)
                    .text("indexrelname", &index.name)
                    .int8("scans", index.scans)
                    .int8("entries", engine.entries)
                    .int8("bytes", index.bytes)
                    .int8("conflicts", index.conflicts)
                    .int8("merges", engine.metric("merges"))
                    .int8("merged_entries", engine.metric("merged"))
                    .int8("pending_entries", engine.metric("pending"))
                    .int8("inserted_at_commit", engine.metric("synchronous"))
                    .int8("repaired_leaves", engine.metric("repairs"))
                    .int8("cleaned", engine.cleaned)
                    .write_to_scan(&engine.write_to_scan),
            );
        }
    }
    Ok(rows)
}
