//! `pg_db_role_setting`: what the sessions of roles and databases begin with.

use super::pg_roles::settings;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_db_role_setting", oid: 2964, rows,
    columns: &[
        ("setdatabase", Type::OID), ("setrole", Type::OID), ("setconfig", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let row = |database: u32, role: u32, all: &[(String, String)]| {
        Row::of(&TABLE).oid("setdatabase", database).oid("setrole", role).set("setconfig", settings(all))
    };
    let of_roles = catalog.roles().map(|desc| (0, desc.oid, &desc.settings));
    let of_databases = catalog.databases().map(|desc| (desc.oid, 0, &desc.settings));
    let all = of_databases.chain(of_roles).filter(|(.., all)| !all.is_empty());
    Ok(all.map(|(database, role, all)| row(database, role, all)).collect())
}
