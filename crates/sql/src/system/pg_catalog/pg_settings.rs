//! `pg_settings`: settings of the session.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_settings", oid: 12002, rows,
    columns: &[
        ("name", Type::TEXT), ("setting", Type::TEXT), ("unit", Type::TEXT), ("category", Type::TEXT),
        ("short_desc", Type::TEXT), ("context", Type::TEXT), ("vartype", Type::TEXT), ("source", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(facts
        .settings()
        .iter()
        .map(|(setting, value)| {
            Row::of(&TABLE)
                .text("name", setting)
                .text("setting", value)
                .text("context", "user")
                .text("vartype", "string")
                .text("source", "default")
        })
        .collect())
}
