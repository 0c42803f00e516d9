//! `pg_extension`: the extensions that the database has, and what PostgreSQL would need one for, so that pg_dump writes
//! it down.

use crate::system::Facts;
use crate::system::oids::{OWNER, schema_oid};
use crate::system::table::{OIDS, Row, SystemCatalog, TEXTS};
use scaledb_catalog::{Catalog, ExtensionDesc, PUBLIC, TableDesc};
use scaledb_types::{Result, Type};
use std::sync::Arc;

/// The oid of a `btree_gist` that nobody has added, which is beyond all that the catalog gives: pg_dump leaves out
/// those below 16,384.
const BTREE_GIST: u32 = 7 << 29;
/// The oid of `plpgsql`, as in PostgreSQL.
pub(super) const PLPGSQL: u32 = 13_569;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_extension", oid: 3079, rows,
    columns: &[
        ("oid", Type::OID), ("extname", Type::NAME), ("extowner", Type::OID), ("extnamespace", Type::OID),
        ("extrelocatable", Type::BOOL), ("extversion", Type::TEXT), ("extconfig", OIDS),
        ("extcondition", TEXTS),
    ],
};

/// Whether some EXCLUDE constraint compares columns that are no ranges, for which PostgreSQL's gist has no operators.
fn needs_btree_gist(catalog: &Catalog) -> bool {
    let of_table = |table: &TableDesc| {
        table.indexes.iter().any(|index| {
            let compares = |overlaps: bool| index.columns.len() > usize::from(overlaps);
            index.exclusion.as_ref().is_some_and(|desc| desc.method == "gist" && compares(desc.overlaps))
        })
    };
    catalog.has_public() && catalog.tables().any(|table| of_table(table))
}

/// The extensions of a database that PostgreSQL would have, but for PL/pgSQL.
pub(super) fn extensions(catalog: &Catalog) -> Vec<Arc<ExtensionDesc>> {
    let mut all: Vec<_> = catalog.extensions().cloned().collect();
    if let Some(extension) = scaledb_extensions::extension("btree_gist")
        && catalog.extension(extension.name).is_none()
        && needs_btree_gist(catalog)
    {
        all.push(Arc::new(ExtensionDesc {
            oid: BTREE_GIST,
            name: extension.name.to_owned(),
            schema: PUBLIC.to_owned(),
            version: extension.version.to_owned(),
            members: Vec::new(),
            comment: Some(extension.comment.to_owned()),
        }));
    }
    all
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let row = |oid: u32, name: &str, owner: u32, schema: u32, version: &str| {
        Row::of(&TABLE)
            .oid("oid", oid)
            .text("extname", name)
            .oid("extowner", owner)
            .oid("extnamespace", schema)
            .flag("extrelocatable", name != "plpgsql")
            .text("extversion", version)
    };
    let mut rows = vec![row(PLPGSQL, "plpgsql", OWNER, schema_oid(catalog, "pg_catalog"), "1.0")];
    rows.extend(extensions(catalog).iter().map(|desc| {
        let schema = schema_oid(catalog, &desc.schema);
        row(desc.oid, &desc.name, catalog.owner_of(desc.oid), schema, &desc.version)
    }));
    Ok(rows)
}
