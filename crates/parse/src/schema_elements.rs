//! CREATE SCHEMA with statements in it: each of them begins with CREATE or GRANT.

use super::cursor::{Cursor, syntax_at};
use super::lex::{Kind, Lexer, Token};
use super::utility::Utility;
use scaledb_types::{Result, SqlError};

/// CREATE SCHEMA, and what is made in the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaElements {
    /// CREATE SCHEMA alone.
    pub schema: String,
    /// The statements, in the order in which they run: what others may name comes first.
    pub elements: Vec<String>,
}

/// What may be made in a new schema, in the order in which it is.
const KINDS: [&str; 5] = ["sequence", "table", "view", "index", "trigger"];
/// What may stand before that.
const BEFORE: [&str; 9] =
    ["or", "replace", "global", "local", "temp", "temporary", "unique", "constraint", "recursive"];

/// Whether a statement is one.
pub(super) fn is_about(text: &str) -> bool {
    let mut words = Lexer::new(text);
    words.next();
    words.next().is_some_and(|token| token.is(text, "schema")) && !starts(text).is_empty()
}

/// Where the statements in it begin.
fn starts(text: &str) -> Vec<Token> {
    let (mut depth, mut found, mut with) = (0_usize, Vec::new(), false);
    for token in Lexer::new(text).skip(1) {
        if token.is_sign(text, "(") {
            depth += 1;
        } else if token.is_sign(text, ")") {
            depth = depth.saturating_sub(1);
        }
        // the option of a GRANT is none
        let begins = token.is(text, "create") || token.is(text, "grant") && !with;
        if depth == 0 && begins {
            found.push(token);
        }
        with = token.is(text, "with");
    }
    found
}

/// Reads the statement from its second word on.
///
/// # Errors
/// 42601 for a statement that is none of those, 0A000 for IF NOT EXISTS.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<Utility> {
    let text = at.text;
    let starts = starts(text);
    let ends = starts.iter().skip(1).map(|token| token.start).chain([text.len()]);
    let first = starts.first().map_or(text.len(), |token| token.start);
    let mut elements = Vec::with_capacity(starts.len());
    for (token, end) in starts.iter().zip(ends) {
        let element = &text[token.start..end];
        elements.push((
            rank(element).map_err(|place| {
                syntax_at(text, place.map(|(start, end)| (token.start + start, token.start + end)))
            })?,
            element.trim_end().to_owned(),
        ));
    }
    at.expect("schema")?;
    if at.accept("if") {
        let what = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
        return Err(SqlError::unsupported(what));
    }
    at.rest();
    elements.sort_by_key(|(rank, _)| *rank);
    let elements = elements.into_iter().map(|(_, element)| element).collect();
    let schema = text[..first].trim_end().to_owned();
    Ok(Utility::SchemaElements(Box::new(SchemaElements { schema, elements })))
}

/// Where a statement stands among the others; or else the place of what is not expected in it.
fn rank(element: &str) -> std::result::Result<usize, Option<(usize, usize)>> {
    let mut tokens = Lexer::new(element);
    if tokens.next().is_some_and(|token| token.is(element, "grant")) {
        return Ok(KINDS.len());
    }
    let is_before = |token: &Token| BEFORE.iter().any(|word| token.is(element, word));
    let Some(kind) = tokens.find(|token| !is_before(token)) else { return Err(None) };
    let found = KINDS.iter().position(|word| kind.kind == Kind::Word && kind.is(element, word));
    found.ok_or(Some((kind.start, kind.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Utility> {
        super::super::utility::parse(text).expect("a utility statement")
    }

    #[test]
    fn statements_are_told_apart_and_put_in_order() {
        let text = "create schema s authorization r grant select on t to u with grant option create view v as \
                    select (select 1) create unique index i on t (a) create table t (a int check (a > 0)) create sequence q";
        let Ok(Utility::SchemaElements(read)) = parsed(text) else { panic!("a schema with statements") };
        assert_eq!(read.schema, "create schema s authorization r");
        let firsts: Vec<_> = read.elements.iter().map(|element| element.split_at(12).0).collect();
        assert_eq!(firsts, ["create seque", "create table", "create view ", "create uniqu", "grant select"]);
        assert!(read.elements[4].ends_with("with grant option"));
    }

    #[test]
    fn what_is_no_part_of_a_schema_is_refused() {
        assert!(
            parsed("create schema s create function f() returns int language sql as 'select 1'").is_err()
        );
        assert!(parsed("create schema s create materialized view v as select 1").is_err());
        assert!(parsed("create schema if not exists s create table t (a int)").is_err());
        assert!(!is_about("create schema s"));
        assert!(!is_about("create table s (a int) create"));
    }
}
