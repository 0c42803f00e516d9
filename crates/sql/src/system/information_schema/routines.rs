//! `information_schema.routines`: functions and procedures.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Returned, RoutineKind, Volatility};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routines", oid: 13010, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
        ("routine_type", Type::TEXT), ("data_type", Type::TEXT), ("routine_body", Type::TEXT),
        ("routine_definition", Type::TEXT), ("external_language", Type::TEXT), ("is_deterministic", Type::TEXT),
        ("is_null_call", Type::TEXT), ("security_type", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (_, database) = facts.names();
    let catalog = facts.catalog();
    let rows = catalog.routines().map(|desc| {
        let data_type = match desc.returns {
            Returned::Nothing => "void".to_owned(),
            Returned::Trigger => "trigger".to_owned(),
            Returned::Value(oid) => match catalog.type_of_oid(oid) {
                Some(ty) if ty.array => "ARRAY".to_owned(),
                Some(ty) => ty.sql_name(),
                None => String::new(),
            },
            Returned::Parameters => "record".to_owned(),
            Returned::Row(_) => "USER-DEFINED".to_owned(),
        };
        let row = Row::of(&TABLE)
            .text("specific_catalog", database)
            .text("specific_schema", &desc.schema)
            .text("specific_name", &format!("{}_{}", desc.name, desc.oid))
            .text("routine_catalog", database)
            .text("routine_schema", &desc.schema)
            .text("routine_name", &desc.name)
            .text("routine_type", &desc.kind.word().to_uppercase())
            .text("routine_body", "EXTERNAL")
            .text("routine_definition", &desc.body)
            .text("external_language", &desc.language.name().to_uppercase())
            .yes("is_deterministic", desc.volatility == Volatility::Immutable)
            .yes("is_null_call", desc.strict)
            .text("security_type", if desc.security_definer { "DEFINER" } else { "INVOKER" });
        if desc.kind == RoutineKind::Procedure { row } else { row.text("data_type", &data_type) }
    });
    Ok(rows.collect())
}
