//! The settings of a session: SET, SHOW, RESET, SET LOCAL.

mod described;
mod idle;

use idle::IDLE;
use scaledb_base::timeouts::{self, IDLE_IN_TRANSACTION_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT, Unit};
use scaledb_parse::lex::names_of;
use scaledb_types::{Result, SqlError, SqlState, Zone};
use std::collections::HashMap;
use std::time::Duration;

/// What stands for no limit.
pub(crate) const UNLIMITED: &str = "-1";

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    Anything,
    Bool,
    Integer(i64, i64),
    Real(f64, f64),
    /// A duration in milliseconds, units allowed.
    Milliseconds,
    /// As the one before, or [`UNLIMITED`].
    MillisecondsOrNever,
    /// An amount of memory in kilobytes, units allowed.
    Kilobytes,
    /// As the one before, or [`UNLIMITED`].
    KilobytesOrAny,
    OneOf(&'static [&'static str]),
    /// Nothing: the setting cannot be set.
    Nothing,
}

/// A setting that is known.
struct Known {
    name: &'static str,
    /// As SHOW prints it, where that is not lower case.
    printed: &'static str,
    default: &'static str,
    takes: Takes,
    /// Whether clients are told about it.
    report: bool,
}

const fn known(name: &'static str, default: &'static str, takes: Takes) -> Known {
    Known { name, printed: name, default, takes, report: false }
}

const fn told(name: &'static str, printed: &'static str, default: &'static str, takes: Takes) -> Known {
    Known { name, printed, default, takes, report: true }
}

const LEVELS: Takes =
    Takes::OneOf(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const INTERVAL_STYLES: Takes = Takes::OneOf(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]);
const MESSAGES: Takes = Takes::OneOf(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error", "fatal",
    "panic", "info",
]);

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    told("application_name", "application_name", "", Takes::Anything),
    told("client_encoding", "client_encoding", "UTF8", Takes::Anything),
    told("datestyle", "DateStyle", "ISO, MDY", Takes::Anything),
    told("default_transaction_read_only", "default_transaction_read_only", "off", Takes::Bool),
    told("in_hot_standby", "in_hot_standby", "off", Takes::Nothing),
    told("integer_datetimes", "integer_datetimes", "on", Takes::Nothing),
    told("intervalstyle", "IntervalStyle", "postgres", INTERVAL_STYLES),
    told("is_superuser", "is_superuser", "on", Takes::Nothing),
    told("server_encoding", "server_encoding", "UTF8", Takes::Nothing),
    told("server_version", "server_version", "15.0", Takes::Nothing),
    told("session_authorization", "session_authorization", "", Takes::Nothing),
    told("standard_conforming_strings", "standard_conforming_strings", "on", Takes::OneOf(&["on"])),
    told("timezone", "TimeZone", "UTC", Takes::Anything),
    known("backslash_quote", "safe_encoding", Takes::Anything),
    known("bytea_output", "hex", Takes::OneOf(&["hex", "escape"])),
    known("check_function_bodies", "on", Takes::Bool),
    known("client_min_messages", "notice", MESSAGES),
    known("constraint_exclusion", "partition", Takes::Anything),
    known("cursor_tuple_fraction", "0.1", Takes::Anything),
    known("deadlock_timeout", "1s", Takes::Milliseconds),
    known("default_statistics_target", "100", Takes::Integer(1, 10_000)),
    known("default_table_access_method", "heap", Takes::Anything),
    known("default_tablespace", "", Takes::Anything),
    known("default_transaction_deferrable", "off", Takes::Bool),
    known("default_transaction_isolation", "serializable", LEVELS),
    known("enable_bitmapscan", "on", Takes::Bool),
    known("enable_hashjoin", "on", Takes::Bool),
    known("enable_indexscan", "on", Takes::Bool),
    known("enable_mergejoin", "on", Takes::Bool),
    known("enable_nestloop", "on", Takes::Bool),
    known("enable_seqscan", "on", Takes::Bool),
    known("enable_sort", "on", Takes::Bool),
    known("escape_string_warning", "on", Takes::Bool),
    known("extra_float_digits", "1", Takes::Integer(-15, 3)),
    known("fsync", "off", Takes::Nothing),
    known("geqo", "on", Takes::Bool),
    known(IDLE_IN_TRANSACTION_TIMEOUT, "0", Takes::Milliseconds),
    known("idle_session_timeout", "0", Takes::Milliseconds),
    known("jit", "off", Takes::Bool),
    known("lc_collate", "C", Takes::Nothing),
    known("lc_ctype", "C", Takes::Nothing),
    known("lc_messages", "C", Takes::Anything),
    known("lc_monetary", "C", Takes::Anything),
    known("lc_numeric", "C", Takes::Anything),
    known("lc_time", "C", Takes::Anything),
    known(LOCK_TIMEOUT, "0", Takes::Milliseconds),
    known("log_connections", "off", Takes::Nothing),
    known("log_disconnections", "off", Takes::Nothing),
    known("log_min_duration_statement", UNLIMITED, Takes::MillisecondsOrNever),
    known("log_min_messages", "warning", MESSAGES),
    known("log_statement", "none", Takes::OneOf(&["none", "ddl", "mod", "all"])),
    known("max_connections", "10000", Takes::Nothing),
    known("max_identifier_length", "63", Takes::Nothing),
    known("max_index_keys", "32", Takes::Nothing),
    known("max_parallel_workers_per_gather", "0", Takes::Integer(0, 1024)),
    known("password_encryption", "scram-sha-256", Takes::Anything),
    known("plpgsql.check_asserts", "on", Takes::Bool),
    known("plpgsql.extra_errors", "none", Takes::Anything),
    known("plpgsql.extra_warnings", "none", Takes::Anything),
    known("plpgsql.print_strict_params", "off", Takes::Bool),
    known("plpgsql.variable_conflict", "error", Takes::OneOf(&["error", "use_variable", "use_column"])),
    known("quote_all_identifiers", "off", Takes::Bool),
    known("random_page_cost", "4", Takes::Anything),
    known("repeat_blocks", "on", Takes::Bool),
    known("role", "none", Takes::Anything),
    known("row_security", "on", Takes::Bool),
    known("search_path", "\"$user\", public", Takes::Anything),
    known("server_version_num", "150000", Takes::Nothing),
    known("ssl", "off", Takes::Nothing),
    known(STATEMENT_TIMEOUT, "0", Takes::Milliseconds),
    known("synchronize_seqscans", "on", Takes::Bool),
    known("synchronous_commit", "on", Takes::OneOf(&["on", "off", "local", "remote_write", "remote_apply"])),
    known("temp_buffers", "8MB", Takes::Kilobytes),
    known("temp_file_limit", UNLIMITED, Takes::KilobytesOrAny),
    known("track_statements", "off", Takes::Bool),
    known("transaction_deferrable", "off", Takes::Bool),
    known("transaction_isolation", "serializable", LEVELS),
    known("transaction_read_only", "off", Takes::Bool),
    known("wal_level", "replica", Takes::Nothing),
    known("work_mem", "64MB", Takes::Kilobytes),
    known("xmloption", "content", Takes::Anything),
];

/// Settings of [`KNOWN`] that change something: the others, and those of [`IDLE`], are for PostgreSQL's planner,
/// storage and log.
#[rustfmt::skip]
const EFFECTIVE: &[&str] = &[
    "application_name", "client_encoding", "datestyle", "default_transaction_read_only", "intervalstyle",
    "standard_conforming_strings", "timezone", "bytea_output", "check_function_bodies", "client_min_messages",
    "default_transaction_isolation", "extra_float_digits", IDLE_IN_TRANSACTION_TIMEOUT, LOCK_TIMEOUT, "log_min_duration_statement", "log_statement",
    "plpgsql.check_asserts", "plpgsql.extra_errors", "plpgsql.extra_warnings", "plpgsql.variable_conflict",
    "repeat_blocks", "role", "row_security", "search_path", STATEMENT_TIMEOUT, "synchronous_commit", "temp_file_limit", "track_statements",
    "transaction_deferrable", "transaction_isolation", "transaction_read_only", "work_mem",
];

/// Settings that routines in PL/pgSQL are made ready with.
pub(super) const OF_PLPGSQL: [&str; 4] =
    ["plpgsql.check_asserts", "plpgsql.extra_errors", "plpgsql.extra_warnings", "plpgsql.variable_conflict"];

fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(IDLE)
}

fn find(name: &str) -> Option<&'static Known> {
    all().find(|known| known.name == name)
}

/// How to undo a SET.
#[derive(Debug)]
struct Undo {
    name: String,
    before: Option<String>,
    /// Undone by a commit, too.
    local: bool,
}

/// The settings of one session. Those that have their defaults take no memory.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Values set, by name in lower case.
    values: HashMap<String, String>,
    /// What RESET goes back to, where it is not the default: what the client asked for at its start.
    initial: HashMap<String, String>,
    undo: Vec<Undo>,
    /// Reported settings that have changed.
    changed: Vec<&'static str>,
    /// Counts changes, for what is derived from settings.
    pub(crate) generation: u64,
}

impl Settings {
    /// Sets what the client asks for at its start.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn start_with(&mut self, name: &str, value: &str) -> Result<()> {
        settable(&name.to_lowercase())?;
        self.init(name, value)
    }

    /// Sets what is fixed for the session.
    pub(crate) fn init(&mut self, name: &str, value: &str) -> Result<()> {
        let name = name.to_lowercase();
        let value = match find(&name) {
            Some(known) if known.takes != Takes::Nothing => self.kept(known, value)?,
            _ => value.to_owned(),
        };
        self.initial.insert(name.clone(), value.clone());
        self.values.insert(name, value);
        self.generation += 1;
        Ok(())
    }

    /// What the server has for all sessions: RESET goes back to it, and it holds from now on unless the session has set
    /// something else.
    ///
    /// # Errors
    /// As [`Settings::set`], but for what no session can set.
    pub(crate) fn preset(&mut self, name: &str, value: &str) -> Result<()> {
        let value = match find(name) {
            Some(known) if known.takes == Takes::Nothing => value.to_owned(),
            _ => settable(name)?.map_or(Ok(value.to_owned()), |known| self.kept(known, value))?,
        };
        let before = self.initial.insert(name.to_owned(), value.clone());
        // what a rollback or the end of SET LOCAL goes back to
        for undo in self.undo.iter_mut().filter(|undo| undo.name == name && undo.before == before) {
            undo.before = Some(value.clone());
        }
        if self.values.get(name) == before.as_ref() {
            self.values.insert(name.to_owned(), value);
        }
        self.generation += 1;
        Ok(())
    }

    /// The value of a setting.
    ///
    /// # Errors
    /// 42704 if there is none of this name.
    pub(crate) fn get(&self, name: &str) -> Result<&str> {
        if let Some(value) = self.values.get(name) {
            return Ok(value);
        }
        find(name).map(|known| known.default).ok_or_else(|| unknown(name))
    }

    /// The value of a setting that is a duration; none if there is no such setting, or it says so.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let value = self.get(name).ok().filter(|value| *value != UNLIMITED)?;
        timeouts::parse(value, Unit::Milliseconds)
    }

    /// The value of a setting that is a time limit; none if it is zero.
    pub(crate) fn timeout(&self, name: &str) -> Option<Duration> {
        self.duration(name).filter(|time| !time.is_zero())
    }

    /// The value of a setting that is an amount of memory, in kilobytes.
    pub(crate) fn kilobytes(&self, name: &str) -> u64 {
        self.get(name).ok().and_then(kilobytes).unwrap_or(0)
    }

    /// The name as it is printed.
    pub(crate) fn printed<'a>(&self, name: &'a str) -> &'a str {
        find(name).map_or(name, |known| known.printed)
    }

    /// Whether to SET this changes a setting that has no effect.
    pub(crate) fn is_idle(&self, name: &str, value: Option<&str>) -> bool {
        let name = name.to_lowercase();
        let (Some(known), Some(value)) = (find(&name), value) else { return false };
        // statements without an effect are answered alike, whatever they say
        let same = self.kept(known, value).is_ok_and(|value| value == known.default);
        !EFFECTIVE.contains(&known.name) && !same
    }

    /// SET; without a value RESET.
    ///
    /// # Errors
    /// 42704, 22023, 55P02.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let name = name.to_lowercase();
        let new = match (settable(&name)?, value) {
            (Some(known), Some(value)) => Some(self.kept(known, value)?),
            (None, Some(value)) => Some(value.to_owned()),
            (_, None) => self.initial.get(&name).cloned().or_else(|| Self::without(&name)),
        };
        let before = self.replace(&name, new);
        self.undo.push(Undo { name, before, local });
        Ok(())
    }

    /// Sets what no client may set by its name.
    pub(crate) fn set_fixed(&mut self, name: &str, value: &str, local: bool) {
        let before = self.replace(name, Some(value.to_owned()));
        self.undo.push(Undo { name: name.to_owned(), before, local });
    }

    /// Says what is so, whatever a transaction sets or takes back.
    pub(crate) fn note(&mut self, name: &str, value: &str) {
        if self.get(name).ok() != Some(value) {
            self.replace(name, Some(value.to_owned()));
        }
    }

    /// The value of a setting as it is kept: what a date style does not say stays as it is.
    fn kept(&self, known: &Known, value: &str) -> Result<String> {
        if known.name != "datestyle" {
            return check(known, value);
        }
        let now = self.values.get("datestyle").map_or(known.default, |now| now);
        date_style(value, now).map_err(|why| invalid(known, value).detail(why))
    }

    /// Looks whether a setting takes a value.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn check(&self, name: &str, value: &str) -> Result<()> {
        if let Some(known) = settable(name)? {
            self.kept(known, value)?;
        }
        Ok(())
    }

    /// Changes what sessions of a role or a database begin with, as SET and RESET say: without a name there is nothing
    /// left, without a value one setting is taken away.
    ///
    /// # Errors
    /// As SET.
    pub(crate) fn change_list(
        &self,
        list: &mut Vec<(String, String)>,
        name: Option<&str>,
        value: Option<&str>,
    ) -> Result<()> {
        match (name, value) {
            (None, _) => list.clear(),
            (Some(name), None) if !list.is_empty() => {
                settable(name)?;
                list.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            }
            (Some(_), None) => {}
            (Some(name), Some(value)) => {
                self.check(name, value)?;
                match list.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
                    Some((_, known)) => value.clone_into(known),
                    None => list.push((self.printed(name).to_owned(), value.to_owned())),
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, name: &str, value: Option<String>) -> Option<String> {
        self.generation += 1;
        if let Some(known) = find(name).filter(|known| known.report) {
            self.changed.push(known.name);
        }
        match value {
            Some(value) => self.values.insert(name.to_owned(), value),
            None => self.values.remove(name),
        }
    }

    /// What RESET and the end of SET LOCAL leave of a setting that nobody else has set: one of one's own stays known,
    /// and is empty.
    fn without(name: &str) -> Option<String> {
        find(name).is_none().then(String::new)
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&mut self) {
        // who the session is, RESET ALL does not change
        let identity =
            |name: &String| matches!(name.as_str(), "role" | "session_authorization" | "is_superuser");
        let names: Vec<String> = self.values.keys().filter(|name| !identity(name)).cloned().collect();
        for name in names {
            let initial = self.initial.get(&name).cloned().or_else(|| Self::without(&name));
            let before = self.replace(&name, initial);
            self.undo.push(Undo { name, before, local: false });
        }
    }

    /// A place to roll back to.
    pub(crate) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Undoes what was set since a mark.
    pub(crate) fn rollback_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some(undo) = self.undo.pop() {
                self.replace(&undo.name, undo.before);
            }
        }
    }

    /// The transaction has committed: what was set stays, but for SET LOCAL.
    pub(crate) fn commit(&mut self) {
        if self.undo.is_empty() {
            return;
        }
        // the value before the first SET LOCAL of a name, or the last SET of it
        let undo = std::mem::take(&mut self.undo);
        let mut keep: HashMap<String, Option<String>> = HashMap::new();
        let mut local: HashMap<String, bool> = HashMap::new();
        for (number, entry) in undo.iter().enumerate() {
            let after = undo[number + 1..].iter().find(|later| later.name == entry.name);
            let after = after.map_or_else(|| self.values.get(&entry.name).cloned(), |l| l.before.clone());
            if entry.local {
                keep.entry(entry.name.clone()).or_insert_with(|| entry.before.clone());
                local.insert(entry.name.clone(), true);
            } else {
                keep.insert(entry.name.clone(), after);
            }
        }
        for name in local.into_keys() {
            let value = keep.remove(&name).flatten().or_else(|| Self::without(&name));
            self.replace(&name, value);
        }
    }

    /// Reported settings that have changed since the last call, with their values.
    pub(crate) fn take_changed(&mut self) -> Vec<(&'static str, String)> {
        let mut names = std::mem::take(&mut self.changed);
        names.sort_unstable();
        names.dedup();
        names.iter().map(|name| (self.printed(name), self.get(name).unwrap_or_default().to_owned())).collect()
    }

    /// All reported settings.
    pub(crate) fn reported(&self) -> Vec<(&'static str, String)> {
        let reported = KNOWN.iter().filter(|known| known.report);
        reported.map(|known| (known.printed, self.get(known.name).unwrap_or_default().to_owned())).collect()
    }

    /// All settings, by name.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = all()
            .map(|known| (known.printed.to_owned(), self.get(known.name).unwrap_or_default().to_owned()))
            .collect();
        let custom = self.values.iter().filter(|(name, _)| find(name).is_none());
        all.extend(custom.map(|(name, value)| (name.clone(), value.clone())));
        all.sort();
        all
    }

    /// The schemas of the search path, `"$user"` replaced.
    pub(crate) fn search_path(&self, user: &str) -> Vec<String> {
        let mut path = names_of(self.get("search_path").unwrap_or_default()).unwrap_or_default();
        path.retain(|name| !name.is_empty());
        path.iter_mut().filter(|name| *name == "$user").for_each(|name| user.clone_into(name));
        path
    }
}

/// What is known of a setting that a client may set; nothing of one of its own.
///
/// # Errors
/// 42704, 55P02.
fn settable(name: &str) -> Result<Option<&'static Known>> {
    match find(name) {
        Some(known) if known.takes == Takes::Nothing => {
            let what = format!("parameter \"{name}\" cannot be changed");
            Err(SqlError::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, what))
        }
        None if !name.contains('.') => Err(unknown(name)),
        None if !name.split('.').all(is_simple) => {
            let what = format!("invalid configuration parameter name \"{name}\"");
            let detail = "Custom parameter names must be two or more simple identifiers separated by dots.";
            Err(SqlError::new(SqlState::INVALID_NAME, what).detail(detail))
        }
        None if name.starts_with("plpgsql.") => {
            let what = format!("invalid configuration parameter name \"{name}\"");
            Err(SqlError::new(SqlState::INVALID_NAME, what).detail("\"plpgsql\" is a reserved prefix."))
        }
        known => Ok(known),
    }
}

/// Whether a part of the name of a setting is an identifier without quotes.
fn is_simple(part: &str) -> bool {
    let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_' || !b.is_ascii();
    let goes_on = |b: &u8| begins(*b) || b.is_ascii_digit() || *b == b'$';
    part.bytes().next().is_some_and(begins) && part.as_bytes().iter().all(goes_on)
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

fn invalid(known: &Known, value: &str) -> SqlError {
    SqlError::invalid_parameter(format!("invalid value for parameter \"{}\": \"{value}\"", known.printed))
}

/// The value as it is kept.
fn check(known: &Known, value: &str) -> Result<String> {
    let lower = value.trim().to_lowercase();
    match known.takes {
        Takes::Bool => match lower.as_str() {
            "on" | "true" | "yes" | "1" | "t" | "y" => Ok("on".to_owned()),
            "off" | "false" | "no" | "0" | "f" | "n" => Ok("off".to_owned()),
            _ => {
                let what = format!("parameter \"{}\" requires a Boolean value", known.printed);
                Err(SqlError::invalid_parameter(what))
            }
        },
        Takes::Integer(min, max) => {
            let number: i64 = lower.parse().map_err(|_| invalid(known, value))?;
            if !(min..=max).contains(&number) {
                return Err(SqlError::invalid_parameter(format!(
                    "{number} is outside the valid range for parameter \"{}\" ({min} .. {max})",
                    known.printed
                )));
            }
            Ok(number.to_string())
        }
        Takes::Real(_, max) if known.name == "vacuum_cost_delay" => {
            let time = timeouts::parse(&lower, Unit::Milliseconds).ok_or_else(|| invalid(known, value))?;
            let number = time.as_secs_f64() * 1_000.0;
            if number > max {
                return Err(SqlError::invalid_parameter(format!(
                    "{number} ms is outside the valid range for parameter \"{}\" (0 .. {max})",
                    known.printed
                )));
            }
            Ok(match time.as_micros() {
                0 => "0".to_owned(),
                micros if micros % 1_000 == 0 => format!("{}ms", micros / 1_000),
                micros => format!("{micros}us"),
            })
        }
        Takes::Real(min, max) => {
            let number: f64 = lower.parse().map_err(|_| invalid(known, value))?;
            if !(min..=max).contains(&number) {
                return Err(SqlError::invalid_parameter(format!(
                    "{number} is outside the valid range for parameter \"{}\" ({min} .. {max})",
                    known.printed
                )));
            }
            Ok(number.to_string())
        }
        Takes::KilobytesOrAny | Takes::MillisecondsOrNever if lower == UNLIMITED => Ok(lower),
        Takes::Milliseconds | Takes::MillisecondsOrNever => {
            let time = timeouts::parse(&lower, Unit::Milliseconds).ok_or_else(|| invalid(known, value))?;
            shown(known, (time.as_micros() + 500) / 1_000, "ms", &TIMES)
        }
        Takes::Kilobytes | Takes::KilobytesOrAny => {
            let amount = kilobytes(&lower).ok_or_else(|| invalid(known, value))?;
            shown(known, amount.into(), "kB", &AMOUNTS)
        }
        Takes::OneOf(words) => {
            // PostgreSQL takes the words of a Boolean where "on" and "off" are among the choices
            let wanted = match lower.as_str() {
                "true" | "yes" | "1" => "on",
                "false" | "no" | "0" => "off",
                other => other,
            };
            if known.name == "standard_conforming_strings" && wanted == "off" {
                let what = "standard_conforming_strings = off is not supported";
                let hint = "A backslash is itself in '..'; write E'..' where it begins an escape.";
                return Err(SqlError::unsupported(what).hint(hint));
            }
            let word = words.iter().find(|word| **word == wanted).ok_or_else(|| invalid(known, value))?;
            Ok((*word).to_owned())
        }
        Takes::Anything if known.name == "client_encoding" => match lower.replace(['-', '_'], "").as_str() {
            "utf8" | "unicode" => Ok("UTF8".to_owned()),
            // nothing is converted for such a client, nor for one that says UTF8
            "sqlascii" => Ok("SQL_ASCII".to_owned()),
            _ => Err(SqlError::unsupported(format!("client_encoding {value} is not supported"))
                .hint("The only encoding is UTF8.")),
        },
        Takes::Anything if known.name == "search_path" => match names_of(value) {
            Some(_) => Ok(value.to_owned()),
            None => Err(invalid(known, value).detail("List syntax is invalid.")),
        },
        Takes::Anything if known.name == "timezone" => {
            // minutes do not begin together with those of other zones where an offset has seconds
            let zone = zone(value).filter(|zone| zone.offset_at(0) % 60 == 0);
            zone.map(|zone| zone.name()).ok_or_else(|| invalid(known, value))
        }
        // money is printed in one way, which these have in common
        Takes::Anything if known.name == "lc_monetary" => match lower.replace('-', "").as_str() {
            "" | "c" | "posix" | "c.utf8" | "en_us" | "en_us.utf8" => Ok(value.to_owned()),
            _ => Err(SqlError::unsupported(format!("lc_monetary {value} is not supported"))
                .hint("Amounts of money are those of the locale C.")),
        },
        Takes::Anything if known.name.starts_with("plpgsql.extra_") => extra_checks(known, value),
        Takes::Anything if known.name == "password_encryption" => match lower.as_str() {
            "md5" | "scram-sha-256" => Ok(lower),
            _ => Err(invalid(known, value).hint("Available values: md5, scram-sha-256.")),
        },
        Takes::Anything | Takes::Nothing => Ok(value.to_owned()),
    }
}

/// The checks that PL/pgSQL makes beyond what it must, as they are kept.
///
/// # Errors
/// 22023 for what is none, 0A000 for one that is not made.
fn extra_checks(known: &Known, value: &str) -> Result<String> {
    let names = names_of(value).filter(|names| !names.is_empty());
    let names = names.ok_or_else(|| invalid(known, value).detail("List syntax is invalid."))?;
    let alone = |name: &str| {
        invalid(known, value).detail(format!("Key word \"{name}\" cannot be combined with other key words."))
    };
    for name in &names {
        match name.as_str() {
            "too_many_rows" | "strict_multi_assignment" => {}
            "none" | "all" if names.len() > 1 => return Err(alone(name)),
            "none" => {}
            "all" | "shadowed_variables" => {
                let what = format!("{} = {name} is not supported", known.name);
                let hint = "The checks that there are: too_many_rows, strict_multi_assignment.";
                return Err(SqlError::unsupported(what).hint(hint));
            }
            _ => return Err(invalid(known, value).detail(format!("Unrecognized key word: \"{name}\"."))),
        }
    }
    Ok(names.join(", "))
}

/// Units of times, the longest first, in milliseconds.
const TIMES: [(u128, &str); 5] =
    [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")];
/// Units of memory, the largest first, in kilobytes.
const AMOUNTS: [(u128, &str); 4] = [(1 << 30, "TB"), (1 << 20, "GB"), (1 << 10, "MB"), (1, "kB")];

/// A number as SHOW prints it: in the largest unit of which it is a multiple.
///
/// # Errors
/// 22023: it is too large.
fn shown(known: &Known, number: u128, unit: &str, units: &[(u128, &str)]) -> Result<String> {
    if number > MOST {
        return Err(SqlError::invalid_parameter(format!(
            "{number} {unit} is outside the valid range for parameter \"{}\" (0 {unit} .. {MOST} {unit})",
            known.printed
        )));
    }
    let fits = units.iter().find(|(size, _)| number > 0 && number.is_multiple_of(*size));
    Ok(fits.map_or_else(|| "0".to_owned(), |(size, unit)| format!("{}{unit}", number / size)))
}

/// The greatest number of a setting.
const MOST: u128 = i32::MAX as u128;

/// The number and the unit of a setting that has one, as `pg_settings` shows them.
pub(crate) fn number_and_unit(name: &str, value: &str) -> Option<(String, &'static str)> {
    let known = find(&name.to_lowercase())?;
    let unit = match known.takes {
        Takes::Milliseconds | Takes::MillisecondsOrNever => "ms",
        Takes::Kilobytes | Takes::KilobytesOrAny => "kB",
        _ => return None,
    };
    let number = match unit {
        _ if value == UNLIMITED => value.to_owned(),
        "ms" => timeouts::parse(value, Unit::Milliseconds)?.as_millis().to_string(),
        _ => kilobytes(value)?.to_string(),
    };
    Some((number, unit))
}

/// The zone of a name, a number of hours, or one as POSIX writes it.
pub(super) fn zone(name: &str) -> Option<Zone> {
    if let Ok(hours) = name.parse::<f64>() {
        return Zone::fixed((hours * 3_600.0) as i32);
    }
    Zone::named(name).or_else(|| Zone::posix(name))
}

/// The style of dates that some words say, of which what they leave open is as it is now.
///
/// # Errors
/// What is wrong with them.
fn date_style(value: &str, now: &str) -> std::result::Result<String, String> {
    let (mut style, mut order) = now.split_once(", ").unwrap_or(("ISO", "MDY"));
    let (mut says_style, mut says_order) = (false, false);
    let lower = value.trim().to_lowercase();
    for word in lower.split(',').map(str::trim).filter(|_| !lower.is_empty()) {
        let (of_style, wanted) = match word {
            "iso" => (true, "ISO"),
            "german" => (true, "German"),
            "ymd" => (false, "YMD"),
            "dmy" => (false, "DMY"),
            "mdy" | "us" => (false, "MDY"),
            "default" => {
                let (default_style, default_order) = ("ISO", "MDY");
                style = if says_style { style } else { default_style };
                order = if says_order { order } else { default_order };
                continue;
            }
            _ if word.starts_with("sql") => (true, "SQL"),
            _ if word.starts_with("postgres") => (true, "Postgres"),
            _ if word.starts_with("euro") => (false, "DMY"),
            _ if word.starts_with("noneuro") => (false, "MDY"),
            _ => return Err(format!("Unrecognized key word: \"{word}\".")),
        };
        let (said, at_hand) =
            if of_style { (&mut says_style, &mut style) } else { (&mut says_order, &mut order) };
        if std::mem::replace(said, true) && *at_hand != wanted {
            return Err("Conflicting \"datestyle\" specifications.".to_owned());
        }
        *at_hand = wanted;
    }
    if style == "German" && !says_order && says_style {
        order = "DMY";
    }
    Ok(format!("{style}, {order}"))
}

/// Memory in kilobytes, of a number with a unit.
fn kilobytes(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "kb" => 1,
        "mb" => 1 << 10,
        "gb" => 1 << 20,
        "tb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_units() {
        assert_eq!((kilobytes("1MB"), kilobytes("64")), (Some(1 << 10), Some(64)));
        assert_eq!([kilobytes("1s"), kilobytes("1.5MB"), kilobytes("9999999999999TB")], [None; 3]);
    }

    #[test]
    fn zero_is_no_time_limit() {
        let mut settings = Settings::default();
        assert_eq!(settings.timeout(STATEMENT_TIMEOUT), None);
        settings.set(STATEMENT_TIMEOUT, Some("1.5s"), false).unwrap();
        assert_eq!(settings.timeout(STATEMENT_TIMEOUT), Some(Duration::from_millis(1_500)));
        assert!(settings.set(STATEMENT_TIMEOUT, Some("1MB"), false).is_err());
    }

    #[test]
    fn set_local_ends_with_the_transaction_and_set_does_not() {
        let mut settings = Settings::default();
        settings.set("application_name", Some("a"), false).unwrap();
        settings.set("work_mem", Some("1MB"), true).unwrap();
        settings.set("application_name", Some("b"), true).unwrap();
        settings.commit();
        assert_eq!(settings.get("application_name").unwrap(), "a");
        assert_eq!(settings.get("work_mem").unwrap(), "64MB");
        settings.set("application_name", Some("c"), false).unwrap();
        settings.rollback_to(0);
        assert_eq!(settings.get("application_name").unwrap(), "a");
    }

    #[test]
    fn a_set_after_a_set_local_stays() {
        let mut settings = Settings::default();
        settings.set("application_name", Some("a"), true).unwrap();
        settings.set("application_name", Some("b"), false).unwrap();
        settings.commit();
        assert_eq!(settings.get("application_name").unwrap(), "b");
    }

    #[test]
    fn what_the_server_has_for_all_holds_unless_the_session_has_set_something_else() {
        let mut settings = Settings::default();
        settings.preset("log_statement", "ddl").unwrap();
        assert_eq!(settings.get("log_statement").unwrap(), "ddl");
        settings.set("log_statement", Some("all"), true).unwrap();
        settings.preset("log_statement", "mod").unwrap();
        assert_eq!(settings.get("log_statement").unwrap(), "all");
        settings.commit();
        assert_eq!(settings.get("log_statement").unwrap(), "mod");
        settings.set("log_statement", Some("none"), false).unwrap();
        settings.commit();
        settings.preset("log_statement", "all").unwrap();
        assert_eq!(settings.get("log_statement").unwrap(), "none");
        settings.set("log_statement", None, false).unwrap();
        assert_eq!(settings.get("log_statement").unwrap(), "all");
        assert!(settings.preset("log_statement", "some").is_err());
        assert_eq!(settings.duration("log_min_duration_statement"), None);
        settings.preset("log_min_duration_statement", "2s").unwrap();
        assert_eq!(settings.duration("log_min_duration_statement"), Some(Duration::from_secs(2)));
    }

    #[test]
    fn values_are_checked() {
        let mut settings = Settings::default();
        let code = |result: Result<()>| result.unwrap_err().code().as_str().to_owned();
        assert_eq!(code(settings.set("nothing", Some("1"), false)), "42704");
        assert_eq!(code(settings.set("extra_float_digits", Some("9"), false)), "22023");
        assert_eq!(code(settings.set("server_version", Some("9"), false)), "55P02");
        settings.set(STATEMENT_TIMEOUT, Some("2min"), false).unwrap();
        assert_eq!(settings.timeout(STATEMENT_TIMEOUT), Some(Duration::from_secs(120)));
        settings.set("my.own", Some("x"), false).unwrap();
        assert_eq!(settings.get("my.own").unwrap(), "x");
    }
}
