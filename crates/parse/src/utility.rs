//! Statements without expressions: transactions, settings, cursors, COPY, maintenance.
//!
//! They are parsed here, for the general parser does not know PostgreSQL's options of them.

use super::copy::{Copy, copy};
use super::cursor::{Cursor, literal, pieces, value};
use super::lex::{Kind, name_of, quoted};
use scaledb_locks::Mode;
use scaledb_types::{Result, SqlError, SqlState};

/// What a transaction was asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    pub read_only: Option<bool>,
    pub deferrable: Option<bool>,
    pub isolation: Option<Isolation>,
}

impl Modes {
    /// What SHOW says of a setting that is one of the modes; none for another one.
    pub fn shown(self, name: &str) -> Option<&'static str> {
        let on = |on: Option<bool>| if on.unwrap_or(false) { "on" } else { "off" };
        Some(match name {
            "transaction_read_only" => on(self.read_only),
            "transaction_deferrable" => on(self.deferrable),
            "transaction_isolation" => self.isolation.unwrap_or(Isolation::Serializable).name(),
            _ => return None,
        })
    }
}

/// The level that was asked for; all are serializable here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub const ALL: [Self; 4] =
        [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}

/// How far and in which direction a cursor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// So many rows; backward if negative; `i64::MAX` is all rows.
    Relative(i64),
    /// To this row, counted from 1; from the end if negative.
    Absolute(i64),
    /// To a row that many after this one: one row at most is returned.
    Skip(i64),
}

/// A statement of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utility {
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
    /// PREPARE TRANSACTION, of which there is none.
    PrepareTransaction,
    /// COMMIT PREPARED and ROLLBACK PREPARED.
    EndPrepared {
        words: &'static str,
        name: String,
    },
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
    AlterSequence(super::alter_sequence::AlterSequence),
    /// ALTER TYPE.
    AlterType(super::alter_type::AlterType),
    /// CREATE, ALTER and DROP DOMAIN.
    Domain(Box<super::domain::DomainStatement>),
    AlterView(Box<super::alter_view::AlterView>),
    SetSchema(super::set_schema::SetSchema),
    Materialized(Box<super::materialized::Materialized>),
    /// DO.
    Do(Box<super::plpgsql::Program>),
    CreateRoutine(Box<super::routine::CreateRoutine>),
    DropRoutines(Box<super::routine::DropRoutines>),
    AlterRoutine(Box<super::routine::AlterRoutine>),
    CreateTrigger(Box<super::trigger::CreateTrigger>),
    Policy(Box<super::policy::PolicyStatement>),
    /// CREATE SCHEMA with statements in it.
    SchemaElements(Box<super::schema_elements::SchemaElements>),
    DropTrigger(Box<super::trigger::DropTrigger>),
    RenameTrigger(Box<super::trigger::RenameTrigger>),
    EnableTriggers(Box<super::trigger::EnableTriggers>),
    Checkpoint,
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
    /// NOTIFY: the channel, and what is said.
    Notify {
        channel: String,
        payload: String,
    },
    Listen(String),
    /// UNLISTEN; from all channels without one.
    Unlisten(Option<String>),
    /// VACUUM, REINDEX, CLUSTER: accepted, and nothing is done.
    Maintain(Box<super::maintenance::Maintained>),
    Grant(Box<super::grant::GrantStatement>),
    Roles(Box<super::roles::RoleStatement>),
    Databases(Box<super::databases::DatabaseStatement>),
    Extension(super::extensions::ExtensionStatement),
    DropAbsent(Box<super::absent::DropAbsent>),
    /// SET ROLE or SET SESSION AUTHORIZATION.
    BecomeRole {
        setting: &'static str,
        local: bool,
        /// None to be oneself again.
        name: Option<String>,
    },
}

/// Parses the statement if it is one of this file's.
pub fn parse(text: &str) -> Option<Result<Utility>> {
    let mut at = Cursor::new(text);
    let word = at.peek_word()?.to_ascii_lowercase();
    let parse: fn(&mut Cursor<'_>) -> Result<Utility> = match word.as_str() {
        "begin" => |at| begin(at, false),
        "start" => |at| begin(at, true),
        "commit" | "end" => commit,
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
                return Ok(Utility::Reset(Some("session_authorization".to_owned())));
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
        "copy" => |at| Ok(Utility::Copy(Box::new(copy(at)?))),
        "declare" => declare,
        "fetch" => |at| fetch(at, false),
        "move" => |at| fetch(at, true),
        "close" => |at| Ok(Utility::Close(if at.accept("all") { None } else { Some(at.name()?) })),
        "explain" => super::explain::explain,
        "vacuum" => super::maintenance::vacuum,
        "analyze" | "analyse" => super::maintenance::analyze,
        "checkpoint" => |at| rest_as(at, Utility::Checkpoint),
        "reindex" => super::maintenance::reindex,
        "cluster" => super::maintenance::cluster,
        "lock" => lock,
        "grant" => |at| Ok(Utility::Grant(Box::new(super::grant::grant(at, false)?))),
        "revoke" => |at| Ok(Utility::Grant(Box::new(super::grant::grant(at, true)?))),
        "alter" if is_second(text, "default") => {
            |at| Ok(Utility::Grant(Box::new(super::grant::default_privileges(at)?)))
        }
        "create" if super::roles::is_about_roles(text) => {
            |at| Ok(Utility::Roles(Box::new(super::roles::create(at)?)))
        }
        "alter" if super::roles::is_about_roles(text) => {
            |at| Ok(Utility::Roles(Box::new(super::roles::alter(at)?)))
        }
        "drop" if super::roles::is_about_roles(text) => {
            |at| Ok(Utility::Roles(Box::new(super::roles::drop_roles(at)?)))
        }
        "reassign" => |at| Ok(Utility::Roles(Box::new(super::roles::reassign(at)?))),
        "create" if is_second(text, "database") => {
            |at| Ok(Utility::Databases(Box::new(super::databases::create(at)?)))
        }
        "alter" if is_second(text, "database") => {
            |at| Ok(Utility::Databases(Box::new(super::databases::alter(at)?)))
        }
        "drop" if is_second(text, "database") => {
            |at| Ok(Utility::Databases(Box::new(super::databases::drop_database(at)?)))
        }
        "create" | "alter" | "drop" if is_second(text, "extension") => {
            |at| Ok(Utility::Extension(super::extensions::read(at)?))
        }
        "create" if super::domain::is_about(text) => {
            |at| Ok(Utility::Domain(Box::new(super::domain::create(at)?)))
        }
        "alter" if super::domain::is_about(text) => {
            |at| Ok(Utility::Domain(Box::new(super::domain::alter(at)?)))
        }
        "drop" if super::domain::is_about(text) => {
            |at| Ok(Utility::Domain(Box::new(super::domain::drop_domain(at)?)))
        }
        "create" if super::policy::is_about(text) => {
            |at| Ok(Utility::Policy(Box::new(super::policy::create(at)?)))
        }
        "alter" if super::policy::is_about(text) => {
            |at| Ok(Utility::Policy(Box::new(super::policy::alter(at)?)))
        }
        "drop" if super::policy::is_about(text) => {
            |at| Ok(Utility::Policy(Box::new(super::policy::drop_policy(at)?)))
        }
        "drop" if super::absent::is_about(text) => super::absent::drop_absent,
        "comment" => |at| Ok(Utility::Comment(super::comment::comment(at)?)),
        "alter" if super::set_schema::is_set_schema(text) => {
            |at| Ok(Utility::SetSchema(super::set_schema::set_schema(at)?))
        }
        "create" if super::schema_elements::is_about(text) => super::schema_elements::create,
        "create" if super::materialized::is_about(text) => super::materialized::create,
        "refresh" if super::materialized::is_about(text) => super::materialized::refresh,
        "alter" if super::materialized::is_about(text) => super::materialized::alter,
        "alter" if super::routine::is_about_routines(text) => {
            |at| Ok(Utility::AlterRoutine(Box::new(super::routine::alter(at)?)))
        }
        "alter" if is_second(text, "sequence") => |at| {
            at.expect("sequence")?;
            Ok(Utility::AlterSequence(super::alter_sequence::alter_sequence(at)?))
        },
        "alter" if is_second(text, "type") => |at| {
            at.expect("type")?;
            Ok(Utility::AlterType(super::alter_type::alter_type(at)?))
        },
        "alter" if is_second(text, "view") => |at| {
            at.expect("view")?;
            Ok(Utility::AlterView(Box::new(super::alter_view::alter_view(at)?)))
        },
        "do" => |at| Ok(Utility::Do(Box::new(super::plpgsql::do_block(at)?))),
        "create" if super::routine::is_about_routines(text) => {
            |at| Ok(Utility::CreateRoutine(Box::new(super::routine::create(at)?)))
        }
        "create" if super::trigger::is_about_triggers(text) => {
            |at| Ok(Utility::CreateTrigger(Box::new(super::trigger::create(at)?)))
        }
        "drop" if super::trigger::is_about_triggers(text) => {
            |at| Ok(Utility::DropTrigger(Box::new(super::trigger::drop_trigger(at)?)))
        }
        "alter" if super::trigger::is_about_triggers(text) => {
            |at| Ok(Utility::RenameTrigger(Box::new(super::trigger::rename_trigger(at)?)))
        }
        "alter" if super::trigger::enables_triggers(text) => {
            |at| Ok(Utility::EnableTriggers(Box::new(super::trigger::enable_triggers(at)?)))
        }
        "drop" if super::routine::is_about_routines(text) => {
            |at| Ok(Utility::DropRoutines(Box::new(super::routine::drop_routines(at)?)))
        }
        "notify" => notify,
        "listen" => |at| Ok(Utility::Listen(at.name()?)),
        "unlisten" => |at| Ok(Utility::Unlisten(if at.accept_sign("*") { None } else { Some(at.name()?) })),
        _ => return None,
    };
    at.next();
    Some(parse(&mut at).and_then(|utility| at.end().map(|()| utility)))
}

impl Utility {
    /// Whether it is LISTEN, UNLISTEN or NOTIFY.
    pub fn is_about_channels(&self) -> bool {
        matches!(self, Self::Notify { .. } | Self::Listen(_) | Self::Unlisten(_))
    }
}

fn notify(at: &mut Cursor<'_>) -> Result<Utility> {
    let channel = at.name()?;
    if !at.accept_sign(",") {
        return Ok(Utility::Notify { channel, payload: String::new() });
    }
    let payload = literal(at).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(Utility::Notify { channel, payload })
}

/// Whether the second word of a statement is this one.
fn is_second(text: &str, word: &str) -> bool {
    let mut at = Cursor::new(text);
    at.next();
    at.accept(word)
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

/// A statement whose other words say nothing here.
fn rest_as(at: &mut Cursor<'_>, utility: Utility) -> Result<Utility> {
    at.rest();
    Ok(utility)
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

fn commit(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.accept("prepared") {
        return Ok(Utility::EndPrepared { words: "COMMIT PREPARED", name: name_of_prepared(at)? });
    }
    Ok(Utility::Commit { chain: chain(at)? })
}

fn name_of_prepared(at: &mut Cursor<'_>) -> Result<String> {
    let name = literal(at).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(name)
}

fn rollback(at: &mut Cursor<'_>) -> Result<Utility> {
    if at.accept("prepared") {
        return Ok(Utility::EndPrepared { words: "ROLLBACK PREPARED", name: name_of_prepared(at)? });
    }
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
pub(super) fn setting(at: &mut Cursor<'_>) -> Result<String> {
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
    let local = at.accept("local");
    if at.accept("session") {
        if at.accept("characteristics") {
            at.expect("as")?;
            at.expect("transaction")?;
            return Ok(Utility::SetCharacteristics(modes(at)?));
        }
        if at.accept("authorization") {
            return become_role(at, "session_authorization", "default", local);
        }
        if local {
            return Err(at.unexpected());
        }
    }
    // whatever stands before it, it is about this transaction
    if at.accept("transaction") {
        return Ok(Utility::SetTransaction(modes(at)?));
    }
    if at.accept("names") {
        let value = value(at)?;
        return Ok(Utility::Set { local, name: "client_encoding".to_owned(), value: Some(value) });
    }
    if at.accept("role") {
        // also as a setting: SET role TO x
        let as_setting = at.accept_sign("=") || at.accept("to");
        if as_setting && at.accept("default") {
            return Ok(Utility::BecomeRole { setting: "role", local, name: None });
        }
        return become_role(at, "role", "none", local);
    }
    if at.accept("time") {
        at.expect("zone")?;
    } else {
        let (name, value) = setting_and_value(at)?;
        return Ok(Utility::Set { local, name, value });
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
fn become_role(at: &mut Cursor<'_>, setting: &'static str, own: &str, local: bool) -> Result<Utility> {
    let itself = at.accept(own);
    let name = if itself { None } else { Some(value(at)?) };
    Ok(Utility::BecomeRole { setting, local, name })
}

/// The name of a setting, and its value; none for DEFAULT.
pub(super) fn setting_and_value(at: &mut Cursor<'_>) -> Result<(String, Option<String>)> {
    let name = setting(at)?;
    if !at.accept_sign("=") {
        at.expect("to")?;
    }
    let value = if name == "search_path" { list_of_names(at)? } else { values(at)? };
    Ok((name, value))
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

/// One name or more, as a list that says which are quoted; `None` for DEFAULT.
fn list_of_names(at: &mut Cursor<'_>) -> Result<Option<String>> {
    if at.accept("default") {
        return Ok(None);
    }
    let mut all = Vec::new();
    loop {
        let name = at.ahead.and_then(|token| name_of(token, at.text));
        let name = match name {
            Some(name) => {
                at.next();
                name
            }
            None => value(at)?,
        };
        all.push(quoted(&name));
        if !at.accept_sign(",") {
            return Ok(Some(all.join(", ")));
        }
    }
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
        at.next();
        return Ok(Utility::PrepareTransaction);
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

fn declare(at: &mut Cursor<'_>) -> Result<Utility> {
    let name = at.name()?;
    let (mut hold, mut scroll) = (false, None);
    loop {
        if at.accept("insensitive") || at.accept("asensitive") {
        } else if at.accept("binary") {
            return Err(SqlError::unsupported("binary cursors are not supported")
                .hint("Clients ask for the binary format by the extended protocol."));
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
    fn settings_have_lists_numbers_and_defaults() {
        let set = |text: &str| match parsed(text) {
            Utility::Set { name, value, .. } => (name, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            set("set search_path = \"$user\", public"),
            ("search_path".into(), Some("\"$user\", public".into()))
        );
        assert_eq!(set("set search_path to App, \"B,c\", 'D'").1, Some("app, \"B,c\", \"D\"".into()));
        assert_eq!(set("set search_path to ''").1, Some("\"\"".into()));
        assert_eq!(set("set local extra_float_digits to 3"), ("extra_float_digits".into(), Some("3".into())));
        assert_eq!(set("set time zone 'UTC'"), ("timezone".into(), Some("UTC".into())));
        assert_eq!(set("set a.b to default"), ("a.b".into(), None));
    }
}
