//! `pg_namespace`: schemas.

use crate::system::Facts;
use crate::system::oids::{DATABASE_OWNER, OWNER, schemas};
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::PUBLIC;
use scaledb_types::{Array, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_namespace", oid: 2615, rows,
    columns: &[
        ("oid", Type::OID), ("nspname", Type::NAME), ("nspowner", Type::OID), ("nspacl", TEXTS),
    ],
};

fn privileges_of_public() -> Value {
    let each = ["pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner"];
    Value::Array(Arc::new(Array::new(Type::TEXT, each.iter().map(Value::text).collect())))
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(schemas(catalog)
        .into_iter()
        .map(|(schema, oid)| {
            let row = Row::of(&TABLE).oid("oid", oid).text("nspname", &schema);
            match schema.as_str() {
                // as in a new database of PostgreSQL; tools leave this out
                PUBLIC => row.oid("nspowner", DATABASE_OWNER).set("nspacl", privileges_of_public()),
                _ => row.oid("nspowner", OWNER),
            }
        })
        .collect())
}
