//! `pg_collation`: collations.

use crate::system::Facts;
use crate::system::oids::OWNER;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

/// All of them: oid, name, and where they come from.
pub(crate) const COLLATIONS: [(u32, &str, u8); 2] = [(100, "default", b'd'), (950, "C", b'c')];

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_collation", oid: 3456, rows,
    columns: &[
        ("oid", Type::OID), ("collname", Type::NAME), ("collnamespace", Type::OID), ("collowner", Type::OID),
        ("collprovider", Type::CHAR), ("collisdeterministic", Type::BOOL), ("collencoding", Type::INT4),
        ("collcollate", Type::TEXT), ("collctype", Type::TEXT), ("colliculocale", Type::TEXT),
        ("collversion", Type::TEXT),
    ],
};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    let rows = COLLATIONS.into_iter().map(|(oid, name, provider)| {
        let row = Row::of(&TABLE).oid("oid", oid).text("collname", name).oid("collnamespace", 11);
        let row = row.oid("collowner", OWNER).letter("collprovider", provider).int4("collencoding", -1);
        let row = row.flag("collisdeterministic", true);
        if provider == b'c' { row.text("collcollate", name).text("collctype", name) } else { row }
    });
    Ok(rows.collect())
}
