//! `pg_depend`: which column owns a sequence.

use crate::system::Facts;
use crate::system::oids::PG_CLASS;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_depend", oid: 2608, rows,
    columns: &[
        ("classid", Type::OID), ("objid", Type::OID), ("objsubid", Type::INT4), ("refclassid", Type::OID),
        ("refobjid", Type::OID), ("refobjsubid", Type::INT4), ("deptype", Type::CHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    Ok(catalog
        .relations()
        .filter_map(|relation| {
            let Relation::Sequence(sequence) = relation else { return None };
            let (table, attnum) = sequence.owned_by?;
            let column = catalog.table(table).and_then(|t| t.position(attnum).map(|at| &t.columns[at]));
            let identity = column.is_some_and(|column| column.identity.is_some());
            Some(
                Row::of(&TABLE)
                    .oid("classid", PG_CLASS)
                    .oid("objid", sequence.oid)
                    .oid("refclassid", PG_CLASS)
                    .oid("refobjid", table)
                    .int4("refobjsubid", i32::from(attnum))
                    .letter("deptype", if identity { b'i' } else { b'a' }),
            )
        })
        .collect())
}
