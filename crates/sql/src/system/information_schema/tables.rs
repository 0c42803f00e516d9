//! `information_schema.tables`: tables and views.

use super::YES_OR_NO;
use crate::system::privileges::sees;
use crate::system::table::{Row, SystemCatalog};
use crate::system::{Facts, updatable};
use scaledb_catalog::Relation;
use scaledb_planner::bind::names::is_temporary;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "tables", oid: 13000, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("table_type", Type::VARCHAR), ("self_referencing_column_name", Type::NAME),
        ("reference_generation", Type::VARCHAR), ("user_defined_type_catalog", Type::NAME),
        ("user_defined_type_schema", Type::NAME), ("user_defined_type_name", Type::NAME),
        ("is_insertable_into", YES_OR_NO), ("is_typed", YES_OR_NO), ("commit_action", Type::VARCHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    catalog
        .relations()
        .filter(|relation| match relation {
            Relation::Table(table) => !table.is_materialized(),
            Relation::View(_) => true,
            Relation::Sequence(_) => false,
        })
        .filter(|relation| sees(facts, relation))
        .map(|relation| {
            let table = matches!(relation, Relation::Table(_));
            let insertable = updatable::relation(facts, relation.oid(), false)? & updatable::INSERT != 0;
            Ok(Row::empty(&TABLE)
                .text("table_catalog", database)
                .text("table_schema", relation.schema())
                .text("table_name", relation.name())
                .text(
                    "table_type",
                    match table {
                        _ if is_temporary(relation.schema()) => "LOCAL TEMPORARY",
                        true => "BASE TABLE",
                        false => "VIEW",
                    },
                )
                .yes("is_insertable_into", insertable)
                .yes("is_typed", false))
        })
        .collect()
}
