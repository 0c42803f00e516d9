//! DO: a block of statements in the part of PL/pgSQL that migrations use. It has no variables and no loops.
//!
//! ```text
//! block      BEGIN statement* [EXCEPTION (WHEN condition [OR condition]* THEN statement*)*] END
//! statement  NULL; | block; | IF expr THEN statement* [ELSIF expr THEN statement*]* [ELSE statement*] END IF;
//!            | PERFORM select list ..; | EXECUTE expr; | RAISE [level] 'format' [, expr]*; | statement of SQL;
//! ```

use super::cursor::Cursor;
use super::lex::{Kind, Token, text_of};
use scaledb_types::{Result, SqlError, SqlState};

/// How deep blocks and IFs are in each other at most.
const MAX_NESTING: usize = 32;

/// Statements, and what is done about their errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Step>,
    pub(crate) handlers: Vec<Handler>,
}

/// What is done about certain errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handler {
    conditions: Vec<Condition>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// OTHERS: every error but a cancelled statement.
    Others,
    /// An SQLSTATE; one that ends in 000 means its class.
    State(SqlState),
}

impl Handler {
    /// Whether it is for errors of this state.
    pub(crate) fn is_for(&self, state: SqlState) -> bool {
        self.conditions.iter().any(|condition| match condition {
            Condition::Others => state != SqlState::QUERY_CANCELED,
            Condition::State(own) => {
                *own == state || own.as_str().ends_with("000") && own.class() == state.class()
            }
        })
    }
}

/// How serious RAISE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// DEBUG and LOG: nobody hears it.
    Unheard,
    Notice,
    Warning,
    Exception,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Null,
    /// A statement of SQL.
    Sql(String),
    /// What is behind SELECT, in place of which PERFORM stands.
    Perform(String),
    /// An expression whose text is a statement.
    Execute(String),
    If {
        branches: Vec<(String, Vec<Step>)>,
        otherwise: Vec<Step>,
    },
    Raise {
        level: Level,
        parts: Vec<String>,
        args: Vec<String>,
    },
    Block(Block),
}

/// What statements of SQL in a block begin with.
const SQL: &[&str] = &[
    "alter", "analyze", "comment", "create", "delete", "drop", "grant", "insert", "lock", "reset", "revoke",
    "set", "truncate", "update", "with",
];

/// Reads what is behind the word DO.
///
/// # Errors
/// 42601; 0A000 for other parts of PL/pgSQL; 42704 for another language.
pub(super) fn do_block(at: &mut Cursor<'_>) -> Result<Block> {
    let before = language(at)?;
    let token = at.ahead.ok_or_else(|| at.unexpected())?;
    let code =
        text_of(token, at.text).or_else(|| dollar_quoted(token, at.text)).ok_or_else(|| at.unexpected())?;
    at.next();
    if !before {
        language(at)?;
    }
    let mut inner = Cursor::new(&code);
    if inner.peek_word().is_some_and(|word| word.eq_ignore_ascii_case("declare")) {
        return Err(unsupported("DECLARE"));
    }
    inner.expect("begin")?;
    let block = block(&mut inner, 0)?;
    inner.accept_sign(";");
    inner.end()?;
    Ok(block)
}

/// LANGUAGE and its name, or nothing.
fn language(at: &mut Cursor<'_>) -> Result<bool> {
    if !at.accept("language") {
        return Ok(false);
    }
    let text = at.ahead.and_then(|token| text_of(token, at.text));
    let name = match text {
        Some(name) => {
            at.next();
            name
        }
        None => at.name()?,
    };
    if !name.eq_ignore_ascii_case("plpgsql") {
        let what = format!("language \"{name}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
    }
    Ok(true)
}

/// The content of `$tag$..$tag$`.
fn dollar_quoted(token: Token, text: &str) -> Option<String> {
    let text = token.of(text);
    let tag = &text[..=text.strip_prefix('$')?.find('$')? + 1];
    Some(text.strip_prefix(tag)?.strip_suffix(tag)?.to_owned())
}

fn unsupported(what: &str) -> SqlError {
    SqlError::unsupported(format!("{what} is not supported in a DO block"))
        .hint("There are statements of SQL, PERFORM, EXECUTE, IF, RAISE and EXCEPTION.")
}

/// What is behind BEGIN, its END included.
fn block(at: &mut Cursor<'_>, depth: usize) -> Result<Block> {
    let steps = steps(at, depth, &["exception", "end"])?;
    let mut handlers = Vec::new();
    if at.accept("exception") {
        while at.accept("when") {
            let mut conditions = vec![condition(at)?];
            while at.accept("or") {
                conditions.push(condition(at)?);
            }
            at.expect("then")?;
            handlers.push(Handler { conditions, steps: self::steps(at, depth, &["when", "end"])? });
        }
        if handlers.is_empty() {
            return Err(at.unexpected());
        }
    }
    at.expect("end")?;
    Ok(Block { steps, handlers })
}

fn condition(at: &mut Cursor<'_>) -> Result<Condition> {
    let name = at.name()?;
    if name == "others" {
        return Ok(Condition::Others);
    }
    if name == "sqlstate" {
        let code = at.ahead.and_then(|token| text_of(token, at.text));
        let code = code.and_then(|code| code.as_bytes().try_into().ok().map(|code: [u8; 5]| code));
        let code = code.filter(|code| code.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()));
        let code = code.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
        at.next();
        return Ok(Condition::State(SqlState::new(&code)));
    }
    SqlState::of_condition(&name).map(Condition::State).ok_or_else(|| {
        SqlError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
    })
}

/// Statements, up to one of these words.
fn steps(at: &mut Cursor<'_>, depth: usize, ends: &[&str]) -> Result<Vec<Step>> {
    if depth > MAX_NESTING {
        let what = format!("blocks are nested deeper than {MAX_NESTING} levels");
        return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what));
    }
    let mut steps = Vec::new();
    loop {
        let word = at.peek_word().map(str::to_ascii_lowercase).ok_or_else(|| at.unexpected())?;
        if ends.contains(&word.as_str()) {
            return Ok(steps);
        }
        let step = match word.as_str() {
            "null" => {
                at.next();
                Step::Null
            }
            "begin" => {
                at.next();
                Step::Block(block(at, depth + 1)?)
            }
            "if" => {
                at.next();
                conditional(at, depth)?
            }
            "perform" => {
                at.next();
                Step::Perform(until(at, &[])?)
            }
            "execute" => {
                at.next();
                let text = until(at, &["into", "using"])?;
                if at.peek_word().is_some() {
                    return Err(unsupported("EXECUTE with INTO or USING"));
                }
                Step::Execute(text)
            }
            "raise" => {
                at.next();
                raise(at)?
            }
            "select" | "values" | "table" => {
                let what = "query has no destination for result data";
                let error = SqlError::new(SqlState::SYNTAX_ERROR, what);
                return Err(
                    error.hint("If you want to discard the results of a SELECT, use PERFORM instead.")
                );
            }
            "commit" | "rollback" => {
                let what = "invalid transaction termination";
                return Err(SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, what));
            }
            sql if SQL.contains(&sql) => Step::Sql(until(at, &[])?),
            other => return Err(unsupported(&other.to_uppercase())),
        };
        at.expect_sign(";")?;
        steps.push(step);
    }
}

/// What is behind IF, its END IF included.
fn conditional(at: &mut Cursor<'_>, depth: usize) -> Result<Step> {
    let mut branches = Vec::new();
    loop {
        let condition = until(at, &["then"])?;
        at.expect("then")?;
        branches.push((condition, steps(at, depth + 1, &["elsif", "elseif", "else", "end"])?));
        if !at.accept("elsif") && !at.accept("elseif") {
            break;
        }
    }
    let otherwise = if at.accept("else") { steps(at, depth + 1, &["end"])? } else { Vec::new() };
    at.expect("end")?;
    at.expect("if")?;
    Ok(Step::If { branches, otherwise })
}

/// What is behind RAISE.
fn raise(at: &mut Cursor<'_>) -> Result<Step> {
    let levels = [
        ("debug", Level::Unheard),
        ("log", Level::Unheard),
        ("info", Level::Notice),
        ("notice", Level::Notice),
        ("warning", Level::Warning),
        ("exception", Level::Exception),
    ];
    let level =
        levels.into_iter().find(|(word, _)| at.accept(word)).map_or(Level::Exception, |(_, level)| level);
    let Some(format) = at.ahead.and_then(|token| text_of(token, at.text)) else {
        return Err(unsupported("RAISE without a text"));
    };
    at.next();
    let mut args = Vec::new();
    while at.accept_sign(",") {
        args.push(until(at, &[",", "using"])?);
    }
    if at.peek_word().is_some() {
        return Err(unsupported("RAISE with options"));
    }
    // %% is a percent sign
    let parts: Vec<String> =
        format.replace("%%", "\0").split('%').map(|part| part.replace('\0', "%")).collect();
    match (parts.len() - 1).cmp(&args.len()) {
        std::cmp::Ordering::Equal => Ok(Step::Raise { level, parts, args }),
        std::cmp::Ordering::Less => {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, "too many parameters specified for RAISE"))
        }
        std::cmp::Ordering::Greater => {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, "too few parameters specified for RAISE"))
        }
    }
}

/// The text up to a semicolon or one of these words or signs that stands in no parenthesis and in no CASE.
fn until(at: &mut Cursor<'_>, ends: &[&str]) -> Result<String> {
    let start = at.ahead.map_or(at.text.len(), |token| token.start);
    let (mut depth, mut cases, mut end) = (0usize, 0usize, start);
    while let Some(token) = at.ahead {
        let ends_here = |word: &str| token.is(at.text, word) || token.is_sign(at.text, word);
        if token.kind == Kind::Semicolon
            || depth == 0 && cases == 0 && ends.iter().any(|word| ends_here(word))
        {
            break;
        }
        if token.is_sign(at.text, "(") || token.is_sign(at.text, "[") {
            depth += 1;
        } else if token.is_sign(at.text, ")") || token.is_sign(at.text, "]") {
            depth = depth.saturating_sub(1);
        } else if token.is(at.text, "case") {
            cases += 1;
        } else if token.is(at.text, "end") {
            cases = cases.saturating_sub(1);
        }
        end = token.end;
        at.next();
    }
    if end == start {
        return Err(at.unexpected());
    }
    Ok(at.text[start..end].to_owned())
}
