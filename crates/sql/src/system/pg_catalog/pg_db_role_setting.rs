//! `pg_db_role_setting`: what the sessions of roles begin with.

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
    let all = facts.catalog().roles().filter(|desc| !desc.settings.is_empty());
    Ok(all.map(|desc| Row::of(&TABLE).oid("setrole", desc.oid).set("setconfig", settings(desc))).collect())
}
