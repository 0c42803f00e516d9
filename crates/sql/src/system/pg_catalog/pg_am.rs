//! `pg_am`: how tables and indexes are kept.

use crate::system::Facts;
use crate::system::oids::{BTREE, HEAP};
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_am", oid: 2601, rows,
    columns: &[
        ("oid", Type::OID), ("amname", Type::NAME), ("amhandler", Type::REGPROC), ("amtype", Type::CHAR),
    ],
};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok([(HEAP, "heap", b't'), (BTREE, "btree", b'i')]
        .iter()
        .map(|(oid, am, kind)| Row::of(&TABLE).oid("oid", *oid).text("amname", am).letter("amtype", *kind))
        .collect())
}
