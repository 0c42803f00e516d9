//! The views of `information_schema`.

mod columns;
mod constraint_column_usage;
mod key_column_usage;
mod privileges;
mod referential_constraints;
mod routines;
mod schemata;
mod sequences;
mod table_constraints;
mod tables;
mod triggers;
mod views;

use super::table::SystemCatalog;
use scaledb_catalog::{Initially, TableDesc};

/// All of them, in the order of their numbers.
pub(super) const TABLES: &[&SystemCatalog] = &[
    &tables::TABLE,
    &columns::TABLE,
    &schemata::TABLE,
    &table_constraints::TABLE,
    &key_column_usage::TABLE,
    &views::TABLE,
    &sequences::TABLE,
    &constraint_column_usage::TABLE,
    &referential_constraints::TABLE,
    &routines::TABLE,
    &triggers::TABLE,
    &privileges::TABLE_PRIVILEGES,
    &privileges::ROLE_TABLE_GRANTS,
    &privileges::COLUMN_PRIVILEGES,
    &privileges::ROLE_COLUMN_GRANTS,
    &privileges::APPLICABLE_ROLES,
    &privileges::ENABLED_ROLES,
    &privileges::ADMINISTRABLE_ROLES,
];

/// Constraints of a table: name, kind, columns, deferrable, deferred.
type Listed<'t> = (&'t str, &'static str, Vec<i16>, bool, bool);

fn listed(table: &TableDesc) -> Vec<Listed<'_>> {
    let numbers = |columns: &[scaledb_catalog::KeyColumn]| columns.iter().map(|c| c.attnum).collect();
    let mut found: Vec<Listed<'_>> = Vec::new();
    if let Some(key) = &table.primary_key {
        found.push((&key.name, "PRIMARY KEY", numbers(&key.columns), false, false));
    }
    // EXCLUDE is none of the standard's
    for index in table.indexes.iter().filter(|index| index.constraint && index.exclusion.is_none()) {
        let kind = if index.primary { "PRIMARY KEY" } else { "UNIQUE" };
        let deferred = index.deferrable == Some(Initially::Deferred);
        found.push((&index.name, kind, numbers(&index.columns), index.deferrable.is_some(), deferred));
    }
    for key in &table.foreign_keys {
        found.push((&key.name, "FOREIGN KEY", key.columns.clone(), key.deferrable, key.deferred));
    }
    for check in &table.checks {
        found.push((&check.name, "CHECK", Vec::new(), false, false));
    }
    found
}
