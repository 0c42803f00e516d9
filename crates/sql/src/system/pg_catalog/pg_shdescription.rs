//! `pg_shdescription`: what COMMENT ON ROLE and DATABASE have said.

use crate::system::Facts;
use crate::system::oids::{PG_AUTHID, PG_DATABASE};
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
    let catalog = facts.catalog();
    let of_roles = catalog.roles().filter_map(|desc| Some((desc.oid, PG_AUTHID, desc.comment.as_ref()?)));
    let of_databases =
        catalog.databases().filter_map(|desc| Some((desc.oid, PG_DATABASE, desc.comment.as_ref()?)));
    let row = |(oid, class, text): (u32, u32, &String)| {
        Row::of(&TABLE).oid("objoid", oid).oid("classoid", class).text("description", text)
    };
    Ok(of_databases.chain(of_roles).map(row).collect())
}
