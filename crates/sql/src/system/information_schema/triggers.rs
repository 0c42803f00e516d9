//! `information_schema.triggers`: triggers, with a row for each event.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::TriggerTiming;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "triggers", oid: 13011, rows,
    columns: &[
        ("trigger_catalog", Type::NAME), ("trigger_schema", Type::NAME), ("trigger_name", Type::NAME),
        ("event_manipulation", Type::TEXT), ("event_object_catalog", Type::NAME),
        ("event_object_schema", Type::NAME), ("event_object_table", Type::NAME), ("action_order", Type::INT4),
        ("action_condition", Type::TEXT), ("action_statement", Type::TEXT), ("action_orientation", Type::TEXT),
        ("action_timing", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, database) = facts.names();
    let mut rows = Vec::new();
    for table in facts.catalog().tables() {
        for trigger in &table.triggers {
            let events = [
                (trigger.events.insert, "INSERT"),
                (trigger.events.delete, "DELETE"),
                (trigger.events.update, "UPDATE"),
            ];
            let function = facts.catalog().routine(trigger.function).map_or("?", |desc| desc.name.as_str());
            let arguments: Vec<String> = trigger.arguments.iter().map(|text| format!("'{text}'")).collect();
            for (_, event) in events.into_iter().filter(|(fires, _)| *fires) {
                let row = Row::of(&TABLE)
                    .text("trigger_catalog", database)
                    .text("trigger_schema", &table.schema)
                    .text("trigger_name", &trigger.name)
                    .text("event_manipulation", event)
                    .text("event_object_catalog", database)
                    .text("event_object_schema", &table.schema)
                    .text("event_object_table", &table.name)
                    .text(
                        "action_statement",
                        &format!("EXECUTE FUNCTION {function}({})", arguments.join(", ")),
                    )
                    .text("action_orientation", if trigger.for_each_row { "ROW" } else { "STATEMENT" })
                    .text(
                        "action_timing",
                        match trigger.timing {
                            TriggerTiming::Before => "BEFORE",
                            TriggerTiming::After => "AFTER",
                        },
                    );
                rows.push(match &trigger.condition {
                    Some(text) => row.text("action_condition", text),
                    None => row,
                });
            }
        }
    }
    Ok(rows)
}
