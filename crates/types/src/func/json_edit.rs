//! jsonb with changes: `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`.

use super::Registry;
use super::args::code;
use super::json::{path_of, subscript};
use crate::array::Array;
use crate::error::{Result, SqlError, SqlState};
use crate::json::Json;
use crate::value::{Text, Value};

#[cold]
fn bad(message: &'static str) -> SqlError {
    SqlError::invalid_parameter(message)
}

/// `||`: members of the second replace those of the first; otherwise both are arrays.
fn concat(a: &Json, b: &Json) -> Json {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => Json::object(x.iter().chain(y).cloned().collect()),
        (Json::Array(x), Json::Array(y)) => Json::Array(x.iter().chain(y).cloned().collect()),
        (Json::Array(x), y) => Json::Array(x.iter().cloned().chain([y.clone()]).collect()),
        (x, Json::Array(y)) => Json::Array([x.clone()].into_iter().chain(y.iter().cloned()).collect()),
        (x, y) => Json::Array(vec![x.clone(), y.clone()]),
    }
}

/// Without a key, or the strings that are equal to it.
fn delete_keys(json: &Json, keys: &[&str]) -> Result<Json> {
    match json {
        Json::Object(members) => Ok(Json::Object(
            members.iter().filter(|(key, _)| !keys.contains(&key.as_str())).cloned().collect(),
        )),
        Json::Array(elements) => {
            let hit = |e: &Json| matches!(e, Json::String(text) if keys.contains(&text.as_str()));
            Ok(Json::Array(elements.iter().filter(|e| !hit(e)).cloned().collect()))
        }
        _ => Err(bad("cannot delete from scalar")),
    }
}

fn delete_element(json: &Json, at: i32) -> Result<Json> {
    match json {
        Json::Array(elements) => {
            let at = i64::from(at) + if at < 0 { elements.len() as i64 } else { 0 };
            let mut elements = elements.clone();
            if let Some(at) = usize::try_from(at).ok().filter(|at| *at < elements.len()) {
                elements.remove(at);
            }
            Ok(Json::Array(elements))
        }
        Json::Object(_) => Err(bad("cannot delete from object using integer index")),
        _ => Err(bad("cannot delete from scalar")),
    }
}

/// What happens at the end of a path.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Delete,
    /// Replaces, and creates what is missing if asked to.
    Set(&'a Json, bool),
    /// Inserts before an element, or after it.
    Insert(&'a Json, bool),
}

fn edit(json: &Json, path: &[Option<&str>], depth: usize, change: Edit<'_>) -> Result<Json> {
    let Some(step) = path.get(depth) else { return Ok(json.clone()) };
    let step = step.ok_or_else(|| {
        let message = format!("path element at position {} is null", depth + 1);
        SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
    })?;
    let last = depth + 1 == path.len();
    match json {
        Json::Object(members) => {
            let mut members = members.clone();
            let at = members.iter().position(|(key, _)| key == step);
            match (at, last, change) {
                (Some(at), true, Edit::Delete) => drop(members.remove(at)),
                (Some(at), true, Edit::Set(value, _)) => members[at].1 = value.clone(),
                (Some(_), true, Edit::Insert(..)) => {
                    let hint = "Try using the function jsonb_set to replace key value.";
                    return Err(bad("cannot replace existing key").hint(hint));
                }
                (None, true, Edit::Set(value, true) | Edit::Insert(value, _)) => {
                    members.push((Text::new(step), value.clone()));
                }
                (Some(at), false, _) => members[at].1 = edit(&members[at].1, path, depth + 1, change)?,
                (None, ..) => {}
            }
            Ok(Json::object(members))
        }
        Json::Array(elements) => {
            let mut elements = elements.clone();
            let index = subscript(step).ok_or_else(|| {
                let message = format!("path element at position {} is not an integer: \"{step}\"", depth + 1);
                SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
            })?;
            let len = elements.len() as i64;
            let at = if index < 0 { index + len } else { index };
            let inside = usize::try_from(at).ok().filter(|at| *at < elements.len());
            match (inside, last, change) {
                (Some(at), true, Edit::Delete) => drop(elements.remove(at)),
                (Some(at), true, Edit::Set(value, _)) => elements[at] = value.clone(),
                (Some(at), true, Edit::Insert(value, after)) => {
                    elements.insert(at + usize::from(after), value.clone());
                }
                // beyond an end it becomes the first or the last
                (None, true, Edit::Set(value, true) | Edit::Insert(value, _)) => {
                    let at = if at < 0 { 0 } else { elements.len() };
                    elements.insert(at, value.clone());
                }
                (Some(at), false, _) => elements[at] = edit(&elements[at], path, depth + 1, change)?,
                (None, ..) => {}
            }
            Ok(Json::Array(elements))
        }
        scalar => Ok(scalar.clone()),
    }
}

fn check_scalar(json: &Json, message: &'static str) -> Result<()> {
    if matches!(json, Json::Object(_) | Json::Array(_)) { Ok(()) } else { Err(bad(message)) }
}

/// A path has one dimension.
fn check_path(path: &Array) -> Result<()> {
    if path.dimensions().len() > 1 {
        let message = "wrong number of array subscripts";
        return Err(SqlError::new(SqlState::ARRAY_ELEMENT_ERROR, message));
    }
    Ok(())
}

/// Whether there is nothing in it to replace or delete: not even the path is looked at then.
fn is_empty_array(json: &Json) -> bool {
    matches!(json, Json::Array(elements) if elements.is_empty())
}

fn set(json: &Json, path: &Array, value: &Json, create: bool) -> Result<Value> {
    check_path(path)?;
    check_scalar(json, "cannot set path in scalar")?;
    if !create && is_empty_array(json) {
        return Ok(Value::jsonb(json.clone()));
    }
    edit(json, &path_of(path), 0, Edit::Set(value, create)).map(Value::jsonb)
}

fn insert(json: &Json, path: &Array, value: &Json, after: bool) -> Result<Value> {
    check_path(path)?;
    check_scalar(json, "cannot set path in scalar")?;
    edit(json, &path_of(path), 0, Edit::Insert(value, after)).map(Value::jsonb)
}

fn delete_path(json: &Json, path: &Array) -> Result<Value> {
    check_path(path)?;
    check_scalar(json, "cannot delete path in scalar")?;
    if is_empty_array(json) {
        return Ok(Value::jsonb(json.clone()));
    }
    edit(json, &path_of(path), 0, Edit::Delete).map(Value::jsonb)
}

/// `jsonb_set`, with a choice of what NULL for the new value means.
fn set_lax(args: &[Value]) -> Result<Value> {
    let (Some(Value::Jsonb(json)), Some(Value::Array(path))) = (args.first(), args.get(1)) else {
        return Ok(Value::Null);
    };
    let create = match args.get(3) {
        None | Some(Value::Bool(true)) => true,
        Some(Value::Bool(false)) => false,
        Some(_) => return Ok(Value::Null),
    };
    let treatment = match args.get(4) {
        None => Some("use_json_null"),
        Some(treatment) => treatment.as_str(),
    };
    let unknown = || {
        SqlError::invalid_parameter(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
             \"raise_exception\"",
        )
    };
    let treatment = treatment.ok_or_else(unknown)?;
    if let Some(Value::Jsonb(value)) = args.get(2) {
        return set(json, path, value, create);
    }
    match treatment {
        "use_json_null" => set(json, path, &Json::Null, create),
        "delete_key" => delete_path(json, path),
        "return_target" => Ok(Value::Jsonb(json.clone())),
        "raise_exception" => {
            let error = SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null");
            let why = "Exception was raised because null_value_treatment is \"raise_exception\".";
            let hint = "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not \
                        passed.";
            Err(error.detail(why).hint(hint))
        }
        _ => Err(unknown()),
    }
}

pub(super) fn register(r: &mut Registry) {
    for signature in ["||(jsonb,jsonb) jsonb", "jsonb_concat(jsonb,jsonb) jsonb"] {
        r.add(signature, code!(|a: &Json, b: &Json| Ok(Value::jsonb(concat(a, b)))));
    }
    for signature in ["-(jsonb,text) jsonb", "jsonb_delete(jsonb,text) jsonb"] {
        r.add(signature, code!(|j: &Json, key: &str| delete_keys(j, &[key]).map(Value::jsonb)));
    }
    r.add(
        "-(jsonb,text[]) jsonb",
        code!(|j: &Json, keys: &Array| {
            check_path(keys)?;
            let keys: Vec<&str> = path_of(keys).into_iter().flatten().collect();
            delete_keys(j, &keys).map(Value::jsonb)
        }),
    );
    r.add("jsonb_delete(jsonb,text,variadic text) jsonb", |_, args| match args {
        [Value::Jsonb(json), keys @ ..] => {
            let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            delete_keys(json, &keys).map(Value::jsonb)
        }
        _ => Err(super::args::arity()),
    });
    for signature in ["-(jsonb,int4) jsonb", "jsonb_delete(jsonb,int4) jsonb"] {
        r.add(signature, code!(|j: &Json, at: i32| delete_element(j, at).map(Value::jsonb)));
    }
    r.add("#-(jsonb,text[]) jsonb", code!(|j: &Json, path: &Array| delete_path(j, path)));
    r.add("jsonb_delete_path(jsonb,text[]) jsonb", code!(|j: &Json, path: &Array| delete_path(j, path)));
    r.add(
        "jsonb_set(jsonb,text[],jsonb) jsonb",
        code!(|j: &Json, path: &Array, v: &Json| set(j, path, v, true)),
    );
    r.add(
        "jsonb_set(jsonb,text[],jsonb,bool) jsonb",
        code!(|j: &Json, path: &Array, v: &Json, create: bool| set(j, path, v, create)),
    );
    r.add(
        "jsonb_insert(jsonb,text[],jsonb) jsonb",
        code!(|j: &Json, path: &Array, v: &Json| insert(j, path, v, false)),
    );
    r.add(
        "jsonb_insert(jsonb,text[],jsonb,bool) jsonb",
        code!(|j: &Json, path: &Array, v: &Json, after: bool| insert(j, path, v, after)),
    );
    for signature in [
        "jsonb_set_lax(jsonb,text[],jsonb) jsonb",
        "jsonb_set_lax(jsonb,text[],jsonb,bool) jsonb",
        "jsonb_set_lax(jsonb,text[],jsonb,bool,text) jsonb",
    ] {
        r.nullable(signature, |_, args| set_lax(args));
    }
}
