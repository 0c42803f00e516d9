//! `pg_user`: the roles that log in.

use super::pg_roles::settings;
use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::OWNER;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_user", oid: 12001, rows,
    columns: &[
        ("usename", Type::NAME), ("usesysid", Type::OID), ("usecreatedb", Type::BOOL), ("usesuper", Type::BOOL),
        ("userepl", Type::BOOL), ("usebypassrls", Type::BOOL), ("passwd", Type::TEXT),
        ("valuntil", Type::TIMESTAMPTZ), ("useconfig", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let first = ["usecreatedb", "usesuper", "userepl", "usebypassrls"]
        .iter()
        .fold(Row::of(&TABLE), |row, column| row.flag(column, true))
        .text("usename", &role_name(facts, OWNER).unwrap_or_default())
        .oid("usesysid", OWNER)
        .text("passwd", "********");
    let others = facts.catalog().roles().filter(|desc| desc.login).map(|desc| {
        let row = Row::of(&TABLE)
            .text("usename", &desc.name)
            .oid("usesysid", desc.oid)
            .flag("usecreatedb", desc.create_db)
            .flag("usesuper", desc.superuser)
            .flag("userepl", desc.replication)
            .flag("usebypassrls", desc.bypass_rls)
            .text("passwd", "********")
            .set("useconfig", settings(&desc.settings));
        desc.valid_until.into_iter().fold(row, |row, until| row.set("valuntil", Value::Timestamptz(until)))
    });
    Ok(std::iter::once(first).chain(others).collect())
}
