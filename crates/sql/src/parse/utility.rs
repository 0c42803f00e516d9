//! Statements without expressions: transactions, settings, cursors, COPY, maintenance.
//!
//! They are parsed here, for the general parser does not know PostgreSQL's options of them.

use super::lex::{Kind, Lexer, Token, name_of, text_of};
use crate::api::Severity;
use scaledb_locks::Mode;
use scaledb_types::{Result, SqlError, SqlState};

/// What a transaction was asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) read_only: Option<bool>,
    pub(crate) deferrable: Option<bool>,
    pub(crate) isolation: Option<Isolation>,
}

/// The level that was asked for; all are serializable here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}

/// The format of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFormat {
    Text,
    Csv,
    Binary,
}

/// A COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    /// A table with its columns, or a query.
    pub(crate) source: CopySource,
    pub(crate) into_table: bool,
    pub(crate) format: CopyFormat,
    pub(crate) delimiter: u8,
    pub(crate) null: String,
    pub(crate) header: bool,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    pub(crate) force_quote_all: bool,
    pub(crate) force_quote: Vec<String>,
    pub(crate) force_not_null: Vec<String>,
    pub(crate) force_null: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopySource {
    Table { schema: Option<String>, name: String, columns: Vec<String> },
    Query(String),
}

/// How far and in which direction a cursor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// That many rows; backward if negative; `i64::MAX` is all of them.
    Relative(i64),
    /// To this row, counted from 1; from the end if negative.
    Absolute(i64),
    /// To a row that many after this one: one row at most is returned.
    Skip(i64),
}

/// A statement of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Utility {
    Begin {
        modes: Modes,
        /// Whether it is called START TRANSACTION.
        start: bool,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    ReleaseSavepoint(String),
    RollbackTo(String),
    SetTransaction(Modes),
    SetCharacteristics(Modes),
    SetConstraints {
        names: Option<Vec<String>>,
        deferred: bool,
    },
    Set {
        local: bool,
        name: String,
        value: Option<String>,
    },
    Show(Option<String>),
    Reset(Option<String>),
    Discard(String),
    Deallocate(Option<String>),
    Prepare {
        name: String,
        types: Vec<String>,
        text: String,
    },
    Execute {
        name: String,
        arguments: Vec<String>,
    },
    Copy(Box<Copy>),
    Declare {
        name: String,
        hold: bool,
        /// Whether it is to go backward; unknown if nothing is said.
        scroll: Option<bool>,
        text: String,
    },
    Fetch {
        name: String,
        motion: Motion,
        moves: bool,
    },
    Close(Option<String>),
    Comment(super::comment::Comment),
    Checkpoint,
    /// Schemas and names of tables; all if there are none.
    Analyze(Vec<(Option<String>, String)>),
    Explain {
        options: super::explain::Options,
        text: String,
    },
    Lock {
        /// Schemas and names.
        tables: Vec<(Option<String>, String)>,
        mode: Mode,
        nowait: bool,
    },
    /// There is nothing that it would have to do: the tag to answer.
    Nothing(&'static str),
    /// Accepted, and nothing is done: the tag to answer, and what the client is told.
    Told(&'static str, Severity, &'static str),
    /// It would change who may do what: the statement's name, and the tag to answer where it is ignored.
    Privilege(&'static str, &'static str),
    /// SET ROLE or SET SESSION AUTHORIZATION: the setting, and the name; none to be oneself again.
    BecomeUser(&'static str, Option<String>),
}

/// Parses the statement if it is one of this file's.
pub(crate) fn parse(text: &str) -> Option<Result<Utility>> {
    let mut at = Cursor::new(text);
    let word = at.peek_word()?.to_ascii_lowercase();
    let parse: fn(&mut Cursor<'_>) -> Result<Utility> = match word.as_str() {
        "begin" => |at| begin(at, false),
        "start" => |at| begin(at, true),
        "commit" | "end" => |at| Ok(Utility::Commit { chain: chain(at)? }),
        "rollback" | "abort" => rollback,
        "savepoint" => |at| Ok(Utility::Savepoint(at.name()?)),
        "release" => |at| {
            at.accept("savepoint");
            Ok(Utility::ReleaseSavepoint(at.name()?))
        },
        "set" => set,
        "show" => show,
        "reset" => |at| {
            if at.accept("all") {
                return Ok(Utility::Reset(None));
            }
            if at.accept("session") {
                at.expect("authorization")?;
                return Ok(Utility::BecomeUser("session_authorization", None));
            }
            Ok(Utility::Reset(Some(setting(at)?)))
        },
        "discard" => |at| Ok(Utility::Discard(at.name()?)),
        "deallocate" => |at| {
            at.accept("prepare");
            Ok(Utility::Deallocate(if at.accept("all") { None } else { Some(at.name()?) }))
        },
        "prepare" => prepare,
        "execute" => execute,
        "copy" => copy,
        "declare" => declare,
        "fetch" => |at| fetch(at, false),
        "move" => |at| fetch(at, true),
        "close" => |at| Ok(Utility::Close(if at.accept("all") { None } else { Some(at.name()?) })),
        "explain" => super::explain::explain,
        "vacuum" => |at| {
            let what = "VACUUM does nothing: row versions are cleaned up in the background";
            at.rest_as(Utility::Told("VACUUM", Severity::Notice, what))
        },
        "analyze" | "analyse" => analyze,
        "checkpoint" => |at| at.rest_as(Utility::Checkpoint),
        "reindex" => |at| {
            let what = "REINDEX does nothing: indexes are made anew at each start, and keep no dead entries";
            at.rest_as(Utility::Told("REINDEX", Severity::Notice, what))
        },
        "cluster" => |at| {
            let what = "CLUSTER does nothing: rows are in memory, and have no order there";
            at.rest_as(Utility::Told("CLUSTER", Severity::Notice, what))
        },
        "lock" => lock,
        "grant" => |at| at.rest_as(Utility::Privilege("GRANT", "GRANT")),
        "revoke" => |at| at.rest_as(Utility::Privilege("REVOKE", "REVOKE")),
        "comment" => |at| Ok(Utility::Comment(super::comment::comment(at)?)),
        "unlisten" => |at| at.rest_as(Utility::Nothing("UNLISTEN")),
        _ => return None,
    };
    at.next();
    Some(parse(&mut at).and_then(|utility| at.end().map(|()| utility)))
}

fn lock(at: &mut Cursor<'_>) -> Result<Utility> {
    at.accept("table");
    let mut tables = Vec::new();
    loop {
        at.accept("only");
        let first = at.name()?;
        tables.push(if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) });
        at.accept_sign("*");
        if !at.accept_sign(",") {
            break;
        }
    }
    let mut mode = Mode::AccessExclusive;
    if at.accept("in") {
        let modes: [(&[&str], Mode); 8] = [
            (&["access", "share"], Mode::AccessShare),
            (&["row", "share"], Mode::RowShare),
            (&["row", "exclusive"], Mode::RowExclusive),
            (&["share", "update", "exclusive"], Mode::ShareUpdateExclusive),
            (&["share", "row", "exclusive"], Mode::ShareRowExclusive),
            (&["share"], Mode::Share),
            (&["exclusive"], Mode::Exclusive),
            (&["access", "exclusive"], Mode::AccessExclusive),
        ];
        let mut words = Vec::new();
        while let Some(word) = at.peek_word()
            && !word.eq_ignore_ascii_case("mode")
            && words.len() < 4
        {
            words.push(word.to_ascii_lowercase());
            at.next();
        }
        let found = modes.into_iter().find(|(form, _)| words.iter().eq(form.iter()));
        mode = found.ok_or_else(|| at.unexpected())?.1;
        at.expect("mode")?;
    }
    Ok(Utility::Lock { tables, mode, nowait: at.accept("nowait") })
}

/// Walks over the tokens of one statement.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    tokens: Lexer<'a>,
    pub(super) ahead: Option<Token>,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Lexer::new(text);
        let ahead = tokens.next();
        Self { text, tokens, ahead }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.ahead;
        self.ahead = self.tokens.next();
        token
    }

    fn peek_word(&self) -> Option<&'a str> {
        self.ahead.filter(|t| t.kind == Kind::Word).map(|t| t.of(self.text))
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let hit = self.ahead.is_some_and(|t| t.is(self.text, word));
        if hit {
            self.next();
        }
        hit
    }

    pub(super) fn accept_sign(&mut self, sign: &str) -> bool {
        let hit = self.ahead.is_some_and(|t| t.is_sign(self.text, sign));
        if hit {
            self.next();
        }
        hit
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.accept_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn name(&mut self) -> Result<String> {
        let name = self.ahead.and_then(|t| name_of(t, self.text)).ok_or_else(|| self.unexpected())?;
        self.next();
        Ok(name)
    }

    /// What is left of the text.
    pub(super) fn rest(&mut self) -> &'a str {
        let from = self.ahead.map_or(self.text.len(), |t| t.start);
        self.ahead = None;
        self.tokens = Lexer::new("");
        &self.text[from..]
    }

    fn rest_as(&mut self, utility: Utility) -> Result<Utility> {
        self.rest();
        Ok(utility)
    }

    fn end(&self) -> Result<()> {
        if self.ahead.is_none() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&self) -> SqlError {
        syntax_at(self.text, self.ahead.map(|t| (t.start, t.end)))
    }
}

/// The error at a place in a text.
pub(crate) fn syntax_at(text: &str, place: Option<(usize, usize)>) -> SqlError {
    let (message, at) = match place {
        Some((start, end)) => (format!("syntax error at or near \"{}\"", &text[start..end]), start),
        None => ("syntax error at end of input".to_owned(), text.len()),
    };
    let position = text[..at].chars().count() as u32 + 1;
    SqlError::new(SqlState::SYNTAX_ERROR, message).position(position)
}

fn begin(at: &mut Cursor<'_>, start: bool) -> Result<Utility> {
    at.accept("transaction");
    at.accept("work");
    Ok(Utility::Begin { modes: modes(at)?, start })
}

fn modes(at: &mut Cursor<'_>) -> Result<Modes> {
    let mut modes = Modes::default();
    loop {
        at.accept_sign(",");
        if at.accept("isolation") {
            at.expect("level")?;
            modes.isolation = Some(if at.accept("serializable") {
                Isolation::Serializable
            } else if at.accept("repeatable") {
                at.expect("read")?;
                Isolation::RepeatableRead
            } else {
                at.expect("read")?;
                if at.accept("committed") {
                    Isolation::ReadCommitted
                } else {
                    at.expect("uncommitted")?;
                    Isolation::ReadUncommitted
                }
            });
        } else if at.accept("read") {
            modes.read_only = Some(if at.accept("only") {
                true
            } else {
                at.expect("write")?;
                false
            });
        } else if at.accept("deferrable") {
            modes.deferrable = Some(true);
        } else if at.accept("not") {
            at.expect("deferrable")?;
            modes.deferrable = Some(false);
        } else {
            return Ok(modes);
        }
    }
}

fn chain(at: &mut Cursor<'_>) -> Result<bool> {
    if !at.accept("work") {
        at.accept("transaction");
    }
    if !at.accept("and") {
        return Ok(false);
    }
    let no = at.accept("no");
    at.expect("chain")?;
    Ok(!no)
}

fn rollback(at: &mut Cursor<'_>) -> Result<Utility> {
    if !at.accept("work") {
        at.accept("transaction");
    }
    if at.accept("to") {
        at.accept("savepoint");
        return Ok(Utility::RollbackTo(at.name()?));
    }
    Ok(Utility::Rollback { chain: chain(at)? })
}

/// The name of a setting: `a` or `a.b`, in lower case.
fn setting(at: &mut Cursor<'_>) -> Result<String> {
    if at.accept("time") {
        at.expect("zone")?;
        return Ok("timezone".to_owned());
    }
    let mut name = at.name()?.to_lowercase();
    while at.accept_sign(".") {
        name.push('.');
        name.push_str(&at.name()?.to_lowercase());
    }
    Ok(name)
}

fn set(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.accept("transaction") {
        return Ok(Utility::SetTransaction(modes(at)?));
    }
    if at.accept("constraints") {
        let names = if at.accept("all") {
            None
        } else {
            let mut names = vec![constraint_name(at)?];
            while at.accept_sign(",") {
                names.push(constraint_name(at)?);
            }
            Some(names)
        };
        let deferred = at.accept("deferred");
        if !deferred {
            at.expect("immediate")?;
        }
        return Ok(Utility::SetConstraints { names, deferred });
    }
    let mut local = false;
    if at.accept("session") {
        if at.accept("characteristics") {
            at.expect("as")?;
            at.expect("transaction")?;
            return Ok(Utility::SetCharacteristics(modes(at)?));
        }
        if at.accept("authorization") {
            return become_user(at, "session_authorization", "default");
        }
    } else {
        local = at.accept("local");
    }
    if at.accept("names") {
        let value = value(at)?;
        return Ok(Utility::Set { local, name: "client_encoding".to_owned(), value: Some(value) });
    }
    if at.accept("role") {
        // also as a setting: SET role TO x
        if !at.accept_sign("=") {
            at.accept("to");
        }
        return become_user(at, "role", "none");
    }
    if at.accept("time") {
        at.expect("zone")?;
    } else {
        let name = setting(at)?;
        if !at.accept_sign("=") {
            at.expect("to")?;
        }
        return Ok(Utility::Set { local, name, value: values(at)? });
    }
    let name = "timezone".to_owned();
    if at.accept("local") {
        return Ok(Utility::Set { local, name, value: None });
    }
    if at.accept("interval") {
        let text = value(at)?;
        if at.accept("hour") && at.accept("to") {
            at.expect("minute")?;
        }
        let hours = hours_of(&text).ok_or_else(|| {
            SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "a time zone interval is of hours and minutes")
        })?;
        return Ok(Utility::Set { local, name, value: Some(hours.to_string()) });
    }
    Ok(Utility::Set { local, name, value: values(at)? })
}

/// The name behind SET ROLE; `own` is the word for oneself.
fn become_user(at: &mut Cursor<'_>, setting: &'static str, own: &str) -> Result<Utility> {
    if at.accept(own) || at.accept("default") {
        return Ok(Utility::BecomeUser(setting, None));
    }
    Ok(Utility::BecomeUser(setting, Some(value(at)?)))
}

/// The hours in `+05:30`.
fn hours_of(text: &str) -> Option<f64> {
    let (hours, minutes) = text.split_once(':').unwrap_or((text, "0"));
    let size = hours.trim_start_matches(['+', '-']).parse::<u32>().ok()?;
    let minutes: u32 = minutes.parse().ok()?;
    let size = f64::from(size) + f64::from(minutes) / 60.0;
    Some(if hours.starts_with('-') { -size } else { size })
}

fn constraint_name(at: &mut Cursor<'_>) -> Result<String> {
    let name = at.name()?;
    if at.accept_sign(".") { at.name() } else { Ok(name) }
}

/// One value or more, as one text; `None` for DEFAULT.
fn values(at: &mut Cursor<'_>) -> Result<Option<String>> {
    if at.accept("default") {
        return Ok(None);
    }
    let mut all = value(at)?;
    while at.accept_sign(",") {
        all.push_str(", ");
        all.push_str(&value(at)?);
    }
    Ok(Some(all))
}

fn value(at: &mut Cursor<'_>) -> Result<String> {
    let minus = at.accept_sign("-");
    let token = at.ahead.ok_or_else(|| at.unexpected())?;
    let text = match token.kind {
        Kind::Word => token.of(at.text).to_lowercase(),
        Kind::Quoted => name_of(token, at.text).unwrap_or_default(),
        Kind::Number => token.of(at.text).to_owned(),
        _ => text_of(token, at.text).ok_or_else(|| at.unexpected())?,
    };
    at.next();
    Ok(if minus { format!("-{text}") } else { text })
}

fn show(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.accept("all") {
        return Ok(Utility::Show(None));
    }
    if at.accept("transaction") {
        at.expect("isolation")?;
        at.expect("level")?;
        return Ok(Utility::Show(Some("transaction_isolation".to_owned())));
    }
    if at.accept("session") {
        at.expect("authorization")?;
        return Ok(Utility::Show(Some("session_authorization".to_owned())));
    }
    Ok(Utility::Show(Some(setting(at)?)))
}

fn prepare(at: &mut Cursor<'_>) -> Result<Utility> {
    let name = at.name()?;
    if name == "transaction" && at.ahead.is_some_and(|token| token.kind == Kind::Text) {
        return Err(SqlError::unsupported("PREPARE TRANSACTION is not supported"));
    }
    let mut types = Vec::new();
    if at.accept_sign("(") {
        types = pieces(at)?;
    }
    at.expect("as")?;
    Ok(Utility::Prepare { name, types, text: at.rest().to_owned() })
}

fn execute(at: &mut Cursor<'_>) -> Result<Utility> {
    let name = at.name()?;
    let arguments = if at.accept_sign("(") { pieces(at)? } else { Vec::new() };
    Ok(Utility::Execute { name, arguments })
}

/// Texts between commas, up to the closing parenthesis.
pub(super) fn pieces(at: &mut Cursor<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut piece: Option<(usize, usize)> = None;
    loop {
        let token = at.next().ok_or_else(|| syntax_at(at.text, None))?;
        let sign = token.of(at.text);
        let punct = token.kind == Kind::Punct;
        if punct && depth == 0 && (sign == "," || sign == ")") {
            let (from, to) =
                piece.take().ok_or_else(|| syntax_at(at.text, Some((token.start, token.end))))?;
            found.push(at.text[from..to].to_owned());
            if sign == ")" {
                return Ok(found);
            }
            continue;
        }
        if punct && matches!(sign, "(" | "[") {
            depth += 1;
        } else if punct && matches!(sign, ")" | "]") {
            depth = depth.saturating_sub(1);
        }
        piece = Some((piece.map_or(token.start, |(from, _)| from), token.end));
    }
}

fn declare(at: &mut Cursor<'_>) -> Result<Utility> {
    let name = at.name()?;
    let (mut hold, mut scroll) = (false, None);
    loop {
        if at.accept("binary") || at.accept("insensitive") || at.accept("asensitive") {
        } else if at.accept("scroll") {
            scroll = Some(true);
        } else if at.accept("no") {
            at.expect("scroll")?;
            scroll = Some(false);
        } else {
            break;
        }
    }
    at.expect("cursor")?;
    if at.accept("with") {
        at.expect("hold")?;
        hold = true;
    } else if at.accept("without") {
        at.expect("hold")?;
    }
    at.expect("for")?;
    Ok(Utility::Declare { name, hold, scroll, text: at.rest().to_owned() })
}

fn fetch(at: &mut Cursor<'_>, moves: bool) -> Result<Utility> {
    let motion = if at.accept("next") {
        Motion::Relative(1)
    } else if at.accept("prior") {
        Motion::Relative(-1)
    } else if at.accept("first") {
        Motion::Absolute(1)
    } else if at.accept("last") {
        Motion::Absolute(-1)
    } else if at.accept("absolute") {
        Motion::Absolute(integer(at)?)
    } else if at.accept("relative") {
        Motion::Skip(integer(at)?)
    } else if at.accept("all") {
        Motion::Relative(i64::MAX)
    } else if at.accept("forward") {
        Motion::Relative(amount(at)?)
    } else if at.accept("backward") {
        Motion::Relative(amount(at)?.saturating_neg())
    } else if at.ahead.is_some_and(|t| t.kind == Kind::Number || t.is_sign(at.text, "-")) {
        Motion::Relative(integer(at)?)
    } else {
        Motion::Relative(1)
    };
    if !at.accept("from") {
        at.accept("in");
    }
    Ok(Utility::Fetch { name: at.name()?, motion, moves })
}

fn amount(at: &mut Cursor<'_>) -> Result<i64> {
    if at.accept("all") {
        return Ok(i64::MAX);
    }
    if at.ahead.is_some_and(|t| t.kind == Kind::Number || t.is_sign(at.text, "-")) {
        integer(at)
    } else {
        Ok(1)
    }
}

fn integer(at: &mut Cursor<'_>) -> Result<i64> {
    let minus = at.accept_sign("-");
    let token = at.ahead.filter(|t| t.kind == Kind::Number).ok_or_else(|| at.unexpected())?;
    let number: i64 = token.of(at.text).parse().map_err(|_| at.unexpected())?;
    at.next();
    Ok(if minus { -number } else { number })
}

fn copy(at: &mut Cursor<'_>) -> Result<Utility> {
    let source = if at.ahead.is_some_and(|t| t.is_sign(at.text, "(")) {
        CopySource::Query(parenthesized(at)?.to_owned())
    } else {
        at.accept("table");
        let mut name = at.name()?;
        let mut schema = None;
        if at.accept_sign(".") {
            schema = Some(std::mem::replace(&mut name, at.name()?));
        }
        let mut columns = Vec::new();
        if at.accept_sign("(") {
            columns.push(at.name()?);
            while at.accept_sign(",") {
                columns.push(at.name()?);
            }
            at.expect_sign(")")?;
        }
        CopySource::Table { schema, name, columns }
    };
    let into_table = at.accept("from");
    if into_table {
        if !at.accept("stdin") {
            return Err(no_files());
        }
    } else {
        at.expect("to")?;
        if !at.accept("stdout") {
            return Err(no_files());
        }
    }
    let mut copy = Copy {
        source,
        into_table,
        format: CopyFormat::Text,
        delimiter: b'\t',
        null: "\\N".to_owned(),
        header: false,
        quote: b'"',
        escape: b'"',
        force_quote_all: false,
        force_quote: Vec::new(),
        force_not_null: Vec::new(),
        force_null: Vec::new(),
    };
    copy_options(at, &mut copy)?;
    if into_table && matches!(copy.source, CopySource::Query(_)) {
        return Err(at.unexpected());
    }
    Ok(Utility::Copy(Box::new(copy)))
}

/// `ANALYZE [VERBOSE] [(..)] [table [(columns)], ..]`.
fn analyze(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.ahead.is_some_and(|t| t.is_sign(at.text, "(")) {
        parenthesized(at)?;
    } else {
        at.accept("verbose");
    }
    let mut tables = Vec::new();
    while at.ahead.is_some() {
        let mut name = at.name()?;
        let mut schema = None;
        if at.accept_sign(".") {
            schema = Some(std::mem::replace(&mut name, at.name()?));
        }
        if at.ahead.is_some_and(|t| t.is_sign(at.text, "(")) {
            names(at, true)?;
        }
        tables.push((schema, name));
        if !at.accept_sign(",") {
            break;
        }
    }
    at.end()?;
    Ok(Utility::Analyze(tables))
}

fn no_files() -> SqlError {
    SqlError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        "COPY to or from a file or program of the server is not allowed",
    )
    .hint("COPY FROM STDIN and COPY TO STDOUT read and write at the client; so does psql's \\copy.")
}

/// The text of a parenthesis.
fn parenthesized<'a>(at: &mut Cursor<'a>) -> Result<&'a str> {
    let open = at.next().ok_or_else(|| syntax_at(at.text, None))?;
    let mut depth = 1usize;
    loop {
        let token = at.next().ok_or_else(|| syntax_at(at.text, None))?;
        if token.is_sign(at.text, "(") {
            depth += 1;
        } else if token.is_sign(at.text, ")") {
            depth -= 1;
            if depth == 0 {
                return Ok(&at.text[open.end..token.start]);
            }
        }
    }
}

fn copy_options(at: &mut Cursor<'_>, copy: &mut Copy) -> Result<()> {
    let (mut delimiter, mut null, mut escape) = (None, None, None);
    at.accept("with");
    let list = at.accept_sign("(");
    loop {
        if at.ahead.is_none() || list && at.accept_sign(")") {
            break;
        }
        let option = at.name()?;
        match option.as_str() {
            "format" => {
                copy.format = match value(at)?.as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    other => {
                        let what = format!("COPY format \"{other}\" not recognized");
                        return Err(SqlError::invalid_parameter(what));
                    }
                }
            }
            "csv" if !list => copy.format = CopyFormat::Csv,
            "binary" if !list => copy.format = CopyFormat::Binary,
            "freeze" => {
                flag(at)?;
            }
            "header" => copy.header = flag(at)?,
            "delimiter" | "delimiters" => {
                at.accept("as");
                delimiter = Some(byte(&value(at)?, "delimiter")?);
            }
            "null" => {
                at.accept("as");
                null = Some(value(at)?);
            }
            "quote" => {
                at.accept("as");
                copy.quote = byte(&value(at)?, "quote")?;
            }
            "escape" => {
                at.accept("as");
                escape = Some(byte(&value(at)?, "escape")?);
            }
            "encoding" => {
                value(at)?;
            }
            "force" if !list => {
                let not = at.accept("not");
                if not {
                    at.expect("null")?;
                    copy.force_not_null = names(at, false)?;
                } else if at.accept("null") {
                    copy.force_null = names(at, false)?;
                } else {
                    at.expect("quote")?;
                    copy.force_quote_all = at.accept_sign("*");
                    if !copy.force_quote_all {
                        copy.force_quote = names(at, false)?;
                    }
                }
            }
            "force_quote" => {
                copy.force_quote_all = at.accept_sign("*");
                if !copy.force_quote_all {
                    copy.force_quote = names(at, true)?;
                }
            }
            "force_not_null" => copy.force_not_null = names(at, true)?,
            "force_null" => copy.force_null = names(at, true)?,
            other => {
                let what = format!("option \"{other}\" not recognized");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
        }
        if list && !at.accept_sign(",") {
            at.expect_sign(")")?;
            break;
        }
    }
    if copy.format == CopyFormat::Csv {
        copy.delimiter = b',';
        copy.null = String::new();
        copy.escape = escape.unwrap_or(copy.quote);
    }
    copy.delimiter = delimiter.unwrap_or(copy.delimiter);
    copy.null = null.unwrap_or_else(|| std::mem::take(&mut copy.null));
    Ok(())
}

fn flag(at: &mut Cursor<'_>) -> Result<bool> {
    for (word, on) in [("on", true), ("true", true), ("off", false), ("false", false)] {
        if at.accept(word) {
            return Ok(on);
        }
    }
    Ok(match at.ahead.filter(|t| t.kind == Kind::Number).map(|t| t.of(at.text)) {
        Some(number) => {
            let on = number != "0";
            at.next();
            on
        }
        None => true,
    })
}

fn names(at: &mut Cursor<'_>, parentheses: bool) -> Result<Vec<String>> {
    if parentheses {
        at.expect_sign("(")?;
    }
    let mut names = vec![at.name()?];
    while at.accept_sign(",") {
        names.push(at.name()?);
    }
    if parentheses {
        at.expect_sign(")")?;
    }
    Ok(names)
}

fn byte(text: &str, what: &str) -> Result<u8> {
    match text.as_bytes() {
        [b] if *b != b'\n' && *b != b'\r' => Ok(*b),
        _ => Err(SqlError::unsupported(format!("COPY {what} must be a single one-byte character"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Utility {
        parse(text).expect("a utility statement").unwrap()
    }

    #[test]
    fn transaction_modes_are_read_in_any_order() {
        let modes =
            Modes { read_only: Some(true), deferrable: Some(true), isolation: Some(Isolation::Serializable) };
        let begin = |start| Utility::Begin { modes, start };
        assert_eq!(parsed("begin isolation level serializable, read only deferrable"), begin(false));
        assert_eq!(
            parsed("start transaction read only isolation level serializable deferrable"),
            begin(true)
        );
        assert!(parse("begin read").unwrap().is_err());
    }

    #[test]
    fn copy_takes_both_forms_of_options() {
        let Utility::Copy(copy) =
            parsed("copy s.t (a, \"B\") from stdin with (freeze on, format csv, header)")
        else {
            panic!()
        };
        assert!(copy.into_table && copy.header && copy.format == CopyFormat::Csv && copy.delimiter == b',');
        let Utility::Copy(copy) = parsed("COPY (select ')' from t) TO STDOUT CSV DELIMITER ';' NULL 'x'")
        else {
            panic!()
        };
        assert_eq!(copy.source, CopySource::Query("select ')' from t".to_owned()));
        assert_eq!((copy.delimiter, copy.null.as_str()), (b';', "x"));
    }

    #[test]
    fn settings_have_lists_numbers_and_defaults() {
        let set = |text: &str| match parsed(text) {
            Utility::Set { name, value, .. } => (name, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            set("set search_path = \"$user\", public"),
            ("search_path".into(), Some("$user, public".into()))
        );
        assert_eq!(set("set local extra_float_digits to 3"), ("extra_float_digits".into(), Some("3".into())));
        assert_eq!(set("set time zone 'UTC'"), ("timezone".into(), Some("UTC".into())));
        assert_eq!(set("set a.b to default"), ("a.b".into(), None));
    }
}
