//! `pg_auth_members`: which roles are members of which.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{MONITOR, OWNER, READ_ALL_SETTINGS, READ_ALL_STATS};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_auth_members", oid: 1261, rows,
    columns: &[
        ("roleid", Type::OID), ("member", Type::OID), ("grantor", Type::OID), ("admin_option", Type::BOOL),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let row = |role: u32, member: u32, by: u32, admin: bool| {
        Row::of(&TABLE)
            .oid("roleid", role)
            .oid("member", member)
            .oid("grantor", by)
            .flag("admin_option", admin)
    };
    let of_system = [READ_ALL_SETTINGS, READ_ALL_STATS].map(|role| row(role, MONITOR, OWNER, false));
    let made = facts.catalog().roles().flat_map(|desc| {
        desc.member_of.iter().map(move |member| row(member.role, desc.oid, member.by, member.admin))
    });
    Ok(of_system.into_iter().chain(made).collect())
}
