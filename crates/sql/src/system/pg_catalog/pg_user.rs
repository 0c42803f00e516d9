//! `pg_user`: the role that logs in.

use crate::system::Facts;
use crate::system::oids::OWNER;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

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
    let (user, _) = facts.names();
    Ok(vec![
        Row::of(&TABLE)
            .text("usename", user)
            .oid("usesysid", OWNER)
            .flag("usecreatedb", true)
            .flag("usesuper", true),
    ])
}
