//! `information_schema.sequences`: sequences, but for those of identity columns.

use super::YES_OR_NO;
use super::data_type::described;
use crate::system::Facts;
use crate::system::privileges::sees;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Catalog, Relation, SequenceDesc};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "sequences", oid: 13006, rows,
    columns: &[
        ("sequence_catalog", Type::NAME), ("sequence_schema", Type::NAME), ("sequence_name", Type::NAME),
        ("data_type", Type::VARCHAR), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4),
        ("start_value", Type::VARCHAR), ("minimum_value", Type::VARCHAR), ("maximum_value", Type::VARCHAR),
        ("increment", Type::VARCHAR), ("cycle_option", YES_OR_NO),
    ],
};

/// Whether a sequence is a part of an identity column.
pub(super) fn is_of_identity(catalog: &Catalog, sequence: &SequenceDesc) -> bool {
    let Some((table, attnum)) = sequence.owned_by else { return false };
    let table = catalog.table(table);
    let column = table.and_then(|table| table.columns.iter().find(|column| column.attnum == attnum));
    column.is_some_and(|column| column.identity.is_some())
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let shown = catalog.relations().filter(|relation| sees(facts, relation));
    let sequences = shown.filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    let rows = sequences.filter(|sequence| !is_of_identity(catalog, sequence)).map(|sequence| {
        let ty = Type::from_oid(sequence.type_oid).unwrap_or(Type::INT8);
        let row = Row::empty(&TABLE)
            .text("sequence_catalog", database)
            .text("sequence_schema", &sequence.schema)
            .text("sequence_name", &sequence.name)
            .text("start_value", &sequence.start.to_string())
            .text("minimum_value", &sequence.min.to_string())
            .text("maximum_value", &sequence.max.to_string())
            .text("increment", &sequence.increment.to_string())
            .yes("cycle_option", sequence.cycle);
        described(facts, row, ty)
    });
    Ok(rows.collect())
}
