//! `pg_sequence`: sequences, by oid.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_sequence", oid: 2224, rows,
    columns: &[
        ("seqrelid", Type::OID), ("seqtypid", Type::OID), ("seqstart", Type::INT8), ("seqincrement", Type::INT8),
        ("seqmax", Type::INT8), ("seqmin", Type::INT8), ("seqcache", Type::INT8), ("seqcycle", Type::BOOL),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let sequences = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    let rows = sequences.map(|sequence| {
        Row::of(&TABLE)
            .oid("seqrelid", sequence.oid)
            .oid("seqtypid", sequence.type_oid)
            .set("seqstart", Value::Int8(sequence.start))
            .set("seqincrement", Value::Int8(sequence.increment))
            .set("seqmax", Value::Int8(sequence.max))
            .set("seqmin", Value::Int8(sequence.min))
            .set("seqcache", Value::Int8(sequence.cache))
            .flag("seqcycle", sequence.cycle)
    });
    Ok(rows.collect())
}
