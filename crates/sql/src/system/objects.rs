//! What an object is called that is known by the oid of its catalog, its own, and the number of a part of it.

use super::Facts;
use super::functions::{name_of, role_name, signature};
use super::oids::{
    PG_AUTHID, PG_CLASS, PG_CONSTRAINT, PG_DATABASE, PG_EXTENSION, PG_NAMESPACE, PG_POLICY, PG_PROC,
    PG_REWRITE, PG_TRIGGER, PG_TYPE, rule_of, schema_of_oid,
};
use super::seen::{is_array, own_oid, seen, seen_type};
use scaledb_catalog::{Catalog, Relation, RoutineKind, TableDesc};
use scaledb_parse::lex::quoted;
use scaledb_types::{Array, Base, Type, Value};
use std::sync::Arc;

/// An object.
struct Object {
    /// Its kind.
    kind: &'static str,
    /// Its schema, if it has one.
    schema: Option<String>,
    /// Its name, if that is enough to tell it from others of its kind.
    name: Option<String>,
    /// What tells it from all others of its kind.
    identity: String,
    /// What people read.
    text: String,
}

/// The kind of a relation.
fn kind_of(catalog: &Catalog, oid: u32) -> &'static str {
    match catalog.get(oid) {
        Some(Relation::Table(table)) if table.is_materialized() => "materialized view",
        Some(Relation::Table(_)) => "table",
        Some(Relation::View(_)) => "view",
        Some(Relation::Sequence(_)) => "sequence",
        None if super::all().any(|(_, _, known, _)| known == oid) => "table",
        None => "index",
    }
}

fn relation(facts: &dyn Facts, oid: u32, part: i16) -> Option<Object> {
    let catalog = facts.catalog();
    if catalog.own_type(oid).is_some() {
        return None;
    }
    let (schema, name) = name_of(catalog, oid)?;
    let kind = kind_of(catalog, oid);
    let (full, shown) = (qualified(&schema, &name), seen(facts, &schema, &name));
    let whole = |kind| Object {
        kind,
        schema: Some(quoted(&schema)),
        name: Some(quoted(&name)),
        identity: full.clone(),
        text: format!("{kind} {shown}"),
    };
    if part == 0 {
        return Some(whole(kind));
    }
    let column = match catalog.get(oid)? {
        Relation::Table(table) => table.visible().find(|column| column.attnum == part)?.name.clone(),
        Relation::View(view) => view.columns.get(usize::try_from(part - 1).ok()?)?.0.clone(),
        Relation::Sequence(_) => return None,
    };
    let of_part = match kind {
        "view" => "view column",
        "materialized view" => "materialized view column",
        _ => "table column",
    };
    Some(Object {
        identity: format!("{full}.{}", quoted(&column)),
        text: format!("column {column} of {kind} {shown}"),
        ..whole(of_part)
    })
}

fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// A part of a table that has a name of its own there.
fn of_table(facts: &dyn Facts, kind: &'static str, word: &str, table: &TableDesc, name: &str) -> Object {
    let (full, shown) = (qualified(&table.schema, &table.name), seen(facts, &table.schema, &table.name));
    let of = kind_of(facts.catalog(), table.oid);
    Object {
        kind,
        schema: (kind == "table constraint").then(|| quoted(&table.schema)),
        name: None,
        identity: format!("{} on {full}", quoted(name)),
        text: format!("{word} {name} on {of} {shown}"),
    }
}

/// What has a name that no other of its kind has.
fn named(kind: &'static str, name: &str) -> Object {
    let identity = quoted(name);
    let text = format!("{kind} {name}");
    Object { kind, schema: None, name: Some(quoted(name)), identity, text }
}

fn found(facts: &dyn Facts, class: u32, oid: u32, part: i16) -> Option<Object> {
    let catalog = facts.catalog();
    match class {
        PG_CLASS => relation(facts, oid, part),
        PG_CONSTRAINT => {
            let mut of_tables = catalog.tables();
            let of_table = of_tables.find_map(|table| {
                let (name, _) = table.constraints().find(|(_, known)| *known == oid)?;
                Some(of_table(facts, "table constraint", "constraint", table, name))
            });
            of_table.or_else(|| domain_constraint(catalog, oid))
        }
        PG_TRIGGER => catalog.triggering().find_map(|table| {
            let trigger = table.triggers.iter().find(|trigger| trigger.oid == oid)?;
            Some(of_table(facts, "trigger", "trigger", &table, &trigger.name))
        }),
        PG_POLICY => catalog.tables().find_map(|table| {
            let policy = table.policies().iter().find(|policy| policy.oid == oid)?;
            Some(of_table(facts, "policy", "policy", table, &policy.name))
        }),
        PG_PROC => {
            let desc = catalog.routine(oid)?;
            let kind = if desc.kind == RoutineKind::Procedure { "procedure" } else { "function" };
            Some(Object {
                kind,
                schema: Some(quoted(&desc.schema)),
                name: None,
                identity: signature(facts, desc, true),
                text: format!("function {}", signature(facts, desc, false)),
            })
        }
        PG_EXTENSION => catalog.extension_of_oid(oid).map(|desc| named("extension", &desc.name)),
        PG_TYPE => {
            let ty = catalog.type_of_oid(oid)?;
            let schema = match own_oid(ty) {
                Some(oid) => catalog.own_type(oid)?.0.to_owned(),
                None => "pg_catalog".to_owned(),
            };
            let identity = full_type(catalog, ty);
            let text = format!("type {}", seen_type(facts, ty));
            Some(Object {
                kind: "type",
                schema: Some(quoted(&schema)),
                name: Some(quoted(&ty.name())),
                identity,
                text,
            })
        }
        PG_NAMESPACE => schema_of_oid(catalog, oid).map(|name| named("schema", &name)),
        PG_AUTHID => role_name(facts, oid).map(|name| named("role", &name)),
        PG_DATABASE => {
            let all = super::databases::all(facts);
            all.into_iter().find(|database| database.oid == oid).map(|found| named("database", &found.name))
        }
        PG_REWRITE => {
            let view = catalog.definitions().find(|view| rule_of(view.oid) == oid)?;
            let shown = seen(facts, &view.schema, &view.name);
            Some(Object {
                kind: "rule",
                schema: None,
                name: None,
                identity: format!("\"_RETURN\" on {}", qualified(&view.schema, &view.name)),
                text: format!("rule _RETURN on {} {shown}", kind_of(catalog, view.oid)),
            })
        }
        _ => None,
    }
}

/// A constraint of a domain.
fn domain_constraint(catalog: &Catalog, oid: u32) -> Option<Object> {
    let has = |desc: &&std::sync::Arc<scaledb_catalog::DomainDesc>| {
        desc.checks.iter().any(|check| check.oid == oid)
    };
    let desc = catalog.domains().find(has)?;
    let check = desc.checks.iter().find(|check| check.oid == oid)?;
    let name = quoted(&check.name);
    Some(Object {
        kind: "domain constraint",
        schema: None,
        name: None,
        identity: format!("{name} on {}", qualified(&desc.schema, &desc.name)),
        text: format!("constraint {}", check.name),
    })
}

/// A type as it is called whatever the search path is.
pub(super) fn full_type(catalog: &Catalog, ty: Type) -> String {
    let plain = ty.sql_name();
    let own = ty.element().filter(|_| ty.array).unwrap_or(ty);
    if let Some(oid) = own_oid(ty) {
        return match catalog.own_type(oid) {
            Some((schema, name)) => {
                format!("{}{}", qualified(schema, name), if is_array(ty) { "[]" } else { "" })
            }
            None => plain,
        };
    }
    match own.base {
        // what SQL has a name for needs no schema
        _ if own.sql_name() != own.name() || matches!(own.base, Base::Interval) => plain,
        _ => format!("pg_catalog.{plain}"),
    }
}

/// `pg_describe_object`.
pub(super) fn description(facts: &dyn Facts, class: u32, oid: u32, part: i64) -> Option<String> {
    let part = i16::try_from(part).ok()?;
    found(facts, class, oid, part).map(|object| object.text)
}

/// The columns of `pg_identify_object`, which is NULL but for the kind where there is no such object.
pub(super) fn identity(facts: &dyn Facts, class: u32, oid: u32, part: i64) -> Value {
    let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
    let object = i16::try_from(part).ok().and_then(|part| found(facts, class, oid, part));
    let values = match object {
        Some(object) => {
            let kind = Value::text(object.kind);
            vec![kind, text(object.schema), text(object.name), Value::from(object.identity)]
        }
        None => {
            let kind = match class {
                PG_CLASS => "relation",
                PG_PROC => "routine",
                PG_TYPE => "type",
                PG_CONSTRAINT => "constraint",
                PG_TRIGGER => "trigger",
                PG_POLICY => "policy",
                PG_NAMESPACE => "schema",
                PG_AUTHID => "role",
                PG_DATABASE => "database",
                PG_REWRITE => "rule",
                PG_EXTENSION => "extension",
                _ => return Value::Null,
            };
            vec![Value::text(kind), Value::Null, Value::Null, Value::Null]
        }
    };
    Value::Array(Arc::new(Array::new(Type::TEXT, values)))
}
