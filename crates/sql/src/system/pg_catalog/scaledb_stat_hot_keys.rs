//! `scaledb_stat_hot_keys`: the keys that transactions collide at.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::READ_ALL_STATS;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_hot_keys", oid: 12907, rows,
    columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("indexrelname", Type::NAME),
        ("key", Type::TEXT), ("conflicts", Type::INT8), ("at_least", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let tables = facts.catalog();
    // a key is of a row
    let role = facts.identity().current();
    let sees_all = tables.has_rights_of(role, READ_ALL_STATS);
    let rows = facts.collected().hot_keys().into_iter().filter_map(|key| {
        let is_there = |index: &scaledb_catalog::IndexDesc| index.oid == key.oid;
        let table =
            tables.tables().find(|table| table.oid == key.oid || table.indexes.iter().any(is_there))?;
        let index = table.indexes.iter().find(|index| is_there(index));
        let sees_all = sees_all && !tables.are_rows_secured(table, role);
        let row = Row::of(&TABLE)
            .oid("relid", table.oid)
            .text("schemaname", &table.schema)
            .text("relname", &table.name)
            .set("key", if sees_all { Value::from(format!("({})", key.key)) } else { Value::Null })
            .int8("conflicts", key.conflicts)
            .int8("at_least", key.conflicts - key.over);
        Some(index.into_iter().fold(row, |row, index| row.text("indexrelname", &index.name)))
    });
    Ok(rows.collect())
}
