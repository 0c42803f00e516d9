//! What views use: `view_table_usage`, `view_column_usage` and `view_routine_usage`.

use super::routines::specific_name;
use crate::system::Facts;
use crate::system::seen::used_by_view;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Catalog, Relation, ViewDesc};
use scaledb_types::{Result, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const VIEW_TABLE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "view_table_usage", oid: 13023, rows: tables,
    columns: &[
        ("view_catalog", Type::NAME), ("view_schema", Type::NAME), ("view_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const VIEW_COLUMN_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "view_column_usage", oid: 13024, rows: columns,
    columns: &[
        ("view_catalog", Type::NAME), ("view_schema", Type::NAME), ("view_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const VIEW_ROUTINE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "view_routine_usage", oid: 13025, rows: routines,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
    ],
};

fn views(catalog: &Catalog) -> impl Iterator<Item = &Arc<ViewDesc>> {
    catalog.relations().filter_map(|relation| match relation {
        Relation::View(view) => Some(view),
        _ => None,
    })
}

/// What begins the names of the columns that say which view it is: `view_routine_usage` calls it a table.
fn row(facts: &dyn Facts, of: &SystemCatalog, prefix: &str, view: &ViewDesc) -> Row {
    Row::empty(of)
        .text(&format!("{prefix}_catalog"), facts.names().1)
        .text(&format!("{prefix}_schema"), &view.schema)
        .text(&format!("{prefix}_name"), &view.name)
}

/// Whether the current role owns an object, or may do what its owner may.
fn owns(facts: &dyn Facts, oid: u32) -> bool {
    let catalog = facts.catalog();
    catalog.has_rights_of(facts.identity().current(), catalog.owner_of(oid))
}

/// The tables and views among these, as far as the current role may know of them.
fn relations<'f>(facts: &'f dyn Facts, oids: &'f BTreeSet<u32>) -> impl Iterator<Item = &'f Relation> {
    let used = oids.iter().filter_map(|oid| facts.catalog().get(*oid));
    used.filter(move |relation| {
        let listed = match relation {
            Relation::Table(table) => !table.is_materialized(),
            Relation::View(_) => true,
            Relation::Sequence(_) => false,
        };
        listed && owns(facts, relation.oid())
    })
}

fn tables(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in views(facts.catalog()) {
        let (named, _) = used_by_view(facts, view)?;
        for relation in relations(facts, &named) {
            rows.push(
                row(facts, &VIEW_TABLE_USAGE, "view", view)
                    .text("table_catalog", facts.names().1)
                    .text("table_schema", relation.schema())
                    .text("table_name", relation.name()),
            );
        }
    }
    Ok(rows)
}

fn columns(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in views(facts.catalog()) {
        let (named, columns) = used_by_view(facts, view)?;
        for relation in relations(facts, &named) {
            let Relation::Table(table) = relation else { continue };
            for (_, number) in columns.iter().filter(|(of, _)| *of == table.oid) {
                rows.push(
                    row(facts, &VIEW_COLUMN_USAGE, "view", view)
                        .text("table_catalog", facts.names().1)
                        .text("table_schema", &table.schema)
                        .text("table_name", &table.name)
                        .text("column_name", table.column_name(*number)),
                );
            }
        }
    }
    Ok(rows)
}

fn routines(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for view in views(catalog) {
        let used = view.uses.iter().filter_map(|oid| catalog.routine(*oid));
        for desc in used.filter(|desc| owns(facts, desc.oid)) {
            rows.push(
                row(facts, &VIEW_ROUTINE_USAGE, "table", view)
                    .text("specific_catalog", facts.names().1)
                    .text("specific_schema", &desc.schema)
                    .text("specific_name", &specific_name(desc)),
            );
        }
    }
    Ok(rows)
}
