//! `pg_locks`: locks that are held or waited for.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_locks::{Known, Tag, Who};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_locks", oid: 12010, rows,
    columns: &[
        ("locktype", Type::TEXT), ("database", Type::OID), ("relation", Type::OID), ("page", Type::INT4),
        ("tuple", Type::INT2), ("virtualxid", Type::TEXT), ("transactionid", Type::INT8), ("classid", Type::OID),
        ("objid", Type::OID), ("objsubid", Type::INT2), ("virtualtransaction", Type::TEXT), ("pid", Type::INT4),
        ("mode", Type::TEXT), ("granted", Type::BOOL), ("fastpath", Type::BOOL), ("waitstart", Type::TIMESTAMPTZ),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let database = facts.catalog().own_database();
    Ok(facts.locks().all().into_iter().map(|known| row_of(database, known)).collect())
}

/// A row of pg_locks. A row of a table has a record instead of a page and a place in it: they are NULL. So is the pid
/// of a session at another node.
fn row_of(database: u32, known: Known) -> Row {
    let row = Row::of(&TABLE).oid("database", database);
    let row = match known.tag {
        Tag::Row { table, .. } => row.text("locktype", "tuple").oid("relation", table),
        Tag::Table(table) => row.text("locktype", "relation").oid("relation", table),
        Tag::Advisory { key, pair } => {
            let row = row.text("locktype", "advisory").oid("classid", (key >> 32) as u32);
            row.oid("objid", key as u32).int2("objsubid", if pair { 2 } else { 1 })
        }
    };
    // that of a session at another node would be taken for one of this node
    let row = match known.owner {
        Who::Session(id) => row.int4("pid", id as i32),
        Who::Elsewhere(_) => row.set("pid", Value::Null),
    };
    row.text("mode", known.mode.name()).flag("granted", known.granted).flag("fastpath", false)
}
