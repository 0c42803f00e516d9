//! `pg_shadow`: the roles that log in, with the verifiers of their passwords.

use super::pg_roles::settings;
use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::OWNER;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_shadow", oid: 12052, rows,
    columns: &[
        ("usename", Type::NAME), ("usesysid", Type::OID), ("usecreatedb", Type::BOOL),
        ("usesuper", Type::BOOL), ("userepl", Type::BOOL), ("usebypassrls", Type::BOOL),
        ("passwd", Type::TEXT), ("valuntil", Type::TIMESTAMPTZ), ("useconfig", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    if !facts.identity().is_superuser() {
        let what = "permission denied for view pg_shadow";
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
    }
    let first = ["usecreatedb", "usesuper", "userepl", "usebypassrls"]
        .iter()
        .fold(Row::of(&TABLE), |row, column| row.flag(column, true))
        .text("usename", &role_name(facts, OWNER).unwrap_or_default())
        .oid("usesysid", OWNER);
    let others = facts.catalog().roles().filter(|desc| desc.login).map(|desc| {
        let row = Row::of(&TABLE)
            .text("usename", &desc.name)
            .oid("usesysid", desc.oid)
            .flag("usecreatedb", desc.create_db)
            .flag("usesuper", desc.superuser)
            .flag("userepl", desc.replication)
            .flag("usebypassrls", desc.bypass_rls)
            .set("useconfig", settings(&desc.settings));
        let row = desc.password.iter().fold(row, |row, text| row.text("passwd", text));
        desc.valid_until.into_iter().fold(row, |row, until| row.set("valuntil", Value::Timestamptz(until)))
    });
    Ok(std::iter::once(first).chain(others).collect())
}
