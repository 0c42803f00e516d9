//! `pg_range`: range types, and the types of their bounds.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{RangeType, Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_range", oid: 3541, rows,
    columns: &[
        ("rngtypid", Type::OID), ("rngsubtype", Type::OID), ("rngmultitypid", Type::OID),
        ("rngcollation", Type::OID), ("rngsubopc", Type::OID), ("rngcanonical", Type::REGPROC),
        ("rngsubdiff", Type::REGPROC),
    ],
};

/// The operator class by which the bounds are ordered, as PostgreSQL numbers them.
fn operator_class(range: RangeType) -> u32 {
    match range {
        RangeType::Int4range => 1978,
        RangeType::Int8range => 3124,
        RangeType::Numrange => 3125,
        RangeType::Tsrange => 3128,
        RangeType::Tstzrange => 3127,
        RangeType::Daterange => 3122,
    }
}

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    let rows = RangeType::ALL.into_iter().map(|range| {
        Row::of(&TABLE)
            .oid("rngtypid", Type::of_range(range).oid())
            .oid("rngsubtype", range.subtype().oid())
            .oid("rngmultitypid", 0)
            .oid("rngcollation", 0)
            .oid("rngsubopc", operator_class(range))
            .oid("rngcanonical", 0)
            .oid("rngsubdiff", 0)
    });
    Ok(rows.collect())
}
