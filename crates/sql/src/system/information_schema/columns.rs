//! `information_schema.columns`: the columns of tables and views.

use super::YES_OR_NO;
use super::data_type::described;
use crate::system::printed::{printed_as, printed_default, printed_expression};
use crate::system::privileges::sees_column;
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog};
use crate::system::{Facts, updatable};
use scaledb_catalog::{Catalog, ColumnDesc, Identity, Relation, SequenceDesc, TableDesc};
use scaledb_planner::plan::column_type;
use scaledb_types::{Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "columns", oid: 13001, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("ordinal_position", Type::INT4), ("column_default", Type::VARCHAR),
        ("is_nullable", YES_OR_NO), ("data_type", Type::VARCHAR), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4),
        ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("character_set_catalog", Type::NAME),
        ("character_set_schema", Type::NAME), ("character_set_name", Type::NAME),
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("domain_catalog", Type::NAME), ("domain_schema", Type::NAME), ("domain_name", Type::NAME),
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("scope_catalog", Type::NAME), ("scope_schema", Type::NAME), ("scope_name", Type::NAME),
        ("maximum_cardinality", Type::INT4), ("dtd_identifier", Type::NAME),
        ("is_self_referencing", YES_OR_NO), ("is_identity", YES_OR_NO),
        ("identity_generation", Type::VARCHAR), ("identity_start", Type::VARCHAR),
        ("identity_increment", Type::VARCHAR), ("identity_maximum", Type::VARCHAR),
        ("identity_minimum", Type::VARCHAR), ("identity_cycle", YES_OR_NO), ("is_generated", Type::VARCHAR),
        ("generation_expression", Type::VARCHAR), ("is_updatable", YES_OR_NO),
    ],
};

pub(super) fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut rows = Vec::new();
    for relation in catalog.relations() {
        let sees = |attnum: i16| sees_column(facts, relation, attnum);
        match relation {
            Relation::Table(table) if !table.is_materialized() => {
                for column in table.visible().filter(|column| sees(column.attnum)) {
                    let ty = column_type(catalog, column)?;
                    let row = of_any(facts, relation, column.attnum, &column.name, ty);
                    rows.push(of_table(facts, row, table, column));
                }
            }
            Relation::View(view) => {
                let columns = (1..).zip(&view.columns).filter(|(number, _)| sees(*number));
                for (number, (name, oid, typmod)) in columns {
                    let ty = catalog.type_of_oid(*oid).unwrap_or(Type::TEXT).with_typmod(*typmod);
                    let row = of_any(facts, relation, number, name, ty);
                    let can_update = updatable::column(facts, view.oid, i64::from(number), false)?;
                    let default = view.default(usize::from(number.unsigned_abs()) - 1);
                    let default = default.map(|text| printed_as(facts, ty, text));
                    rows.push(
                        row.yes("is_nullable", true)
                            .yes("is_identity", false)
                            .yes("identity_cycle", false)
                            .text("is_generated", "NEVER")
                            .set("column_default", default.map_or(Value::Null, Value::from))
                            .yes("is_updatable", can_update),
                    );
                }
            }
            Relation::Table(_) | Relation::Sequence(_) => {}
        }
    }
    Ok(rows)
}

/// What columns of tables and of views have.
fn of_any(facts: &dyn Facts, relation: &Relation, number: i16, name: &str, ty: Type) -> Row {
    let row = Row::empty(&TABLE)
        .text("table_catalog", facts.names().1)
        .text("table_schema", relation.schema())
        .text("table_name", relation.name())
        .text("column_name", name)
        .int4("ordinal_position", i32::from(number))
        .text("dtd_identifier", &number.to_string())
        .yes("is_self_referencing", false);
    described(facts, row, ty)
}

/// What only columns of tables have.
fn of_table(facts: &dyn Facts, row: Row, table: &TableDesc, column: &ColumnDesc) -> Row {
    let default = column.default.as_ref().filter(|_| column.identity.is_none());
    let default = default.map(|default| printed_default(facts, column, default));
    let generated = column.generated.as_deref();
    let generated = generated.map(|text| printed_expression(&seen_expression(facts, text)));
    let row = row
        .set("column_default", default.map_or(Value::Null, Value::from))
        .yes("is_nullable", !column.not_null && !refuses_null(facts.catalog(), column))
        .yes("is_identity", column.identity.is_some())
        .text("is_generated", if generated.is_some() { "ALWAYS" } else { "NEVER" })
        .set("generation_expression", generated.map_or(Value::Null, Value::from))
        .yes("is_updatable", true);
    let sequence = column.identity.and_then(|_| sequence_of(facts.catalog(), table, column));
    let row = row.yes("identity_cycle", sequence.is_some_and(|sequence| sequence.cycle));
    let Some(sequence) = sequence else { return row };
    row.text(
        "identity_generation",
        match column.identity {
            Some(Identity::Always) => "ALWAYS",
            _ => "BY DEFAULT",
        },
    )
    .text("identity_start", &sequence.start.to_string())
    .text("identity_increment", &sequence.increment.to_string())
    .text("identity_maximum", &sequence.max.to_string())
    .text("identity_minimum", &sequence.min.to_string())
}

/// Whether the domain that a column is of refuses NULL by itself.
fn refuses_null(catalog: &Catalog, column: &ColumnDesc) -> bool {
    catalog.domain_of(column.type_oid).is_some_and(|desc| desc.not_null)
}

/// The sequence of an identity column.
fn sequence_of<'c>(
    catalog: &'c Catalog,
    table: &TableDesc,
    column: &ColumnDesc,
) -> Option<&'c Arc<SequenceDesc>> {
    catalog.relations().find_map(|relation| match relation {
        Relation::Sequence(desc) if desc.owned_by == Some((table.oid, column.attnum)) => Some(desc),
        _ => None,
    })
}
