//! `pg_trigger`: triggers of tables.

use crate::system::Facts;
use crate::system::routines::trigger_bits;
use crate::system::table::{Row, SystemCatalog, vector};
use scaledb_catalog::Initially;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_trigger", oid: 2620, rows,
    columns: &[
        ("oid", Type::OID), ("tgrelid", Type::OID), ("tgparentid", Type::OID), ("tgname", Type::NAME),
        ("tgfoid", Type::OID), ("tgtype", Type::INT2), ("tgenabled", Type::CHAR), ("tgisinternal", Type::BOOL),
        ("tgconstrrelid", Type::OID), ("tgconstrindid", Type::OID), ("tgconstraint", Type::OID),
        ("tgdeferrable", Type::BOOL), ("tginitdeferred", Type::BOOL), ("tgnargs", Type::INT2),
        ("tgattr", Type::INT2VECTOR), ("tgargs", Type::BYTEA), ("tgqual", Type::TEXT), ("tgoldtable", Type::NAME),
        ("tgnewtable", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in facts.catalog().triggering() {
        for trigger in &table.triggers {
            let columns = trigger.columns.iter().map(|&column| Value::Int2(column)).collect();
            let each = trigger.arguments.iter().flat_map(|text| text.bytes().chain([0]));
            let arguments: Vec<u8> = each.collect();
            let row = Row::of(&TABLE)
                .oid("oid", trigger.oid)
                .oid("tgrelid", table.oid)
                .text("tgname", &trigger.name)
                .oid("tgfoid", trigger.function)
                .set("tgtype", Value::Int2(trigger_bits(trigger)))
                .letter(
                    "tgenabled",
                    match (trigger.enabled, trigger.always) {
                        (false, _) => b'D',
                        (true, false) => b'O',
                        (true, true) => b'A',
                    },
                )
                .int2("tgnargs", trigger.arguments.len())
                .set("tgattr", vector(Type::INT2, columns))
                .set("tgargs", Value::Bytea(arguments.into()));
            let row = match &trigger.constraint {
                Some(constraint) => row
                    .oid("tgconstraint", constraint.oid)
                    .flag("tgdeferrable", constraint.deferrable.is_some())
                    .flag("tginitdeferred", constraint.deferrable == Some(Initially::Deferred)),
                None => row,
            };
            let texts = [
                ("tgqual", &trigger.condition),
                ("tgoldtable", &trigger.old_table),
                ("tgnewtable", &trigger.new_table),
            ];
            rows.push(texts.into_iter().fold(row, |row, (column, text)| match text {
                Some(text) => row.text(column, text),
                None => row,
            }));
        }
    }
    Ok(rows)
}
