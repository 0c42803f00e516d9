//! Sessions of the SQL database behind the protocol: names, values and errors of one in the words of the other.

use crate::config::Config;
use crate::control::Cancels;
use crate::door::{Measure, NewSession, Sessions};
use crate::guard::Limited;
use crate::numbers::Family;
use scaledb_base::timeouts::{Timeouts, millis};
use scaledb_engine::Engine;
use scaledb_pgwire::{
    Backend, Bind, Column, Format, Oids, Reply, Report, Result, Severity, SqlState, Startup, Status, Step,
    Tag, Verifier,
};
use scaledb_sql::{Bell, CopyInfo, Database, Executed, RowSink, Session};
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use scaledb_types::{Env, SqlError, Type, Value};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Bytes of the head of a binary COPY: signature, flags, extension.
const COPY_HEAD: usize = 19;

/// Bytes that a row or version takes at least.
const LEAST_GARBAGE: u64 = 64;
/// A transaction that keeps less than one part in so many of the memory is not worth its end.
const GARBAGE_PART: u64 = 1_024;

/// A database, as the server opens sessions of it.
pub struct Sql<E: Engine> {
    database: Database<E>,
    /// What SHOW says of the server.
    facts: Vec<(&'static str, String)>,
    /// The users without a role who may do everything; all such, if the configuration does not say it.
    superusers: Mutex<Option<Vec<String>>>,
}

fn on(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

impl<E: Engine> Sql<E> {
    /// Sessions of this database.
    pub fn new(database: Database<E>) -> Self {
        // what CREATE ROLE keeps of a password is what the protocol checks
        database
            .set_password_hash(|password| Verifier::of(password).ok().map(|verifier| verifier.to_string()));
        Self { database, facts: Vec::new(), superusers: Mutex::new(None) }
    }

    /// The same, with what SHOW says of a server that has this configuration.
    #[must_use]
    pub fn of_server(mut self, config: &Config) -> Self {
        self.database.set_name(&config.database);
        // without a directory there is nothing that a commit could be durable in
        self.facts = vec![("fsync", on(config.data.is_some()))];
        self.preset(config);
        self
    }

    /// Whether a user may have a session.
    ///
    /// # Errors
    /// 28000 for one without a role, unless it is a superuser of the configuration, and for a role that does not log
    /// in; 53300 for one that has all the sessions that it may have.
    fn check_login(&self, user: &str) -> Result<()> {
        let refused = |what: String| Err(Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, what));
        let Some(login) = self.database.login(user).map_err(report)? else {
            let known =
                self.superusers.lock().as_ref().is_none_or(|all| all.iter().any(|known| known == user));
            return if known { Ok(()) } else { refused(format!("role \"{user}\" does not exist")) };
        };
        if !login.allowed {
            return refused(format!("role \"{user}\" is not permitted to log in"));
        }
        let most = login.connection_limit.and_then(|limit| usize::try_from(limit).ok());
        if most.is_some_and(|most| self.database.sessions_of(user) >= most) {
            let what = format!("too many connections for role \"{user}\"");
            return Err(Report::fatal(SqlState::TOO_MANY_CONNECTIONS, what));
        }
        Ok(())
    }

    /// The database that a client means: that of the name that it says, or the first one if it says its user's name, as
    /// clients do that are told none.
    ///
    /// # Errors
    /// The engine's: this node of a cluster does not hear the others.
    fn database_of(&self, startup: &Startup) -> Result<String> {
        let named = &startup.database;
        let is_there = *named != startup.user || self.database.has_database(named).map_err(report)?;
        Ok(if is_there { named.clone() } else { self.database.name().to_owned() })
    }

    /// What sessions log of statements, those that are there included.
    fn preset(&self, config: &Config) {
        self.superusers.lock().clone_from(&config.superusers);
        let settings = [
            ("max_connections", config.max_connections.to_string()),
            ("ssl", on(config.tls.is_some())),
            ("log_connections", on(config.log_connections)),
            ("log_disconnections", on(config.log_disconnections)),
            ("track_statements", on(config.track_statements)),
            ("log_statement", config.log_statement.name().to_owned()),
            ("log_min_duration_statement", config.log_min_duration_statement.max(-1).to_string()),
        ];
        self.database.preset(settings.into());
    }
}

impl<E: Engine> Sessions for Sql<E>
where
    Database<E>: Send + Sync + 'static,
{
    type Session = SqlSession<E>;

    fn open(&self, startup: &Startup, timeouts: Timeouts) -> Result<NewSession<SqlSession<E>>> {
        self.check_login(&startup.user)?;
        let name = self.database_of(startup)?;
        let mut session = self.database.session_in(&startup.user, &name).map_err(report)?;
        for (name, value) in &self.facts {
            session.tell(name, value).map_err(report)?;
        }
        for (name, value) in timeouts.settings() {
            session.set_initial(name, &value).map_err(report)?;
        }
        for (name, value) in &startup.parameters {
            if name.eq_ignore_ascii_case("client_encoding") {
                // as PostgreSQL does: asyncpg writes 'utf-8', quotes included
                let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
                session.set_initial(name, &plain).map_err(report)?;
            } else {
                session.set_initial(name, value).map_err(report)?;
            }
        }
        let parameters = session.reported_settings();
        let cancel = session.cancel_handle();
        let pid = i32::try_from(session.id()).unwrap_or(0);
        Ok(NewSession {
            session: SqlSession {
                session,
                unnamed: Formats::new(),
                named: HashMap::new(),
                settings_generation: None,
            },
            pid,
            database: name,
            parameters: parameters.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            canceller: Arc::new(Stopper(cancel)),
        })
    }

    fn verifier(&self, user: &str) -> Option<Verifier> {
        let login = self.database.login(user).ok()??;
        let holds = login.valid_until.is_none_or(|until| until > scaledb_types::zone::clock());
        login.password.filter(|_| holds).and_then(|text| Verifier::parse(&text))
    }

    fn failure(&self) -> Option<String> {
        self.database.engine().log_failure()
    }

    fn reload(&self, config: &Config) {
        self.preset(config);
    }

    fn holder(&self, percent: u8) -> Option<i32> {
        let memory = self.database.engine().memory();
        if percent == 0 || memory.bytes < memory.budget / 100 * u64::from(percent) {
            return None;
        }
        let reclamation = self.database.reclamation();
        // memory may be full of rows that are needed: no session is ended unless it holds back enough garbage
        let garbage =
            reclamation.waiting.saturating_mul(LEAST_GARBAGE).saturating_add(reclamation.waiting_bytes);
        if garbage < memory.budget / GARBAGE_PART {
            return None;
        }
        let pid = reclamation.transactions.first()?.session?;
        i32::try_from(pid).ok()
    }

    fn families(&self) -> Vec<Family> {
        crate::numbers::families(&self.database)
    }

    fn numbers(&self, each: &mut dyn FnMut(&str, &str, Measure, u64)) {
        use Measure::{Counter, Gauge};
        let stats = self.database.engine().stats();
        each("scaledb_commits", "Transactions that wrote and committed", Counter, stats.commits);
        each(
            "scaledb_engine_conflicts",
            "Commits that failed, those run again included",
            Counter,
            stats.conflicts.iter().sum(),
        );
        each(
            "scaledb_statements_run_again",
            "Statements that were run again after a conflict, of which no client has heard",
            Counter,
            self.database.retries(),
        );
        each("scaledb_rollbacks", "Transactions that were rolled back", Counter, stats.rollbacks);
        if let Some(log) = stats.log {
            each("scaledb_log_bytes", "Bytes written to the log", Counter, log.bytes);
            each("scaledb_log_groups", "Groups of transactions written to the log", Counter, log.groups);
            each("scaledb_log_transactions", "Transactions written to the log", Counter, log.transactions);
            each(
                "scaledb_log_sync_p99_us",
                "99 % of its writes took at most so many us",
                Gauge,
                log.sync_p99_us,
            );
            let failed = u64::from(self.failure().is_some());
            each(
                "scaledb_log_failed",
                "1: the disk has failed, and nothing is written any more",
                Gauge,
                failed,
            );
        }
        each("scaledb_memory_bytes", "Memory of rows and indexes", Gauge, stats.memory_bytes);
        let budget = self.database.engine().memory().budget;
        each("scaledb_memory_budget_bytes", "What it is bounded by", Gauge, budget);
        let reclamation = self.database.reclamation();
        each(
            "scaledb_reclamation_waiting",
            "Deleted rows and replaced versions whose memory is not used again yet",
            Gauge,
            reclamation.waiting,
        );
        each(
            "scaledb_reclamation_waiting_bytes",
            "Memory that is out of tables and indexes, and is not used again yet",
            Gauge,
            reclamation.waiting_bytes,
        );
        each(
            "scaledb_reclamation_lag_ms",
            "How long ago the transaction began, or what else it is, that such memory waits for",
            Gauge,
            millis(reclamation.lag),
        );
        let oldest = reclamation.transactions.iter().find(|held| held.session.is_some());
        each(
            "scaledb_oldest_transaction_ms",
            "How long ago the oldest transaction of a session began to read or write",
            Gauge,
            oldest.map_or(0, |held| millis(held.time)),
        );
        let statements = u64::try_from(self.database.query_memory()).unwrap_or(u64::MAX);
        each("scaledb_statement_memory_bytes", "Memory of running statements and cursors", Gauge, statements);
    }
}

/// Cancels statements of a session.
struct Stopper(scaledb_sql::Cancel);

impl Cancels for Stopper {
    fn running(&self) -> u64 {
        self.0.running()
    }

    fn stop(&self, number: u64) {
        self.0.stop(number);
    }
}

/// How the columns of a result are written: all as text, all in one format, or each in its own.
type Formats = SmallVec<[Format; 8]>;

fn format_of(formats: &[Format], column: usize) -> Format {
    let at = if formats.len() == 1 { 0 } else { column };
    formats.get(at).copied().unwrap_or(Format::Text)
}

/// A session of the SQL database.
pub struct SqlSession<E: Engine> {
    session: Session<E>,
    /// The formats of the unnamed portal's columns.
    unnamed: Formats,
    /// The formats of named portals, where they are not all text.
    named: HashMap<Box<str>, Formats>,
    /// The settings' generation when time limits were derived from them.
    settings_generation: Option<u64>,
}

impl<E: Engine> SqlSession<E> {
    fn formats(&self, portal: &str) -> Formats {
        if portal.is_empty() {
            self.unnamed.clone()
        } else {
            self.named.get(portal).cloned().unwrap_or_default()
        }
    }

    /// Refuses formats that are not one for each column of a portal, which goes with its error.
    fn check_formats(&mut self, portal: &str, formats: usize) -> Result<()> {
        let description = self.session.describe_portal(portal).map_err(report)?;
        let columns = description.map_or(formats, <[_]>::len);
        if columns == formats {
            return Ok(());
        }
        self.session.close_portal(portal);
        self.session.copy_fail("");
        let what = format!("bind message has {formats} result formats but query has {columns} columns");
        Err(Report::error(SqlState::PROTOCOL_VIOLATION, what))
    }

    /// What the statement said beside its result.
    fn aside(&mut self, reply: &mut Reply<'_>) {
        for notice in self.session.take_notices() {
            let severity = match notice.severity {
                scaledb_sql::Severity::Warning => Severity::Warning,
                scaledb_sql::Severity::Notice => Severity::Notice,
                scaledb_sql::Severity::Info => Severity::Info,
                scaledb_sql::Severity::Log => Severity::Log,
                scaledb_sql::Severity::Debug => Severity::Debug,
            };
            reply.notice(&Report { severity, fields: notice.fields.into_fields() });
        }
        for (name, value) in self.session.take_changed_settings() {
            reply.parameter(name, &value);
        }
    }

    /// What others have told the channels that the session listens to.
    fn hear(&mut self, reply: &mut Reply<'_>) {
        for notification in self.session.take_notifications() {
            let sender = i32::try_from(notification.sender).unwrap_or(0);
            reply.notification(sender, &notification.channel, &notification.payload);
        }
    }

    /// Ends what writes to the sink: notices go before the tag of their statement.
    fn finish(&mut self, last: Option<Tag>, reply: &mut Reply<'_>) {
        self.aside(reply);
        if let Some(tag) = last {
            reply.complete(tag);
        }
    }
}

impl<E: Engine> Limited for SqlSession<E> {
    fn begin(&mut self) {
        self.session.begin_batch();
    }

    fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.session.set_bell(bell);
    }

    fn last_statement(&self) -> Option<Arc<str>> {
        self.session.last_statement()
    }

    fn new_timeouts(&mut self) -> Option<Timeouts> {
        let generation = Some(self.session.settings_generation());
        if self.settings_generation == generation {
            return None;
        }
        self.settings_generation = generation;
        Some(Timeouts::of(|name| self.session.setting_duration(name)))
    }
}

impl<E: Engine> Backend for SqlSession<E> {
    fn status(&self) -> Status {
        match self.session.status() {
            scaledb_sql::Status::Idle => Status::Idle,
            scaledb_sql::Status::InTransaction => Status::Transaction,
            scaledb_sql::Status::Failed => Status::Failed,
        }
    }

    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step> {
        let mut sink = Sink::new(reply, Formats::new());
        let done = self.session.simple(sql, &mut sink);
        let last = sink.waiting;
        self.finish(last, reply);
        done.map(step).map_err(report)
    }

    fn parse(&mut self, name: &str, sql: &str, types: Oids<'_>) -> Result<()> {
        let types: SmallVec<[u32; 16]> = types.iter().collect();
        self.session.parse(name, sql, &types).map_err(report)
    }

    fn describe_statement(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        let description = self.session.describe_statement(name).map_err(report)?;
        reply.parameters(description.parameters.iter().map(|ty| ty.oid()));
        describe(description.columns.as_deref(), &[], reply);
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let formats: SmallVec<[i16; 16]> =
            (0..bind.formats.len()).map(|number| code(bind.formats.get(number))).collect();
        let values: SmallVec<[Option<&[u8]>; 16]> = bind.values.iter().collect();
        self.session.bind(bind.portal, bind.statement, &formats, &values).map_err(report)?;
        let results: Formats = (0..bind.results.len()).map(|number| bind.results.get(number)).collect();
        if results.len() > 1 {
            self.check_formats(bind.portal, results.len())?;
        }
        if bind.portal.is_empty() {
            self.unnamed = results;
        } else if results.is_empty() {
            self.named.remove(bind.portal);
        } else {
            self.named.insert(bind.portal.into(), results);
        }
        Ok(())
    }

    fn looks_ahead(&self) -> bool {
        self.session.looks_ahead()
    }

    fn look_ahead<'a>(&mut self, binds: impl Iterator<Item = Bind<'a>>) {
        for bind in binds {
            let values = bind.iter().map(|(format, value)| (code(format), value));
            if !self.session.foresee(bind.statement, values) {
                break;
            }
        }
        self.session.prefetch();
    }

    fn describe_portal(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        let formats = self.formats(name);
        let columns = self.session.describe_portal(name).map_err(report)?;
        describe(columns, &formats, reply);
        Ok(())
    }

    fn execute(&mut self, portal: &str, rows: u64, last: bool, reply: &mut Reply<'_>) -> Result<Step> {
        // in the session's words, zero is all
        let rows = if rows == u64::MAX { 0 } else { rows };
        let formats = self.formats(portal);
        let mut sink = Sink::new(reply, formats);
        let done = self.session.execute(portal, rows, last, &mut sink);
        let done = match done {
            Ok(Executed::Complete(tag)) => {
                self.finish(Some(Tag::new(tag.words, tag.rows)), reply);
                return Ok(Step::Done);
            }
            Ok(Executed::Empty) => {
                reply.empty();
                Ok(Step::Done)
            }
            Ok(Executed::Suspended) => Ok(Step::Suspended),
            Ok(Executed::CopyIn(info)) => Ok(copy_in(info)),
            Err(error) => Err(report(error)),
        };
        self.aside(reply);
        done
    }

    fn close_statement(&mut self, name: &str) {
        self.session.close_statement(name);
    }

    fn close_portal(&mut self, name: &str) {
        self.named.remove(name);
        self.session.close_portal(name);
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.session.copy_data(data).map_err(report)
    }

    fn copy_done(&mut self, reply: &mut Reply<'_>) -> Result<Step> {
        let mut sink = Sink::new(reply, Formats::new());
        let done = self.session.copy_done(&mut sink);
        let last = sink.waiting;
        self.finish(last, reply);
        done.map(step).map_err(report)
    }

    fn copy_fail(&mut self) {
        self.session.copy_fail("");
    }

    fn sync(&mut self, reply: &mut Reply<'_>) -> Result<()> {
        let done = self.session.sync().map_err(report);
        self.aside(reply);
        if self.session.status() == scaledb_sql::Status::Idle {
            // portals have ended with their transaction
            self.named.clear();
        }
        done
    }

    fn fail(&mut self) {
        self.session.copy_fail("");
    }

    fn woken(&mut self, reply: &mut Reply<'_>) {
        self.hear(reply);
    }

    fn hold_message(&mut self, bytes: usize) -> Result<()> {
        self.session.hold_message(bytes).map_err(report)
    }
}

/// A format as the session numbers them.
fn code(format: Format) -> i16 {
    i16::from(format == Format::Binary)
}

fn copy_in(info: CopyInfo) -> Step {
    Step::CopyIn { format: copy_format(info), columns: u16::try_from(info.columns).unwrap_or(u16::MAX) }
}

fn copy_format(info: CopyInfo) -> Format {
    if info.binary { Format::Binary } else { Format::Text }
}

fn step(step: scaledb_sql::Step) -> Step {
    match step {
        scaledb_sql::Step::Done => Step::Done,
        scaledb_sql::Step::CopyIn(info) => copy_in(info),
    }
}

fn describe(columns: Option<&[scaledb_sql::Column]>, formats: &[Format], reply: &mut Reply<'_>) {
    let Some(columns) = columns else { return reply.no_data() };
    reply.columns(columns.iter().enumerate().map(|(number, column)| {
        // clients are told what the values of a domain are
        let ty = column.ty.without_domain();
        Column {
            name: &column.name,
            table: column.table,
            attribute: column.attnum,
            type_oid: ty.oid(),
            size: ty.len(),
            modifier: ty.modifier(),
            format: format_of(formats, number),
        }
    }));
}

/// An error of SQL, as the protocol tells it.
#[cold]
fn report(error: SqlError) -> Box<Report> {
    Box::new(Report { severity: Severity::Error, fields: error.into_fields() })
}

/// The sink's error: what it has to say goes to the client, if that is still there.
#[cold]
fn sink_error(report: Box<Report>) -> SqlError {
    let fields = report.fields;
    SqlError::new(fields.code, fields.message)
}

/// Rows on their way to the client.
struct Sink<'a, 'b> {
    reply: &'a mut Reply<'b>,
    formats: Formats,
    column: usize,
    /// The tag of a statement that is complete: its notices are to go first, and are not known yet.
    waiting: Option<Tag>,
    /// The head of a binary COPY: clients expect it in one message with what follows it.
    head: SmallVec<[u8; COPY_HEAD]>,
    binary: bool,
}

impl<'a, 'b> Sink<'a, 'b> {
    fn new(reply: &'a mut Reply<'b>, formats: Formats) -> Self {
        Self { reply, formats, column: 0, waiting: None, head: SmallVec::new(), binary: false }
    }

    fn next_statement(&mut self) {
        if let Some(tag) = self.waiting.take() {
            self.reply.complete(tag);
        }
    }
}

impl RowSink for Sink<'_, '_> {
    fn describe(&mut self, columns: &[scaledb_sql::Column]) -> scaledb_types::Result<()> {
        self.next_statement();
        describe(Some(columns), &self.formats, self.reply);
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {
        self.column = 0;
        self.reply.begin_row();
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> scaledb_types::Result<()> {
        let format = format_of(&self.formats, self.column);
        self.column += 1;
        self.reply.values(|row| {
            if value.is_null() {
                row.null();
                return Ok(());
            }
            row.value(|out| {
                match format {
                    Format::Text => value.write_text(ty, env, out),
                    // rows of a cursor hold the name already
                    Format::Binary if matches!(value, Value::Text(_)) && ty.is_oid() => {
                        let what =
                            format!("the binary format of {} from a cursor is not supported", ty.sql_name());
                        return Err(SqlError::unsupported(what));
                    }
                    Format::Binary => value.write_binary(ty, out),
                }
                Ok(())
            })
        })
    }

    fn named(&mut self, env: &Env, ty: Type, oid: &Value, name: &Value) -> scaledb_types::Result<()> {
        let text = format_of(&self.formats, self.column) == Format::Text;
        self.value(env, ty, if text { name } else { oid })
    }

    fn text(&mut self, _: &Env, _: Type, text: &str) -> scaledb_types::Result<()> {
        // the same bytes in both formats
        self.column += 1;
        self.reply.values(|row| {
            row.bytes(text.as_bytes());
            Ok(())
        })
    }

    fn end_row(&mut self) -> scaledb_types::Result<()> {
        self.reply.end_row().map_err(sink_error)
    }

    fn complete(&mut self, tag: &scaledb_sql::Tag) {
        self.next_statement();
        self.waiting = Some(Tag::new(tag.words, tag.rows));
    }

    fn take_back_complete(&mut self) {
        self.waiting = None;
    }

    fn empty(&mut self) {
        self.next_statement();
        self.reply.empty();
    }

    fn copy_out(&mut self, info: CopyInfo) -> scaledb_types::Result<()> {
        self.next_statement();
        self.binary = info.binary;
        self.reply.copy_out(copy_format(info), u16::try_from(info.columns).unwrap_or(u16::MAX));
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> scaledb_types::Result<()> {
        if std::mem::take(&mut self.binary) && data.len() == COPY_HEAD {
            self.head.extend_from_slice(data);
            return Ok(());
        }
        let head = &mut self.head;
        let appended = self.reply.copy_data(|out| {
            out.extend_from_slice(head);
            out.extend_from_slice(data);
            Ok(())
        });
        head.clear();
        appended.map_err(sink_error)
    }

    fn mark(&mut self) {
        self.next_statement();
        self.reply.mark();
    }

    fn hold(&mut self, on: bool) -> bool {
        self.reply.hold(on);
        true
    }

    fn is_full(&self) -> bool {
        self.reply.is_full()
    }

    fn rewind(&mut self) -> bool {
        self.waiting = None;
        self.head.clear();
        self.reply.rewind()
    }
}
