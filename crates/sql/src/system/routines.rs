//! Routines and triggers as PostgreSQL prints them.

use super::Facts;
use super::builtins::{ANY, Builtin};
use super::printed::{printed_as, printed_expression, without_parentheses};
use super::seen::{seen, seen_expression, seen_routine, seen_type};
use scaledb_catalog::{
    Initially, Language, ParameterDesc, ParameterMode, Returned, RoutineDesc, RoutineKind, TableDesc,
    TriggerDesc, TriggerTiming, Volatility, of_row_type,
};
use scaledb_parse::lex::quoted;
use scaledb_parse::routine::dollars;
use scaledb_types::{Base, Type};

/// The name of a type.
pub(super) fn type_name(facts: &dyn Facts, oid: u32) -> String {
    let rows = || of_row_type(oid).and_then(|table| facts.catalog().get(table));
    match facts.catalog().type_of_oid(oid) {
        Some(ty) => seen_type(facts, ty),
        None if oid == ANY => "\"any\"".to_owned(),
        None => rows().map_or_else(|| "???".to_owned(), |table| seen(facts, table.schema(), table.name())),
    }
}

/// Parameters as a definition has them, without or with their defaults.
fn parameters<'d>(
    facts: &dyn Facts,
    desc: &RoutineDesc,
    shown: impl Iterator<Item = &'d ParameterDesc>,
    defaults: bool,
) -> String {
    let each = shown.map(|parameter| {
        let mode = match (parameter.mode, desc.kind) {
            (ParameterMode::In, RoutineKind::Procedure) => "IN ",
            (ParameterMode::In | ParameterMode::Table, _) => "",
            (ParameterMode::Out, _) => "OUT ",
            (ParameterMode::InOut, _) => "INOUT ",
            (ParameterMode::Variadic, _) => "VARIADIC ",
        };
        let name =
            if parameter.name.is_empty() { String::new() } else { format!("{} ", quoted(&parameter.name)) };
        let default = match &parameter.default {
            Some(text) if defaults => {
                let ty = facts.catalog().type_of_oid(parameter.type_oid).unwrap_or(Type::TEXT);
                format!(" DEFAULT {}", printed_as(facts, ty, text))
            }
            _ => String::new(),
        };
        format!("{mode}{name}{}{default}", type_name(facts, parameter.type_oid))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// `pg_get_function_arguments`, or `pg_get_function_identity_arguments`, which has no defaults.
pub(super) fn arguments(facts: &dyn Facts, desc: &RoutineDesc, defaults: bool) -> String {
    let shown = desc.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::Table);
    parameters(facts, desc, shown, defaults)
}

/// The same of a function of the system.
pub(super) fn arguments_of_builtin(facts: &dyn Facts, builtin: &Builtin, defaults: bool) -> String {
    let last = builtin.args.len().checked_sub(1);
    let each = builtin.args.iter().enumerate().map(|(at, oid)| {
        let mut text = String::new();
        if builtin.function.variadic && Some(at) == last {
            text.push_str("VARIADIC ");
        }
        let named = builtin.names().and_then(|names| names.get(at));
        if let Some((name, _)) = named {
            text.push_str(&format!("{} ", quoted(name)));
        }
        text.push_str(&type_name(facts, *oid));
        match named {
            Some((_, Some((ty, default))))
                if defaults && !matches!(ty.base, Base::Int4 | Base::Float8 | Base::Bool) =>
            {
                text.push_str(&format!(" DEFAULT '{default}'::{}", ty.sql_name()));
            }
            Some((_, Some((_, default)))) if defaults => text.push_str(&format!(" DEFAULT {default}")),
            _ => {}
        }
        text
    });
    each.collect::<Vec<_>>().join(", ")
}

/// `pg_get_function_result`; none for a procedure.
pub(super) fn result(facts: &dyn Facts, desc: &RoutineDesc) -> Option<String> {
    if desc.kind == RoutineKind::Procedure {
        return None;
    }
    let columns = || desc.parameters.iter().filter(|parameter| parameter.mode == ParameterMode::Table);
    if columns().next().is_some() {
        return Some(format!("TABLE({})", parameters(facts, desc, columns(), false)));
    }
    let text = match desc.returns {
        Returned::Nothing => "void".to_owned(),
        Returned::Trigger => "trigger".to_owned(),
        Returned::Value(oid) => type_name(facts, oid),
        Returned::Parameters | Returned::Record => "record".to_owned(),
        Returned::Row(oid) => {
            let table = facts.catalog().table(oid);
            table.map_or_else(|| "???".to_owned(), |table| seen(facts, &table.schema, &table.name))
        }
    };
    Some(if desc.set { format!("SETOF {text}") } else { text })
}

/// `pg_get_functiondef`.
pub(super) fn definition(facts: &dyn Facts, desc: &RoutineDesc) -> String {
    let kind = desc.kind.word().to_uppercase();
    let (schema, name) = (quoted(&desc.schema), quoted(&desc.name));
    let mut text = format!("CREATE OR REPLACE {kind} {schema}.{name}({})\n", arguments(facts, desc, true));
    if let Some(result) = result(facts, desc) {
        text.push_str(&format!(" RETURNS {result}\n"));
    }
    text.push_str(&format!(" LANGUAGE {}\n", desc.language.name()));
    let mut promises = Vec::new();
    if desc.volatility != Volatility::Volatile {
        promises.push(desc.volatility.word());
    }
    if desc.strict {
        promises.push("STRICT");
    }
    if desc.security_definer {
        promises.push("SECURITY DEFINER");
    }
    if !promises.is_empty() {
        text.push_str(&format!(" {}\n", promises.join(" ")));
    }
    for (name, value) in &desc.settings {
        let values: Vec<String> =
            value.split(", ").map(|part| format!("'{}'", part.replace('\'', "''"))).collect();
        text.push_str(&format!(" SET {name} TO {}\n", values.join(", ")));
    }
    let body = dollars(&desc.body, desc.kind.word());
    text.push_str(&match desc.language {
        Language::C => format!("AS '{}', {body}\n", library(facts, desc)),
        Language::Sql | Language::PlPgSql => format!("AS {body}\n"),
    });
    text
}

/// Where the code of a function in C is.
pub(super) fn library(facts: &dyn Facts, desc: &RoutineDesc) -> String {
    let extension = facts.catalog().extension_of(desc.oid);
    extension.map_or_else(String::new, |extension| format!("$libdir/{}", extension.name))
}

/// What PostgreSQL has in `tgtype`.
pub(super) fn trigger_bits(trigger: &TriggerDesc) -> i16 {
    let bit = |set: bool, bit: i16| if set { bit } else { 0 };
    bit(trigger.for_each_row, 1)
        | bit(trigger.timing == TriggerTiming::Before, 2)
        | bit(trigger.events.insert, 4)
        | bit(trigger.events.delete, 8)
        | bit(trigger.events.update, 16)
        | bit(trigger.events.truncate, 32)
        | bit(trigger.timing == TriggerTiming::InsteadOf, 64)
}

/// `pg_get_triggerdef`; with the schema of the table, unless it is to be `pretty`.
pub(super) fn trigger(facts: &dyn Facts, table: &TableDesc, trigger: &TriggerDesc, pretty: bool) -> String {
    let when = match trigger.timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    };
    let mut events: Vec<String> = Vec::new();
    for (fires, word) in [
        (trigger.events.insert, "INSERT"),
        (trigger.events.delete, "DELETE"),
        (trigger.events.update, "UPDATE"),
        (trigger.events.truncate, "TRUNCATE"),
    ] {
        if !fires {
            continue;
        }
        let columns: Vec<String> =
            trigger.columns.iter().map(|column| quoted(table.column_name(*column))).collect();
        let of = word == "UPDATE" && !columns.is_empty();
        events.push(if of { format!("{word} OF {}", columns.join(", ")) } else { word.to_owned() });
    }
    let schema = if pretty { String::new() } else { format!("{}.", quoted(&table.schema)) };
    let each = if trigger.for_each_row { "ROW" } else { "STATEMENT" };
    let condition = trigger.condition.as_ref();
    let condition = condition.map(|text| without_parentheses(&seen_expression(facts, text)));
    let condition = condition.map_or_else(String::new, |text| match pretty {
        true => format!(" WHEN ({text})"),
        false => format!(" WHEN ({})", printed_expression(&text)),
    });
    let function = facts.catalog().routine(trigger.function);
    let function =
        function.map_or_else(|| "???".to_owned(), |desc| seen_routine(facts, &desc.schema, &desc.name));
    let arguments: Vec<String> =
        trigger.arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    let (kind, chosen) = match &trigger.constraint {
        None => ("TRIGGER", ""),
        Some(constraint) => {
            let chosen = match constraint.deferrable {
                None => " NOT DEFERRABLE INITIALLY IMMEDIATE",
                Some(Initially::Immediate) => " DEFERRABLE INITIALLY IMMEDIATE",
                Some(Initially::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
            };
            ("CONSTRAINT TRIGGER", chosen)
        }
    };
    let mut referencing = if trigger.has_transitions() { " REFERENCING".to_owned() } else { String::new() };
    for (word, name) in [("OLD", &trigger.old_table), ("NEW", &trigger.new_table)] {
        if let Some(name) = name {
            referencing.push_str(&format!(" {word} TABLE AS {}", quoted(name)));
        }
    }
    format!(
        "CREATE {kind} {} {when} {} ON {schema}{}{chosen}{referencing} FOR EACH {each}{condition} EXECUTE FUNCTION \
         {function}({})",
        quoted(&trigger.name),
        events.join(" OR "),
        quoted(&table.name),
        arguments.join(", ")
    )
}

/// The oid of a language.
pub(super) fn language_oid(language: Language) -> u32 {
    match language {
        Language::Sql => 14,
        Language::PlPgSql => PLPGSQL,
        Language::C => scaledb_catalog::C_LANGUAGE,
    }
}

/// The oid of the type of triggers' functions.
pub(super) const TRIGGER: u32 = 2_279;
/// The oid of PL/pgSQL.
pub(super) const PLPGSQL: u32 = scaledb_catalog::PLPGSQL_LANGUAGE;
