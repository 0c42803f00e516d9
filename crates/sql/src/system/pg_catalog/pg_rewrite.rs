//! `pg_rewrite`: the rule of each view that reads its query in its place, and that of each materialized view. There are
//! no others.

use crate::system::Facts;
use crate::system::oids::rule_of;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_rewrite", oid: 2618, rows,
    columns: &[
        ("oid", Type::OID), ("rulename", Type::NAME), ("ev_class", Type::OID), ("ev_type", Type::CHAR),
        ("ev_enabled", Type::CHAR), ("is_instead", Type::BOOL), ("ev_qual", Type::TEXT), ("ev_action", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let rows = facts.catalog().definitions().map(|view| {
        Row::of(&TABLE)
            .oid("oid", rule_of(view.oid))
            .text("rulename", "_RETURN")
            .oid("ev_class", view.oid)
            .letter("ev_type", b'1')
            .letter("ev_enabled", b'O')
            .flag("is_instead", true)
            .text("ev_action", &view.query)
    });
    Ok(rows.collect())
}
