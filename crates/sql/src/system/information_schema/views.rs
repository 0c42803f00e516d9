//! `information_schema.views`: views.

use super::YES_OR_NO;
use crate::system::privileges::sees;
use crate::system::seen::seen_query;
use crate::system::table::{Row, SystemCatalog};
use crate::system::{Facts, updatable};
use scaledb_catalog::{CheckOption, Relation};
use scaledb_planner::bind::dml::has_trigger_instead;
use scaledb_planner::plan::trigger::Event;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "views", oid: 13005, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("view_definition", Type::VARCHAR), ("check_option", Type::VARCHAR), ("is_updatable", YES_OR_NO),
        ("is_insertable_into", YES_OR_NO), ("is_trigger_updatable", YES_OR_NO),
        ("is_trigger_deletable", YES_OR_NO), ("is_trigger_insertable_into", YES_OR_NO),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let mut rows = Vec::new();
    for relation in catalog.relations().filter(|relation| sees(facts, relation)) {
        let Relation::View(view) = relation else { continue };
        let events = updatable::relation(facts, view.oid, false)?;
        let can = |commands: i32| events & commands == commands;
        let check = view.check_option.map_or("NONE", |check| match check {
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        });
        let row = Row::empty(&TABLE)
            .text("table_catalog", database)
            .text("table_schema", &view.schema)
            .text("table_name", &view.name)
            .text("check_option", check)
            .yes("is_updatable", can(updatable::UPDATE | updatable::DELETE))
            .yes("is_insertable_into", can(updatable::INSERT))
            .yes("is_trigger_updatable", has_trigger_instead(view, Event::Update))
            .yes("is_trigger_deletable", has_trigger_instead(view, Event::Delete))
            .yes("is_trigger_insertable_into", has_trigger_instead(view, Event::Insert));
        let owns = catalog.has_rights_of(facts.identity().current(), catalog.owner_of(view.oid));
        rows.push(match owns {
            true => row.text("view_definition", &format!("{};", seen_query(facts, view)?)),
            false => row,
        });
    }
    Ok(rows)
}
