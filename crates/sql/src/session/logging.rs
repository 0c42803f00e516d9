//! The statement log: what runs (`log_statement`), and what takes long (`log_min_duration_statement`).
//!
//! Lines go to the process's subscriber of `tracing` events: a server writes them to its log. A text of a client is a
//! field of its own there, written in quotes with its line breaks escaped, so that it cannot look like a line. It is
//! bounded, and constants of statements that may hold a password are left out. While nothing is logged, a statement
//! pays one branch.

use super::Session;
use super::settings::Settings;
use crate::compiled::{Action, Compiled};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Kind, Lexer};
use scaledb_parse::passwords::{may_hold_password, without_literals};
use scaledb_parse::utility::Utility;
use scaledb_types::{Env, SqlError, SqlState, Type, Value};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Bytes of a statement in a line.
const MAX_STATEMENT: usize = 8 << 10;
/// Bytes of the parameters in a line, and of one of them.
const MAX_PARAMETERS: usize = 8 << 10;
const MAX_PARAMETER: usize = 1 << 10;

/// What a statement does, as far as `log_statement` tells statements apart; and, as a setting, up to where they are
/// logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// As a setting: none.
    #[default]
    None,
    /// Statements that change the catalog.
    Ddl,
    /// Statements that change rows.
    Mod,
    All,
}

/// The settings of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Logs {
    class: Class,
    /// Statements that take as long are logged.
    at_least: Option<Duration>,
}

impl Logs {
    pub(super) fn of(settings: &Settings) -> Self {
        let class = match settings.get("log_statement") {
            Ok("ddl") => Class::Ddl,
            Ok("mod") => Class::Mod,
            Ok("all") => Class::All,
            _ => Class::None,
        };
        let at_least = settings.duration("log_min_duration_statement");
        Self { class, at_least }
    }

    #[inline]
    fn is_on(self) -> bool {
        self.class != Class::None || self.at_least.is_some()
    }
}

/// A statement that runs, and may be logged at its end.
pub(super) struct Run {
    begun: Instant,
    /// Whether the statement's text is in the log already.
    told: bool,
}

/// A COPY FROM STDIN that has begun.
pub(super) struct LaterRun {
    run: Run,
    text: String,
}

/// A statement as it is logged.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    /// The prepared statement or portal that it is, if it came so.
    name: Option<&'a str>,
    types: &'a [Type],
    values: &'a [Value],
}

impl<E: Engine> Session<E> {
    /// A statement begins; `None` if nothing is logged.
    #[inline]
    pub(super) fn log_begin(&self) -> Option<Run> {
        self.logs.is_on().then(|| Run { begun: Instant::now(), told: false })
    }

    /// A text that is no statement of this database, and is not run.
    #[cold]
    pub(super) fn log_refused(&self, text: &str, error: &SqlError) {
        // as PostgreSQL does: what is no SQL is not logged
        if self.logs.class == Class::All && error.code() != SqlState::SYNTAX_ERROR {
            self.log_line(Line { text, name: None, types: &[], values: &[] }, None);
        }
    }

    /// A simple statement is about to run.
    #[cold]
    pub(super) fn log_simple(&self, run: &mut Run, compiled: &Compiled, text: &str) {
        self.log_statement(run, compiled, Line { text, name: None, types: &[], values: &[] });
    }

    /// A simple statement has run.
    #[cold]
    pub(super) fn log_simple_end(&self, run: &Run, text: &str, error: Option<&SqlError>) {
        self.log_end(run, Line { text, name: None, types: &[], values: &[] }, error);
    }

    /// The statement goes on with the data that the client sends.
    #[cold]
    pub(super) fn log_later(&mut self, run: Run, text: &str) {
        self.logged_later = Some(LaterRun { run, text: text.to_owned() });
    }

    /// The data of a COPY have ended.
    pub(super) fn log_copy_end(&mut self, error: Option<&SqlError>) {
        if let Some(LaterRun { run, text }) = self.logged_later.take() {
            self.log_simple_end(&run, &text, error);
        }
    }

    /// A portal is about to run.
    #[cold]
    pub(super) fn log_portal(&self, run: &mut Run, name: &str, compiled: &Compiled, values: &[Value]) {
        self.log_statement(run, compiled, portal(name, compiled, values));
    }

    /// A portal has run, or a part of it.
    #[cold]
    pub(super) fn log_portal_end(
        &self,
        run: &Run,
        name: &str,
        compiled: &Compiled,
        values: &[Value],
        error: Option<&SqlError>,
    ) {
        self.log_end(run, portal(name, compiled, values), error);
    }

    fn log_statement(&self, run: &mut Run, compiled: &Compiled, line: Line<'_>) {
        let class = self.class_of(compiled);
        if class != Class::None && class <= self.logs.class {
            run.told = true;
            let prepared = match &compiled.action {
                Action::Utility(Utility::Execute { name, .. }) => self.statements.get(name.as_str()),
                _ => None,
            };
            self.log_line(line, prepared.map(|prepared| &*prepared.compiled.text));
        }
    }

    fn log_line(&self, line: Line<'_>, prepared: Option<&str>) {
        let (user, database) = self.log_names();
        let parameters = parameters(line, &self.env);
        tracing::info!(
            pid = self.state.id,
            user,
            database,
            name = line.name,
            statement = shown(line.text).as_str(),
            prepared = prepared.map(shown).as_deref(),
            parameters = parameters.as_deref(),
            "statement"
        );
    }

    fn log_end(&self, run: &Run, line: Line<'_>, error: Option<&SqlError>) {
        let time = run.begun.elapsed();
        if self.logs.at_least.is_none_or(|least| time < least) {
            return;
        }
        let (user, database) = self.log_names();
        let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
        let code = error.map(SqlError::code);
        let statement = (!run.told).then(|| shown(line.text));
        let parameters = if run.told { None } else { parameters(line, &self.env) };
        tracing::info!(
            pid = self.state.id,
            user,
            database,
            ms,
            error = code.as_ref().map(SqlState::as_str),
            name = line.name,
            statement = statement.as_deref(),
            parameters = parameters.as_deref(),
            "duration"
        );
    }

    fn log_names(&self) -> (&str, &str) {
        use crate::system::Facts;
        self.state.names()
    }

    fn class_of(&self, compiled: &Compiled) -> Class {
        match &compiled.action {
            Action::Empty => Class::None,
            Action::Plan(plan) if plan.writes => Class::Mod,
            Action::Plan(_) => Class::All,
            Action::Ddl(_) => Class::Ddl,
            Action::Truncate(_) | Action::Call(_) => Class::Mod,
            Action::Utility(utility) => match utility {
                Utility::Copy(copy) if copy.into_table => Class::Mod,
                Utility::Comment(_)
                | Utility::AlterSequence(_)
                | Utility::AlterType(_)
                | Utility::Domain(_)
                | Utility::SetSchema(_)
                | Utility::Materialized(_)
                | Utility::CreateRoutine(_)
                | Utility::DropRoutines(_)
                | Utility::AlterRoutine(_)
                | Utility::CreateTrigger(_)
                | Utility::SchemaElements(_)
                | Utility::DropTrigger(_)
                | Utility::RenameTrigger(_)
                | Utility::EnableTriggers(_)
                | Utility::Grant(_)
                | Utility::Roles(_)
                | Utility::Databases(_) => Class::Ddl,
                Utility::Execute { name, .. } => match self.statements.get(name.as_str()) {
                    // a prepared statement is no EXECUTE
                    Some(prepared) => self.class_of(&prepared.compiled),
                    None => Class::All,
                },
                Utility::Prepare { text, .. } => of_text(text),
                Utility::Explain { options, text } if options.analyze => of_text(text),
                _ => Class::All,
            },
        }
    }
}

fn portal<'a>(name: &'a str, compiled: &'a Compiled, values: &'a [Value]) -> Line<'a> {
    let name = Some(name).filter(|name| !name.is_empty());
    Line { text: &compiled.text, name, types: &compiled.params, values }
}

/// The class of a statement within another.
fn of_text(text: &str) -> Class {
    let mut words = Lexer::new(text).filter(|token| token.kind == Kind::Word).map(|token| token.of(text));
    let writes = |word: &str| {
        ["insert", "update", "delete", "merge", "copy"].iter().any(|w| word.eq_ignore_ascii_case(w))
    };
    match words.next() {
        Some(word) if word.eq_ignore_ascii_case("create") => Class::Ddl,
        Some(word) if writes(word) => Class::Mod,
        // a query may write in its WITH
        Some(word) if word.eq_ignore_ascii_case("with") && words.any(writes) => Class::Mod,
        _ => Class::All,
    }
}

/// A statement as it stands in the log: bounded, and without what may be a password.
fn shown(text: &str) -> String {
    let text = text.trim();
    let part = &text[..text.floor_char_boundary(MAX_STATEMENT)];
    let mut shown = if may_hold_password(part) { without_literals(part) } else { part.to_owned() };
    if part.len() < text.len() {
        // writing to a string does not fail
        let _ = write!(shown, "... ({} bytes)", text.len());
    }
    shown
}

/// `$1 = '...', $2 = NULL`; `None` without parameters.
fn parameters(line: Line<'_>, env: &Env) -> Option<String> {
    let mut shown = String::new();
    for (number, (value, &ty)) in line.values.iter().zip(line.types).enumerate() {
        if shown.len() >= MAX_PARAMETERS {
            shown.push_str(", ...");
            break;
        }
        let comma = if number == 0 { "" } else { ", " };
        // writing to a string does not fail
        let _ = write!(shown, "{comma}${} = ", number + 1);
        match value.to_text(ty, env) {
            None => shown.push_str("NULL"),
            Some(text) => {
                let text: &str = &text;
                let part = &text[..text.floor_char_boundary(MAX_PARAMETER)];
                let more = if part.len() < text.len() { "..." } else { "" };
                let _ = write!(shown, "'{}{more}'", part.replace('\'', "''"));
            }
        }
    }
    Some(shown).filter(|shown| !shown.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for text in [
            "alter role ann password 'geheim'",
            "ALTER USER ann WITH ENCRYPTED PASSWORD E'geheim' VALID UNTIL 'infinity'",
            "create user ann password $$geheim$$",
            "create role ann login password 'geheim",
            "/* a */ create /* b */ group g password U&'geheim'",
            "set my.password = 'geheim'",
            "set \"my.PassWord\" to 'geheim'",
            "create server s foreign data wrapper w options (user 'a', key 'geheim')",
            "create subscription s connection 'host=a password=geheim' publication p",
            "create user mapping for ann server s options (password 'geheim')",
        ] {
            let shown = shown(text);
            assert!(!shown.contains("geheim") && shown.contains("'***'"), "{shown}");
        }
        assert_eq!(shown("alter role ann password 'a' login"), "alter role ann password '***' login");
        assert_eq!(shown(" select 'x' "), "select 'x'");
        assert_eq!(
            shown("create table users (a text default 'x')"),
            "create table users (a text default 'x')"
        );
    }

    #[test]
    fn what_is_logged_is_bounded() {
        let long = format!("select '{}'", "ä".repeat(1 << 20));
        assert!(shown(&long).len() < MAX_STATEMENT + 64);
        assert!(shown(&long).ends_with(&format!("... ({} bytes)", long.len())));
        let hidden = format!("alter role ann password '{}'", "geheim".repeat(1 << 16));
        assert!(shown(&hidden).starts_with("alter role ann password '***'..."));
        let values: Vec<Value> = (0..100).map(|_| Value::text("it's ".repeat(10_000))).collect();
        let types = vec![Type::TEXT; values.len()];
        let line = Line { text: "", name: None, types: &types, values: &values };
        let shown = parameters(line, &Env::default()).unwrap();
        assert!(shown.len() < MAX_PARAMETERS + 3 * MAX_PARAMETER, "{}", shown.len());
        assert!(shown.starts_with("$1 = 'it''s it''s ") && shown.ends_with(", ..."));
    }

    #[test]
    fn parameters_are_shown_as_literals() {
        let (values, types) =
            ([Value::Int4(7), Value::Null, Value::text("a'b")], [Type::INT4, Type::TEXT, Type::TEXT]);
        let line = Line { text: "", name: None, types: &types, values: &values };
        assert_eq!(parameters(line, &Env::default()).unwrap(), "$1 = '7', $2 = NULL, $3 = 'a''b'");
        assert_eq!(parameters(Line { values: &[], ..line }, &Env::default()), None);
    }

    #[test]
    fn statements_within_statements_have_their_class() {
        assert_eq!(of_text("insert into t values (1)"), Class::Mod);
        assert_eq!(of_text("WITH a AS (DELETE FROM t RETURNING *) SELECT 1"), Class::Mod);
        assert_eq!(of_text("with a as (select 1) select 1"), Class::All);
        assert_eq!(of_text("create table t as select 1"), Class::Ddl);
    }
}
