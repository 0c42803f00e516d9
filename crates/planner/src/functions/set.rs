//! Functions that return rows.

use super::ScalarFn;
use super::keywords::keywords;
use scaledb_catalog::RoutineDesc;
use scaledb_types::func::{Interrupt, JsonRecords, JsonRows, path_rows, regexp_matches};
use scaledb_types::{Base, Env, Interval, Result, SqlError, Type, Value};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Takes a row; breaks if it wants no more.
pub(super) type Next<'n> = &'n mut dyn FnMut(Vec<Value>) -> Result<ControlFlow<()>>;

/// A function that returns rows.
#[derive(Clone, Debug, PartialEq)]
pub enum SetFn {
    /// From, to, by: the sum, and the type.
    Series(ScalarFn, Type),
    Unnest,
    /// The elements of the array that a function of another name makes of a text.
    Split(&'static str),
    /// Parts of a json or jsonb value, by a function of this name.
    Json(JsonRows, &'static str),
    /// What a path finds in a jsonb value; whether the session's time zone may be used.
    Path(bool),
    /// Objects as rows of the columns that the statement names, by a function of this name.
    Records(Arc<JsonRecords>, &'static str),
    /// The matches of a regular expression.
    Matches,
    Subscripts,
    /// The elements of an array, and their numbers from 1.
    Expand,
    Keywords,
    /// Options of a foreign object, `name=value` each: names and values.
    Options,
    /// The rows, by a function of this name, whose values are in an array of texts one after the other.
    Texts(&'static str, Columns),
    /// One row with the value.
    One,
    /// The rows, or the only one, of a function that somebody has written.
    Routine(Arc<RoutineDesc>),
}

/// The names and types of a function's columns. An empty name is the function's.
pub(super) type Columns = &'static [(&'static str, Type)];

/// Whether a name is that of a function that returns a set.
pub fn returns_set(name: &str) -> bool {
    let known = ["unnest", "generate_series", "generate_subscripts", "pg_listening_channels"];
    let of_catalogs = ["_pg_expandarray", "pg_get_keywords", "pg_options_to_table"];
    let of_texts = ["string_to_table", "regexp_split_to_table", "regexp_matches"];
    known.contains(&name)
        || of_catalogs.contains(&name)
        || of_texts.contains(&name)
        || of_session(name).is_some()
        || SetFn::of_json(name).is_some()
        || SetFn::of_path(name).is_some()
}

/// A function whose rows a function of the session makes, as an array of texts: its name, the parameters and the name
/// of that one, and the columns.
type OfSession = (&'static str, &'static [Type], &'static str, Columns);

const OF_SESSION: &[OfSession] = &[
    (
        "aclexplode",
        &[Type::array_of(Base::Text)],
        "_acl_items",
        &[
            ("grantor", Type::OID),
            ("grantee", Type::OID),
            ("privilege_type", Type::TEXT),
            ("is_grantable", Type::BOOL),
        ],
    ),
    (
        "pg_sequence_parameters",
        &[Type::OID],
        "_sequence_parameters",
        &[
            ("start_value", Type::INT8),
            ("minimum_value", Type::INT8),
            ("maximum_value", Type::INT8),
            ("increment", Type::INT8),
            ("cycle_option", Type::BOOL),
            ("cache_size", Type::INT8),
            ("data_type", Type::OID),
        ],
    ),
    (
        "pg_identify_object",
        &[Type::OID, Type::OID, Type::INT4],
        "_identified_object",
        &[("type", Type::TEXT), ("schema", Type::TEXT), ("name", Type::TEXT), ("identity", Type::TEXT)],
    ),
];

/// What makes the rows of a function, if a function of the session does.
pub fn of_session(name: &str) -> Option<&'static OfSession> {
    OF_SESSION.iter().find(|(known, ..)| *known == name)
}

/// A function that makes rows of objects: its name, the type that it takes, and whether it takes several objects.
pub fn of_records(name: &str) -> Option<(&'static str, Type, bool)> {
    Some(match name {
        "json_to_record" => ("json_to_record", Type::JSON, false),
        "json_to_recordset" => ("json_to_recordset", Type::JSON, true),
        "jsonb_to_record" => ("jsonb_to_record", Type::JSONB, false),
        "jsonb_to_recordset" => ("jsonb_to_recordset", Type::JSONB, true),
        _ => return None,
    })
}

impl SetFn {
    /// A function that returns parts of a json or jsonb value, the type of that, and the columns.
    pub fn of_json(name: &str) -> Option<(Self, Type, Columns)> {
        use JsonRows::{ElementTexts, Elements, Keys, MemberTexts, Members};
        const TEXTS: Columns = &[("key", Type::TEXT), ("value", Type::TEXT)];
        let (rows, name, ty, columns): (_, _, _, Columns) = match name {
            "json_array_elements" => (Elements, "json_array_elements", Type::JSON, &[("value", Type::JSON)]),
            "json_array_elements_text" => {
                (ElementTexts, "json_array_elements_text", Type::JSON, &[("value", Type::TEXT)])
            }
            "json_object_keys" => (Keys, "json_object_keys", Type::JSON, &[("", Type::TEXT)]),
            "json_each" => (Members, "json_each", Type::JSON, &[("key", Type::TEXT), ("value", Type::JSON)]),
            "json_each_text" => (MemberTexts, "json_each_text", Type::JSON, TEXTS),
            "jsonb_array_elements" => {
                (Elements, "jsonb_array_elements", Type::JSONB, &[("value", Type::JSONB)])
            }
            "jsonb_array_elements_text" => {
                (ElementTexts, "jsonb_array_elements_text", Type::JSONB, &[("value", Type::TEXT)])
            }
            "jsonb_object_keys" => (Keys, "jsonb_object_keys", Type::JSONB, &[("", Type::TEXT)]),
            "jsonb_each" => {
                (Members, "jsonb_each", Type::JSONB, &[("key", Type::TEXT), ("value", Type::JSONB)])
            }
            "jsonb_each_text" => (MemberTexts, "jsonb_each_text", Type::JSONB, TEXTS),
            _ => return None,
        };
        Some((Self::Json(rows, name), ty, columns))
    }

    /// A function that returns what a path finds in a jsonb value.
    pub fn of_path(name: &str) -> Option<Self> {
        match name {
            "jsonb_path_query" => Some(Self::Path(false)),
            "jsonb_path_query_tz" => Some(Self::Path(true)),
            _ => None,
        }
    }

    /// Hands the rows of a call to `next` until that breaks.
    ///
    /// # Errors
    /// 22023, and those of `next`.
    pub fn rows(
        &self,
        env: &Env,
        args: &[Value],
        interrupt: Interrupt<'_>,
        next: Next<'_>,
    ) -> Result<ControlFlow<()>> {
        let done = Ok(ControlFlow::Continue(()));
        match self {
            Self::One => return next(args.to_vec()),
            Self::Routine(_) => {
                return Err(SqlError::internal("a routine that is called as a function of values"));
            }
            Self::Keywords => {
                for row in keywords() {
                    if next(row)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Unnest | Self::Split(_) => return unnest(args, next),
            Self::Json(rows, name) => return rows.rows(name, &args[0], next),
            Self::Path(zoned) => {
                return path_rows(env, args, *zoned, interrupt, &mut |item| next(vec![item]));
            }
            Self::Records(records, name) => return records.rows(name, &args[0], next),
            Self::Matches => {
                let texts: Option<Vec<&str>> = args.iter().map(Value::as_str).collect();
                let (text, pattern, flags) = match texts.as_deref() {
                    Some([text, pattern]) => (text, pattern, ""),
                    Some([text, pattern, flags]) => (text, pattern, *flags),
                    _ => return done,
                };
                return regexp_matches(text, pattern, flags, interrupt, &mut |found| next(vec![found]));
            }
            Self::Expand => {
                let Value::Array(array) = &args[0] else { return done };
                for (at, value) in array.values().iter().enumerate() {
                    let number = Value::Int4(i32::try_from(at + 1).unwrap_or(i32::MAX));
                    if next(vec![value.clone(), number])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Options => {
                let Value::Array(array) = &args[0] else { return done };
                for option in array.values().iter().filter_map(Value::as_str) {
                    let (name, value) = match option.split_once('=') {
                        Some((name, value)) => (name, Value::text(value)),
                        None => (option, Value::Null),
                    };
                    if next(vec![Value::text(name), value])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Texts(_, columns) => {
                let Value::Array(array) = &args[0] else { return done };
                for row in array.values().chunks_exact(columns.len().max(1)) {
                    let value = |(text, (_, ty)): (&Value, &(&str, Type))| match text.as_str() {
                        Some(text) => Value::parse(text, *ty, env),
                        None => Ok(Value::Null),
                    };
                    let row = row.iter().zip(columns.iter()).map(value).collect::<Result<_>>()?;
                    if next(row)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Subscripts => {
                let (Value::Array(array), Some(number)) = (&args[0], args[1].as_i64()) else { return done };
                let number = number.checked_sub(1).and_then(|number| usize::try_from(number).ok());
                let Some(dimension) = number.and_then(|n| array.dimensions().get(n)) else { return done };
                let backwards = args.get(2).is_some_and(Value::is_true);
                for at in 0..dimension.len {
                    let at = if backwards { dimension.len - 1 - at } else { at };
                    if next(vec![Value::Int4(dimension.lower + at)])?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::Series(add, ty) => return series(env, add, *ty, args, next),
        }
        done
    }
}

/// The elements of arrays side by side; NULL behind the end of the shorter ones.
fn unnest(args: &[Value], next: Next<'_>) -> Result<ControlFlow<()>> {
    let mut arrays: Vec<&[Value]> = Vec::with_capacity(args.len());
    for arg in args {
        arrays.push(if let Value::Array(array) = arg { array.values() } else { &[] });
    }
    let length = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
    for at in 0..length {
        let row = arrays.iter().map(|array| array.get(at).cloned().unwrap_or_default());
        if next(row.collect())?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// `generate_series(start, stop, step)`: `add` makes the next value of one.
fn series(env: &Env, add: &ScalarFn, ty: Type, args: &[Value], next: Next<'_>) -> Result<ControlFlow<()>> {
    let done = Ok(ControlFlow::Continue(()));
    if args.iter().any(Value::is_null) {
        return done;
    }
    let one = match ty.base {
        Base::Int4 => Value::Int4(1),
        Base::Int8 => Value::Int8(1),
        _ => Value::Numeric(1i64.into()),
    };
    let step = args.get(2).unwrap_or(&one);
    for (value, what) in args.iter().zip(["start value", "stop value", "step size"]) {
        if let Value::Numeric(number) = value
            && !number.is_finite()
        {
            let is = if number.is_nan() { "NaN" } else { "infinity" };
            return Err(SqlError::invalid_parameter(format!("{what} cannot be {is}")));
        }
    }
    let up = match sign_of(step) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => return Err(SqlError::invalid_parameter("step size cannot equal zero")),
    };
    let mut at = args[0].clone();
    while if up { at <= args[1] } else { at >= args[1] } {
        let following = add.call(env, &[at.clone(), step.clone()]);
        if next(vec![at])?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match following {
            Ok(following) => at = following,
            // a series of integers ends where the type does
            Err(_) if matches!(ty.base, Base::Int4 | Base::Int8) => break,
            Err(error) => return Err(error),
        }
    }
    done
}

/// On which side of zero a step is.
fn sign_of(step: &Value) -> Ordering {
    match step {
        Value::Int4(v) => v.cmp(&0),
        Value::Int8(v) => v.cmp(&0),
        Value::Numeric(v) => v.signum().unwrap_or(0).cmp(&0),
        Value::Interval(v) => v.cmp(&Interval::default()),
        _ => Ordering::Equal,
    }
}
