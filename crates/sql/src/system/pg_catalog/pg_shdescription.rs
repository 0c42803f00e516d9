//! `pg_shdescription`: what COMMENT ON ROLE has said.

use crate::system::Facts;
use crate::system::oids::PG_AUTHID;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_shdescription", oid: 2396, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("description", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let commented = facts.catalog().roles().filter_map(|desc| Some((desc.oid, desc.comment.as_ref()?)));
    let row = |(oid, text): (u32, &String)| {
        Row::of(&TABLE).oid("objoid", oid).oid("classoid", PG_AUTHID).text("description", text)
    };
    Ok(commented.map(row).collect())
}
