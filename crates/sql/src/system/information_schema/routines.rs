//! `information_schema.routines`: functions and procedures.

use super::YES_OR_NO;
use super::data_type::{located, sql_name};
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Language, ObjectKind, Privileges, Returned, RoutineDesc, RoutineKind, Volatility};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routines", oid: 13010, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
        ("routine_type", Type::VARCHAR), ("module_catalog", Type::NAME), ("module_schema", Type::NAME),
        ("module_name", Type::NAME), ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME),
        ("udt_name", Type::NAME), ("data_type", Type::VARCHAR), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("character_set_catalog", Type::NAME),
        ("character_set_schema", Type::NAME), ("character_set_name", Type::NAME),
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("numeric_precision", Type::INT4), ("numeric_precision_radix", Type::INT4),
        ("numeric_scale", Type::INT4), ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("type_udt_catalog", Type::NAME),
        ("type_udt_schema", Type::NAME), ("type_udt_name", Type::NAME), ("scope_catalog", Type::NAME),
        ("scope_schema", Type::NAME), ("scope_name", Type::NAME), ("maximum_cardinality", Type::INT4),
        ("dtd_identifier", Type::NAME), ("routine_body", Type::VARCHAR),
        ("routine_definition", Type::VARCHAR), ("external_name", Type::VARCHAR),
        ("external_language", Type::VARCHAR), ("parameter_style", Type::VARCHAR),
        ("is_deterministic", YES_OR_NO), ("sql_data_access", Type::VARCHAR), ("is_null_call", YES_OR_NO),
        ("sql_path", Type::VARCHAR), ("schema_level_routine", YES_OR_NO),
        ("max_dynamic_result_sets", Type::INT4), ("is_user_defined_cast", YES_OR_NO),
        ("is_implicitly_invocable", YES_OR_NO), ("security_type", Type::VARCHAR),
        ("to_sql_specific_catalog", Type::NAME), ("to_sql_specific_schema", Type::NAME),
        ("to_sql_specific_name", Type::NAME), ("as_locator", YES_OR_NO), ("created", Type::TIMESTAMPTZ),
        ("last_altered", Type::TIMESTAMPTZ), ("new_savepoint_level", YES_OR_NO),
        ("is_udt_dependent", YES_OR_NO), ("result_cast_from_data_type", Type::VARCHAR),
        ("result_cast_as_locator", YES_OR_NO), ("result_cast_char_max_length", Type::INT4),
        ("result_cast_char_octet_length", Type::INT4), ("result_cast_char_set_catalog", Type::NAME),
        ("result_cast_char_set_schema", Type::NAME), ("result_cast_char_set_name", Type::NAME),
        ("result_cast_collation_catalog", Type::NAME), ("result_cast_collation_schema", Type::NAME),
        ("result_cast_collation_name", Type::NAME), ("result_cast_numeric_precision", Type::INT4),
        ("result_cast_numeric_precision_radix", Type::INT4), ("result_cast_numeric_scale", Type::INT4),
        ("result_cast_datetime_precision", Type::INT4), ("result_cast_interval_type", Type::VARCHAR),
        ("result_cast_interval_precision", Type::INT4), ("result_cast_type_udt_catalog", Type::NAME),
        ("result_cast_type_udt_schema", Type::NAME), ("result_cast_type_udt_name", Type::NAME),
        ("result_cast_scope_catalog", Type::NAME), ("result_cast_scope_schema", Type::NAME),
        ("result_cast_scope_name", Type::NAME), ("result_cast_maximum_cardinality", Type::INT4),
        ("result_cast_dtd_identifier", Type::NAME),
    ],
};

/// What tells a routine from others of its name.
pub(super) fn specific_name(desc: &RoutineDesc) -> String {
    let number = format!("_{}", desc.oid);
    let mut name = desc.name.clone();
    while name.len() + number.len() > scaledb_parse::lex::MAX_NAME {
        name.pop();
    }
    name + &number
}

/// Whether the current role is told of a routine: it may call it, or owns it.
pub(super) fn may_call(facts: &dyn Facts, desc: &RoutineDesc) -> bool {
    let (catalog, role) = (facts.catalog(), facts.identity().current());
    let may = catalog.privileges(role, ObjectKind::Routine, desc.oid, Privileges::EXECUTE);
    !may.is_empty() || catalog.has_rights_of(role, catalog.owner_of(desc.oid))
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let shown = facts.catalog().routines().filter(|desc| may_call(facts, desc));
    Ok(shown.map(|desc| row(facts, desc)).collect())
}

fn row(facts: &dyn Facts, desc: &RoutineDesc) -> Row {
    let (catalog, database) = (facts.catalog(), facts.names().1);
    let owns = catalog.has_rights_of(facts.identity().current(), catalog.owner_of(desc.oid));
    let row = Row::empty(&TABLE)
        .text("specific_catalog", database)
        .text("specific_schema", &desc.schema)
        .text("specific_name", &specific_name(desc))
        .text("routine_catalog", database)
        .text("routine_schema", &desc.schema)
        .text("routine_name", &desc.name)
        .text("routine_type", &desc.kind.word().to_uppercase())
        .text("routine_body", if desc.language == Language::Sql { "SQL" } else { "EXTERNAL" })
        .text("external_language", &desc.language.name().to_uppercase())
        .text("parameter_style", "GENERAL")
        .yes("is_deterministic", desc.volatility == Volatility::Immutable)
        .text("sql_data_access", "MODIFIES")
        .yes("schema_level_routine", true)
        .int4("max_dynamic_result_sets", 0)
        .text("security_type", if desc.security_definer { "DEFINER" } else { "INVOKER" })
        .yes("as_locator", false)
        .yes("is_udt_dependent", false);
    let row = if owns { row.text("routine_definition", &desc.body) } else { row };
    if desc.kind == RoutineKind::Procedure {
        return row;
    }
    let row = row.yes("is_null_call", desc.strict).text("dtd_identifier", "0");
    let (kind, name) = match desc.returns {
        Returned::Nothing => ("void", "void"),
        Returned::Trigger => ("trigger", "trigger"),
        Returned::Parameters | Returned::Record => ("record", "record"),
        Returned::Value(oid) => {
            let ty = catalog.type_of_oid(oid).unwrap_or(Type::TEXT);
            return located(facts, row.text("data_type", &sql_name(ty)), "type_", ty);
        }
        Returned::Row(oid) => {
            let row = row.text("data_type", "USER-DEFINED").text("type_udt_catalog", database);
            let relation = catalog.get(oid);
            return relation.iter().fold(row, |row, relation| {
                row.text("type_udt_schema", relation.schema()).text("type_udt_name", relation.name())
            });
        }
    };
    row.text("data_type", kind)
        .text("type_udt_catalog", database)
        .text("type_udt_schema", "pg_catalog")
        .text("type_udt_name", name)
}
