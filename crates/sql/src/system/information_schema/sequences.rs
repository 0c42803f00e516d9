//! `information_schema.sequences`: sequences.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Relation;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "sequences", oid: 13006, rows,
    columns: &[
        ("sequence_catalog", Type::NAME), ("sequence_schema", Type::NAME), ("sequence_name", Type::NAME),
        ("data_type", Type::TEXT), ("start_value", Type::TEXT), ("minimum_value", Type::TEXT),
        ("maximum_value", Type::TEXT), ("increment", Type::TEXT), ("cycle_option", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, database) = facts.names();
    let sequences = facts.catalog().relations().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    let rows = sequences.map(|sequence| {
        let ty = Type::from_oid(sequence.type_oid).unwrap_or(Type::INT8);
        Row::of(&TABLE)
            .text("sequence_catalog", database)
            .text("sequence_schema", &sequence.schema)
            .text("sequence_name", &sequence.name)
            .text("data_type", &ty.sql_name())
            .text("start_value", &sequence.start.to_string())
            .text("minimum_value", &sequence.min.to_string())
            .text("maximum_value", &sequence.max.to_string())
            .text("increment", &sequence.increment.to_string())
            .yes("cycle_option", sequence.cycle)
    });
    Ok(rows.collect())
}
