//! `pg_tablespace`: the only tablespace.

use crate::system::Facts;
use crate::system::oids::{OWNER, TABLESPACE};
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_tablespace", oid: 1213, rows,
    columns: &[
        ("oid", Type::OID), ("spcname", Type::NAME), ("spcowner", Type::OID), ("spcacl", TEXTS),
        ("spcoptions", TEXTS),
    ],
};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok(vec![Row::of(&TABLE).oid("oid", TABLESPACE).text("spcname", "pg_default").oid("spcowner", OWNER)])
}
