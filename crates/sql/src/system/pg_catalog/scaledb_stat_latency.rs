//! `scaledb_stat_latency`: how long statements took, by kind.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_latency", oid: 12904, rows,
    columns: &[
        ("kind", Type::TEXT), ("up_to_ms", Type::FLOAT8), ("calls", Type::INT8), ("calls_up_to", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for latency in facts.collected().latencies() {
        let mut sum = 0;
        for bucket in latency.buckets {
            sum += bucket.count;
            rows.push(
                Row::of(&TABLE)
                    .text("kind", latency.kind)
                    .float8("up_to_ms", bucket.up_to * 1e3)
                    .int8("calls", bucket.count)
                    .int8("calls_up_to", sum),
            );
        }
    }
    Ok(rows)
}
