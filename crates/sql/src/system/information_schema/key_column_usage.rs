//! `information_schema.key_column_usage`: the columns that keys constrain.

use super::listed;
use crate::system::Facts;
use crate::system::pg_catalog::index_of;
use crate::system::privileges::sees_column;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Catalog, ForeignKeyDesc, Relation};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "key_column_usage", oid: 13004, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("ordinal_position", Type::INT4),
        ("position_in_unique_constraint", Type::INT4),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let mut rows = Vec::new();
    for table in catalog.tables() {
        let relation = Relation::Table(table.clone());
        for (name, kind, columns, ..) in listed(table).into_iter().filter(|(_, kind, ..)| *kind != "CHECK") {
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            for (number, attnum) in columns.into_iter().enumerate() {
                if !sees_column(facts, &relation, attnum) {
                    continue;
                }
                let place = key.and_then(|key| place_in_key(catalog, key, number));
                rows.push(
                    Row::empty(&TABLE)
                        .text("constraint_catalog", database)
                        .text("constraint_schema", &table.schema)
                        .text("constraint_name", name)
                        .text("table_catalog", database)
                        .text("table_schema", &table.schema)
                        .text("table_name", &table.name)
                        .text("column_name", table.column_name(attnum))
                        .int4("ordinal_position", number as i32 + 1)
                        .set("position_in_unique_constraint", place.map_or(Value::Null, Value::Int4)),
                );
            }
        }
    }
    Ok(rows)
}

/// The place, in the key referred to, of the column that the one at a place of a foreign key refers to.
fn place_in_key(catalog: &Catalog, key: &ForeignKeyDesc, number: usize) -> Option<i32> {
    let (to, column) = (catalog.table(key.table)?, key.referred.get(number)?);
    let index = index_of(catalog, key)?;
    let primary = to.primary_key.iter().filter(|key| key.oid == index).map(|key| &key.columns);
    let mut columns =
        primary.chain(to.indexes.iter().filter(|each| each.oid == index).map(|each| &each.columns));
    let at = columns.next()?.iter().position(|each| each.attnum == *column)?;
    i32::try_from(at + 1).ok()
}
