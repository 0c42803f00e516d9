//! `scaledb_status`: how the database and its server are.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_status", oid: 12901, rows,
    columns: &[
        ("name", Type::TEXT), ("value", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let lines = facts.status().into_iter();
    Ok(lines.map(|(line, value)| Row::of(&TABLE).text("name", &line).text("value", &value)).collect())
}
