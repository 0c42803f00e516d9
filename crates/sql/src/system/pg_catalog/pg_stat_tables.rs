//! `pg_stat_all_tables` and its parts: what was done with tables, of what `scaledb_stat_tables` tells.
//!
//! What is not counted is NULL; nothing has to be vacuumed or analyzed.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Type, Value};

#[rustfmt::skip]
pub(super) const PG_STAT_ALL_TABLES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_all_tables", oid: 12042, rows: |facts| Ok(rows(facts, &PG_STAT_ALL_TABLES)),
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("seq_scan", Type::INT8),
        ("seq_tup_read", Type::INT8), ("idx_scan", Type::INT8), ("idx_tup_fetch", Type::INT8),
        ("n_tup_ins", Type::INT8), ("n_tup_upd", Type::INT8), ("n_tup_del", Type::INT8),
        ("n_tup_hot_upd", Type::INT8), ("n_live_tup", Type::INT8), ("n_dead_tup", Type::INT8),
        ("n_mod_since_analyze", Type::INT8), ("n_ins_since_vacuum", Type::INT8),
        ("last_vacuum", Type::TIMESTAMPTZ), ("last_autovacuum", Type::TIMESTAMPTZ),
        ("last_analyze", Type::TIMESTAMPTZ), ("last_autoanalyze", Type::TIMESTAMPTZ),
        ("vacuum_count", Type::INT8), ("autovacuum_count", Type::INT8), ("analyze_count", Type::INT8),
        ("autoanalyze_count", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_USER_TABLES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_user_tables", oid: 12043, rows: |facts| Ok(rows(facts, &PG_STAT_USER_TABLES)),
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("seq_scan", Type::INT8),
        ("seq_tup_read", Type::INT8), ("idx_scan", Type::INT8), ("idx_tup_fetch", Type::INT8),
        ("n_tup_ins", Type::INT8), ("n_tup_upd", Type::INT8), ("n_tup_del", Type::INT8),
        ("n_tup_hot_upd", Type::INT8), ("n_live_tup", Type::INT8), ("n_dead_tup", Type::INT8),
        ("n_mod_since_analyze", Type::INT8), ("n_ins_since_vacuum", Type::INT8),
        ("last_vacuum", Type::TIMESTAMPTZ), ("last_autovacuum", Type::TIMESTAMPTZ),
        ("last_analyze", Type::TIMESTAMPTZ), ("last_autoanalyze", Type::TIMESTAMPTZ),
        ("vacuum_count", Type::INT8), ("autovacuum_count", Type::INT8), ("analyze_count", Type::INT8),
        ("autoanalyze_count", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_SYS_TABLES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_sys_tables", oid: 12044, rows: |_| Ok(Vec::new()),
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("seq_scan", Type::INT8),
        ("seq_tup_read", Type::INT8), ("idx_scan", Type::INT8), ("idx_tup_fetch", Type::INT8),
        ("n_tup_ins", Type::INT8), ("n_tup_upd", Type::INT8), ("n_tup_del", Type::INT8),
        ("n_tup_hot_upd", Type::INT8), ("n_live_tup", Type::INT8), ("n_dead_tup", Type::INT8),
        ("n_mod_since_analyze", Type::INT8), ("n_ins_since_vacuum", Type::INT8),
        ("last_vacuum", Type::TIMESTAMPTZ), ("last_autovacuum", Type::TIMESTAMPTZ),
        ("last_analyze", Type::TIMESTAMPTZ), ("last_autoanalyze", Type::TIMESTAMPTZ),
        ("vacuum_count", Type::INT8), ("autovacuum_count", Type::INT8), ("analyze_count", Type::INT8),
        ("autoanalyze_count", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts, view: &'static SystemCatalog) -> Vec<Row> {
    let tables = facts.table_numbers().into_iter().map(|table| {
        let scans = table.indexes.iter().map(|index| index.scans).sum();
        let row = Row::empty(view)
            .oid("relid", table.oid)
            .text("schemaname", &table.schema)
            .text("relname", &table.name)
            .int8("seq_scan", table.whole_scans)
            .int8("n_tup_ins", table.inserted)
            .int8("n_tup_upd", table.updated)
            .int8("n_tup_del", table.deleted)
            .int8("n_live_tup", table.rows);
        let row = if table.indexes.is_empty() { row } else { row.int8("idx_scan", scans) };
        let never = ["n_dead_tup", "vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count"];
        never.into_iter().fold(row, |row, name| row.set(name, Value::Int8(0)))
    });
    tables.collect()
}
