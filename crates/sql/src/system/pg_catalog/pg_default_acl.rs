//! `pg_default_acl`: what ALTER DEFAULT PRIVILEGES has said.

use crate::system::Facts;
use crate::system::privileges::list;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::ObjectKind;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_default_acl", oid: 826, rows,
    columns: &[
        ("oid", Type::OID), ("defaclrole", Type::OID), ("defaclnamespace", Type::OID),
        ("defaclobjtype", Type::CHAR), ("defaclacl", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for access in facts.catalog().accesses() {
        for defaults in &access.defaults {
            let letter = if defaults.kind == ObjectKind::Sequence { b'S' } else { defaults.kind.letter() };
            rows.push(
                Row::of(&TABLE)
                    .oid("oid", defaults.oid)
                    .oid("defaclrole", access.object)
                    .oid("defaclnamespace", defaults.schema.unwrap_or(0))
                    .letter("defaclobjtype", letter)
                    .set("defaclacl", list(facts, &defaults.grants)),
            );
        }
    }
    Ok(rows)
}
