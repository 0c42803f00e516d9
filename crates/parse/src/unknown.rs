//! Statements of PostgreSQL that the general parser does not know: they are refused by their names, for a client that
//! reads "syntax error" looks for the mistake in its text.

use super::lex::{Kind, Lexer};
use scaledb_types::SqlError;

/// What such statements begin with.
const NAMES: &[&str] = &[
    "alter aggregate",
    "alter collation",
    "alter conversion",
    "alter event trigger",
    "alter foreign",
    "alter language",
    "alter large object",
    "alter operator",
    "alter publication",
    "alter rule",
    "alter schema",
    "alter server",
    "alter statistics",
    "alter subscription",
    "alter system",
    "alter tablespace",
    "alter text search",
    "alter user mapping",
    "create access method",
    "create aggregate",
    "create cast",
    "create collation",
    "create conversion",
    "create event trigger",
    "create foreign",
    "create language",
    "create operator",
    "create publication",
    "create rule",
    "create server",
    "create statistics",
    "create subscription",
    "create tablespace",
    "create text search",
    "create transform",
    "create unlogged table",
    "create user mapping",
    "drop access method",
    "drop aggregate",
    "drop cast",
    "drop collation",
    "drop conversion",
    "drop event trigger",
    "drop foreign",
    "drop language",
    "drop operator",
    "drop publication",
    "drop rule",
    "drop statistics",
    "drop subscription",
    "drop tablespace",
    "drop text search",
    "drop transform",
    "import foreign schema",
    "load",
    "security label",
];

/// The error for such a statement: 0A000.
#[cold]
pub(super) fn named(text: &str) -> Option<SqlError> {
    let mut words = Lexer::new(text)
        .take_while(|token| token.kind == Kind::Word)
        .map(|token| token.of(text).to_ascii_lowercase())
        .take(5)
        .collect::<Vec<_>>();
    // CREATE OR REPLACE makes the same thing
    if words.get(1).is_some_and(|word| word == "or") && words.get(2).is_some_and(|word| word == "replace") {
        words.drain(1..3);
    }
    let begins = |name: &&&str| {
        let mut given = words.iter();
        name.split(' ').all(|word| given.next().is_some_and(|given| given == word))
    };
    let name = NAMES.iter().find(begins)?;
    Some(SqlError::unsupported(format!("{} is not supported", name.to_uppercase())))
}
