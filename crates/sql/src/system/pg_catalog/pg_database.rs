//! `pg_database`: the database.

use crate::system::Facts;
use crate::system::oids::{DATABASE, TABLESPACE};
use crate::system::privileges::changed;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_database", oid: 1262, rows,
    columns: &[
        ("oid", Type::OID), ("datname", Type::NAME), ("datdba", Type::OID), ("encoding", Type::INT4),
        ("datlocprovider", Type::CHAR), ("datistemplate", Type::BOOL), ("datallowconn", Type::BOOL),
        ("datconnlimit", Type::INT4), ("datfrozenxid", Type::XID), ("datminmxid", Type::XID),
        ("dattablespace", Type::OID), ("datcollate", Type::TEXT), ("datctype", Type::TEXT),
        ("daticulocale", Type::TEXT), ("datcollversion", Type::TEXT), ("datacl", TEXTS),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, database) = facts.names();
    Ok(vec![
        Row::of(&TABLE)
            .oid("oid", DATABASE)
            .text("datname", database)
            .oid("datdba", facts.catalog().owner_of(DATABASE))
            .set("datacl", changed(facts, DATABASE))
            .int4("encoding", 6)
            .letter("datlocprovider", b'c')
            .flag("datallowconn", true)
            .int4("datconnlimit", -1)
            .oid("dattablespace", TABLESPACE)
            .text("datcollate", "C")
            .text("datctype", "C"),
    ])
}
