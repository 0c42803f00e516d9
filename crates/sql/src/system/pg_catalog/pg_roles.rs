//! `pg_roles`: the roles that there are.

use crate::system::Facts;
use crate::system::oids::{DATABASE_OWNER, OWNER};
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

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
    Ok(roles(facts, &TABLE))
}

/// The roles, as rows of a catalog that has these columns, or some of them.
pub(super) fn roles(facts: &dyn Facts, table: &SystemCatalog) -> Vec<Row> {
    let (user, _) = facts.names();
    vec![
        ["rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin"]
            .iter()
            .fold(Row::of(table), |row, column| row.flag(column, true))
            .oid("oid", OWNER)
            .text("rolname", user)
            .int4("rolconnlimit", -1),
        Row::of(table)
            .flag("rolinherit", true)
            .oid("oid", DATABASE_OWNER)
            .text("rolname", "pg_database_owner")
            .int4("rolconnlimit", -1),
    ]
}
