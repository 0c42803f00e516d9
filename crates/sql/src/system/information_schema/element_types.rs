//! `information_schema.element_types`: the types of the elements of arrays; and `data_type_privileges`: what has a
//! type.

use super::columns;
use super::data_type::{collated, located, sql_name};
use super::routines::{may_call, specific_name};
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{Relation, Returned, RoutineKind};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const ELEMENT_TYPES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "element_types", oid: 13029, rows: elements,
    columns: &[
        ("object_catalog", Type::NAME), ("object_schema", Type::NAME), ("object_name", Type::NAME),
        ("object_type", Type::VARCHAR), ("collection_type_identifier", Type::NAME),
        ("data_type", Type::VARCHAR), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("character_set_catalog", Type::NAME),
        ("character_set_schema", Type::NAME), ("character_set_name", Type::NAME),
        ("collation_catalog", Type::NAME), ("collation_schema", Type::NAME), ("collation_name", Type::NAME),
        ("numeric_precision", Type::INT4), ("numeric_precision_radix", Type::INT4),
        ("numeric_scale", Type::INT4), ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("domain_default", Type::VARCHAR), ("udt_catalog", Type::NAME),
        ("udt_schema", Type::NAME), ("udt_name", Type::NAME), ("scope_catalog", Type::NAME),
        ("scope_schema", Type::NAME), ("scope_name", Type::NAME), ("maximum_cardinality", Type::INT4),
        ("dtd_identifier", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const DATA_TYPE_PRIVILEGES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "data_type_privileges", oid: 13030, rows: privileges,
    columns: &[
        ("object_catalog", Type::NAME), ("object_schema", Type::NAME), ("object_name", Type::NAME),
        ("object_type", Type::VARCHAR), ("dtd_identifier", Type::NAME),
    ],
};

/// What has a type: its schema, its name, its kind, its number, and the type if values are of it.
type Typed = (String, String, &'static str, String, Option<Type>);

fn typed(facts: &dyn Facts) -> Result<Vec<Typed>> {
    let catalog = facts.catalog();
    let mut all: Vec<Typed> = Vec::new();
    for row in columns::rows(facts)? {
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (schema, table, number) = (text("table_schema"), text("table_name"), text("dtd_identifier"));
        let attnum: i16 = number.parse().unwrap_or(0);
        let ty = match catalog.lookup(&schema, &table) {
            Some(Relation::Table(desc)) => {
                let column = desc.columns.iter().find(|column| column.attnum == attnum);
                column.and_then(|column| catalog.type_of_oid(column.type_oid))
            }
            Some(Relation::View(view)) => {
                let at = usize::try_from(attnum - 1).ok();
                let column = at.and_then(|at| view.columns.get(at));
                column.and_then(|(_, oid, _)| catalog.type_of_oid(*oid))
            }
            _ => None,
        };
        all.push((schema, table, "TABLE", number, ty));
    }
    for desc in catalog.routines().filter(|desc| may_call(facts, desc)) {
        let name = specific_name(desc);
        let each = (1..).zip(&desc.parameters).map(|(number, parameter): (i32, _)| {
            let ty = catalog.type_of_oid(parameter.type_oid);
            (desc.schema.clone(), name.clone(), "ROUTINE", number.to_string(), ty)
        });
        all.extend(each);
        let (ty, number) = match desc.returns {
            Returned::Value(oid) => (catalog.type_of_oid(oid), "0"),
            _ if desc.kind == RoutineKind::Procedure => (None, ""),
            _ => (None, "0"),
        };
        all.push((desc.schema.clone(), name, "ROUTINE", number.to_owned(), ty));
    }
    Ok(all)
}

fn object(facts: &dyn Facts, view: &SystemCatalog, typed: &Typed) -> Row {
    Row::empty(view)
        .text("object_catalog", facts.names().1)
        .text("object_schema", &typed.0)
        .text("object_name", &typed.1)
        .text("object_type", typed.2)
}

fn elements(facts: &dyn Facts) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for typed in typed(facts)? {
        let Some(array) = typed.4.filter(|ty| ty.array) else { continue };
        let Some(element) = array.element().map(Type::plain) else { continue };
        let row = object(facts, &ELEMENT_TYPES, &typed)
            .text("collection_type_identifier", &typed.3)
            .text("data_type", &sql_name(element))
            .text("dtd_identifier", &format!("a{}", typed.3));
        let row = if typed.2 == "TABLE" { collated(facts, row, element) } else { row };
        rows.push(located(facts, row, "", element));
    }
    Ok(rows)
}

fn privileges(facts: &dyn Facts) -> Result<Vec<Row>> {
    let all = typed(facts)?;
    let rows = all.iter().map(|typed| {
        let row = object(facts, &DATA_TYPE_PRIVILEGES, typed);
        if typed.3.is_empty() { row } else { row.text("dtd_identifier", &typed.3) }
    });
    Ok(rows.collect())
}
