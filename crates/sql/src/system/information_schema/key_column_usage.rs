//! `information_schema.key_column_usage`: the columns that keys constrain.

use super::listed;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
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
        for (name, kind, columns, ..) in listed(table) {
            for (number, attnum) in columns.into_iter().enumerate() {
                let at = number as i32 + 1;
                let foreign = kind == "FOREIGN KEY";
                rows.push(
                    Row::of(&TABLE)
                        .text("constraint_catalog", database)
                        .text("constraint_schema", &table.schema)
                        .text("constraint_name", name)
                        .text("table_catalog", database)
                        .text("table_schema", &table.schema)
                        .text("table_name", &table.name)
                        .text("column_name", table.column_name(attnum))
                        .int4("ordinal_position", at)
                        .set(
                            "position_in_unique_constraint",
                            if foreign { Value::Int4(at) } else { Value::Null },
                        ),
                );
            }
        }
    }
    Ok(rows)
}
