//! `concat`, `format` and quoting.

use super::args::code;
use super::text::check_length;
use super::{Call, Registry};
use crate::array::Array;
use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use crate::value::{Text, Value};
use std::borrow::Cow;

/// Words that are no names unless they are quoted.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// A name as SQL has to have it: quoted if it needs to be.
pub fn quote_ident(name: &str) -> Cow<'_, str> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && RESERVED.binary_search(&name).is_err();
    if plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

/// A text as a literal.
pub(crate) fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// Appends the text of an argument.
fn push_text(call: &Call<'_>, args: &[Value], at: usize, out: &mut Vec<u8>) -> Result<()> {
    let ty = call.args.get(at).copied().unwrap_or(Type::TEXT);
    args[at].write_text(ty, call.env, out);
    check_length(out.len())
}

fn into_text(bytes: Vec<u8>) -> Value {
    Value::Text(Text::new(String::from_utf8_lossy(&bytes)))
}

fn concat(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    for at in 0..args.len() {
        push_text(call, args, at, &mut out)?;
    }
    Ok(into_text(out))
}

fn concat_ws(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(separator) = args[0].as_str() else { return Ok(Value::Null) };
    let mut out = Vec::new();
    let mut first = true;
    for at in 1..args.len() {
        if args[at].is_null() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.extend_from_slice(separator.as_bytes());
        }
        push_text(call, args, at, &mut out)?;
    }
    Ok(into_text(out))
}

/// A conversion of `format`: `%[position$][-][width]type`.
#[derive(Default)]
struct Spec {
    position: Option<usize>,
    left: bool,
    width: Option<Width>,
}

enum Width {
    Fixed(i64),
    /// Of the argument at this place, or of the next.
    Argument(Option<usize>),
}

fn bad(message: impl Into<Cow<'static, str>>) -> SqlError {
    SqlError::invalid_parameter(message)
}

/// Reads digits.
fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<i64>> {
    let mut value: Option<i64> = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        let next = value.unwrap_or(0) * 10 + i64::from(digit);
        if next > i32::MAX.into() {
            return Err(SqlError::out_of_range("number is out of range"));
        }
        value = Some(next);
    }
    Ok(value)
}

fn unterminated() -> SqlError {
    bad("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

fn position(n: i64) -> Result<usize> {
    if n == 0 {
        return Err(bad("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(n as usize)
}

fn spec(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Spec> {
    let mut spec = Spec::default();
    let first = number(chars)?;
    if let Some(n) = first {
        if chars.next_if_eq(&'$').is_none() {
            spec.width = Some(Width::Fixed(n));
            return Ok(spec);
        }
        spec.position = Some(position(n)?);
    }
    while chars.next_if_eq(&'-').is_some() {
        spec.left = true;
    }
    if chars.next_if_eq(&'*').is_some() {
        let argument = match number(chars)? {
            Some(n) if chars.next_if_eq(&'$').is_some() => Some(position(n)?),
            Some(_) => return Err(bad("width argument position must be ended by \"$\"")),
            None => None,
        };
        spec.width = Some(Width::Argument(argument));
    } else if let Some(n) = number(chars)? {
        spec.width = Some(Width::Fixed(n));
    }
    Ok(spec)
}

fn format(call: &Call<'_>, args: &[Value]) -> Result<Value> {
    let Some(template) = args.first().and_then(Value::as_str) else { return Ok(Value::Null) };
    let mut out = Vec::new();
    let mut chars = template.chars().peekable();
    let mut next = 1;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push(b'%');
            continue;
        }
        let mut spec = spec(&mut chars)?;
        let width = match spec.width.take() {
            None => 0,
            Some(Width::Fixed(n)) => n,
            Some(Width::Argument(at)) => {
                let at = at.unwrap_or(next);
                next = at + 1;
                let value = args.get(at).ok_or_else(|| bad("too few arguments for format()"))?;
                value.as_i64().unwrap_or(0)
            }
        };
        spec.left |= width < 0;
        let kind = chars.next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(bad(message).hint("For a single \"%\" use \"%%\"."));
        }
        let at = spec.position.unwrap_or(next);
        next = at + 1;
        let value = args.get(at).ok_or_else(|| bad("too few arguments for format()"))?;
        let mut text = Vec::new();
        push_text(call, args, at, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        let text = match kind {
            'I' if value.is_null() => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            'I' => quote_ident(&text),
            'L' if value.is_null() => Cow::Borrowed("NULL"),
            'L' => Cow::Owned(quote_literal(&text)),
            _ => text.clone(),
        };
        let blanks =
            usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX).saturating_sub(text.chars().count());
        check_length(out.len().saturating_add(text.len()).saturating_add(blanks))?;
        if !spec.left {
            out.resize(out.len() + blanks, b' ');
        }
        out.extend_from_slice(text.as_bytes());
        if spec.left {
            out.resize(out.len() + blanks, b' ');
        }
    }
    Ok(into_text(out))
}

/// Elements with a separator between them; NULLs are left out unless there is a text for them.
fn array_to_string(call: &Call<'_>, array: &Array, separator: &str, null: Option<&str>) -> Result<Value> {
    let mut out = Vec::new();
    let mut first = true;
    for value in array.values() {
        if value.is_null() && null.is_none() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.extend_from_slice(separator.as_bytes());
        }
        match null {
            Some(null) if value.is_null() => out.extend_from_slice(null.as_bytes()),
            _ => value.write_text(array.element(), call.env, &mut out),
        }
        check_length(out.len())?;
    }
    Ok(into_text(out))
}

/// The literal of a value of any type: as a cast to text, which spells out what is true.
fn quote_any(call: &Call<'_>, value: &Value) -> String {
    let text = match value {
        Value::Bool(v) => v.to_string().into(),
        other => other.to_text(call.args[0], call.env).unwrap_or_default(),
    };
    quote_literal(&text)
}

pub(super) fn register(r: &mut Registry) {
    r.stable_nullable("concat(variadic any) text", concat);
    r.stable_nullable("concat_ws(text, variadic any) text", concat_ws);
    r.stable_nullable("format(text) text", format);
    r.stable_nullable("format(text, variadic any) text", format);
    r.add("quote_ident(text) text", code!(|a: &str| Ok(quote_ident(a).into_owned())));
    r.add("quote_literal(text) text", code!(|a: &str| Ok(quote_literal(a))));
    r.stable("quote_literal(anyelement) text", |call, args| Ok(quote_any(call, &args[0]).into()));
    r.stable_nullable("quote_nullable(anyelement) text", |call, args| match &args[0] {
        Value::Null => Ok(Value::text("NULL")),
        other => Ok(quote_any(call, other).into()),
    });
    r.nullable(
        "quote_nullable(text) text",
        code!(|a: Option<&str>| Ok(a.map_or_else(|| "NULL".to_owned(), quote_literal))),
    );
    r.stable(
        "array_to_string(anyarray,text) text",
        code!(|call; array: &Array, by: &str| array_to_string(call, array, by, None)),
    );
    r.stable_nullable("array_to_string(anyarray,text,text) text", |call, args| match &args[..2] {
        [Value::Array(array), Value::Text(by)] => array_to_string(call, array, by, args[2].as_str()),
        _ => Ok(Value::Null),
    });
}

#[cfg(test)]
mod tests {
    use super::RESERVED;

    #[test]
    fn reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
    }
}
