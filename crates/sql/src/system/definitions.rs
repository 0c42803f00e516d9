//! Indexes and constraints, as the statements that make them have them.

use super::Facts;
use super::printed::{printed_expression, without_parentheses};
use super::seen::{seen, seen_expression};
use scaledb_catalog::{
    Action, Catalog, DomainCheckDesc, ExclusionDesc, ForeignKeyDesc, IndexDesc, Initially, KeyColumn,
    TableDesc,
};
use scaledb_parse::lex::quoted;

pub(super) fn index_table(catalog: &Catalog, oid: u32) -> Option<&TableDesc> {
    let has = |table: &TableDesc| {
        table.primary_key.as_ref().is_some_and(|key| key.oid == oid)
            || table.indexes.iter().any(|index| index.oid == oid)
    };
    catalog.tables().map(|table| &**table).find(|table| has(table))
}

fn columns_of(table: &TableDesc, oid: u32) -> Option<(&str, bool, &[KeyColumn])> {
    if let Some(key) = table.primary_key.as_ref().filter(|key| key.oid == oid) {
        return Some((&key.name, true, &key.columns));
    }
    let index = table.indexes.iter().find(|index| index.oid == oid)?;
    Some((&index.name, index.unique, &index.columns))
}

/// CREATE INDEX of an index.
pub(super) fn index_definition(
    facts: &dyn Facts,
    table: &TableDesc,
    oid: u32,
    with_schema: bool,
) -> Option<String> {
    let (name, unique, columns) = columns_of(table, oid)?;
    let index = table.indexes.iter().find(|index| index.oid == oid);
    let predicate = index.and_then(|index| index.predicate.as_ref()).map(|predicate| {
        let printed = printed_expression(&seen_expression(facts, &predicate.text));
        let shown = if with_schema { printed } else { without_parentheses(&printed) };
        format!(" WHERE {shown}")
    });
    let columns: Vec<String> = columns
        .iter()
        .map(|column| {
            let mut text = key_column(facts, table, column.attnum, with_schema);
            if column.descending {
                text.push_str(" DESC");
            }
            if column.nulls_first != column.descending {
                text.push_str(if column.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
            }
            text
        })
        .collect();
    let unique = if unique { "UNIQUE " } else { "" };
    let schema = if with_schema { format!("{}.", quoted(&table.schema)) } else { String::new() };
    let included = included(table, oid);
    let table = format!("{schema}{}", quoted(&table.name));
    let (name, columns, predicate) = (quoted(name), columns.join(", "), predicate.unwrap_or_default());
    let exclusion = index.and_then(|index| index.exclusion.as_ref());
    let method = exclusion.map_or("btree", |exclusion| &exclusion.method);
    let nulls = if index.is_some_and(|index| index.nulls_not_distinct) { " NULLS NOT DISTINCT" } else { "" };
    Some(format!(
        "CREATE {unique}INDEX {name} ON {table} USING {method} ({columns}){included}{nulls}{predicate}"
    ))
}

pub(super) fn index_column(
    facts: &dyn Facts,
    table: &TableDesc,
    oid: u32,
    number: i64,
    plain: bool,
) -> Option<String> {
    let (_, _, columns) = columns_of(table, oid)?;
    let number = usize::try_from(number - 1).ok()?;
    let Some(column) = columns.get(number) else {
        let included = table.included_by(oid).get(number - columns.len())?;
        return Some(quoted(table.column_name(*included)));
    };
    Some(key_column(facts, table, column.attnum, plain))
}

/// A column of an index, as CREATE INDEX has it: an expression that is no call stands in parentheses, besides those
/// that it is printed with if it is to be `plain`.
fn key_column(facts: &dyn Facts, table: &TableDesc, attnum: i16, plain: bool) -> String {
    let Some(text) = table.key_expression(attnum) else { return quoted(table.column_name(attnum)) };
    let text = &seen_expression(facts, text);
    let is_call = scaledb_parse::expression(text).is_ok_and(|expr| scaledb_parse::is_call(&expr));
    match (is_call, plain) {
        (true, _) => text.to_owned(),
        (false, true) => format!("({})", printed_expression(text)),
        (false, false) => format!("({text})"),
    }
}

fn names(table: &TableDesc, columns: impl Iterator<Item = i16>) -> String {
    columns.map(|column| quoted(table.column_name(column))).collect::<Vec<_>>().join(", ")
}

/// The columns that an index includes, as definitions have them.
fn included(table: &TableDesc, oid: u32) -> String {
    match table.included_by(oid) {
        [] => String::new(),
        columns => format!(" INCLUDE ({})", names(table, columns.iter().copied())),
    }
}

/// A constraint as ALTER TABLE ADD takes it.
pub(super) fn constraint_definition(facts: &dyn Facts, oid: u32, pretty: bool) -> Option<String> {
    for table in facts.catalog().tables() {
        if let Some(key) = table.primary_key.as_ref().filter(|key| key.oid == oid) {
            let columns = names(table, key.columns.iter().map(|c| c.attnum));
            return Some(format!("PRIMARY KEY ({columns}){}", included(table, oid)));
        }
        if let Some(index) = table.indexes.iter().find(|index| index.constraint && index.oid == oid) {
            let when = deferral(index.deferrable);
            if let Some(exclusion) = &index.exclusion {
                return Some(format!("{}{when}", excludes(facts, table, index, exclusion, pretty)));
            }
            let kind = match (index.primary, index.nulls_not_distinct) {
                (true, _) => "PRIMARY KEY",
                (false, true) => "UNIQUE NULLS NOT DISTINCT",
                (false, false) => "UNIQUE",
            };
            let columns = names(table, index.columns.iter().map(|c| c.attnum));
            return Some(format!("{kind} ({columns}){}{when}", included(table, oid)));
        }
        if let Some(check) = table.checks.iter().find(|check| check.oid == oid) {
            return Some(check_definition(facts, &check.expression, check.validated, pretty));
        }
        if let Some(key) = table.foreign_keys.iter().find(|key| key.oid == oid) {
            return Some(foreign_key(facts, table, key));
        }
        let mut of_triggers = table.triggers.iter().filter_map(|trigger| trigger.constraint.as_ref());
        if let Some(constraint) = of_triggers.find(|constraint| constraint.oid == oid) {
            return Some(format!("TRIGGER{}", deferral(constraint.deferrable)));
        }
    }
    let mut of_domains = facts.catalog().domains().flat_map(|desc| &desc.checks);
    of_domains.find(|check| check.oid == oid).map(|check| domain_check(facts, check, pretty))
}

/// When a constraint is checked.
fn deferral(deferrable: Option<Initially>) -> &'static str {
    match deferrable {
        None => "",
        Some(Initially::Immediate) => " DEFERRABLE",
        Some(Initially::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// A constraint of a domain.
pub(super) fn domain_check(facts: &dyn Facts, check: &DomainCheckDesc, pretty: bool) -> String {
    check_definition(facts, &check.expression, check.validated, pretty)
}

fn check_definition(facts: &dyn Facts, expression: &str, validated: bool, pretty: bool) -> String {
    let expression = without_parentheses(&seen_expression(facts, expression));
    let expression = if pretty { expression } else { printed_expression(&expression) };
    format!("CHECK ({expression}){}", not_valid(validated))
}

/// What a definition says of a constraint that rows may not fulfil.
fn not_valid(validated: bool) -> &'static str {
    if validated { "" } else { " NOT VALID" }
}

/// An EXCLUDE constraint, but for when it is checked.
fn excludes(
    facts: &dyn Facts,
    table: &TableDesc,
    index: &IndexDesc,
    exclusion: &ExclusionDesc,
    pretty: bool,
) -> String {
    let last = index.columns.len() - 1;
    let columns = index.columns.iter().enumerate().map(|(number, column)| {
        let operator = if exclusion.overlaps && number == last { "&&" } else { "=" };
        format!("{} WITH {operator}", key_column(facts, table, column.attnum, !pretty))
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let predicate = index.predicate.as_ref().map(|predicate| {
        let printed = printed_expression(&seen_expression(facts, &predicate.text));
        format!(" WHERE ({})", if pretty { without_parentheses(&printed) } else { printed })
    });
    format!("EXCLUDE USING {} ({columns}){}", exclusion.method, predicate.unwrap_or_default())
}

fn foreign_key(facts: &dyn Facts, table: &TableDesc, key: &ForeignKeyDesc) -> String {
    let to = facts.catalog().table(key.table);
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(table, key.columns.iter().copied()),
        to.map_or(String::new(), |to| seen(facts, &to.schema, &to.name)),
        to.map_or(String::new(), |to| names(to, key.referred.iter().copied()))
    );
    if key.full {
        text.push_str(" MATCH FULL");
    }
    for (word, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        let action = match action {
            Action::NoAction => continue,
            Action::Restrict => "RESTRICT",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET NULL",
            Action::SetDefault => "SET DEFAULT",
        };
        text.push_str(&format!(" ON {word} {action}"));
        if word == "DELETE" && !key.on_delete_sets.is_empty() {
            text.push_str(&format!(" ({})", names(table, key.on_delete_sets.iter().copied())));
        }
    }
    if key.deferrable {
        text.push_str(" DEFERRABLE");
    }
    if key.deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    text.push_str(not_valid(key.validated));
    text
}
