//! `pg_database`: the databases.

use crate::system::databases::Named;
use crate::system::oids::TABLESPACE;
use crate::system::privileges::changed;
use crate::system::table::{Row, SystemCatalog, TEXTS};
use crate::system::{Facts, databases};
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
    let row = |database: Named| {
        let desc = database.desc.as_deref();
        Row::of(&TABLE)
            .oid("oid", database.oid)
            .text("datname", &database.name)
            .oid("datdba", facts.catalog().owner_of(database.oid))
            .set("datacl", changed(facts, database.oid))
            .int4("encoding", 6)
            .letter("datlocprovider", b'c')
            .flag("datistemplate", desc.is_some_and(|desc| desc.is_template))
            .flag("datallowconn", desc.is_none_or(|desc| desc.allow_connections))
            .int4("datconnlimit", desc.map_or(-1, |desc| desc.connection_limit))
            .oid("dattablespace", TABLESPACE)
            .text("datcollate", "C")
            .text("datctype", "C")
    };
    Ok(databases::all(facts).into_iter().map(row).collect())
}
