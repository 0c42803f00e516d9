//! What columns of `information_schema` say of a type.

use crate::system::Facts;
use crate::system::oids::collation;
use crate::system::seen::own_oid;
use crate::system::table::Row;
use scaledb_types::{Base, Type, Value};

/// How many bytes a text without a length may have, as PostgreSQL says.
const UNLIMITED_BYTES: i32 = 1 << 30;

/// The name that SQL has for a type.
pub(super) fn sql_name(ty: Type) -> String {
    match ty.base {
        _ if ty.as_domain().is_some() => "USER-DEFINED".to_owned(),
        _ if ty.array => "ARRAY".to_owned(),
        Base::Enum(_) => "USER-DEFINED".to_owned(),
        Base::Int2vector | Base::Oidvector => "ARRAY".to_owned(),
        _ => ty.plain().sql_name(),
    }
}

/// The schema of a type.
pub(super) fn schema_of(facts: &dyn Facts, ty: Type) -> &str {
    match own_oid(ty) {
        Some(oid) => facts.catalog().own_type(oid).map_or("public", |(schema, _)| schema),
        None => "pg_catalog",
    }
}

/// A row with where the type is found, in columns whose names begin alike.
pub(super) fn located(facts: &dyn Facts, row: Row, prefix: &str, ty: Type) -> Row {
    row.text(&format!("{prefix}udt_catalog"), facts.names().1)
        .text(&format!("{prefix}udt_schema"), schema_of(facts, ty))
        .text(&format!("{prefix}udt_name"), &ty.name())
}

/// A row with the collation of the values of a type, unless it is the one that all texts have.
pub(super) fn collated(facts: &dyn Facts, row: Row, ty: Type) -> Row {
    if collation(ty) != collation(Type::NAME) {
        return row;
    }
    row.text("collation_catalog", facts.names().1)
        .text("collation_schema", "pg_catalog")
        .text("collation_name", "C")
}

/// A row with all that a column says of its type.
pub(super) fn described(facts: &dyn Facts, row: Row, ty: Type) -> Row {
    let row = match ty.as_domain().and_then(|domain| facts.catalog().domain_of(domain.oid())) {
        Some(desc) => row
            .text("domain_catalog", facts.names().1)
            .text("domain_schema", &desc.schema)
            .text("domain_name", &desc.name),
        None => row,
    };
    of_values(facts, row, ty.as_domain().map_or(ty, |domain| domain.base()))
}

/// A row with all that a column says of a type: of a domain, that it is one.
pub(super) fn of_values(facts: &dyn Facts, row: Row, ty: Type) -> Row {
    let row = located(facts, row.text("data_type", &sql_name(ty)), "", ty);
    let row = collated(facts, row, ty);
    if ty.array || ty.domain.is_some() {
        return row;
    }
    let option = |value: Option<i32>| value.map_or(Value::Null, Value::Int4);
    // precision, radix, scale
    let number = match ty.base {
        Base::Int2 => (Some(16), Some(2), Some(0)),
        Base::Int4 => (Some(32), Some(2), Some(0)),
        Base::Int8 => (Some(64), Some(2), Some(0)),
        Base::Float4 => (Some(24), Some(2), None),
        Base::Float8 => (Some(53), Some(2), None),
        Base::Numeric => {
            let limits = ty.precision_scale();
            (limits.map(|limits| limits.0), Some(10), limits.map(|limits| limits.1))
        }
        _ => (None, None, None),
    };
    let time = match ty.base {
        Base::Date => Some(0),
        Base::Time | Base::Timetz | Base::Timestamp | Base::Timestamptz | Base::Interval => {
            Some(ty.time_precision().map_or(6, |digits| digits as i32))
        }
        _ => None,
    };
    let length = ty.char_length().or(ty.bit_length()).map(|length| length as i32);
    let bytes = match ty.base {
        Base::Text | Base::Varchar | Base::Bpchar => Some(length.map_or(UNLIMITED_BYTES, |n| n * 4)),
        _ => None,
    };
    let row = row
        .set("character_maximum_length", option(length))
        .set("character_octet_length", option(bytes))
        .set("numeric_precision", option(number.0))
        .set("numeric_precision_radix", option(number.1))
        .set("numeric_scale", option(number.2))
        .set("datetime_precision", option(time));
    // the fields that an interval is limited to
    let fields = (ty.base == Base::Interval).then(|| ty.to_string());
    let fields = fields.as_deref().and_then(|text| text.strip_prefix("interval "));
    let fields = fields.map(|text| text.split('(').next().unwrap_or(text).trim().to_uppercase());
    fields.filter(|text| !text.is_empty()).iter().fold(row, |row, text| row.text("interval_type", text))
}
