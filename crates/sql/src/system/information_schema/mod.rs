//! The views of `information_schema`.

mod check_constraints;
mod collations;
mod column_usage;
mod columns;
mod constraint_usage;
mod data_type;
mod domains;
mod element_types;
mod information_schema_catalog_name;
mod key_column_usage;
mod object_privileges;
mod parameters;
mod privileges;
mod referential_constraints;
mod routines;
mod schemata;
mod sequences;
mod table_constraints;
mod tables;
mod triggered_update_columns;
mod triggers;
mod view_usage;
mod views;
mod without_rows;

use super::oids::schema_oid;
use super::table::SystemCatalog;
use scaledb_catalog::{Catalog, ColumnDesc, Initially, TableDesc};
use scaledb_types::Type;

/// The type of what is YES or NO.
const YES_OR_NO: Type = Type::varchar(3);

/// All of them, in the order of their numbers.
pub(super) const TABLES: &[&SystemCatalog] = &[
    &tables::TABLE,
    &columns::TABLE,
    &schemata::TABLE,
    &table_constraints::TABLE,
    &key_column_usage::TABLE,
    &views::TABLE,
    &sequences::TABLE,
    &constraint_usage::CONSTRAINT_COLUMN_USAGE,
    &constraint_usage::CONSTRAINT_TABLE_USAGE,
    &referential_constraints::TABLE,
    &routines::TABLE,
    &triggers::TABLE,
    &triggered_update_columns::TABLE,
    &privileges::TABLE_PRIVILEGES,
    &privileges::ROLE_TABLE_GRANTS,
    &privileges::COLUMN_PRIVILEGES,
    &privileges::ROLE_COLUMN_GRANTS,
    &privileges::APPLICABLE_ROLES,
    &privileges::ENABLED_ROLES,
    &privileges::ADMINISTRABLE_ROLES,
    &object_privileges::ROUTINE_PRIVILEGES,
    &object_privileges::ROLE_ROUTINE_GRANTS,
    &object_privileges::USAGE_PRIVILEGES,
    &object_privileges::ROLE_USAGE_GRANTS,
    &parameters::TABLE,
    &check_constraints::TABLE,
    &collations::COLLATIONS_VIEW,
    &collations::CHARACTER_SETS,
    &collations::APPLICABILITY,
    &column_usage::COLUMN_COLUMN_USAGE,
    &column_usage::COLUMN_UDT_USAGE,
    &element_types::ELEMENT_TYPES,
    &element_types::DATA_TYPE_PRIVILEGES,
    &information_schema_catalog_name::TABLE,
    &view_usage::VIEW_TABLE_USAGE,
    &view_usage::VIEW_COLUMN_USAGE,
    &view_usage::VIEW_ROUTINE_USAGE,
    &without_rows::ATTRIBUTES,
    &without_rows::CHECK_CONSTRAINT_ROUTINE_USAGE,
    &domains::COLUMN_DOMAIN_USAGE,
    &without_rows::COLUMN_OPTIONS,
    &domains::DOMAIN_CONSTRAINTS,
    &domains::DOMAIN_UDT_USAGE,
    &domains::DOMAINS,
    &without_rows::FOREIGN_DATA_WRAPPER_OPTIONS,
    &without_rows::FOREIGN_DATA_WRAPPERS,
    &without_rows::FOREIGN_SERVER_OPTIONS,
    &without_rows::FOREIGN_SERVERS,
    &without_rows::FOREIGN_TABLE_OPTIONS,
    &without_rows::FOREIGN_TABLES,
    &without_rows::ROLE_UDT_GRANTS,
    &without_rows::ROUTINE_COLUMN_USAGE,
    &without_rows::ROUTINE_ROUTINE_USAGE,
    &without_rows::ROUTINE_SEQUENCE_USAGE,
    &without_rows::ROUTINE_TABLE_USAGE,
    &without_rows::TRANSFORMS,
    &without_rows::UDT_PRIVILEGES,
    &without_rows::USER_DEFINED_TYPES,
    &without_rows::USER_MAPPING_OPTIONS,
    &without_rows::USER_MAPPINGS,
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

/// The columns that are not NULL, with the names that the standard's views have for these constraints.
fn not_nulls<'t>(
    catalog: &'t Catalog,
    table: &'t TableDesc,
) -> impl Iterator<Item = (String, &'t ColumnDesc)> {
    let schema = schema_oid(catalog, &table.schema);
    let columns = table.visible().filter(|column| column.not_null);
    columns.map(move |column| (format!("{schema}_{}_{}_not_null", table.oid, column.attnum), column))
}
