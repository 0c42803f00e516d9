//! `pg_authid`: the roles, as `pg_roles` shows them, with the verifiers of their passwords. Those of users that are in
//! the configuration of the server nobody reads here.

use super::pg_roles::roles;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, SqlError, SqlState, Type, Value};

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
    if !facts.identity().is_superuser() {
        let what = "permission denied for table pg_authid";
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
    }
    let catalog = facts.catalog();
    let with_password = |(row, oid): (Row, u32)| {
        let password = catalog.role(oid).and_then(|desc| desc.password.as_deref());
        password.into_iter().fold(row, |row, text| row.set("rolpassword", Value::text(text)))
    };
    Ok(roles(facts, &TABLE).into_iter().zip(catalog.all_roles()).map(with_password).collect())
}
