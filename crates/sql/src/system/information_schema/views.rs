//! `information_schema.views`: views.

use super::YES_OR_NO;
use crate::system::Facts;
use crate::system::privileges::sees;
use crate::system::seen::seen_query;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
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
        // no view is written to, neither by itself nor by triggers
        let row = Row::empty(&TABLE)
            .text("table_catalog", database)
            .text("table_schema", &view.schema)
            .text("table_name", &view.name)
            .text("check_option", "NONE")
            .yes("is_updatable", false)
            .yes("is_insertable_into", false)
            .yes("is_trigger_updatable", false)
            .yes("is_trigger_deletable", false)
            .yes("is_trigger_insertable_into", false);
        let owns = catalog.has_rights_of(facts.identity().current(), catalog.owner_of(view.oid));
        rows.push(match owns {
            true => row.text("view_definition", &format!("{};", seen_query(facts, view)?)),
            false => row,
        });
    }
    Ok(rows)
}
