//! Collations: texts are compared by their bytes, so that those which PostgreSQL orders otherwise are refused.

use super::lex::{Lexer, name_of};
use scaledb_types::{Base, Result, SqlError, SqlState, Type};

/// The collations that compare by bytes: of UTF-8, these are by code points.
const BY_BYTES: [&str; 5] = ["default", "C", "POSIX", "ucs_basic", "C.utf8"];

/// Looks whether there are the collations that a statement names: behind COLLATE, which is no name of anything.
///
/// # Errors
/// 0A000 for one that PostgreSQL would have from its system, and does not compare by bytes; 42704 for others.
pub(super) fn check(text: &str) -> Result<()> {
    let word = b"collate";
    if !text.as_bytes().windows(word.len()).any(|bytes| bytes.eq_ignore_ascii_case(word)) {
        return Ok(());
    }
    let mut tokens = Lexer::new(text).peekable();
    while let Some(token) = tokens.next() {
        if !token.is(text, "collate") {
            continue;
        }
        let mut parts: Vec<String> =
            tokens.next().and_then(|token| name_of(token, text)).into_iter().collect();
        while tokens.next_if(|token| token.is_sign(text, ".")).is_some() {
            parts.extend(tokens.next().and_then(|token| name_of(token, text)));
        }
        match &parts[..] {
            // a syntax error, which the parser tells
            [] => return Ok(()),
            [name] => check_name(None, name)?,
            [schema, name] => check_name(Some(schema), name)?,
            _ => return Err(absent(&parts.join("."))),
        }
    }
    Ok(())
}

/// Looks whether there is a collation of this name.
///
/// # Errors
/// The same.
pub fn check_name(schema: Option<&str>, name: &str) -> Result<()> {
    if let Some(schema) = schema.filter(|schema| *schema != "pg_catalog") {
        return Err(absent(&format!("{schema}.{name}")));
    }
    if BY_BYTES.contains(&name) {
        return Ok(());
    }
    // `en_US`, `de_DE.utf8`, `en-US-x-icu`
    let mut words = name.split(['_', '-']);
    let language = words.next().is_some_and(|word| {
        matches!(word.len(), 2 | 3) && word.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    if name == "unicode" || language && words.next().is_some() {
        let what = format!("collation \"{name}\" is not supported: texts are compared by their bytes");
        return Err(SqlError::unsupported(what).hint("Use COLLATE \"C\", or none."));
    }
    Err(absent(name))
}

fn absent(name: &str) -> SqlError {
    let what = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
}

/// Looks whether values of a type have a collation.
///
/// # Errors
/// 42804.
pub fn check_type(ty: Type) -> Result<()> {
    let element = if ty.array { ty.element().unwrap_or(ty) } else { ty };
    if matches!(element.base, Base::Text | Base::Varchar | Base::Bpchar | Base::Name | Base::Unknown) {
        return Ok(());
    }
    let what = format!("collations are not supported by type {}", ty.plain().sql_name());
    Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let code = |text: &str| check(text).map_err(|error| error.code());
        for text in [
            "select a collate \"C\", b COLLATE pg_catalog.\"POSIX\" from t",
            "select 'collate x', \"collate\", $$ collate y $$ -- collate z",
            "select collate",
            "create database d lc_collate 'x'",
        ] {
            assert_eq!(code(text), Ok(()), "{text}");
        }
        for text in [
            "select a collate \"C\", b Collate nosuch",
            "create table t (a text collate \"x\")",
            "select 'a' collate public.\"C\"",
            "alter table t alter a type text collate c",
        ] {
            assert_eq!(code(text), Err(SqlState::UNDEFINED_OBJECT), "{text}");
        }
        assert_eq!(
            code("select a from t order by a collate \"en_US\""),
            Err(SqlState::FEATURE_NOT_SUPPORTED)
        );
    }

    #[test]
    fn those_that_order_otherwise_are_refused() {
        let code = |name: &str| check_name(None, name).map_err(|error| error.code());
        for name in BY_BYTES {
            assert_eq!(code(name), Ok(()), "{name}");
        }
        for name in ["en_US", "de_DE.utf8", "und-x-icu", "en-US-x-icu", "unicode"] {
            assert_eq!(code(name), Err(SqlState::FEATURE_NOT_SUPPORTED), "{name}");
        }
        for name in ["nosuch", "c", "", "_", "x_y", "posix"] {
            assert_eq!(code(name), Err(SqlState::UNDEFINED_OBJECT), "{name}");
        }
    }
}
