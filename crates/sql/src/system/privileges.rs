//! What functions and catalogs tell of privileges.

use super::builtins::builtins_named;
use super::functions::{find_relation, role_name};
use super::oids::{PG_AUTHID, schema_of_oid, schema_oid};
use super::{Facts, databases};
use scaledb_catalog::{
    Catalog, DATABASE, EVERYBODY, Grant, ObjectKind, PLPGSQL_LANGUAGE, PUBLIC_SCHEMA, Privileges, Relation,
    SQL_LANGUAGE, default_grants,
};
use scaledb_parse::lex::quoted;
use scaledb_types::{Array, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

/// A list of privileges as `aclitem`s: `ann=r*w/postgres`.
pub(super) fn list(facts: &dyn Facts, grants: &[Grant]) -> Value {
    let role = |role: u32| {
        let name = role_name(facts, role);
        name.map_or_else(|| role.to_string(), |name| item_name(&name))
    };
    let item = |grant: &Grant| {
        let to = if grant.to == EVERYBODY { String::new() } else { role(grant.to) };
        let mut letters = String::new();
        for (one, _, letter) in grant.privileges.and(grant.options).each() {
            letters.push(letter);
            if grant.options.has(one) {
                letters.push('*');
            }
        }
        Value::from(format!("{to}={letters}/{}", role(grant.by)))
    };
    Value::Array(Arc::new(Array::new(Type::TEXT, grants.iter().map(item).collect())))
}

/// A name as it stands in an `aclitem`: in quotes, if there is something else in it than letters, digits and `_`.
fn item_name(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The list of an object, if somebody has changed it.
pub(super) fn changed(facts: &dyn Facts, object: u32) -> Value {
    let catalog = facts.catalog();
    if object == PUBLIC_SCHEMA {
        return list(facts, &catalog.grants_of(ObjectKind::Schema, object));
    }
    let grants = catalog.access(object).and_then(|access| access.grants.as_ref());
    grants.map_or(Value::Null, |grants| list(facts, grants))
}

/// The list of a column, if somebody has changed it.
pub(super) fn of_column(facts: &dyn Facts, object: u32, attnum: i16) -> Value {
    match facts.catalog().access(object).map(|access| access.of_column(attnum)) {
        Some(grants) if !grants.is_empty() => list(facts, grants),
        _ => Value::Null,
    }
}

/// What may be done with an object of a kind whose privileges nobody has changed: `acldefault`.
///
/// # Errors
/// XX000 for a letter that stands for no kind.
pub(super) fn defaults(facts: &dyn Facts, letter: u8, owner: u32) -> Result<Value> {
    let kinds = [
        ObjectKind::Table,
        ObjectKind::Column,
        ObjectKind::Sequence,
        ObjectKind::Routine,
        ObjectKind::Type,
        ObjectKind::Schema,
        ObjectKind::Database,
        ObjectKind::Language,
    ];
    if let Some(kind) = kinds.into_iter().find(|kind| kind.letter() == letter) {
        return Ok(list(facts, &default_grants(kind, owner)));
    }
    // of what there is none here
    let own = match letter {
        b'L' => "rw",
        b't' => "C",
        b'F' | b'S' => "U",
        b'p' => "sA",
        other => {
            let what = format!("unrecognized object type abbreviation: {}", char::from(other));
            return Err(SqlError::internal(what));
        }
    };
    let by = role_name(facts, owner).map_or_else(|| owner.to_string(), |name| quoted(&name));
    let item = Value::from(format!("{by}={own}/{by}"));
    Ok(Value::Array(Arc::new(Array::new(Type::TEXT, vec![item]))))
}

/// An `aclitem` that is a text: to whom, by whom, and what with which right to grant it.
///
/// # Errors
/// 22P02.
fn parse_item(facts: &dyn Facts, text: &str) -> Result<Grant> {
    let wrong = || {
        let what = format!("invalid input syntax for type aclitem: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what)
    };
    let (to, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (letters, by) = rest.split_once('/').ok_or_else(wrong)?;
    let role = |name: &str| {
        let plain = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        let name = plain.map_or_else(|| name.to_owned(), |name| name.replace("\"\"", "\""));
        facts.identity().role_named(facts.catalog(), &name).ok_or_else(|| no_role(&name))
    };
    let (mut privileges, mut options) = (Privileges::NONE, Privileges::NONE);
    let mut last = Privileges::NONE;
    for letter in letters.chars() {
        if letter == '*' {
            options = options.and(last);
            continue;
        }
        let named = Privileges::NAMED.iter().find(|(.., known)| *known == letter).ok_or_else(wrong)?;
        last = named.0;
        privileges = privileges.and(last);
    }
    let to = if to.is_empty() { EVERYBODY } else { role(to)? };
    Ok(Grant { to, by: role(by)?, privileges, options })
}

/// What `aclexplode` makes rows of: of each privilege by whom, to whom, its name, and whether it may be granted on.
///
/// # Errors
/// 22P02, 42704.
pub(super) fn items(facts: &dyn Facts, list: &Value) -> Result<Value> {
    let Value::Array(array) = list else { return Ok(Value::Null) };
    let mut parts = Vec::new();
    for text in array.values().iter().filter_map(Value::as_str) {
        let Grant { to, by, privileges, options } = parse_item(facts, text)?;
        for (one, name, _) in privileges.each() {
            let granted = if options.has(one) { "t" } else { "f" };
            parts.extend([by.to_string(), to.to_string()].map(Value::from));
            parts.extend([Value::text(name), Value::text(granted)]);
        }
    }
    Ok(Value::Array(Arc::new(Array::new(Type::TEXT, parts))))
}

#[cold]
fn no_role(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

/// Privileges that a question names, each with whether it is the right to grant it that is asked for. Any will do.
type Asked = Vec<(Privileges, bool)>;

fn asked(text: &str, kind: ObjectKind) -> Result<Asked> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let part = part.trim();
        let upper = part.to_ascii_uppercase();
        let (name, option) = match upper.strip_suffix(" WITH GRANT OPTION") {
            Some(name) => (name.trim_end(), true),
            None => (upper.as_str(), false),
        };
        // tables once had it, and clients still ask: nobody has it
        if name == "RULE" && kind == ObjectKind::Table {
            continue;
        }
        let known = Privileges::named(name).filter(|one| kind.all().has(*one));
        let known = known
            .ok_or_else(|| SqlError::invalid_parameter(format!("unrecognized privilege type: \"{part}\"")))?;
        all.push((known, option));
    }
    Ok(all)
}

/// `has_table_privilege` and its like, and `pg_has_role`. Without a user the current one is meant.
///
/// # Errors
/// 22023 for a privilege that is none, 42704 and others for what is not there.
pub(super) fn ask(facts: &dyn Facts, name: &str, args: &[Value]) -> Result<Value> {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let objects = if matches!(name, "has_column_privilege") { 2 } else { 1 };
    let with_user = args.len() > objects + 1;
    let role =
        if with_user { role_of(facts, &args[0], name != "pg_has_role")? } else { facts.identity().current() };
    let rest = &args[usize::from(with_user)..];
    let text = rest.last().and_then(Value::as_str).unwrap_or_default();
    if name == "pg_has_role" {
        return has_role(facts, role, &rest[0], text);
    }
    let kind = match name {
        "has_sequence_privilege" => ObjectKind::Sequence,
        "has_schema_privilege" => ObjectKind::Schema,
        "has_database_privilege" => ObjectKind::Database,
        "has_function_privilege" => ObjectKind::Routine,
        "has_type_privilege" => ObjectKind::Type,
        "has_language_privilege" => ObjectKind::Language,
        "has_column_privilege" | "has_any_column_privilege" => ObjectKind::Column,
        _ => ObjectKind::Table,
    };
    let Some(object) = object_of(facts, kind, &rest[0])? else { return Ok(Value::Null) };
    let attnum = match name {
        "has_column_privilege" => match column_of(facts, object, &rest[1])? {
            Some(attnum) => Some(attnum),
            None => return Ok(Value::Null),
        },
        _ => None,
    };
    let asked = asked(text, kind)?;
    let has = |&(privilege, option): &(Privileges, bool)| match (kind, attnum) {
        (ObjectKind::Column, Some(attnum)) => {
            has_on_object(facts, role, ObjectKind::Table, object, privilege, option)
                || has_on_column(facts, role, object, attnum, privilege, option)
        }
        (ObjectKind::Column, None) => {
            has_on_object(facts, role, ObjectKind::Table, object, privilege, option)
                || facts.catalog().access(object).is_some_and(|access| {
                    let mut columns = access.columns.iter();
                    columns.any(|(attnum, _)| has_on_column(facts, role, object, *attnum, privilege, option))
                })
        }
        _ => has_on_object(facts, role, kind, object, privilege, option),
    };
    Ok(Value::Bool(asked.iter().any(has)))
}

fn has_on_object(
    facts: &dyn Facts,
    role: u32,
    kind: ObjectKind,
    object: u32,
    privilege: Privileges,
    option: bool,
) -> bool {
    let catalog = facts.catalog();
    // everybody reads the catalogs, but for passwords
    let of_system = object < scaledb_catalog::FIRST_OID && !matches!(object, PUBLIC_SCHEMA | DATABASE);
    let reads = match kind {
        ObjectKind::Table => privilege == Privileges::SELECT && object != PG_AUTHID,
        ObjectKind::Schema => privilege == Privileges::USAGE,
        _ => false,
    };
    if of_system && reads && !option {
        return true;
    }
    if role == EVERYBODY {
        let grants = catalog.grants_of(kind, object);
        return has_everybody(&grants, privilege, option);
    }
    if option {
        return catalog.may_grant(
            role,
            catalog.owner_of(object),
            &catalog.grants_of(kind, object),
            privilege,
        );
    }
    catalog.privileges(role, kind, object, privilege) == privilege
}

fn has_on_column(
    facts: &dyn Facts,
    role: u32,
    object: u32,
    attnum: i16,
    privilege: Privileges,
    option: bool,
) -> bool {
    let catalog = facts.catalog();
    let grants = catalog.access(object).map_or(&[][..], |access| access.of_column(attnum));
    if role == EVERYBODY {
        return has_everybody(grants, privilege, option);
    }
    if option {
        return catalog.may_grant(role, catalog.owner_of(object), grants, privilege);
    }
    catalog.column_privileges(role, object, attnum, privilege) == privilege
}

fn has_everybody(grants: &[Grant], privilege: Privileges, option: bool) -> bool {
    let mut own = grants.iter().filter(|grant| grant.to == EVERYBODY);
    own.any(|grant| if option { grant.options.has(privilege) } else { grant.privileges.has(privilege) })
}

/// The role that a name or an oid means.
fn role_of(facts: &dyn Facts, value: &Value, everybody: bool) -> Result<u32> {
    match value {
        Value::Oid(oid) => Ok(*oid),
        value => match value.as_str() {
            Some("public") if everybody => Ok(EVERYBODY),
            Some(name) => facts.identity().role_named(facts.catalog(), name).ok_or_else(|| no_role(name)),
            None => Ok(value.as_i64().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(u32::MAX)),
        },
    }
}

fn has_role(facts: &dyn Facts, role: u32, other: &Value, text: &str) -> Result<Value> {
    let catalog = facts.catalog();
    let other = role_of(facts, other, false)?;
    let mut any = false;
    for part in text.split(',') {
        let upper = part.trim().to_ascii_uppercase();
        any |= match upper.as_str() {
            "USAGE" => catalog.has_rights_of(role, other),
            "MEMBER" => catalog.is_member(role, other),
            "USAGE WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION" => catalog.may_grant_role(role, other),
            _ => {
                let what = format!("unrecognized privilege type: \"{}\"", part.trim());
                return Err(SqlError::invalid_parameter(what));
            }
        };
    }
    Ok(Value::Bool(any))
}

/// The object that a name or an oid means; none for an oid that is none's.
fn object_of(facts: &dyn Facts, kind: ObjectKind, value: &Value) -> Result<Option<u32>> {
    let catalog = facts.catalog();
    let oid = match value {
        Value::Oid(oid) => Some(*oid),
        value => value.as_i64().map(|oid| u32::try_from(oid).unwrap_or(0)),
    };
    if let Some(oid) = oid {
        let is_there = match kind {
            ObjectKind::Routine => catalog.routine(oid).is_some() || oid < scaledb_catalog::FIRST_OID,
            ObjectKind::Type => catalog.type_of_oid(oid).is_some(),
            ObjectKind::Schema => schema_of_oid(catalog, oid).is_some(),
            ObjectKind::Database => catalog.is_database(oid),
            ObjectKind::Language => true,
            ObjectKind::Table | ObjectKind::Column | ObjectKind::Sequence => {
                catalog.get(oid).is_some() || super::all().any(|(_, _, known, _)| known == oid)
            }
        };
        return Ok(is_there.then_some(oid));
    }
    let text = value.as_str().unwrap_or_default();
    let none = |code: SqlState, what: String| Err(SqlError::new(code, what));
    match kind {
        ObjectKind::Table | ObjectKind::Column | ObjectKind::Sequence => {
            let Some(oid) = find_relation(catalog, facts.path(), text) else {
                return none(SqlState::UNDEFINED_TABLE, format!("relation \"{text}\" does not exist"));
            };
            let sequence = matches!(catalog.get(oid), Some(Relation::Sequence(_)));
            if kind == ObjectKind::Sequence && !sequence {
                return none(SqlState::WRONG_OBJECT_TYPE, format!("\"{text}\" is not a sequence"));
            }
            Ok(Some(oid))
        }
        ObjectKind::Schema => match schema_oid(catalog, text) {
            0 => none(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{text}\" does not exist")),
            oid => Ok(Some(oid)),
        },
        ObjectKind::Database => match databases::named(facts, text) {
            None => none(SqlState::INVALID_CATALOG_NAME, format!("database \"{text}\" does not exist")),
            oid => Ok(oid),
        },
        ObjectKind::Routine => routine_of_text(facts, text).map(Some),
        ObjectKind::Type => {
            let ty = scaledb_planner::bind::names::parse_type(catalog, facts.path(), text)?;
            // arrays have the privileges of their elements
            Ok(Some(ty.element().filter(|_| ty.array).unwrap_or(ty).oid()))
        }
        ObjectKind::Language => match text {
            "sql" => Ok(Some(SQL_LANGUAGE)),
            "plpgsql" => Ok(Some(PLPGSQL_LANGUAGE)),
            _ => none(SqlState::UNDEFINED_OBJECT, format!("language \"{text}\" does not exist")),
        },
    }
}

/// The column of a name or a number; none for a number that is none's.
fn column_of(facts: &dyn Facts, object: u32, value: &Value) -> Result<Option<i16>> {
    let relation = facts.catalog().get(object);
    if let Some(number) = value.as_i64() {
        let number = i16::try_from(number).ok();
        let is_there = |number: &i16| match relation {
            Some(Relation::Table(desc)) => desc.position(*number).is_some(),
            Some(Relation::View(view)) => {
                *number > 0 && usize::from(number.unsigned_abs()) <= view.columns.len()
            }
            _ => false,
        };
        return Ok(number.filter(is_there));
    }
    let text = value.as_str().unwrap_or_default();
    let found = match relation {
        Some(Relation::Table(desc)) => desc.column(text).map(|at| desc.columns[at].attnum),
        Some(Relation::View(view)) => {
            let at = view.columns.iter().position(|(known, ..)| known == text);
            at.and_then(|at| i16::try_from(at + 1).ok())
        }
        _ => None,
    };
    found.map(Some).ok_or_else(|| {
        let name = relation.map_or("?", Relation::name);
        let what = format!("column \"{text}\" of relation \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, what)
    })
}

/// Whether the current role may use a type.
pub(super) fn may_use_type(facts: &dyn Facts, oid: u32) -> bool {
    let (current, usage) = (facts.identity().current(), Privileges::USAGE);
    facts.catalog().privileges(current, ObjectKind::Type, oid, usage) == usage
}

/// Whether the current role owns a relation, or has one of the privileges on it.
fn owns_or_has(facts: &dyn Facts, relation: &Relation, any: Privileges) -> bool {
    let (catalog, role) = (facts.catalog(), facts.identity().current());
    let (oid, kind) = (relation.oid(), Catalog::kind_of_relation(relation));
    catalog.is_superuser(role)
        || catalog.has_rights_of(role, catalog.owner_of(oid))
        || !catalog.privileges(role, kind, oid, any.common(kind.all())).is_empty()
}

/// Whether the current role has one of the privileges on some column of a relation.
fn has_on_some_column(facts: &dyn Facts, oid: u32, any: Privileges) -> bool {
    let (catalog, role) = (facts.catalog(), facts.identity().current());
    catalog.access(oid).is_some_and(|access| {
        let mut columns = access.columns.iter();
        columns.any(|(attnum, _)| !catalog.column_privileges(role, oid, *attnum, any).is_empty())
    })
}

/// Whether the current role may see rows about a relation: it has some privilege on it, or on a column, or owns it.
pub(super) fn sees(facts: &dyn Facts, relation: &Relation) -> bool {
    owns_or_has(facts, relation, Catalog::kind_of_relation(relation).all())
        || has_on_some_column(facts, relation.oid(), ObjectKind::Column.all())
}

/// Whether the current role may see rows about a column of a relation.
pub(super) fn sees_column(facts: &dyn Facts, relation: &Relation, attnum: i16) -> bool {
    let (any, role) = (ObjectKind::Column.all(), facts.identity().current());
    owns_or_has(facts, relation, any)
        || !facts.catalog().column_privileges(role, relation.oid(), attnum, any).is_empty()
}

/// Whether the current role may see constraints and triggers of a relation: it owns it, or may do more than read it.
pub(super) fn uses(facts: &dyn Facts, oid: u32) -> bool {
    let all = ObjectKind::Table.all().without(Privileges::SELECT);
    let of_columns = ObjectKind::Column.all().without(Privileges::SELECT);
    let relation = facts.catalog().get(oid);
    relation.is_some_and(|relation| owns_or_has(facts, relation, all))
        || has_on_some_column(facts, oid, of_columns)
}

/// The routine of a name with the types of its arguments: `f(int, text)`.
///
/// # Errors
/// 22P02 without a list of types; 42883.
pub(super) fn routine_of_text(facts: &dyn Facts, text: &str) -> Result<u32> {
    let invalid = |what: &str| SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, what.to_owned());
    let (name, rest) = text.split_once('(').ok_or_else(|| invalid("expected a left parenthesis"))?;
    let types = rest.trim_end().strip_suffix(')').ok_or_else(|| invalid("expected a right parenthesis"))?;
    let (catalog, path) = (facts.catalog(), facts.path());
    let each = types.split(',').map(str::trim).filter(|ty| !ty.is_empty());
    let types: Vec<u32> = each
        .map(|ty| scaledb_planner::bind::names::parse_type(catalog, path, ty).map(Type::oid))
        .collect::<Result<_>>()?;
    let Some((schema, name)) = scaledb_planner::bind::names::split_text(name) else {
        return Err(invalid("invalid name syntax"));
    };
    let within = |known: &str| match &schema {
        Some(schema) => schema == known,
        None => path.iter().any(|path| path == known),
    };
    let fits = |desc: &&Arc<scaledb_catalog::RoutineDesc>| {
        within(&desc.schema) && desc.given().map(|p| p.type_oid).eq(types.iter().copied())
    };
    if let Some(desc) = catalog.routines_named(&name).find(fits) {
        return Ok(desc.oid);
    }
    // those of the system everybody may call
    let mut of_system = builtins_named(&name).filter(|_| within("pg_catalog"));
    if let Some(builtin) = of_system.find(|builtin| builtin.args == types) {
        return Ok(builtin.oid);
    }
    if scaledb_types::func::functions_named(&name).iter().next().is_some()
        || scaledb_planner::functions::SessionFn::is_named(&name)
    {
        return Ok(OF_SYSTEM);
    }
    Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist")))
}

/// Stands for a function of the system: they have the defaults of their kind.
const OF_SYSTEM: u32 = 1;
