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
            let row = Row::of(&TABLE)
                .text("name", setting)
                .text("context", "user")
                .text("vartype", facts.kind_of_setting(setting))
                .text("source", "default");
            match facts.number_of_setting(setting, value) {
                Some((number, unit)) => row.text("setting", &number).text("unit", unit),
                None => row.text("setting", value),
            }
        })
        .collect())
}
