//! `scaledb_counters`: what the database has counted.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_counters", oid: 12900, rows,
    columns: &[
        ("name", Type::TEXT), ("value", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let counters = facts.counters().into_iter();
    Ok(counters.map(|(counter, value)| Row::of(&TABLE).text("name", &counter).int8("value", value)).collect())
}
