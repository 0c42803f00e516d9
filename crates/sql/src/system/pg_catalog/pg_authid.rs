//! `pg_authid`: the roles, as `pg_roles` shows them. Passwords are in the configuration of the server, and nobody reads
//! them here.

use super::pg_roles::roles;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_authid", oid: 1260, rows,
    columns: &[
        ("oid", Type::OID), ("rolname", Type::NAME), ("rolsuper", Type::BOOL), ("rolinherit", Type::BOOL),
        ("rolcreaterole", Type::BOOL), ("rolcreatedb", Type::BOOL), ("rolcanlogin", Type::BOOL),
        ("rolreplication", Type::BOOL), ("rolbypassrls", Type::BOOL), ("rolconnlimit", Type::INT4),
        ("rolpassword", Type::TEXT), ("rolvaliduntil", Type::TIMESTAMPTZ),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    Ok(roles(facts, &TABLE))
}
