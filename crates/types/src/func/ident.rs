//! `parse_ident`: the parts of a qualified name.

use super::Registry;
use super::args::code;
use super::text::text_array;
use crate::error::{Result, SqlError};
use crate::value::Value;

fn bad(text: &str, detail: Option<&str>) -> SqlError {
    let error = SqlError::invalid_parameter(format!("string is not a valid identifier: \"{text}\""));
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

/// The parts of a name; `strict` if nothing may follow it. They are not cut, as other names are.
fn parse_ident(text: &str, strict: bool) -> Result<Value> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0C');
    let is_start = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    let is_inner = |c: char| is_start(c) || c.is_ascii_digit() || c == '$';
    let mut rest = text.trim_start_matches(is_space);
    let mut parts = Vec::new();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            rest = quoted;
            loop {
                let Some((before, behind)) = rest.split_once('"') else {
                    return Err(bad(text, Some("String has unclosed double quotes.")));
                };
                part.push_str(before);
                rest = behind;
                let Some(behind) = rest.strip_prefix('"') else { break };
                part.push('"');
                rest = behind;
            }
            if part.is_empty() {
                return Err(bad(text, Some("Quoted identifier must not be empty.")));
            }
            parts.push(Value::text(part));
        } else if rest.starts_with(is_start) {
            let end = rest.find(|c: char| !is_inner(c)).unwrap_or(rest.len());
            parts.push(Value::text(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        } else if rest.starts_with('.') {
            return Err(bad(text, Some("No valid identifier before \".\".")));
        } else if parts.is_empty() {
            return Err(bad(text, None));
        } else {
            return Err(bad(text, Some("No valid identifier after \".\".")));
        }
        rest = rest.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(is_space),
            None if strict && !rest.is_empty() => return Err(bad(text, None)),
            None => return Ok(text_array(parts.into_iter())),
        }
    }
}

pub(super) fn register(r: &mut Registry) {
    r.add("parse_ident(text) text[]", code!(|text: &str| parse_ident(text, true)));
    r.add("parse_ident(text,bool) text[]", code!(|text: &str, strict: bool| parse_ident(text, strict)));
}
