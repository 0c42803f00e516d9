//! `information_schema.table_constraints`: the constraints of tables.

use super::listed;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "table_constraints", oid: 13003, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("constraint_type", Type::TEXT), ("is_deferrable", Type::TEXT), ("initially_deferred", Type::TEXT),
        ("enforced", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (name, kind, _, deferrable, deferred) in listed(table) {
            rows.push(
                Row::of(&TABLE)
                    .text("constraint_catalog", database)
                    .text("constraint_schema", &table.schema)
                    .text("constraint_name", name)
                    .text("table_catalog", database)
                    .text("table_schema", &table.schema)
                    .text("table_name", &table.name)
                    .text("constraint_type", kind)
                    .yes("is_deferrable", deferrable)
                    .yes("initially_deferred", deferred)
                    .yes("enforced", true),
            );
        }
    }
    Ok(rows)
}
