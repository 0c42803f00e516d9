//! `pg_cursors`: the cursors that the session has opened.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_cursors", oid: 12041, rows,
    columns: &[
        ("name", Type::TEXT), ("statement", Type::TEXT), ("is_holdable", Type::BOOL),
        ("is_binary", Type::BOOL), ("is_scrollable", Type::BOOL), ("creation_time", Type::TIMESTAMPTZ),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let rows = facts.cursors().into_iter().map(|cursor| {
        Row::of(&TABLE)
            .text("name", &cursor.name)
            .text("statement", &cursor.text)
            .flag("is_holdable", cursor.hold)
            .flag("is_scrollable", cursor.scroll)
            .set("creation_time", Value::Timestamptz(cursor.time))
    });
    Ok(rows.collect())
}
