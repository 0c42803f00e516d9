//! `information_schema.columns`: the columns of tables.

use crate::plan::column_type;
use crate::system::Facts;
use crate::system::printed::{printed_default, printed_expression};
use crate::system::privileges::sees;
use crate::system::seen::seen_expression;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::Identity;
use scaledb_catalog::Relation;
use scaledb_types::{Base, Result, Type, Value};
use std::sync::Arc;

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "columns", oid: 13001, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("ordinal_position", Type::INT4), ("column_default", Type::TEXT),
        ("is_nullable", Type::TEXT), ("data_type", Type::TEXT), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4), ("datetime_precision", Type::INT4),
        ("interval_type", Type::TEXT), ("collation_name", Type::NAME), ("domain_name", Type::NAME),
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("is_identity", Type::TEXT), ("identity_generation", Type::TEXT), ("is_generated", Type::TEXT),
        ("generation_expression", Type::TEXT), ("is_updatable", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let mut rows = Vec::new();
    let shown = catalog.tables().filter(|table| !table.is_materialized());
    for table in shown.filter(|table| sees(facts, &Relation::Table(Arc::clone(table)))) {
        for (number, column) in table.visible().enumerate() {
            let ty = column_type(catalog, column)?;
            let numeric = match ty.base {
                _ if ty.array => None,
                Base::Int2 => Some((16, 2, Some(0))),
                Base::Int4 => Some((32, 2, Some(0))),
                Base::Int8 => Some((64, 2, Some(0))),
                Base::Float4 => Some((24, 2, None)),
                Base::Float8 => Some((53, 2, None)),
                Base::Numeric => ty.precision_scale().map(|(precision, scale)| (precision, 10, Some(scale))),
                _ => None,
            };
            let is_enum = matches!(ty.base, Base::Enum(_));
            let of_type = match ty.base {
                Base::Enum(definition) => catalog.enum_of(definition.oid()).map(|desc| desc.schema.as_str()),
                _ => None,
            };
            let kind = match (ty.array, is_enum) {
                (true, _) => "ARRAY".to_owned(),
                (false, true) => "USER-DEFINED".to_owned(),
                (false, false) => ty.sql_name(),
            };
            let option = |value: Option<i32>| value.map_or(Value::Null, Value::Int4);
            let time = matches!(ty.base, Base::Time | Base::Timestamp | Base::Timestamptz | Base::Interval);
            let precision = match ty.base {
                Base::Date => Some(0),
                _ if time => Some(if ty.typmod >= 0 { ty.typmod & 7 } else { 6 }),
                _ => None,
            };
            let default = column.default.as_ref().filter(|_| column.identity.is_none());
            let generated =
                column.generated.as_deref().map(|text| printed_expression(&seen_expression(facts, text)));
            let default = default.map(|default| printed_default(facts, column, default));
            rows.push(
                Row::of(&TABLE)
                    .text("table_catalog", database)
                    .text("table_schema", &table.schema)
                    .text("table_name", &table.name)
                    .text("column_name", &column.name)
                    .int4("ordinal_position", number as i32 + 1)
                    .set("column_default", default.map_or(Value::Null, Value::from))
                    .yes("is_nullable", !column.not_null)
                    .text("data_type", &kind)
                    .set("character_maximum_length", option(ty.char_length().map(|n| n as i32)))
                    .set("character_octet_length", option(ty.char_length().map(|n| n as i32 * 4)))
                    .set("numeric_precision", option(numeric.map(|n| n.0)))
                    .set("numeric_precision_radix", option(numeric.map(|n| n.1)))
                    .set("numeric_scale", option(numeric.and_then(|n| n.2)))
                    .set("datetime_precision", option(precision))
                    .text("udt_catalog", database)
                    .text("udt_schema", of_type.unwrap_or("pg_catalog"))
                    .text("udt_name", &ty.name())
                    .yes("is_identity", column.identity.is_some())
                    .set(
                        "identity_generation",
                        match column.identity {
                            None => Value::Null,
                            Some(Identity::Always) => Value::text("ALWAYS"),
                            Some(Identity::ByDefault) => Value::text("BY DEFAULT"),
                        },
                    )
                    .text("is_generated", if column.generated.is_some() { "ALWAYS" } else { "NEVER" })
                    .set("generation_expression", generated.map_or(Value::Null, Value::from))
                    .yes("is_updatable", true),
            );
        }
    }
    Ok(rows)
}
