//! `scaledb_stat_statements_info`: how statements are counted.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_statements_info", oid: 12903, rows,
    columns: &[
        ("statements", Type::INT8), ("evicted", Type::INT8), ("not_counted", Type::INT8),
        ("stats_reset", Type::TIMESTAMPTZ),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, keeping) = facts.collected().statements();
    let row = Row::of(&TABLE)
        .int8("statements", keeping.statements as u64)
        .int8("evicted", keeping.evicted)
        .int8("not_counted", keeping.refused)
        .set("stats_reset", Value::Timestamptz(keeping.since));
    Ok(vec![row])
}
