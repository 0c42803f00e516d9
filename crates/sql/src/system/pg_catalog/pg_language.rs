//! `pg_language`: what functions may be written in.

use crate::system::Facts;
use crate::system::oids::OWNER;
use crate::system::privileges::changed;
use crate::system::routines::PLPGSQL;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::C_LANGUAGE;
use scaledb_types::{Base, Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_language", oid: 2612, rows,
    columns: &[
        ("oid", Type::OID), ("lanname", Type::NAME), ("lanowner", Type::OID), ("lanispl", Type::BOOL),
        ("lanpltrusted", Type::BOOL), ("lanplcallfoid", Type::OID), ("laninline", Type::OID),
        ("lanvalidator", Type::OID), ("lanacl", Type::array_of(Base::Text)),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let each = [(12, "internal"), (C_LANGUAGE, "c"), (14, "sql"), (PLPGSQL, "plpgsql")].into_iter();
    let rows = each.map(|(oid, name)| {
        let row = Row::of(&TABLE).oid("oid", oid).text("lanname", name).oid("lanowner", OWNER);
        let row = row.set("lanacl", changed(facts, oid));
        row.flag("lanispl", oid == PLPGSQL).flag("lanpltrusted", matches!(name, "sql" | "plpgsql"))
    });
    Ok(rows.collect())
}
