//! `pg_roles`: the roles that there are.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_catalog::{OWNER, RoleDesc};
use scaledb_types::{Array, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_roles", oid: 12000, rows,
    columns: &[
        ("rolname", Type::NAME), ("rolsuper", Type::BOOL), ("rolinherit", Type::BOOL),
        ("rolcreaterole", Type::BOOL), ("rolcreatedb", Type::BOOL), ("rolcanlogin", Type::BOOL),
        ("rolreplication", Type::BOOL), ("rolconnlimit", Type::INT4), ("rolpassword", Type::TEXT),
        ("rolvaliduntil", Type::TIMESTAMPTZ), ("rolbypassrls", Type::BOOL), ("rolconfig", TEXTS),
        ("oid", Type::OID),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let hidden = |row: Row| row.text("rolpassword", "********");
    Ok(roles(facts, &TABLE).into_iter().map(hidden).collect())
}

/// The roles, as rows of a catalog that has these columns, or some of them; without passwords.
pub(super) fn roles(facts: &dyn Facts, table: &SystemCatalog) -> Vec<Row> {
    let catalog = facts.catalog();
    let each = catalog.all_roles().into_iter();
    each.map(|oid| {
        let row = Row::of(table)
            .oid("oid", oid)
            .text("rolname", &role_name(facts, oid).unwrap_or_default())
            .int4("rolconnlimit", -1)
            .flag("rolinherit", true);
        match catalog.role(oid) {
            Some(desc) => made(row, desc),
            None if oid == OWNER => {
                let all = [
                    "rolsuper",
                    "rolcreaterole",
                    "rolcreatedb",
                    "rolcanlogin",
                    "rolreplication",
                    "rolbypassrls",
                ];
                all.iter().fold(row, |row, column| row.flag(column, true))
            }
            None => row,
        }
    })
    .collect()
}

/// The row of a role that somebody has made.
fn made(row: Row, desc: &RoleDesc) -> Row {
    let row = row
        .flag("rolsuper", desc.superuser)
        .flag("rolinherit", desc.inherit)
        .flag("rolcreaterole", desc.create_role)
        .flag("rolcreatedb", desc.create_db)
        .flag("rolcanlogin", desc.login)
        .flag("rolreplication", desc.replication)
        .flag("rolbypassrls", desc.bypass_rls)
        .int4("rolconnlimit", desc.connection_limit)
        .set("rolconfig", settings(&desc.settings));
    desc.valid_until.into_iter().fold(row, |row, until| row.set("rolvaliduntil", Value::Timestamptz(until)))
}

/// What the sessions of a role begin with.
pub(super) fn settings(all: &[(String, String)]) -> Value {
    if all.is_empty() {
        return Value::Null;
    }
    let each = all.iter().map(|(name, value)| Value::from(format!("{name}={value}")));
    Value::Array(Arc::new(Array::new(Type::TEXT, each.collect())))
}
