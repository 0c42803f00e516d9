//! `pg_collation`: collations.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

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
    Ok(vec![
        Row::of(&TABLE).oid("oid", 100).text("collname", "default").oid("collnamespace", 11),
        Row::of(&TABLE).oid("oid", 950).text("collname", "C").oid("collnamespace", 11),
    ])
}
