//! The rows of `information_schema`.

use super::printed::printed_default;
use super::rows::Row;
use crate::plan::column_type;
use scaledb_catalog::{Action, Catalog, ForeignKeyDesc, Identity, Initially, TableDesc};
use scaledb_types::{Base, Result, Value};

/// The columns of tables.
pub(super) fn columns(catalog: &Catalog, database: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (number, column) in table.columns.iter().enumerate() {
            let ty = column_type(column)?;
            let numeric = match ty.base {
                _ if ty.array => None,
                Base::Int2 => Some((16, 2, Some(0))),
                Base::Int4 => Some((32, 2, Some(0))),
                Base::Int8 => Some((64, 2, Some(0))),
                Base::Float4 => Some((24, 2, None)),
                Base::Float8 => Some((53, 2, None)),
                Base::Numeric => ty.precision_scale().map(|(precision, scale)| (precision, 10, Some(scale))),
                _ => None,
            };
            let option = |value: Option<i32>| value.map_or(Value::Null, Value::Int4);
            let time = matches!(ty.base, Base::Time | Base::Timestamp | Base::Timestamptz | Base::Interval);
            let precision = match ty.base {
                Base::Date => Some(0),
                _ if time => Some(if ty.typmod >= 0 { ty.typmod & 7 } else { 6 }),
                _ => None,
            };
            let default = column.default.as_ref().filter(|_| column.identity.is_none());
            let default = default.map(|default| printed_default(catalog, column, default));
            rows.push(
                Row::new("columns")
                    .text("table_catalog", database)
                    .text("table_schema", &table.schema)
                    .text("table_name", &table.name)
                    .text("column_name", &column.name)
                    .int4("ordinal_position", number as i32 + 1)
                    .set("column_default", default.map_or(Value::Null, Value::from))
                    .yes("is_nullable", !column.not_null)
                    .text("data_type", &if ty.array { "ARRAY".to_owned() } else { ty.sql_name() })
                    .set("character_maximum_length", option(ty.char_length().map(|n| n as i32)))
                    .set("character_octet_length", option(ty.char_length().map(|n| n as i32 * 4)))
                    .set("numeric_precision", option(numeric.map(|n| n.0)))
                    .set("numeric_precision_radix", option(numeric.map(|n| n.1)))
                    .set("numeric_scale", option(numeric.and_then(|n| n.2)))
                    .set("datetime_precision", option(precision))
                    .text("udt_catalog", database)
                    .text("udt_schema", "pg_catalog")
                    .text("udt_name", &ty.name())
                    .yes("is_identity", column.identity.is_some())
                    .set(
                        "identity_generation",
                        match column.identity {
                            None => Value::Null,
                            Some(Identity::Always) => Value::text("ALWAYS"),
                            Some(Identity::ByDefault) => Value::text("BY DEFAULT"),
                        },
                    )
                    .text("is_generated", "NEVER")
                    .yes("is_updatable", true),
            );
        }
    }
    Ok(rows)
}

/// Constraints of a table: name, kind, columns, deferrable, deferred.
type Listed<'t> = (&'t str, &'static str, Vec<i16>, bool, bool);

fn listed(table: &TableDesc) -> Vec<Listed<'_>> {
    let numbers = |columns: &[scaledb_catalog::KeyColumn]| columns.iter().map(|c| c.attnum).collect();
    let mut found: Vec<Listed<'_>> = Vec::new();
    if let Some(key) = &table.primary_key {
        found.push((&key.name, "PRIMARY KEY", numbers(&key.columns), false, false));
    }
    for index in table.indexes.iter().filter(|index| index.constraint) {
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

/// The constraints of tables.
pub(super) fn table_constraints(catalog: &Catalog, database: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (name, kind, _, deferrable, deferred) in listed(table) {
            rows.push(
                Row::new("table_constraints")
                    .text("constraint_catalog", database)
                    .text("constraint_schema", &table.schema)
                    .text("constraint_name", name)
                    .text("table_catalog", database)
                    .text("table_schema", &table.schema)
                    .text("table_name", &table.name)
                    .text("constraint_type", kind)
                    .yes("is_deferrable", deferrable)
                    .yes("initially_deferred", deferred)
                    .yes("enforced", true),
            );
        }
    }
    rows
}

/// The columns that keys constrain.
pub(super) fn key_columns(catalog: &Catalog, database: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (name, kind, columns, ..) in listed(table) {
            for (number, attnum) in columns.into_iter().enumerate() {
                let at = number as i32 + 1;
                let foreign = kind == "FOREIGN KEY";
                rows.push(
                    Row::new("key_column_usage")
                        .text("constraint_catalog", database)
                        .text("constraint_schema", &table.schema)
                        .text("constraint_name", name)
                        .text("table_catalog", database)
                        .text("table_schema", &table.schema)
                        .text("table_name", &table.name)
                        .text("column_name", table.column_name(attnum))
                        .int4("ordinal_position", at)
                        .set(
                            "position_in_unique_constraint",
                            if foreign { Value::Int4(at) } else { Value::Null },
                        ),
                );
            }
        }
    }
    rows
}

/// The columns that constraints use: for a foreign key, those that it refers to.
pub(super) fn constraint_columns(catalog: &Catalog, database: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for (name, kind, columns, ..) in listed(table) {
            let key = table.foreign_keys.iter().find(|key| kind == "FOREIGN KEY" && key.name == name);
            let (of, columns) = match key.map(|key| (catalog.table(key.table), key)) {
                Some((Some(to), key)) => (&**to, key.referred.clone()),
                _ => (&**table, columns),
            };
            for attnum in columns {
                rows.push(
                    Row::new("constraint_column_usage")
                        .text("table_catalog", database)
                        .text("table_schema", &of.schema)
                        .text("table_name", &of.name)
                        .text("column_name", of.column_name(attnum))
                        .text("constraint_catalog", database)
                        .text("constraint_schema", &table.schema)
                        .text("constraint_name", name),
                );
            }
        }
    }
    rows
}

/// Foreign keys.
pub(super) fn referential(catalog: &Catalog, database: &str) -> Vec<Row> {
    let rule = |action: Action| match action {
        Action::NoAction => "NO ACTION",
        Action::Restrict => "RESTRICT",
        Action::Cascade => "CASCADE",
        Action::SetNull => "SET NULL",
        Action::SetDefault => "SET DEFAULT",
    };
    let keys = catalog.tables().flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
    keys.map(|(table, key)| {
        let row = Row::new("referential_constraints")
            .text("constraint_catalog", database)
            .text("constraint_schema", &table.schema)
            .text("constraint_name", &key.name)
            .text("match_option", if key.full { "FULL" } else { "NONE" })
            .text("update_rule", rule(key.on_update))
            .text("delete_rule", rule(key.on_delete));
        match referred_constraint(catalog, key) {
            Some((schema, name)) => row
                .text("unique_constraint_catalog", database)
                .text("unique_constraint_schema", &schema)
                .text("unique_constraint_name", &name),
            None => row,
        }
    })
    .collect()
}

/// The key that a foreign key refers to.
fn referred_constraint(catalog: &Catalog, key: &ForeignKeyDesc) -> Option<(String, String)> {
    let to = catalog.table(key.table)?;
    let same = |columns: &[scaledb_catalog::KeyColumn]| {
        columns.len() == key.referred.len() && columns.iter().all(|c| key.referred.contains(&c.attnum))
    };
    let primary = to.primary_key.as_ref().filter(|k| same(&k.columns)).map(|k| &k.name);
    let unique = || {
        to.indexes.iter().find(|i| i.is_unique_at_once() && i.constraint && same(&i.columns)).map(|i| &i.name)
    };
    Some((to.schema.clone(), primary.or_else(unique)?.clone()))
}
