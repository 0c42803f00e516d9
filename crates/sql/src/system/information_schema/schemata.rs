//! `information_schema.schemata`: schemas.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::oids::{SCHEMAS, schemas};
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{ObjectKind, PUBLIC, Privileges};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "schemata", oid: 13002, rows,
    columns: &[
        ("catalog_name", Type::NAME), ("schema_name", Type::NAME), ("schema_owner", Type::NAME),
        ("default_character_set_catalog", Type::NAME), ("default_character_set_schema", Type::NAME),
        ("default_character_set_name", Type::NAME), ("sql_path", Type::VARCHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let (_, database) = facts.names();
    let either = Privileges::CREATE.and(Privileges::USAGE);
    let seen = |(name, oid): &(String, u32)| {
        SCHEMAS.iter().any(|(known, _)| known == name && name != PUBLIC)
            || catalog.has_rights_of(current, catalog.owner_of(*oid))
            || !catalog.privileges(current, ObjectKind::Schema, *oid, either).is_empty()
    };
    Ok(schemas(catalog)
        .into_iter()
        .filter(seen)
        .map(|(schema, oid)| {
            let owner = role_name(facts, catalog.owner_of(oid)).unwrap_or_default();
            let row = Row::empty(&TABLE).text("catalog_name", database);
            row.text("schema_name", &schema).text("schema_owner", &owner)
        })
        .collect())
}
