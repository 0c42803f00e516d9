//! `pg_proc`: the functions that clients look up.

use crate::system::Facts;
use crate::system::oids::{OWNER, type_functions};
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_proc", oid: 1255, rows,
    columns: &[
        ("oid", Type::OID), ("proname", Type::NAME), ("pronamespace", Type::OID), ("proowner", Type::OID),
        ("prolang", Type::OID), ("prokind", Type::CHAR), ("prorettype", Type::OID),
        ("proargtypes", Type::OIDVECTOR), ("pronargs", Type::INT2), ("proretset", Type::BOOL),
    ],
};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok(type_functions()
        .map(|(oid, function)| {
            let row = Row::of(&TABLE).oid("oid", oid).text("proname", function).oid("pronamespace", 11);
            row.oid("proowner", OWNER).letter("prokind", b'f')
        })
        .collect())
}
