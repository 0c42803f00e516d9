//! `information_schema.constraint_column_usage`: the columns that constraints use: for a foreign key, those that it
//! refers to.

use super::listed;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "constraint_column_usage", oid: 13007, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (name, kind, columns, ..) in listed(table) {
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            let (of, columns) = match key.map(|key| (catalog.table(key.table), key)) {
                Some((Some(to), key)) => (&**to, key.referred.clone()),
                _ => (&**table, columns),
            };
            for attnum in columns {
                rows.push(
                    Row::of(&TABLE)
                        .text("table_catalog", database)
                        .text("table_schema", &of.schema)
                        .text("table_name", &of.name)
                        .text("column_name", of.column_name(attnum))
                        .text("constraint_catalog", database)
                        .text("constraint_schema", &table.schema)
                        .text("constraint_name", name),
                );
            }
        }
    }
    Ok(rows)
}
