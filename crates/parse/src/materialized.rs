//! CREATE, REFRESH and ALTER MATERIALIZED VIEW, which the general parser does not know, or not all of.

use super::cursor::{Cursor, names, parenthesized};
use super::lex::{Lexer, quoted};
use super::marked;
use super::set_schema::{Kind, SetSchema};
use super::utility::Utility;
use scaledb_types::{Result, SqlError};

/// A statement about a materialized view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Materialized {
    Create(Create),
    Refresh(Refresh),
    Alter(Alter),
}

/// CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    pub if_not_exists: bool,
    pub schema: Option<String>,
    pub name: String,
    pub columns: Vec<String>,
    /// What stands in the parentheses behind WITH.
    pub options: Option<String>,
    /// The query, behind as many blanks as there are characters before it: what is wrong with it has its place.
    pub query: String,
    pub with_data: bool,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    pub concurrently: bool,
    pub schema: Option<String>,
    pub name: String,
    pub with_data: bool,
}

/// ALTER MATERIALIZED VIEW, but for SET SCHEMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alter {
    pub schema: Option<String>,
    pub name: String,
    /// The statement as one about a table.
    pub text: String,
}

/// Whether CREATE, ALTER or REFRESH is about a materialized view.
pub(super) fn is_about(text: &str) -> bool {
    let mut words = Lexer::new(text).skip(1).filter(|token| !token.is(text, "unlogged"));
    let mut is = |word: &str| words.next().is_some_and(|token| token.is(text, word));
    is("materialized") && is("view")
}

/// Reads what is behind the word CREATE.
///
/// # Errors
/// 42601, 0A000.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.accept("unlogged") {
        return Err(SqlError::unsupported("materialized views cannot be unlogged"));
    }
    at.expect("materialized")?;
    at.expect("view")?;
    let if_not_exists = at.accept("if");
    if if_not_exists {
        at.expect("not")?;
        at.expect("exists")?;
    }
    let (schema, name) = qualified(at)?;
    let has_columns = at.ahead.is_some_and(|token| token.is_sign(at.text, "("));
    let columns = if has_columns { names(at, true)? } else { Vec::new() };
    if at.accept("using") {
        at.name()?;
    }
    let options = if at.accept("with") { Some(parenthesized(at)?.to_owned()) } else { None };
    if at.accept("tablespace") {
        at.name()?;
    }
    at.expect("as")?;
    let start = at.ahead.ok_or_else(|| at.unexpected())?.start;
    let before = at.text[..start].chars().map(|c| if c == '\n' { c } else { ' ' });
    let (query, with_data) = without_data(at.rest());
    let query = before.chain(query.chars()).collect();
    Ok(materialized(Materialized::Create(Create {
        if_not_exists,
        schema,
        name,
        columns,
        options,
        query,
        with_data,
    })))
}

/// Reads what is behind the word REFRESH.
///
/// # Errors
/// 42601.
pub(super) fn refresh(at: &mut Cursor<'_>) -> Result<Utility> {
    at.expect("materialized")?;
    at.expect("view")?;
    let concurrently = at.accept("concurrently");
    let (schema, name) = qualified(at)?;
    let mut with_data = true;
    if at.accept("with") {
        with_data = !at.accept("no");
        at.expect("data")?;
    }
    Ok(materialized(Materialized::Refresh(Refresh { concurrently, schema, name, with_data })))
}

/// Reads what is behind the word ALTER.
///
/// # Errors
/// 42601.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<Utility> {
    at.expect("materialized")?;
    at.expect("view")?;
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let (schema, name) = qualified(at)?;
    let mut behind = at.behind();
    let moves = at.ahead.is_some_and(|token| token.is(at.text, "set"))
        && behind.next().is_some_and(|token| token.is(at.text, "schema"));
    if moves {
        at.next();
        at.next();
        let to = at.name()?;
        return Ok(Utility::SetSchema(SetSchema { kind: Kind::Materialized, if_exists, schema, name, to }));
    }
    at.ahead.ok_or_else(|| at.unexpected())?;
    let whole = schema.iter().chain([&name]).map(|part| quoted(part)).collect::<Vec<_>>().join(".");
    let exists = if if_exists { "IF EXISTS " } else { "" };
    let text = format!("ALTER TABLE {exists}{whole} {}", at.rest());
    Ok(materialized(Materialized::Alter(Alter { schema, name, text })))
}

fn materialized(statement: Materialized) -> Utility {
    Utility::Materialized(Box::new(statement))
}

fn qualified(at: &mut Cursor<'_>) -> Result<(Option<String>, String)> {
    let first = at.name()?;
    Ok(if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) })
}

/// A query without the WITH [NO] DATA behind it; and whether it is to be run.
fn without_data(text: &str) -> (&str, bool) {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let (start, with_data) = match &tokens[..] {
        [.., with, no, data] if with.is(text, "with") && no.is(text, "no") && data.is(text, "data") => {
            (with.start, false)
        }
        [.., with, data] if with.is(text, "with") && data.is(text, "data") => (with.start, true),
        _ => return (text, true),
    };
    (&text[..start], with_data)
}

/// The name of a materialized view in statements that no one writes: the one that reads it has the rows of its query,
/// and the one that writes to it may.
pub fn marked(schema: &str, name: &str) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"");
    format!("\"\".\"{}\".\"{}\".\"{}\"", marked::MATERIALIZED, quoted(schema), quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::parse;

    fn parsed(text: &str) -> Materialized {
        match parse(text) {
            Some(Ok(Utility::Materialized(statement))) => *statement,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_query_keeps_its_place_and_loses_what_is_said_about_its_rows() {
        let text = "create materialized view if not exists s.m (a, \"B\") with (fillfactor = 70) as\nselect 1, 2 with no data";
        let Materialized::Create(create) = parsed(text) else { panic!("another statement") };
        assert!(create.if_not_exists && !create.with_data);
        assert_eq!((create.schema.as_deref(), create.name.as_str()), (Some("s"), "m"));
        assert_eq!(create.columns, ["a", "B"]);
        assert_eq!(create.options.as_deref(), Some("fillfactor = 70"));
        assert_eq!(create.query.trim(), "select 1, 2");
        assert_eq!(create.query.find("select"), text.find("select"));
        let Materialized::Create(create) = parsed("create materialized view m as table t with data") else {
            panic!("another statement")
        };
        assert_eq!((create.query.trim(), create.with_data), ("table t", true));
    }

    #[test]
    fn a_refresh_may_leave_nothing_and_may_go_row_by_row() {
        let refresh = |text: &str| match parsed(text) {
            Materialized::Refresh(refresh) => (refresh.concurrently, refresh.with_data),
            other => panic!("{other:?}"),
        };
        assert_eq!(refresh("refresh materialized view m"), (false, true));
        assert_eq!(refresh("refresh materialized view concurrently m with data"), (true, true));
        assert_eq!(refresh("refresh materialized view m with no data"), (false, false));
        assert!(parse("refresh materialized view m with").unwrap().is_err());
        assert!(parse("refresh materialized m").is_none());
    }
}
