//! `pg_available_extensions`: what CREATE EXTENSION takes. `plpgsql` is always there.

use super::pg_extension::{BTREE_GIST_COMMENT, needs_btree_gist};
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
    let needs = needs_btree_gist(facts.catalog());
    let available =
        [("btree_gist", "1.7", BTREE_GIST_COMMENT), ("plpgsql", "1.0", "PL/pgSQL procedural language")];
    let rows = available.into_iter().map(|(name, version, comment)| {
        let row = Row::empty(&TABLE).text("name", name).text("default_version", version);
        let row = row.text("comment", comment);
        if name == "plpgsql" || needs { row.text("installed_version", version) } else { row }
    });
    Ok(rows.collect())
}
