//! `scaledb_stat_statements`: statements, with how often and how long they ran.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::READ_ALL_STATS;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_statements", oid: 12902, rows,
    columns: &[
        ("queryid", Type::INT8), ("query", Type::TEXT), ("kind", Type::TEXT), ("calls", Type::INT8),
        ("total_exec_time", Type::FLOAT8), ("min_exec_time", Type::FLOAT8), ("max_exec_time", Type::FLOAT8),
        ("mean_exec_time", Type::FLOAT8), ("stddev_exec_time", Type::FLOAT8), ("rows", Type::INT8),
        ("errors", Type::INT8), ("conflicts", Type::INT8), ("retries", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let sees_all = facts.catalog().has_rights_of(facts.identity().current(), READ_ALL_STATS);
    let (statements, _) = facts.collected().statements();
    let rows = statements.into_iter().map(|statement| {
        let runs = statement.runs;
        let calls = runs.calls.max(1) as f64;
        let mean = millis(runs.nanos) / calls;
        // of the whole, as pg_stat_statements has it
        let deviation = (runs.squares / calls - mean * mean).max(0.0).sqrt();
        Row::of(&TABLE)
            .set("queryid", Value::Int8(statement.id))
            .text("query", if sees_all { &statement.text } else { "<insufficient privilege>" })
            .text("kind", statement.kind.name())
            .int8("calls", runs.calls)
            .float8("total_exec_time", millis(runs.nanos))
            .float8("min_exec_time", millis(runs.shortest.unwrap_or(0)))
            .float8("max_exec_time", millis(runs.longest))
            .float8("mean_exec_time", mean)
            .float8("stddev_exec_time", deviation)
            .int8("rows", runs.rows)
            .int8("errors", runs.errors)
            .int8("conflicts", runs.conflicts)
            .int8("retries", runs.retries)
    });
    Ok(rows.collect())
}

/// Milliseconds of nanoseconds.
pub(super) fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
