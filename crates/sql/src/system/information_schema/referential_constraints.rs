//! `information_schema.referential_constraints`: foreign keys.

use crate::system::Facts;
use crate::system::privileges::uses;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Action, Catalog, ForeignKeyDesc};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "referential_constraints", oid: 13008, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("unique_constraint_catalog", Type::NAME), ("unique_constraint_schema", Type::NAME),
        ("unique_constraint_name", Type::NAME), ("match_option", Type::VARCHAR), ("update_rule", Type::VARCHAR),
        ("delete_rule", Type::VARCHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let rule = |action: Action| match action {
        Action::NoAction => "NO ACTION",
        Action::Restrict => "RESTRICT",
        Action::Cascade => "CASCADE",
        Action::SetNull => "SET NULL",
        Action::SetDefault => "SET DEFAULT",
    };
    let shown = catalog.tables().filter(|table| uses(facts, table.oid));
    let keys = shown.flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)));
    Ok(keys
        .map(|(table, key)| {
            let row = Row::of(&TABLE)
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
        .collect())
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
