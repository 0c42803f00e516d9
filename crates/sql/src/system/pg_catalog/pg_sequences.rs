//! `pg_sequences`: sequences, with their last values.

use crate::system::Facts;
use crate::system::functions::role_name;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_sequences", oid: 12007, rows,
    columns: &[
        ("schemaname", Type::NAME), ("sequencename", Type::NAME), ("sequenceowner", Type::NAME), ("data_type", Type::REGTYPE),
        ("start_value", Type::INT8), ("min_value", Type::INT8), ("max_value", Type::INT8),
        ("increment_by", Type::INT8), ("cycle", Type::BOOL), ("cache_size", Type::INT8), ("last_value", Type::INT8),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let sequences = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    let rows = sequences.map(|sequence| {
        let last = facts.sequence(sequence.oid).ok().filter(|(_, called)| *called);
        Row::of(&TABLE)
            .text("schemaname", &sequence.schema)
            .text("sequencename", &sequence.name)
            .text(
                "sequenceowner",
                &role_name(facts, facts.catalog().owner_of(sequence.oid)).unwrap_or_default(),
            )
            .oid("data_type", sequence.type_oid)
            .set("start_value", Value::Int8(sequence.start))
            .set("min_value", Value::Int8(sequence.min))
            .set("max_value", Value::Int8(sequence.max))
            .set("increment_by", Value::Int8(sequence.increment))
            .flag("cycle", sequence.cycle)
            .set("cache_size", Value::Int8(sequence.cache))
            .set("last_value", last.map_or(Value::Null, |(last, _)| Value::Int8(last)))
    });
    Ok(rows.collect())
}
