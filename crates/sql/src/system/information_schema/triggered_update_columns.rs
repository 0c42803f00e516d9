//! `information_schema.triggered_update_columns`: the columns that UPDATE OF in triggers names.

use crate::system::Facts;
use crate::system::privileges::uses;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "triggered_update_columns", oid: 13022, rows,
    columns: &[
        ("trigger_catalog", Type::NAME), ("trigger_schema", Type::NAME), ("trigger_name", Type::NAME),
        ("event_object_catalog", Type::NAME), ("event_object_schema", Type::NAME),
        ("event_object_table", Type::NAME), ("event_object_column", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let database = facts.names().1;
    let mut rows = Vec::new();
    for table in facts.catalog().triggering().filter(|table| uses(facts, table.oid)) {
        for trigger in &table.triggers {
            let each = trigger.columns.iter().map(|column| {
                Row::empty(&TABLE)
                    .text("trigger_catalog", database)
                    .text("trigger_schema", &table.schema)
                    .text("trigger_name", &trigger.name)
                    .text("event_object_catalog", database)
                    .text("event_object_schema", &table.schema)
                    .text("event_object_table", &table.name)
                    .text("event_object_column", table.column_name(*column))
            });
            rows.extend(each);
        }
    }
    Ok(rows)
}
