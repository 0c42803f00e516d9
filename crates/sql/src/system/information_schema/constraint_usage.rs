//! What constraints use: `constraint_column_usage` and `constraint_table_usage`. A foreign key uses what it refers to.

use super::listed;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::TableDesc;
use scaledb_planner::bind::mentioned::mentioned;
use scaledb_types::{Result, Type};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const CONSTRAINT_COLUMN_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "constraint_column_usage", oid: 13007, rows: columns,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const CONSTRAINT_TABLE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "constraint_table_usage", oid: 13026, rows: tables,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME),
    ],
};

/// A constraint: its table, its name, its kind, and the table and the columns that it uses.
type Used<'f> = (&'f TableDesc, &'f str, &'static str, &'f TableDesc, Vec<i16>);

/// The constraints that use tables which the current role owns.
fn used(facts: &dyn Facts) -> Vec<Used<'_>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let mut all = Vec::new();
    for table in catalog.tables().map(Arc::as_ref) {
        for (name, kind, columns, ..) in listed(table) {
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            let check = table.checks.iter().find(|check| kind == "CHECK" && check.name == name);
            let (of, columns) = match (key.map(|key| (catalog.table(key.table), key)), check) {
                (Some((Some(to), key)), _) => (&**to, key.referred.clone()),
                (_, Some(check)) => (table, mentioned(table, &check.expression)),
                _ => (table, columns),
            };
            if catalog.has_rights_of(current, catalog.owner_of(of.oid)) {
                all.push((table, name, kind, of, columns));
            }
        }
    }
    all
}

fn row(facts: &dyn Facts, view: &SystemCatalog, table: &TableDesc, name: &str, of: &TableDesc) -> Row {
    let database = facts.names().1;
    Row::empty(view)
        .text("table_catalog", database)
        .text("table_schema", &of.schema)
        .text("table_name", &of.name)
        .text("constraint_catalog", database)
        .text("constraint_schema", &table.schema)
        .text("constraint_name", name)
}

fn columns(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (table, name, _, of, columns) in used(facts) {
        let row = || row(facts, &CONSTRAINT_COLUMN_USAGE, table, name, of);
        rows.extend(columns.iter().map(|column| row().text("column_name", of.column_name(*column))));
    }
    Ok(rows)
}

fn tables(facts: &dyn Facts) -> Result<Vec<Row>> {
    let keys = used(facts).into_iter().filter(|(_, _, kind, ..)| *kind != "CHECK");
    let rows = keys.map(|(table, name, _, of, _)| row(facts, &CONSTRAINT_TABLE_USAGE, table, name, of));
    Ok(rows.collect())
}
