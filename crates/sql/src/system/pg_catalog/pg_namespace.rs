//! `pg_namespace`: schemas.

use crate::system::Facts;
use crate::system::oids::schemas;
use crate::system::privileges::changed;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_namespace", oid: 2615, rows,
    columns: &[
        ("oid", Type::OID), ("nspname", Type::NAME), ("nspowner", Type::OID), ("nspacl", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(schemas(catalog)
        .into_iter()
        .map(|(schema, oid)| {
            Row::of(&TABLE)
                .oid("oid", oid)
                .text("nspname", &schema)
                .oid("nspowner", catalog.owner_of(oid))
                .set("nspacl", changed(facts, oid))
        })
        .collect())
}
