//! `pg_group`: the roles that do not log in, with their members.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{OIDS, Row, SystemCatalog};
use scaledb_catalog::OWNER;
use scaledb_types::{Array, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_group", oid: 12012, rows,
    columns: &[("groname", Type::NAME), ("grosysid", Type::OID), ("grolist", OIDS)],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let groups = catalog.all_roles().into_iter();
    let groups = groups.filter(|oid| *oid != OWNER && catalog.role(*oid).is_none_or(|desc| !desc.login));
    let row = |oid: u32| {
        let members = catalog.roles().filter(|desc| desc.member_of.iter().any(|member| member.role == oid));
        let members = members.map(|desc| Value::Oid(desc.oid)).collect();
        Row::of(&TABLE)
            .text("groname", &role_name(facts, oid).unwrap_or_default())
            .oid("grosysid", oid)
            .set("grolist", Value::Array(Arc::new(Array::new(Type::OID, members))))
    };
    Ok(groups.map(row).collect())
}
