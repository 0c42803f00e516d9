//! From text to syntax trees.

// fields and variants are named by the words of SQL; what else is public has its comment
#![allow(missing_docs)]

pub mod absent;
pub mod alter_sequence;
pub mod alter_table;
pub mod alter_type;
pub mod alter_view;
pub mod collation;
pub mod comment;
pub mod copy;
pub mod create_as;
mod cursor;
pub mod databases;
mod dialect;
pub mod domain;
pub mod elements;
mod empty_lists;
pub mod exclude;
pub mod explain;
pub mod extensions;
mod fetch;
pub mod frames;
mod from_list;
pub mod grant;
pub mod group_by;
pub mod ignored;
pub mod join_alias;
mod joins;
pub mod lex;
pub mod like;
pub mod locking;
pub mod maintenance;
pub mod marked;
pub mod materialized;
pub mod merge;
pub mod named;
mod nesting;
pub mod normalize;
mod operators;
pub mod passwords;
pub mod plpgsql;
pub mod policy;
mod quantified;
mod recursive_view;
pub mod reserved;
pub mod roles;
pub mod routine;
pub mod schema_elements;
pub mod search_cycle;
mod select_into;
pub mod sequence;
pub mod set_schema;
mod strings;
mod table;
pub mod trigger;
mod unique;
mod unknown;
pub mod unmarked;
mod using;
pub mod utility;
mod view_options;
mod whole_rows;

pub use dialect::{SYMMETRIC, VARIADIC, parts_of_row};

use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{Expr, Query, Statement};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;

/// The nesting that the parser goes along with.
const MAX_NESTING: usize = 300;
/// The longest statement.
const MAX_BYTES: usize = 64 << 20;
/// Stack for parsing: the parser's frames are large, and long chains of operators make deep trees.
const STACK: usize = 32 << 20;
/// Stack per byte of a long statement: its tree is at most that deep, and is dropped by recursion.
const STACK_PER_BYTE: usize = 160;

/// Runs `f` with a stack that is large enough for the syntax tree of a text.
pub fn with_stack<R>(text: &str, f: impl FnOnce() -> R) -> R {
    let size = STACK + text.len() * STACK_PER_BYTE;
    stacker::maybe_grow(size / 2, size, f)
}

/// The deepest nesting of an expression or query.
pub const MAX_DEPTH: usize = 1_000;

/// Parses one statement.
///
/// # Errors
/// 42601; 54001 if it nests too deeply.
pub fn statement(text: &str) -> Result<Statement> {
    if text.len() > MAX_BYTES {
        let what = format!("a statement has at most {MAX_BYTES} bytes");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what));
    }
    if nesting::is_deeper_than(MAX_NESTING, text) {
        return Err(too_deep());
    }
    let dialect = dialect::Bounded::new(text);
    let statement = parser(&dialect, text).and_then(|mut parser| {
        let statement = parser.parse_statement().map_err(|error| error_of(error, text))?;
        expect_end(&parser, text)?;
        reserved::check(&statement, text)?;
        collation::check(text)?;
        select_into::rewrite(statement)
    });
    statement.map_err(|error| {
        if let Some(bytes) = lex::invalid_escape(text) {
            let what = format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
            return SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, what);
        }
        unknown::named(text).filter(|_| error.code() == SqlState::SYNTAX_ERROR).unwrap_or(error)
    })
}

/// Refuses `""`, which is no name, in a text that somebody has written: trees have names of this kind for what the
/// parser does not know, and their texts are read again.
///
/// # Errors
/// 42601.
pub fn refuse_empty_names(text: &str) -> Result<()> {
    if !text.contains("\"\"") {
        return Ok(());
    }
    let empty = |token: &lex::Token| match token.kind {
        lex::Kind::Quoted => token.end - token.start == 2,
        lex::Kind::Special => token.of(text).ends_with("&\"\""),
        _ => false,
    };
    match lex::Lexer::new(text).find(empty) {
        Some(token) => Err(cursor::without_letters(text, token)),
        None => Ok(()),
    }
}

/// Parses a query that the catalog or a plan made.
///
/// # Errors
/// 42601.
pub fn query(text: &str) -> Result<Box<Query>> {
    let dialect = dialect::Bounded::new(text);
    let mut parser = parser(&dialect, text)?;
    let query = parser.parse_query().map_err(|error| error_of(error, text))?;
    expect_end(&parser, text)?;
    Ok(query)
}

/// Parses an expression that the catalog holds.
///
/// # Errors
/// 42601.
pub fn expression(text: &str) -> Result<Expr> {
    let dialect = dialect::Bounded::new(text);
    let mut parser = parser(&dialect, text)?;
    let expr = parser.parse_expr().map_err(|error| error_of(error, text))?;
    expect_end(&parser, text)?;
    Ok(expr)
}

/// Whether an expression is written as a call, so that an index takes it without parentheses around it.
pub fn is_call(expr: &Expr) -> bool {
    let of_words = matches!(expr, Expr::Extract { .. } | Expr::Substring { .. } | Expr::Trim { .. });
    let other = matches!(expr, Expr::Position { .. } | Expr::Overlay { .. });
    of_words || other || matches!(expr, Expr::Function(_) | Expr::Floor { .. } | Expr::Ceil { .. })
}

fn parser<'d>(dialect: &'d dialect::Bounded, text: &str) -> Result<Parser<'d>> {
    let apart = operators::apart(text)?;
    let tokens = Tokenizer::new(dialect, &apart.text).tokenize_with_location();
    let mut tokens = tokens.map_err(|mut error| {
        error.location = apart.place_of(error.location);
        error_of(error.into(), text)
    })?;
    apart.place(&mut tokens);
    let parser = Parser::new(dialect).with_recursion_limit(MAX_NESTING);
    let tokens = quantified::rewrite(table::rewrite(ignored::rewrite(strings::rewrite(tokens, text)?)));
    let tokens = recursive_view::rewrite(tokens);
    let tokens = view_options::rewrite(group_by::rewrite(whole_rows::rewrite(tokens)));
    let tokens = from_list::rewrite(tokens);
    let tokens = match joins::rewrite(tokens) {
        Ok(tokens) => tokens,
        Err(Some(token)) => {
            let at = offset_of(text, token.span.start.line, token.span.start.column);
            return Err(cursor::syntax_at(text, place_at(text, at)));
        }
        Err(None) => return Err(cursor::syntax_at(text, None)),
    };
    let tokens = search_cycle::rewrite(join_alias::rewrite(empty_lists::rewrite(tokens)));
    let tokens = frames::rewrite(locking::rewrite(using::rewrite(fetch::rewrite(tokens))));
    Ok(parser.with_tokens_with_locations(marked::rewrite(elements::rewrite(tokens))))
}

fn expect_end(parser: &Parser<'_>, text: &str) -> Result<()> {
    let token = parser.peek_token();
    if token.token == sqlparser::tokenizer::Token::EOF {
        return Ok(());
    }
    let at = offset_of(text, token.span.start.line, token.span.start.column);
    Err(cursor::syntax_at(text, place_at(text, at)))
}

/// The number of the character at a line and column, from 1.
pub fn position_of(text: &str, line: u64, column: u64) -> u32 {
    text[..offset_of(text, line, column)].chars().count() as u32 + 1
}

/// The byte at a line and column.
pub fn offset_of(text: &str, line: u64, column: u64) -> usize {
    let mut rest = text;
    for _ in 1..line {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    let start = text.len() - rest.len();
    let column = usize::try_from(column.saturating_sub(1)).unwrap_or(0);
    start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
}

/// The token at a byte.
fn place_at(text: &str, at: usize) -> Option<(usize, usize)> {
    lex::Lexer::new(text).find(|token| token.end > at).map(|token| (token.start, token.end))
}

fn error_of(error: ParserError, text: &str) -> SqlError {
    let message = match error {
        ParserError::RecursionLimitExceeded => return too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    // the message ends with "at Line: 1, Column: 8"
    let place = message.rsplit_once("at Line: ").and_then(|(_, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((line.trim().parse().ok()?, column.trim().parse().ok()?))
    });
    match place {
        Some((line, column)) => {
            let at = offset_of(text, line, column);
            cursor::syntax_at(text, place_at(text, at))
        }
        None if message.contains("found: EOF") => cursor::syntax_at(text, None),
        None => SqlError::new(SqlState::SYNTAX_ERROR, "syntax error").detail(format!("{message}.")),
    }
}

/// 54001.
#[cold]
pub fn too_deep() -> SqlError {
    SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement nests too deeply")
        .hint(format!("Expressions and queries may nest {MAX_DEPTH} levels deep."))
}
