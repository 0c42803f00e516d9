//! `pg_available_extensions`: what CREATE EXTENSION takes. `plpgsql` is always there.

use super::pg_extension::extensions;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_available_extensions", oid: 12051, rows,
    columns: &[
        ("name", Type::NAME), ("default_version", Type::TEXT), ("installed_version", Type::TEXT),
        ("comment", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let installed = extensions(facts.catalog());
    let row = |name: &str, version: &str, comment: &str| {
        Row::empty(&TABLE).text("name", name).text("default_version", version).text("comment", comment)
    };
    let plpgsql = row("plpgsql", "1.0", "PL/pgSQL procedural language").text("installed_version", "1.0");
    let others = scaledb_extensions::ALL.iter().map(|extension| {
        let row = row(extension.name, extension.version, extension.comment);
        match installed.iter().find(|desc| desc.name == extension.name) {
            Some(desc) => row.text("installed_version", &desc.version),
            None => row,
        }
    });
    Ok(others.chain([plpgsql]).collect())
}
