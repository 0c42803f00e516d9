//! `information_schema.table_constraints`: the constraints of tables, with NOT NULL among those that check.

use super::{YES_OR_NO, listed, not_nulls};
use crate::system::Facts;
use crate::system::privileges::uses;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "table_constraints", oid: 13003, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME), ("table_catalog", Type::NAME), ("table_schema", Type::NAME),
        ("table_name", Type::NAME), ("constraint_type", Type::VARCHAR), ("is_deferrable", YES_OR_NO),
        ("initially_deferred", YES_OR_NO), ("enforced", YES_OR_NO), ("nulls_distinct", YES_OR_NO),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let mut rows = Vec::new();
    for table in catalog.tables().filter(|table| uses(facts, table.oid)) {
        let row = |name: &str, kind: &str, deferrable: bool, deferred: bool| {
            Row::empty(&TABLE)
                .text("constraint_catalog", database)
                .text("constraint_schema", &table.schema)
                .text("constraint_name", name)
                .text("table_catalog", database)
                .text("table_schema", &table.schema)
                .text("table_name", &table.name)
                .text("constraint_type", kind)
                .yes("is_deferrable", deferrable)
                .yes("initially_deferred", deferred)
                .yes("enforced", true)
        };
        for (name, kind, _, deferrable, deferred) in listed(table) {
            let row = row(name, kind, deferrable, deferred);
            let one_null = table.indexes.iter().any(|index| index.name == name && index.nulls_not_distinct);
            rows.push(if kind == "UNIQUE" { row.yes("nulls_distinct", !one_null) } else { row });
        }
        rows.extend(not_nulls(catalog, table).map(|(name, _)| row(&name, "CHECK", false, false)));
    }
    Ok(rows)
}
