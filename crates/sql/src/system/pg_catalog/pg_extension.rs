//! `pg_extension`: what PostgreSQL would need an extension for, so that pg_dump writes it down.

use crate::system::Facts;
use crate::system::oids::{OWNER, schema_oid};
use crate::system::table::{OIDS, Row, SystemCatalog, TEXTS};
use scaledb_catalog::{Catalog, PUBLIC, TableDesc};
use scaledb_types::{Result, Type};

/// The oid of `btree_gist`, which is beyond all that the catalog gives: pg_dump leaves out those below 16,384.
pub(super) const BTREE_GIST: u32 = 7 << 29;
/// What PostgreSQL says of it.
pub(super) const BTREE_GIST_COMMENT: &str = "support for indexing common datatypes in GiST";

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
pub(super) fn needs_btree_gist(catalog: &Catalog) -> bool {
    let of_table = |table: &TableDesc| {
        table.indexes.iter().any(|index| {
            let compares = |overlaps: bool| index.columns.len() > usize::from(overlaps);
            index.exclusion.as_ref().is_some_and(|desc| desc.method == "gist" && compares(desc.overlaps))
        })
    };
    catalog.has_public() && catalog.tables().any(|table| of_table(table))
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    if !needs_btree_gist(catalog) {
        return Ok(Vec::new());
    }
    Ok(vec![
        Row::of(&TABLE)
            .oid("oid", BTREE_GIST)
            .text("extname", "btree_gist")
            .oid("extowner", OWNER)
            .oid("extnamespace", schema_oid(catalog, PUBLIC))
            .flag("extrelocatable", true)
            .text("extversion", "1.7"),
    ])
}
