//! `pg_stat_all_indexes` and its parts: what was done with indexes, of what `scaledb_stat_indexes` tells.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::Type;

#[rustfmt::skip]
pub(super) const PG_STAT_ALL_INDEXES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_all_indexes", oid: 12045, rows: |facts| Ok(rows(facts, &PG_STAT_ALL_INDEXES)),
    columns: &[
        ("relid", Type::OID), ("indexrelid", Type::OID), ("schemaname", Type::NAME),
        ("relname", Type::NAME), ("indexrelname", Type::NAME), ("idx_scan", Type::INT8),
        ("idx_tup_read", Type::INT8), ("idx_tup_fetch", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_USER_INDEXES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_user_indexes", oid: 12046, rows: |facts| Ok(rows(facts, &PG_STAT_USER_INDEXES)),
    columns: &[
        ("relid", Type::OID), ("indexrelid", Type::OID), ("schemaname", Type::NAME),
        ("relname", Type::NAME), ("indexrelname", Type::NAME), ("idx_scan", Type::INT8),
        ("idx_tup_read", Type::INT8), ("idx_tup_fetch", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_SYS_INDEXES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_sys_indexes", oid: 12047, rows: |_| Ok(Vec::new()),
    columns: &[
        ("relid", Type::OID), ("indexrelid", Type::OID), ("schemaname", Type::NAME),
        ("relname", Type::NAME), ("indexrelname", Type::NAME), ("idx_scan", Type::INT8),
        ("idx_tup_read", Type::INT8), ("idx_tup_fetch", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts, view: &'static SystemCatalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in facts.table_numbers() {
        let each = table.indexes.iter().map(|index| {
            Row::empty(view)
                .oid("relid", table.oid)
                .oid("indexrelid", index.oid)
                .text("schemaname", &table.schema)
                .text("relname", &table.name)
                .text("indexrelname", &index.name)
                .int8("idx_scan", index.scans)
        });
        rows.extend(each);
    }
    rows
}
