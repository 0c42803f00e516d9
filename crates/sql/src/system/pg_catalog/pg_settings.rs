//! `pg_settings`: settings of the session.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Array, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_settings", oid: 12002, rows,
    columns: &[
        ("name", Type::TEXT), ("setting", Type::TEXT), ("unit", Type::TEXT), ("category", Type::TEXT),
        ("short_desc", Type::TEXT), ("extra_desc", Type::TEXT), ("context", Type::TEXT),
        ("vartype", Type::TEXT), ("source", Type::TEXT), ("min_val", Type::TEXT), ("max_val", Type::TEXT),
        ("enumvals", TEXTS), ("boot_val", Type::TEXT), ("reset_val", Type::TEXT),
        ("sourcefile", Type::TEXT), ("sourceline", Type::INT4), ("pending_restart", Type::BOOL),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(facts
        .settings()
        .iter()
        .map(|(setting, value)| {
            let row = Row::empty(&TABLE)
                .text("name", setting)
                .text("source", "default")
                .flag("pending_restart", false);
            let row = match facts.number_of_setting(setting, value) {
                Some((number, unit)) => row.text("setting", &number).text("unit", unit),
                None => row.text("setting", value),
            };
            let Some(known) = facts.described_setting(setting) else {
                return row.text("context", "user").text("vartype", "string");
            };
            let row = row
                .text("context", if known.is_fixed { "internal" } else { "user" })
                .text("vartype", known.kind)
                .text("boot_val", known.default)
                .text("reset_val", &known.reset);
            let row = match known.bounds {
                Some((min, max)) => row.text("min_val", &min).text("max_val", &max),
                None => row,
            };
            if known.choices.is_empty() {
                return row;
            }
            let choices = known.choices.iter().map(|choice| Value::text(*choice)).collect();
            row.set("enumvals", Value::Array(Arc::new(Array::new(Type::TEXT, choices))))
        })
        .collect())
}
