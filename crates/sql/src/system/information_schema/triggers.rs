//! `information_schema.triggers`: triggers, with a row for each event.

use crate::system::Facts;
use crate::system::printed::{printed_expression, without_parentheses};
use crate::system::privileges::uses;
use crate::system::seen::{seen_expression, seen_routine};
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{TableDesc, TriggerDesc, TriggerTiming};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "triggers", oid: 13011, rows,
    columns: &[
        ("trigger_catalog", Type::NAME), ("trigger_schema", Type::NAME), ("trigger_name", Type::NAME),
        ("event_manipulation", Type::VARCHAR), ("event_object_catalog", Type::NAME),
        ("event_object_schema", Type::NAME), ("event_object_table", Type::NAME),
        ("action_order", Type::INT4), ("action_condition", Type::VARCHAR),
        ("action_statement", Type::VARCHAR), ("action_orientation", Type::VARCHAR),
        ("action_timing", Type::VARCHAR), ("action_reference_old_table", Type::NAME),
        ("action_reference_new_table", Type::NAME), ("action_reference_old_row", Type::NAME),
        ("action_reference_new_row", Type::NAME), ("created", Type::TIMESTAMPTZ),
    ],
};

/// The events that the standard has, with whether a trigger fires on them.
fn events(trigger: &TriggerDesc) -> [(bool, &'static str); 3] {
    let events = &trigger.events;
    [(events.insert, "INSERT"), (events.delete, "DELETE"), (events.update, "UPDATE")]
}

/// The place of a trigger among those that fire on the same event at the same time.
fn order(table: &TableDesc, trigger: &TriggerDesc, event: &str) -> i32 {
    let beside = |other: &&TriggerDesc| {
        other.for_each_row == trigger.for_each_row
            && other.timing == trigger.timing
            && events(other).contains(&(true, event))
            && other.name <= trigger.name
    };
    table.triggers.iter().filter(beside).count() as i32
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let mut rows = Vec::new();
    for table in catalog.triggering().filter(|table| uses(facts, table.oid)) {
        let owns = catalog.has_rights_of(facts.identity().current(), catalog.owner_of(table.oid));
        for trigger in &table.triggers {
            let function = catalog.routine(trigger.function);
            let function = function.map_or_else(String::new, |d| seen_routine(facts, &d.schema, &d.name));
            let each = trigger.arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''")));
            let arguments: Vec<String> = each.collect();
            for (_, event) in events(trigger).into_iter().filter(|(fires, _)| *fires) {
                let row = Row::empty(&TABLE)
                    .text("trigger_catalog", database)
                    .text("trigger_schema", &table.schema)
                    .text("trigger_name", &trigger.name)
                    .text("event_manipulation", event)
                    .text("event_object_catalog", database)
                    .text("event_object_schema", &table.schema)
                    .text("event_object_table", &table.name)
                    .int4("action_order", order(&table, trigger, event))
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
                            TriggerTiming::InsteadOf => "INSTEAD OF",
                        },
                    );
                let named = [
                    ("action_reference_old_table", &trigger.old_table),
                    ("action_reference_new_table", &trigger.new_table),
                ];
                let row = named.into_iter().fold(row, |row, (column, name)| match name {
                    Some(name) => row.text(column, name),
                    None => row,
                });
                let condition = trigger.condition.as_ref().filter(|_| owns);
                rows.push(condition.iter().fold(row, |row, text| {
                    let text = without_parentheses(&seen_expression(facts, text));
                    row.text("action_condition", &printed_expression(&text))
                }));
            }
        }
    }
    Ok(rows)
}
