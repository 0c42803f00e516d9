//! `information_schema.parameters`: the parameters of functions and procedures.

use super::YES_OR_NO;
use super::data_type::{located, sql_name};
use super::routines::{may_call, specific_name};
use crate::system::Facts;
use crate::system::functions::parameter_default;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{ParameterMode, RoutineDesc};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "parameters", oid: 13020, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("ordinal_position", Type::INT4), ("parameter_mode", Type::VARCHAR), ("is_result", YES_OR_NO),
        ("as_locator", YES_OR_NO), ("parameter_name", Type::NAME), ("data_type", Type::VARCHAR),
        ("character_maximum_length", Type::INT4), ("character_octet_length", Type::INT4),
        ("character_set_catalog", Type::NAME), ("character_set_schema", Type::NAME),
        ("character_set_name", Type::NAME), ("collation_catalog", Type::NAME),
        ("collation_schema", Type::NAME), ("collation_name", Type::NAME), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4),
        ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME),
        ("udt_name", Type::NAME), ("scope_catalog", Type::NAME), ("scope_schema", Type::NAME),
        ("scope_name", Type::NAME), ("maximum_cardinality", Type::INT4), ("dtd_identifier", Type::NAME),
        ("parameter_default", Type::VARCHAR),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let shown = facts.catalog().routines().filter(|desc| may_call(facts, desc));
    Ok(shown.flat_map(|desc| of_routine(facts, desc)).collect())
}

fn of_routine(facts: &dyn Facts, desc: &RoutineDesc) -> Vec<Row> {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let owns = catalog.has_rights_of(facts.identity().current(), catalog.owner_of(desc.oid));
    let rows = (1..).zip(&desc.parameters).map(|(number, parameter)| {
        let ty = catalog.type_of_oid(parameter.type_oid).unwrap_or(Type::TEXT);
        let row = Row::empty(&TABLE)
            .text("specific_catalog", database)
            .text("specific_schema", &desc.schema)
            .text("specific_name", &specific_name(desc))
            .int4("ordinal_position", number)
            .text(
                "parameter_mode",
                match parameter.mode {
                    ParameterMode::In | ParameterMode::Variadic => "IN",
                    ParameterMode::Out | ParameterMode::Table => "OUT",
                    ParameterMode::InOut => "INOUT",
                },
            )
            .yes("is_result", false)
            .yes("as_locator", false)
            .text("data_type", &sql_name(ty))
            .text("dtd_identifier", &number.to_string());
        let row = if parameter.name.is_empty() { row } else { row.text("parameter_name", &parameter.name) };
        let default = parameter_default(facts, parameter).filter(|_| owns);
        let row = default.iter().fold(row, |row, default| row.text("parameter_default", default));
        located(facts, row, "", ty)
    });
    rows.collect()
}
