//! Functions that read the catalog.

use super::Facts;
use super::builtins::{ANY, builtin, builtins_named};
use super::definitions::{constraint_definition, index_column, index_definition, index_table};
use super::oids::{
    DATABASE, PG_CONSTRAINT, PG_EXTENSION, PG_NAMESPACE, PG_POLICY, PG_PROC, PG_TRIGGER, PG_TYPE, TABLESPACE,
    TEMPORARY_SCHEMA, rule_of, schema_of_oid, schema_oid,
};
use super::printed::{printed_as, without_parentheses};
use super::seen::{leads_to, own_oid, seen, seen_query, seen_routine, seen_type};
use super::type_functions::{arguments_of, type_functions};
use super::{databases, objects, privileges, routines, updatable};
use scaledb_catalog::{
    Catalog, ObjectKind, ParameterDesc, Relation, RoutineDesc, ViewDesc, of_row_type, row_type,
};
use scaledb_locks::Who;
use scaledb_parse::lex::quoted;
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::bind::names::{is_schema, is_temporary, no_schema, own_schema, parse_type, split_text};
use scaledb_planner::functions::SessionFn;
use scaledb_types::{Array, Base, Env, Fields, Record, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// What `version()` answers.
const VERSION: &str = concat!("PostgreSQL 15.0 (ScaleDB ", env!("CARGO_PKG_VERSION"), ")");

/// Whether what the function answers may change with the catalog.
pub(crate) fn reads_catalog(name: &str) -> bool {
    // roles and privileges may change
    if name.starts_with("has_")
        || matches!(name, "pg_has_role" | "current_user" | "session_user" | "pg_get_userbyid")
    {
        return true;
    }
    matches!(
        name,
        "cast"
            | "pg_table_is_visible"
            | "pg_type_is_visible"
            | "pg_function_is_visible"
            | "pg_get_indexdef"
            | "pg_get_constraintdef"
            | "pg_get_viewdef"
            | "pg_get_functiondef"
            | "_acl_items"
            | "pg_get_function_result"
            | "pg_get_function_sqlbody"
            | "pg_get_function_arguments"
            | "pg_get_function_identity_arguments"
            | "pg_get_ruledef"
            | "pg_get_triggerdef"
            | "pg_get_serial_sequence"
            | "to_regclass"
            | "to_regtype"
            | "to_regnamespace"
            | "to_regproc"
            | "to_regprocedure"
            | "pg_describe_object"
            | "_identified_object"
            | "_sequence_parameters"
            | "pg_get_function_arg_default"
            | "pg_relation_is_updatable"
            | "pg_column_is_updatable"
            | "format_type"
            | "obj_description"
            | "col_description"
    )
}

/// Calls a function.
///
/// # Errors
/// What the function refuses.
pub(crate) fn call(facts: &dyn Facts, function: &SessionFn, args: &[Value]) -> Result<Value> {
    let catalog = facts.catalog();
    let (_, database) = facts.names();
    let oid = match args.first() {
        Some(Value::Oid(oid)) => Some(*oid),
        _ => None,
    };
    let text = args.first().and_then(Value::as_str);
    Ok(match function.name {
        "cast" => return cast(facts, function, &args[0]),
        "version" => Value::text(VERSION),
        "current_database" | "current_catalog" => Value::text(database),
        "session_user" => role_value(facts, facts.identity().session()),
        "current_user" | "user" | "current_role" => role_value(facts, facts.identity().current()),
        "pg_is_in_recovery" => Value::Bool(false),
        "pg_table_is_visible" => oid.map_or(Value::Null, |oid| Value::Bool(is_visible(facts, oid))),
        "pg_type_is_visible" => oid.map_or(Value::Null, |oid| {
            let is_own = catalog.own_type(oid).is_some();
            Value::Bool(!is_own || is_visible(facts, oid))
        }),
        "pg_function_is_visible" => oid.map_or(Value::Null, |oid| {
            let desc = catalog.routine(oid);
            Value::Bool(desc.is_none_or(|desc| facts.path().contains(&desc.schema)))
        }),
        "pg_get_functiondef"
        | "pg_get_function_result"
        | "pg_get_function_arguments"
        | "pg_get_function_identity_arguments" => {
            let desc = oid.and_then(|oid| catalog.routine(oid));
            let text = desc.and_then(|desc| match function.name {
                "pg_get_functiondef" => Some(routines::definition(facts, desc)),
                "pg_get_function_result" => routines::result(facts, desc),
                name => Some(routines::arguments(facts, desc, name == "pg_get_function_arguments")),
            });
            let of_system = || {
                let builtin = oid.and_then(builtin)?;
                match function.name {
                    "pg_get_functiondef" => None,
                    "pg_get_function_result" => Some(routines::type_name(facts, builtin.result)),
                    name => {
                        let defaults = name == "pg_get_function_arguments";
                        Some(routines::arguments_of_builtin(facts, builtin, defaults))
                    }
                }
            };
            text.or_else(of_system).map_or(Value::Null, Value::from)
        }
        "pg_get_function_arg_default" => {
            let desc = oid.and_then(|oid| catalog.routine(oid));
            let number = args[1].as_i64().and_then(|number| usize::try_from(number - 1).ok());
            let parameter = desc.zip(number).and_then(|(desc, number)| desc.parameters.get(number));
            let default = parameter.filter(|parameter| parameter.mode.is_given());
            let default = default.and_then(|parameter| parameter_default(facts, parameter));
            default.map_or(Value::Null, Value::from)
        }
        "pg_describe_object" | "_identified_object" => match (&args[0], &args[1], args[2].as_i64()) {
            (Value::Oid(class), Value::Oid(oid), Some(part)) if function.name == "pg_describe_object" => {
                objects::description(facts, *class, *oid, part).map_or(Value::Null, Value::from)
            }
            (Value::Oid(class), Value::Oid(oid), Some(part)) => objects::identity(facts, *class, *oid, part),
            _ => Value::Null,
        },
        "_sequence_parameters" => oid.map_or(Ok(Value::Null), |oid| sequence_parameters(facts, oid))?,
        "pg_sequence_last_value" => match oid {
            Some(oid) => match facts.sequence(oid)? {
                (last, true) => Value::Int8(last),
                (_, false) => Value::Null,
            },
            None => Value::Null,
        },
        "pg_relation_is_updatable" | "pg_column_is_updatable" => {
            let Some(oid) = oid else { return Ok(Value::Null) };
            let triggers = args.last().is_some_and(Value::is_true);
            match (function.name, args[1].as_i64()) {
                ("pg_column_is_updatable", Some(number)) => {
                    Value::Bool(updatable::column(facts, oid, number, triggers)?)
                }
                ("pg_column_is_updatable", None) => Value::Null,
                _ => Value::Int4(updatable::relation(facts, oid, triggers)?),
            }
        }
        "pg_relation_filenode" => match oid {
            Some(oid) if matches!(catalog.get(oid), Some(Relation::View(_))) => Value::Null,
            Some(oid) if name_of(catalog, oid).is_some() => Value::Oid(oid),
            _ => Value::Null,
        },
        "row_security_active" => {
            let oid = match (text, oid) {
                (Some(_), _) => named_oid(facts, &args[0])?,
                (None, oid) => oid,
            };
            let (reader, table) = (facts.lookup().reader(), oid.and_then(|oid| catalog.table(oid)));
            Value::Bool(table.is_some_and(|table| catalog.are_rows_secured(table, reader.role)))
        }
        "pg_jit_available" => Value::Bool(false),
        "pg_blocking_pids" => blocking(facts, args[0].as_i64()),
        "current_query" => facts.running().map_or(Value::Null, |text| Value::text(&*text)),
        "to_regproc" => match text {
            Some(text) if let Some((oid, _)) = type_functions().find(|(_, known)| *known == text) => {
                Value::Oid(oid)
            }
            Some(text) => routine_named(facts, text).ok().flatten().map_or(Value::Null, Value::Oid),
            None => Value::Null,
        },
        "to_regprocedure" if text.is_some_and(|text| type_function(text).is_some()) => {
            text.and_then(type_function).map_or(Value::Null, Value::Oid)
        }
        "to_regprocedure" => match text.map(|text| privileges::routine_of_text(facts, text)) {
            Some(Ok(oid)) if catalog.routine(oid).is_some() || builtin(oid).is_some() => Value::Oid(oid),
            Some(Err(error)) if error.code() == SqlState::INVALID_TEXT_REPRESENTATION => return Err(error),
            _ => Value::Null,
        },
        // no body is kept as a tree
        "pg_get_function_sqlbody" => Value::Null,
        "pg_get_triggerdef" => {
            let pretty = args.get(1).is_some_and(Value::is_true);
            let found = catalog.triggering().find_map(|table| {
                let trigger = table.triggers.iter().find(|trigger| Some(trigger.oid) == oid)?;
                Some(routines::trigger(facts, &table, trigger, pretty))
            });
            found.map_or(Value::Null, Value::from)
        }
        "pg_my_temp_schema" => {
            let own = facts.path().iter().find(|schema| is_temporary(schema));
            Value::Oid(own.map_or(0, |schema| schema_oid(catalog, schema)))
        }
        "_acl_items" => privileges::items(facts, &args[0])?,
        "acldefault" => match (&args[0], &args[1]) {
            (Value::Char(kind), Value::Oid(owner)) => privileges::defaults(facts, *kind, *owner)?,
            _ => Value::Null,
        },
        "pg_is_other_temp_schema" => oid.map_or(Value::Null, |oid| is_other_temporary(facts, oid)),
        "pg_get_userbyid" => oid.map_or(Value::Null, |oid| user_name(facts, oid)),
        "format_type" => format_type(facts, oid, args.get(1).and_then(Value::as_i64)),
        "pg_get_expr" => match (text, args.get(2).is_some_and(Value::is_true)) {
            (Some(text), true) => Value::from(without_parentheses(text)),
            _ => args[0].clone(),
        },
        "pg_get_indexdef" => index_text(facts, oid, args),
        "pg_get_constraintdef" => {
            let pretty = args.get(1).is_some_and(Value::is_true);
            oid.and_then(|oid| constraint_definition(facts, oid, pretty)).map_or(Value::Null, Value::from)
        }
        "pg_get_viewdef" => {
            let relation = named_oid(facts, &args[0])?.and_then(|oid| catalog.get(oid));
            match relation.and_then(Relation::definition) {
                Some(view) => Value::from(format!("{};", seen_query(facts, &view)?)),
                None => Value::Null,
            }
        }
        "pg_get_ruledef" => {
            let mut views = catalog.definitions();
            let found = views.find(|view| Some(rule_of(view.oid)) == oid);
            found.map_or(Ok(Value::Null), |view| rule(facts, &view, args.get(1)))?
        }
        // there are no such objects
        "pg_operator_is_visible"
        | "pg_opclass_is_visible"
        | "pg_opfamily_is_visible"
        | "pg_conversion_is_visible"
        | "pg_statistics_obj_is_visible"
        | "pg_ts_config_is_visible"
        | "pg_ts_dict_is_visible"
        | "pg_ts_parser_is_visible"
        | "pg_ts_template_is_visible" => Value::Null,
        "pg_relation_size" | "pg_table_size" | "pg_indexes_size" | "pg_total_relation_size" => {
            let Some(oid) = oid else { return Ok(Value::Null) };
            size(facts, function.name, oid, args.get(1))?
        }
        "pg_database_size" => database_size(facts, &args[0])?,
        "pg_tablespace_size" => tablespace_size(facts, &args[0])?,
        "pg_get_serial_sequence" => {
            serial_sequence(catalog, facts.path(), text, args.get(1).and_then(Value::as_str))?
        }
        "pg_relation_is_publishable" => Value::Bool(true),
        "pg_partition_ancestors" => args[0].clone(),
        "pg_encoding_to_char" | "getdatabaseencoding" => Value::text("UTF8"),
        // tables are not in files of their own
        "pg_tablespace_location" => Value::text(""),
        "pg_collation_is_visible" => oid.map_or(Value::Null, |_| Value::Bool(true)),
        "pg_char_to_encoding" => Value::Int4(6),
        "to_regclass" | "to_regtype" | "to_regnamespace" | "to_regrole" => {
            let Some(text) = text else { return Ok(Value::Null) };
            if matches!(function.name, "to_regnamespace" | "to_regrole") && only_name(text).is_none() {
                return Err(SqlError::new(SqlState::INVALID_NAME, "invalid name syntax"));
            }
            registered(facts, function.name, text).map_or(Value::Null, Value::Oid)
        }
        "shobj_description" => {
            let comment = match (oid, args.get(1).and_then(Value::as_str)) {
                (Some(oid), Some("pg_authid")) => catalog.role(oid).and_then(|desc| desc.comment.as_deref()),
                (Some(oid), Some("pg_database")) => {
                    catalog.database(oid).and_then(|desc| desc.comment.as_deref())
                }
                _ => None,
            };
            comment.map_or(Value::Null, Value::text)
        }
        "obj_description" | "col_description" => {
            oid.map_or(Value::Null, |oid| description(catalog, function.name, oid, args.get(1)))
        }
        name if name.starts_with("has_") || name == "pg_has_role" => privileges::ask(facts, name, args)?,
        _ => Value::Null,
    })
}

/// Whether it is the schema of another session for its temporary tables.
fn is_other_temporary(facts: &dyn Facts, oid: u32) -> Value {
    let own = facts.path().iter().any(|schema| schema_oid(facts.catalog(), schema) == oid);
    Value::Bool(oid & TEMPORARY_SCHEMA != 0 && !own)
}

/// CREATE RULE of the rule of a view.
///
/// # Errors
/// What is wrong with the query.
fn rule(facts: &dyn Facts, view: &Arc<ViewDesc>, pretty: Option<&Value>) -> Result<Value> {
    let name = match pretty.is_some_and(Value::is_true) {
        true => seen(facts, &view.schema, &view.name),
        false => format!("{}.{}", quoted(&view.schema), quoted(&view.name)),
    };
    let query = seen_query(facts, view)?;
    Ok(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query};").into())
}

/// The name of a role.
pub(super) fn role_name(facts: &dyn Facts, oid: u32) -> Option<String> {
    facts.identity().name_of(facts.catalog(), oid)
}

fn role_value(facts: &dyn Facts, oid: u32) -> Value {
    role_name(facts, oid).map_or_else(|| Value::text(oid.to_string()), Value::from)
}

/// The name that a text of one word means.
fn folded_name(text: &str) -> String {
    only_name(text).unwrap_or_else(|| text.to_owned())
}

/// The name that is all of a text.
fn only_name(text: &str) -> Option<String> {
    let mut tokens = scaledb_parse::lex::Lexer::new(text);
    let name = tokens.next().and_then(|token| scaledb_parse::lex::name_of(token, text));
    name.filter(|_| tokens.next().is_none())
}

/// The name of a routine as a `regproc`: with its schema unless it is the only one that the name finds.
fn only_routine(facts: &dyn Facts, schema: &str, name: &str) -> String {
    let own = facts.catalog().routines_named(name).filter(|desc| facts.path().contains(&desc.schema));
    match own.count() + builtins_named(name).count() {
        1 => seen_routine(facts, schema, name),
        _ => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// The routine of a name.
///
/// # Errors
/// 42725 if there are several.
fn routine_named(facts: &dyn Facts, text: &str) -> Result<Option<u32>> {
    let Some((schema, name)) = scaledb_planner::bind::names::split_text(text) else { return Ok(None) };
    let within = |known: &str| match &schema {
        Some(schema) => schema == known,
        None => facts.path().iter().any(|path| path == known),
    };
    let own = facts.catalog().routines_named(&name).filter(|desc| within(&desc.schema)).map(|desc| desc.oid);
    let of_system =
        builtins_named(&name).filter(|_| schema.as_deref().is_none_or(|schema| schema == "pg_catalog"));
    let mut found = own.chain(of_system.map(|builtin| builtin.oid));
    let first = found.next();
    if found.next().is_some() {
        let what = format!("more than one function named \"{name}\"");
        return Err(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, what));
    }
    Ok(first)
}

/// The name of a user.
fn user_name(facts: &dyn Facts, oid: u32) -> Value {
    role_name(facts, oid).map_or_else(|| format!("unknown (OID={oid})").into(), Value::from)
}

/// CREATE INDEX of an index, or one of its columns.
fn index_text(facts: &dyn Facts, oid: Option<u32>, args: &[Value]) -> Value {
    let table = oid.and_then(|oid| Some((index_table(facts.catalog(), oid)?, oid)));
    match (table, args.get(1).and_then(Value::as_i64).unwrap_or(0)) {
        (Some((table, oid)), 0) => {
            let pretty = args.get(2).is_some_and(Value::is_true) && is_visible(facts, table.oid);
            index_definition(facts, table, oid, !pretty).map_or(Value::Null, Value::from)
        }
        (Some((table, oid)), column) => {
            let plain = !args.get(2).is_some_and(Value::is_true);
            index_column(facts, table, oid, column, plain).map_or(Value::Null, Value::from)
        }
        (None, _) => Value::Null,
    }
}

/// The name of a type as SQL has it, with its modifier.
fn format_type(facts: &dyn Facts, oid: Option<u32>, typmod: Option<i64>) -> Value {
    let Some(oid) = oid else { return Value::Null };
    match (facts.catalog().type_of_oid(oid), typmod.and_then(|typmod| i32::try_from(typmod).ok())) {
        _ if oid == 0 => Value::text("-"),
        (Some(ty), Some(typmod)) if own_oid(ty).is_none() => ty.with_typmod(typmod).to_string().into(),
        _ => name_of_type(facts, oid).map_or_else(|| Value::text("???"), Value::from),
    }
}

/// The memory of a database: the first one has all that is not another one's.
fn database_size(facts: &dyn Facts, database: &Value) -> Result<Value> {
    let oid = match (database, database.as_str()) {
        (Value::Oid(oid), _) if facts.catalog().is_database(*oid) => *oid,
        (Value::Int4(oid), _) if u32::try_from(*oid).is_ok_and(|oid| facts.catalog().is_database(oid)) => {
            oid.unsigned_abs()
        }
        (_, None) => return Ok(Value::Null),
        (_, Some(name)) => databases::named(facts, name).ok_or_else(|| {
            SqlError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
        })?,
    };
    if oid != DATABASE {
        return Ok(bytes(facts.size_of_database(oid)));
    }
    let others = facts.catalog().databases().filter(|desc| desc.oid != DATABASE);
    let of_others: u64 = others.map(|desc| facts.size_of_database(desc.oid)).sum();
    Ok(bytes(facts.memory().saturating_sub(of_others)))
}

/// The memory of a tablespace: all is in the one that there is.
fn tablespace_size(facts: &dyn Facts, tablespace: &Value) -> Result<Value> {
    match tablespace {
        Value::Oid(TABLESPACE) => Ok(bytes(facts.memory())),
        Value::Null | Value::Oid(_) => Ok(Value::Null),
        named if named.as_str() == Some("pg_default") => Ok(bytes(facts.memory())),
        other => {
            let what = format!("tablespace \"{}\" does not exist", other.as_str().unwrap_or_default());
            Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
        }
    }
}

/// The oid of a type. No value is of the type trigger, so it is not among those that are parsed.
///
/// # Errors
/// As [`parse_type`].
fn type_named(facts: &dyn Facts, text: &str) -> Result<u32> {
    if matches!(text, "trigger" | "pg_catalog.trigger") {
        return Ok(routines::TRIGGER);
    }
    let catalog = facts.catalog();
    let found = parse_type(catalog, facts.path(), text).map(Type::oid);
    // a table or a view is the type of its rows as well
    let rows = || find_relation(catalog, facts.path(), text).filter(|oid| has_row_type(catalog, *oid));
    match found {
        // there are no arrays of rows
        Err(error) if !text.contains('[') => rows().map(row_type).ok_or(error),
        found => found,
    }
}

/// Whether a relation has rows that are of a type: sequences and indexes have not.
fn has_row_type(catalog: &Catalog, oid: u32) -> bool {
    catalog.get(oid).is_some_and(|relation| !matches!(relation, Relation::Sequence(_)))
}

/// The name of a type as it is seen; none for an oid that is no type's.
fn name_of_type(facts: &dyn Facts, oid: u32) -> Option<String> {
    if oid == routines::TRIGGER {
        return Some("trigger".to_owned());
    }
    if oid == ANY {
        return Some("\"any\"".to_owned());
    }
    let rows = || {
        let relation = of_row_type(oid).and_then(|relation| facts.catalog().get(relation))?;
        Some(seen(facts, relation.schema(), relation.name()))
    };
    facts.catalog().type_of_oid(oid).map_or_else(rows, |ty| Some(seen_type(facts, ty)))
}

/// The oid that a name has, as one of the `to_reg..` functions says.
fn registered(facts: &dyn Facts, function: &str, name: &str) -> Option<u32> {
    match function {
        "to_regclass" => find_relation(facts.catalog(), facts.path(), name),
        "to_regtype" => type_named(facts, name).ok(),
        "to_regrole" => facts.identity().role_named(facts.catalog(), &folded_name(name)),
        _ => Some(schema_oid(facts.catalog(), &folded_name(name))).filter(|oid| *oid != 0),
    }
}

/// The comment on an object, perhaps of a catalog that is named, or on a column, which is numbered.
fn description(catalog: &Catalog, function: &str, oid: u32, named: Option<&Value>) -> Value {
    if function == "col_description" {
        let number = named.and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
        return number.map_or(Value::Null, |number| comment(catalog, oid, Some("pg_class"), number));
    }
    match named.map(Value::as_str) {
        Some(None) => Value::Null,
        class => comment(catalog, oid, class.flatten(), 0),
    }
}

/// Whether a relation, an index or an enum type is found by its bare name.
fn is_visible(facts: &dyn Facts, oid: u32) -> bool {
    let Some((schema, name)) = name_of(facts.catalog(), oid) else { return false };
    leads_to(facts.catalog(), facts.path(), &schema, &name)
}

/// What COMMENT ON has said about an object of a catalog, or of any; or about a column of it.
fn comment(catalog: &Catalog, oid: u32, class: Option<&str>, number: i32) -> Value {
    let mut all = super::pg_catalog::pg_description::comments(catalog);
    let found = all.find(|comment| {
        let of_class = class.is_none_or(|class| {
            let kind = match comment.class {
                PG_CONSTRAINT => "pg_constraint",
                PG_NAMESPACE => "pg_namespace",
                PG_PROC => "pg_proc",
                PG_TYPE => "pg_type",
                PG_TRIGGER => "pg_trigger",
                PG_POLICY => "pg_policy",
                PG_EXTENSION => "pg_extension",
                _ => "pg_class",
            };
            class == kind
        });
        comment.oid == oid && comment.column == number && of_class
    });
    found.map_or(Value::Null, |comment| Value::text(comment.text))
}

fn bytes(bytes: u64) -> Value {
    Value::Int8(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// The memory of a relation.
fn size(facts: &dyn Facts, function: &str, oid: u32, fork: Option<&Value>) -> Result<Value> {
    if let Some(fork) = fork {
        match fork.as_str() {
            None => return Ok(Value::Null),
            Some("main") => {}
            // what PostgreSQL keeps beside a table is not there
            Some("fsm" | "vm" | "init") => return Ok(Value::Int8(0)),
            Some(_) => {
                let error = SqlError::invalid_parameter("invalid fork name");
                return Err(error.hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\"."));
            }
        }
    }
    if super::all().any(|(_, _, known, _)| known == oid) {
        return Ok(Value::Int8(0));
    }
    let Some(size) = facts.size(oid) else { return Ok(Value::Null) };
    Ok(bytes(match function {
        "pg_indexes_size" => size.indexes,
        "pg_total_relation_size" => size.own + size.indexes,
        _ => size.own,
    }))
}

/// Schema and name of a relation, an index or a catalog.
pub(super) fn name_of(catalog: &Catalog, oid: u32) -> Option<(String, String)> {
    if let Some(relation) = catalog.get(oid) {
        return Some((relation.schema().to_owned(), relation.name().to_owned()));
    }
    if let Some((schema, name)) = catalog.own_type(oid) {
        return Some((schema.to_owned(), name.to_owned()));
    }
    if let Some((schema, name, ..)) = super::all().find(|(_, _, known, _)| *known == oid) {
        return Some((schema.to_owned(), name.to_owned()));
    }
    let table = index_table(catalog, oid)?;
    let primary = table.primary_key.iter().map(|key| (key.oid, &key.name));
    let mut all = primary.chain(table.indexes.iter().map(|index| (index.oid, &index.name)));
    let (_, name) = all.find(|(known, _)| *known == oid)?;
    Some((table.schema.clone(), name.clone()))
}

/// The relation of a name as text: perhaps quoted, perhaps with a schema.
pub(super) fn find_relation(catalog: &Catalog, path: &[String], text: &str) -> Option<u32> {
    let (schema, name) = split_text(text)?;
    let name = name.as_str();
    let in_schema = |schema: &str| {
        let index = || {
            let (table, index) = catalog.index(schema, name)?;
            index.map(|index| index.oid).or(table.primary_key.as_ref().map(|key| key.oid))
        };
        let system = || super::all().find(|(s, n, ..)| *s == schema && *n == name).map(|(_, _, oid, _)| oid);
        catalog.lookup(schema, name).map(Relation::oid).or_else(index).or_else(system)
    };
    match schema.as_deref() {
        Some(schema) => in_schema(own_schema(path, schema)?),
        None => {
            // what users make comes before what has its name in the system's schema, as in statements
            let (system, own): (Vec<&String>, Vec<_>) =
                path.iter().partition(|schema| *schema == "pg_catalog");
            own.into_iter().chain(system).find_map(|schema| in_schema(schema))
        }
    }
}

/// The oid of a relation that an oid or a name is given of.
///
/// # Errors
/// 42P01 for a name that there is not.
fn named_oid(facts: &dyn Facts, given: &Value) -> Result<Option<u32>> {
    match (given, given.as_str()) {
        (Value::Oid(oid), _) => Ok(Some(*oid)),
        (_, Some(name)) => match find_relation(facts.catalog(), facts.path(), name) {
            Some(oid) => Ok(Some(oid)),
            None => Err(undefined(facts, name, SqlState::UNDEFINED_TABLE, "relation")),
        },
        _ => Ok(None),
    }
}

/// What is said of a name that nothing has: 3F000 if there is no such schema, or else the code for what is named.
fn undefined(facts: &dyn Facts, text: &str, code: SqlState, kind: &str) -> SqlError {
    match split_text(text) {
        Some((Some(schema), _)) if !is_schema(facts.catalog(), facts.path(), &schema) => no_schema(&schema),
        _ => SqlError::new(code, format!("{kind} \"{text}\" does not exist")),
    }
}

/// Casts between names and oids, and between arrays of them.
fn cast(facts: &dyn Facts, function: &SessionFn, value: &Value) -> Result<Value> {
    let Some((from, to)) = function.cast else { return Err(SqlError::internal("a cast without types")) };
    if from.base == Base::Record {
        return Ok(with_names(facts, value)?.unwrap_or_else(|| value.clone()));
    }
    let texts = Type::array_of(Base::Text);
    let array = match (value, to.array) {
        (Value::Array(array), _) => array.clone(),
        (Value::Text(text), true) => match Value::parse(text, texts, &Env::default())? {
            Value::Array(array) => array,
            _ => return Ok(Value::Null),
        },
        _ => return cast_one(facts, from, to, value),
    };
    let one = |ty: Type| Type { array: false, ..ty };
    let element = if to.array { one(to) } else { Type::TEXT };
    let mapped =
        Value::Array(Arc::new(array.map(element, |value| cast_one(facts, one(from), element, value))?));
    if to.array {
        return Ok(mapped);
    }
    Ok(mapped.to_text(texts, &Env::default()).map_or(Value::Null, |text| Value::text(&*text)))
}

/// A record, or an array of them, with names in the place of oids of things; `None` if it has none.
fn with_names(facts: &dyn Facts, value: &Value) -> Result<Option<Value>> {
    match value {
        Value::Record(record) => {
            let mut named: Option<(Vec<Type>, Vec<Value>)> = None;
            for (at, (_, ty, field)) in record.each().enumerate() {
                let new = match field {
                    Value::Null => None,
                    _ if is_named(ty) => {
                        let name = cast(facts, &SessionFn::name_of(ty), field)?;
                        Some((Type::TEXT, name))
                    }
                    _ => with_names(facts, field)?.map(|field| (ty, field)),
                };
                if let Some((ty, field)) = new {
                    let whole = || (record.fields().types.clone(), record.values().to_vec());
                    let (types, values) = named.get_or_insert_with(whole);
                    (types[at], values[at]) = (ty, field);
                }
            }
            let Some((types, values)) = named else { return Ok(None) };
            let fields = Fields { names: record.fields().names.clone(), types };
            Ok(Some(Value::Record(Arc::new(Record::new(Arc::new(fields), values)?))))
        }
        Value::Array(array) if array.element().base == Base::Record => {
            let mut any = false;
            let mapped = array.map(array.element(), |value| {
                let named = with_names(facts, value)?;
                any |= named.is_some();
                Ok(named.unwrap_or_else(|| value.clone()))
            })?;
            Ok(any.then(|| Value::Array(Arc::new(mapped))))
        }
        _ => Ok(None),
    }
}

fn cast_one(facts: &dyn Facts, from: Type, to: Type, value: &Value) -> Result<Value> {
    let catalog = facts.catalog();
    if let Value::Text(text) = value {
        if let Ok(oid) = text.parse::<u32>() {
            return Ok(Value::Oid(oid));
        }
        return match to.base {
            Base::Regclass => match find_relation(catalog, facts.path(), text) {
                Some(oid) => Ok(Value::Oid(oid)),
                None => Err(undefined(facts, text, SqlState::UNDEFINED_TABLE, "relation")),
            },
            Base::Regtype => type_named(facts, text).map(Value::Oid).map_err(|error| match error.code() {
                SqlState::UNDEFINED_OBJECT => undefined(facts, text, SqlState::UNDEFINED_OBJECT, "type"),
                _ => error,
            }),
            Base::Regnamespace | Base::Regrole if text == "-" => Ok(Value::Oid(0)),
            Base::Regnamespace | Base::Regrole if only_name(text).is_none() => {
                Err(SqlError::new(SqlState::INVALID_NAME, "invalid name syntax"))
            }
            Base::Regnamespace => match schema_oid(catalog, &folded_name(text)) {
                0 => Err(no_schema(&folded_name(text))),
                oid => Ok(Value::Oid(oid)),
            },
            Base::Regrole => match facts.identity().role_named(facts.catalog(), &folded_name(text)) {
                Some(role) => Ok(Value::Oid(role)),
                None => {
                    let what = format!("role \"{}\" does not exist", folded_name(text));
                    Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
                }
            },
            Base::Regproc => {
                let name = text.strip_prefix("pg_catalog.").unwrap_or(text);
                match type_functions().find(|(_, function)| *function == name) {
                    Some((oid, _)) => Ok(Value::Oid(oid)),
                    None if let Some(oid) = routine_named(facts, text)? => Ok(Value::Oid(oid)),
                    None => Err(undefined(facts, text, SqlState::UNDEFINED_FUNCTION, "function")),
                }
            }
            Base::Regprocedure if text == "-" => Ok(Value::Oid(0)),
            // clients tell the types of arrays by `array_in(cstring,oid,integer)`
            Base::Regprocedure if let Some(oid) = type_function(text) => Ok(Value::Oid(oid)),
            Base::Regprocedure => match privileges::routine_of_text(facts, text)? {
                oid if catalog.routine(oid).is_some() || builtin(oid).is_some() => Ok(Value::Oid(oid)),
                // other functions of the system have no oids
                _ => {
                    let what = format!("function \"{text}\" does not exist");
                    Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what))
                }
            },
            _ => Ok(Value::Oid(0)),
        };
    }
    let Value::Oid(oid) = value else { return Ok(Value::Null) };
    Ok(Value::from(match from.base {
        Base::Regclass => match name_of(catalog, *oid) {
            Some((schema, name)) => seen(facts, &schema, &name),
            None if *oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        },
        Base::Regtype if *oid == 0 => "-".to_owned(),
        Base::Regtype => name_of_type(facts, *oid).unwrap_or_else(|| oid.to_string()),
        Base::Regnamespace => match schema_of_oid(catalog, *oid) {
            Some(name) => quoted(&name),
            None if *oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        },
        Base::Regrole if *oid == 0 => "-".to_owned(),
        Base::Regrole => role_name(facts, *oid).map_or_else(|| oid.to_string(), |name| quoted(&name)),
        Base::Regproc => match type_functions().find(|(known, _)| known == oid) {
            Some((_, name)) => name.to_owned(),
            None if let Some(desc) = catalog.routine(*oid) => only_routine(facts, &desc.schema, &desc.name),
            None if let Some(builtin) = builtin(*oid) => {
                only_routine(facts, "pg_catalog", builtin.function.name)
            }
            None if *oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        },
        Base::Regprocedure => match type_functions().find(|(known, _)| known == oid) {
            Some((_, name)) => format!("{name}({})", arguments_of(name)),
            None if let Some(desc) = catalog.routine(*oid) => {
                let types = desc.given().map(|parameter| routines::type_name(facts, parameter.type_oid));
                let types: Vec<String> = types.collect();
                format!("{}({})", seen_routine(facts, &desc.schema, &desc.name), types.join(","))
            }
            None if let Some(builtin) = builtin(*oid) => {
                let types: Vec<String> =
                    builtin.args.iter().map(|ty| routines::type_name(facts, *ty)).collect();
                format!("{}({})", quoted(builtin.function.name), types.join(","))
            }
            None if *oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        },
        _ if *oid == 0 => "-".to_owned(),
        _ => oid.to_string(),
    }))
}

/// The function of a name with the types of its arguments, if types are read or written by it.
fn type_function(text: &str) -> Option<u32> {
    let (name, _) = text.trim_end().strip_suffix(')')?.split_once('(')?;
    let name = name.trim();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    type_functions().find(|(_, known)| *known == name).map(|(oid, _)| oid)
}

/// The name of a routine with the types of what it is given: with all schemas, or with those that the search path does
/// not lead to.
pub(super) fn signature(facts: &dyn Facts, desc: &RoutineDesc, full: bool) -> String {
    let name = match full {
        true => format!("{}.{}", quoted(&desc.schema), quoted(&desc.name)),
        false => seen_routine(facts, &desc.schema, &desc.name),
    };
    let types = desc.given().map(|parameter| match facts.catalog().type_of_oid(parameter.type_oid) {
        Some(ty) if full => objects::full_type(facts.catalog(), ty),
        Some(ty) => seen_type(facts, ty),
        None => routines::type_name(facts, parameter.type_oid),
    });
    format!("{name}({})", types.collect::<Vec<_>>().join(","))
}

/// The columns of `pg_sequence_parameters`.
///
/// # Errors
/// 42501; XX000 for what is no sequence.
fn sequence_parameters(facts: &dyn Facts, oid: u32) -> Result<Value> {
    let catalog = facts.catalog();
    let Some(Relation::Sequence(desc)) = catalog.get(oid) else {
        return Err(SqlError::internal(format!("cache lookup failed for sequence {oid}")));
    };
    let all = ObjectKind::Sequence.all();
    if catalog.privileges(facts.identity().current(), ObjectKind::Sequence, oid, all).is_empty() {
        let what = format!("permission denied for sequence {}", desc.name);
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
    }
    let numbers = [desc.start, desc.min, desc.max, desc.increment].map(|number| number.to_string());
    let cycle = if desc.cycle { "t" } else { "f" };
    let rest = [cycle.to_owned(), desc.cache.to_string(), desc.type_oid.to_string()];
    let values = numbers.into_iter().chain(rest).map(Value::from).collect();
    Ok(Value::Array(Arc::new(Array::new(Type::TEXT, values))))
}

/// The sessions that have locks for which a session waits.
fn blocking(facts: &dyn Facts, session: Option<i64>) -> Value {
    let Some(session) = session.map(|session| u32::try_from(session).unwrap_or(0)) else {
        return Value::Null;
    };
    let all = facts.locks().all();
    let mut found = Vec::new();
    let session = Who::Session(session);
    for wait in all.iter().filter(|known| known.owner == session && !known.granted) {
        let holds = all.iter().filter(|known| known.granted && known.owner != session);
        let holders = holds.filter(|known| known.tag == wait.tag && known.mode.excludes(wait.mode));
        found.extend(holders.map(|known| known.owner));
    }
    found.sort_unstable();
    found.dedup();
    // 0, as PostgreSQL has it for prepared transactions: a session that is none of this server's
    let pid = |owner| if let Who::Session(id) = owner { id as i32 } else { 0 };
    let found = found.into_iter().map(|owner| Value::Int4(pid(owner))).collect();
    Value::Array(Arc::new(Array::new(Type::INT4, found)))
}

/// The default of a parameter, as definitions print it.
pub(super) fn parameter_default(facts: &dyn Facts, parameter: &ParameterDesc) -> Option<String> {
    let ty = facts.catalog().type_of_oid(parameter.type_oid).unwrap_or(Type::TEXT);
    parameter.default.as_ref().map(|text| printed_as(facts, ty, text))
}

fn serial_sequence(
    catalog: &Catalog,
    path: &[String],
    table: Option<&str>,
    column: Option<&str>,
) -> Result<Value> {
    let (Some(table), Some(column)) = (table, column) else { return Ok(Value::Null) };
    let Some(desc) = find_relation(catalog, path, table).and_then(|oid| catalog.table(oid)) else {
        let what = format!("relation \"{table}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
    };
    let Some(at) = desc.column(column) else {
        let what = format!("column \"{column}\" of relation \"{table}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, what));
    };
    let owner = Some((desc.oid, desc.columns[at].attnum));
    let found =
        catalog.relations().find(|relation| matches!(relation, Relation::Sequence(s) if s.owned_by == owner));
    Ok(found.map_or(Value::Null, |s| Value::from(format!("{}.{}", quoted(s.schema()), quoted(s.name())))))
}
