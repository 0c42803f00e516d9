//! `information_schema.schemata`: schemas.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::oids::schemas;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "schemata", oid: 13002, rows,
    columns: &[
        ("catalog_name", Type::NAME), ("schema_name", Type::NAME), ("schema_owner", Type::NAME),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    Ok(schemas(catalog)
        .into_iter()
        .map(|(schema, oid)| {
            let owner = role_name(facts, catalog.owner_of(oid)).unwrap_or_default();
            let row = Row::of(&TABLE).text("catalog_name", database);
            row.text("schema_name", &schema).text("schema_owner", &owner)
        })
        .collect())
}
