//! Sessions: what a connection has.
//!
//! ```text
//!  simple(text)   parse, bind, execute, sync         copy_data, copy_done
//!       └──────────────────┬───────────────────────────────┘
//!   prepared.rs  text ─► compiled statement (cached)
//!   ahead.rs     what will run soon ─► the memory of its rows
//!   direct.rs    the same for callers in the process: values in, values out
//!   run.rs       compiled statement ─► rows, again after a conflict
//!   transaction.rs  begin, commit, rollback, savepoints, DDL
//!   waiting.rs   locks that are waited for       long_read.rs  snapshots for statements that read much
//!   utility.rs   statements without a plan          copy.rs  COPY
//!   logging.rs   what the log tells of statements    counting.rs  how long they take
//!   state.rs     names, settings, catalog           context.rs  what running statements see
//!   temporary.rs relations of this session alone
//! ```

mod ahead;
mod block_read;
mod block_repeat;
mod blocks;
mod commit;
mod compile;
mod conflict;
mod copy;
mod copy_text;
mod counting;
mod cursor;
mod ddl;
mod digest;
pub(crate) mod direct;
mod explain;
mod kept;
mod listed;
mod logging;
mod long_read;
mod maintenance;
mod notify;
mod portals;
mod prepared;
mod record;
mod routine;
mod run;
mod savepoint;
mod server;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod temporary;
mod transaction;
mod utility;
mod waiting;

use crate::activity::Activity;
use crate::api::{Column, Description, Executed, Notice, RowSink, Status, Step};
use crate::cancel::Cancel;
use crate::compiled::{Held, OwnPlans};
use crate::counts::Counts;
use crate::exec::Scratch;
use crate::exec::context::ConstraintModes;
use crate::gate::Flag;
use crate::identity::Identity;
use crate::memory::Reservation;
use crate::shared::{PerDatabase, Shared};
use crate::workers::WorkerSlot;
use cursor::Portal;
pub use direct::Rows;
use rapidhash::fast::RandomState;
use scaledb_base::timeouts::{LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use scaledb_engine::{Engine, Worker};
use scaledb_keys::KeyBuf;
use scaledb_sync::atomic::AtomicBool;
use scaledb_types::{Env, Result, SqlError, SqlState};
use state::SessionState;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use transaction::Transaction;

/// A connection's access to a database: settings, a transaction, prepared statements, portals.
///
/// An error leaves the session usable: outside of a transaction block nothing has happened, within one the block
/// has failed, and [`Session::status`] says so.
pub struct Session<E: Engine> {
    state: SessionState<E>,
    env: Env,
    /// What the settings were when `env` was derived from them.
    env_generation: u64,
    settings_key: Arc<str>,
    /// `synchronous_commit`: commits are answered when they are durable.
    synchronous: bool,
    /// `statement_timeout`, if there is one.
    statement_timeout: Option<Duration>,
    /// Whether there is something to hear, if the session has ever listened.
    mail: Option<Arc<AtomicBool>>,
    /// The DO or CALL that runs.
    running_block: Option<routine::Running>,
    /// `repeat_blocks`: blocks that have met a conflict are run again.
    repeats_blocks: bool,
    /// `lock_timeout`, if there is one.
    lock_timeout: Option<Duration>,
    /// `work_mem`, in bytes.
    work_mem: usize,
    /// `temp_file_limit`, in bytes, if there is one.
    temp_file_limit: Option<u64>,
    worker: Option<Box<E::Worker>>,
    place: Arc<WorkerSlot<E::Worker>>,
    flag: Arc<Flag>,
    activity: Arc<Activity>,
    counts: Counts,
    /// `track_statements`: their runs are timed and counted.
    tracks: bool,
    /// Runs that were given up after a conflict, and repeated.
    reruns: u64,
    /// The rows of the CREATE TABLE AS that is being run are counted for EXPLAIN ANALYZE.
    explaining: Option<Box<explain::Explaining>>,
    /// While a table is filled with the rows of its own query: nobody is asked whether these may be written.
    filling: Option<u32>,
    /// A COPY FROM STDIN that is counted when its data have ended.
    counted_later: Option<counting::Later>,
    /// What is logged of statements.
    logs: logging::Logs,
    /// A COPY FROM STDIN that is logged when its data have ended.
    logged_later: Option<logging::LaterRun>,
    /// What the server's settings for all sessions were when the session took them over.
    presets: u64,
    transaction: Transaction,
    blocks: blocks::Blocks,
    constraints: ConstraintModes,
    cancel: Cancel,
    /// A batch of statements has begun: see [`Session::begin_batch`].
    in_batch: bool,
    cache: OwnPlans,
    cache_version: u64,
    /// Counts the changes of the search path.
    path_number: u64,
    statements: HashMap<String, prepared::Statement, RandomState>,
    /// The portal without a name, in which most statements run.
    /// Boxed: it moves several times in each statement, and its memory is used again for the next one.
    unnamed: Option<Box<Portal>>,
    /// The columns of the portal that was described last, if they are not its own.
    described: Option<Vec<Column>>,
    /// Statements of a simple query that wait for the end of a COPY.
    /// With each, the characters before it in its query.
    waiting: VecDeque<(String, u32)>,
    copying: Option<copy::CopyIn>,
    /// What the last run worked in, kept for its memory.
    scratch: Option<Scratch>,
    /// Statements that will run soon, each with the key of its row.
    foreseen: Vec<(Held, KeyBuf)>,
    /// A message of a client that is being received for the session.
    arriving: Option<Reservation>,
    /// What becomes of temporary tables at each commit.
    on_commit: Vec<temporary::AtCommit>,
}

impl<E: Engine> Session<E> {
    /// A session in a database, which has this name.
    pub(crate) fn new(shared: Arc<Shared<E>>, database: Arc<PerDatabase>, user: &str, name: &str) -> Self {
        // who cannot find out which roles there are may do nothing
        let identity = match shared.catalog_of_now(&database) {
            Ok(catalog) => Identity::new(&catalog, user),
            Err(_) => Identity::nobody(user),
        };
        Self::with_identity(shared, database, identity, name)
    }

    pub(crate) fn of_first_role(shared: Arc<Shared<E>>, user: &str, name: &str) -> Self {
        let first = shared.first.clone();
        Self::with_identity(shared, first, Identity::first(user), name)
    }

    fn with_identity(
        shared: Arc<Shared<E>>,
        database: Arc<PerDatabase>,
        identity: Identity,
        name: &str,
    ) -> Self {
        let id = shared.new_session();
        let user = &identity.login_name().to_owned();
        let place = shared.workers.place();
        let flag = shared.gate.flag();
        let activity = shared.sessions.enter(id, user, (database.oid, name));
        let version = database.version();
        let counts = Counts::new(shared.collected.clone(), id);
        let mut session = Self {
            state: SessionState::new(shared, database, id, identity, name),
            env: Env::default(),
            env_generation: u64::MAX,
            settings_key: Arc::from(""),
            synchronous: true,
            statement_timeout: None,
            running_block: None,
            mail: None,
            repeats_blocks: true,
            lock_timeout: None,
            work_mem: 0,
            temp_file_limit: None,
            worker: None,
            place,
            flag,
            activity,
            counts,
            tracks: true,
            reruns: 0,
            explaining: None,
            filling: None,
            counted_later: None,
            logs: logging::Logs::default(),
            logged_later: None,
            presets: 0,
            transaction: Transaction::default(),
            blocks: blocks::Blocks::default(),
            constraints: ConstraintModes::default(),
            cancel: Cancel::new(),
            in_batch: false,
            cache: OwnPlans::default(),
            cache_version: version,
            path_number: 0,
            statements: HashMap::default(),
            unnamed: None,
            described: None,
            waiting: VecDeque::new(),
            copying: None,
            scratch: None,
            foreseen: Vec::new(),
            arriving: None,
            on_commit: Vec::new(),
        };
        session.take_presets();
        session.take_settings_of_database();
        session.take_settings_of_role();
        session.refresh();
        session
    }

    /// Whether the database of the session lets sessions begin now.
    pub(crate) fn is_let_in(&self) -> bool {
        !self.state.database.is_closed()
    }

    /// Begins with what ALTER DATABASE has set.
    fn take_settings_of_database(&mut self) {
        let desc = self.state.catalog.database(self.state.database.oid);
        for (name, value) in desc.map(|desc| desc.settings.clone()).unwrap_or_default() {
            // it was checked when it was set
            let _ = self.state.settings.borrow_mut().start_with(&name, &value);
        }
    }

    /// Begins with what ALTER ROLE has set for the role that logs in.
    fn take_settings_of_role(&mut self) {
        let role = self.state.catalog.role(self.state.identity.login());
        for (name, value) in role.map(|desc| desc.settings.clone()).unwrap_or_default() {
            if name == "role" {
                if self.state.check_may_become("role", Some(&value)).is_err() {
                    continue;
                }
                self.state.identity.name(&self.state.catalog, &value);
            }
            // it was checked when it was set
            let _ = self.state.settings.borrow_mut().start_with(&name, &value);
        }
    }

    /// A number for the session, unique in the database: `pg_backend_pid()`.
    pub fn id(&self) -> u32 {
        self.state.id
    }

    /// Sets what the client asked for when it connected.
    ///
    /// # Errors
    /// 42704, 55P02, 22023 and others: as SET.
    pub fn set_initial(&mut self, name: &str, value: &str) -> Result<()> {
        if name.eq_ignore_ascii_case("role") {
            self.state.check_may_become("role", Some(value))?;
            self.state.identity.name(&self.state.catalog, value);
        }
        self.state.settings.borrow_mut().start_with(name, value)?;
        self.refresh();
        Ok(())
    }

    /// Sets what SHOW tells of the server that the session belongs to: settings that no client may change.
    ///
    /// # Errors
    /// 22023.
    pub fn tell(&mut self, name: &str, value: &str) -> Result<()> {
        self.state.settings.borrow_mut().init(name, value)?;
        self.refresh();
        Ok(())
    }

    /// The message that is being received for this session takes so many bytes by now; zero when it has been dealt
    /// with. They count as memory of statements do.
    ///
    /// # Errors
    /// 53200: there is no room for it.
    pub fn hold_message(&mut self, bytes: usize) -> Result<()> {
        self.arriving = None;
        if bytes > 0 {
            self.arriving = Some(Reservation::new(&self.state.shared.memory, bytes)?);
        }
        Ok(())
    }

    /// The settings that clients are told when they connect.
    pub fn reported_settings(&self) -> Vec<(&'static str, String)> {
        self.state.settings.borrow().reported()
    }

    /// Reported settings that have changed since the last call.
    pub fn take_changed_settings(&mut self) -> Vec<(&'static str, String)> {
        self.state.settings.borrow_mut().take_changed()
    }

    /// A number that changes when a setting does.
    pub fn settings_generation(&self) -> u64 {
        self.state.settings.borrow().generation
    }

    /// The value of a setting, if there is one of this name.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.state.settings.borrow().get(name).ok().map(str::to_owned)
    }

    /// The value of a setting that is a duration; none if there is no such setting, or it says so.
    pub fn setting_duration(&self, name: &str) -> Option<Duration> {
        self.state.settings.borrow().duration(name)
    }

    /// Notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut *self.state.notices.borrow_mut())
    }

    /// What sinks print values with, outside of a statement.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Cancels statements of this session from elsewhere.
    pub fn cancel_handle(&self) -> Cancel {
        self.cancel.clone()
    }

    /// A batch of statements begins: a simple query, or extended messages up to a Sync. Cancel requests for an earlier
    /// one do not count from now on. What runs statements calls it, too; nothing happens if the batch has begun.
    #[inline]
    pub fn begin_batch(&mut self) {
        if !self.in_batch {
            self.in_batch = true;
            self.cancel.advance();
            self.state.portals.forget_log();
            if self.state.shared.presets.generation() != self.presets {
                self.take_presets();
            }
        }
    }

    /// Takes over what the server has for all sessions.
    #[cold]
    fn take_presets(&mut self) {
        let (generation, values) = self.state.shared.presets.get();
        self.presets = generation;
        let mut settings = self.state.settings.borrow_mut();
        for (name, value) in values {
            // see `Database::preset`
            let _ = settings.preset(name, &value);
        }
    }

    /// The text of the statement that runs or ran last, with `$1` in the place of constants, if it is remembered.
    pub fn last_statement(&self) -> Option<Arc<str>> {
        self.state.shared.trace.text(self.state.running.get())
    }

    /// The state of the transaction.
    pub fn status(&self) -> Status {
        self.transaction.status()
    }

    /// Derives what depends on settings, if they have changed.
    #[inline]
    fn refresh(&mut self) {
        if self.env_generation != self.state.settings.borrow().generation || self.state.identity.has_changed()
        {
            self.derive();
        }
    }

    #[cold]
    fn derive(&mut self) {
        let path = self.state.path.clone();
        self.state.refresh(&mut self.env);
        self.path_number += u64::from(path != self.state.path);
        let superuser = if self.state.identity.is_superuser() { "on" } else { "off" };
        self.state.settings.borrow_mut().note("is_superuser", superuser);
        let settings = self.state.settings.borrow();
        self.env_generation = settings.generation;
        self.synchronous = settings.get("synchronous_commit").ok() != Some("off");
        self.repeats_blocks = settings.get("repeat_blocks").ok() != Some("off");
        self.tracks = settings.get("track_statements").ok() != Some("off");
        self.logs = logging::Logs::of(&settings);
        self.statement_timeout = settings.timeout(STATEMENT_TIMEOUT);
        self.lock_timeout = settings.timeout(LOCK_TIMEOUT);
        self.transaction.defaults = transaction::modes_by_default(&settings);
        self.work_mem = (settings.kilobytes("work_mem") as usize) << 10;
        let limit = settings.get("temp_file_limit").is_ok_and(|limit| limit != settings::UNLIMITED);
        self.temp_file_limit = limit.then(|| settings.kilobytes("temp_file_limit").saturating_mul(1 << 10));
        let get = |name: &str| settings.get(name).unwrap_or_default().to_owned();
        let parts = ["timezone", "datestyle", "intervalstyle"].map(get);
        // routines are made ready with these
        let of_plpgsql = settings::OF_PLPGSQL.map(get).join("\n");
        // plans that may be about temporary relations are the session's own
        let own = if self.state.has_temporary { self.state.id } else { 0 };
        // what the path is, for `"$user"` in it is another schema for each user
        let secured = get("row_security");
        let key = format!("{:?}\n{}\n{own}\n{secured}\n{of_plpgsql}", self.state.path, parts.join("\n"));
        if *self.settings_key != *key {
            self.settings_key = Arc::from(key);
            self.cache.clear();
            self.state.forget_routines();
        }
        self.state.shared.sessions.call(self.state.id, &get("application_name"));
    }

    /// Runs a text of one statement or more, as the simple query protocol does.
    ///
    /// # Errors
    /// The first statement's that fails; those behind it are not run. 42601 of any of them: none is run.
    pub fn simple(&mut self, text: &str, sink: &mut dyn RowSink) -> Result<Step> {
        self.begin_batch();
        let result = self.simple_statements(text, sink).map_err(|error| self.state.with_other(error));
        self.in_batch = matches!(result, Ok(Step::CopyIn(_)));
        self.activity.rest(self.status());
        result
    }

    fn simple_statements(&mut self, text: &str, sink: &mut dyn RowSink) -> Result<Step> {
        let statements = scaledb_parse::lex::split(text);
        if statements.is_empty() {
            sink.empty();
            return Ok(Step::Done);
        }
        self.waiting.clear();
        if statements.len() > 1 {
            if let Err(error) = self.look_at_grammar(text, &statements) {
                return self.go_on(Err(error), sink);
            }
            self.transaction.begin_implicit();
            let mut places = Places::new(text);
            let waiting = statements.iter().map(|&part| (part.to_owned(), places.of(part)));
            self.waiting = waiting.skip(1).collect();
        }
        let before = Places::new(text).of(statements[0]);
        let first = self.simple_statement(statements[0], sink).map_err(|error| error.shift(before));
        self.go_on(first, sink)
    }

    /// Runs the rest of a batch of statements, after a statement with this result.
    fn go_on(&mut self, mut result: Result<Step>, sink: &mut dyn RowSink) -> Result<Step> {
        loop {
            match result {
                Ok(Step::CopyIn(_)) => return result,
                Err(error) => {
                    self.waiting.clear();
                    self.fail_implicit();
                    return Err(error);
                }
                Ok(Step::Done) => {}
            }
            let Some((text, before)) = self.waiting.pop_front() else { break };
            if !self.waiting.is_empty() {
                // behind a COMMIT or ROLLBACK; the last one commits by itself
                self.transaction.begin_implicit();
            }
            result = self.simple_statement(&text, sink).map_err(|error| error.shift(before));
        }
        if let Err(error) = self.end_implicit() {
            sink.take_back_complete();
            return Err(error);
        }
        Ok(Step::Done)
    }

    /// Prepares a statement under a name; the empty name is the unnamed one, which is replaced. Zero for a type, or
    /// no type, leaves it to the statement.
    ///
    /// # Errors
    /// What is wrong with the text; 42P05.
    pub fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> Result<()> {
        self.begin_batch();
        let result = self.prepare_named(name, text, types).map_err(|error| self.unless_cut_off(error));
        self.noting(result)
    }

    /// What a prepared statement takes and returns.
    ///
    /// # Errors
    /// 26000; 0A000 if it changed.
    pub fn describe_statement(&mut self, name: &str) -> Result<Description> {
        let result = self.description(name).map_err(|error| self.unless_cut_off(error));
        self.noting(result)
    }

    /// Binds parameters to a prepared statement. `formats` as in the protocol: none for text, one for all, or one
    /// for each; 0 is text and 1 binary.
    ///
    /// # Errors
    /// 26000; 22P02, 22P03 and others for values that are none.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        values: &[Option<&[u8]>],
    ) -> Result<()> {
        self.begin_batch();
        let result = self.bind_portal(portal, statement, formats, values);
        let result = result.map_err(|error| self.unless_cut_off(error));
        self.noting(result)
    }

    /// The columns that a portal returns; none if it returns no rows.
    ///
    /// # Errors
    /// 34000.
    pub fn describe_portal(&mut self, name: &str) -> Result<Option<&[Column]>> {
        if !self.has_portal(name) {
            self.fail();
        }
        self.portal_columns(name)
    }

    /// Runs a portal, or goes on with it: at most `max_rows` rows, all if that is zero. `last` says that the
    /// message behind it is Sync: the statement is then committed here, and run again if it meets a conflict.
    ///
    /// # Errors
    /// The statement's.
    pub fn execute(
        &mut self,
        portal: &str,
        max_rows: u64,
        last: bool,
        sink: &mut dyn RowSink,
    ) -> Result<Executed> {
        self.begin_batch();
        let result = self.execute_portal(portal, max_rows, last, sink);
        self.noting(result)
    }

    /// Closes a prepared statement; one that does not exist is closed already.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// Closes a portal; one that does not exist is closed already.
    pub fn close_portal(&mut self, name: &str) {
        let _ = self.take_portal(name);
    }

    /// The end of a series of extended messages: commits what is not in a transaction block.
    ///
    /// # Errors
    /// The commit's.
    pub fn sync(&mut self) -> Result<()> {
        let result = if self.transaction.is_implicit() { self.end_implicit() } else { Ok(()) };
        let result = result.map_err(|error| self.state.with_other(error));
        self.in_batch = false;
        self.activity.rest(self.status());
        result
    }

    /// An extended message failed: the rest is skipped up to Sync.
    fn noting<R>(&mut self, result: Result<R>) -> Result<R> {
        if result.is_err() {
            self.fail();
        }
        result.map_err(|error| self.state.with_other(error))
    }

    /// Data of COPY FROM STDIN.
    ///
    /// # Errors
    /// The statement's. The COPY has ended then.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        let result = self.copy_in_data(data).map_err(|error| self.state.with_other(error));
        if let Err(error) = &result {
            self.count_copy(Err(error));
            self.in_batch = false;
            self.copying = None;
            self.waiting.clear();
            self.fail();
        }
        result
    }

    /// The end of the data of COPY FROM STDIN. Statements behind it in a simple query are run.
    ///
    /// # Errors
    /// The statement's, and those of the statements behind it.
    pub fn copy_done(&mut self, sink: &mut dyn RowSink) -> Result<Step> {
        let result = self.copy_in_done(sink).map_err(|error| self.state.with_other(error));
        self.in_batch = false;
        if let Err(error) = &result {
            self.count_copy(Err(error));
            self.copying = None;
            self.waiting.clear();
            self.fail();
            return result;
        }
        self.go_on(result, sink)
    }

    /// The client has given up COPY FROM STDIN.
    pub fn copy_fail(&mut self, message: &str) -> SqlError {
        self.in_batch = false;
        self.copying = None;
        self.waiting.clear();
        self.fail();
        let error = SqlError::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {message}"));
        self.count_copy(Err(&error));
        error
    }

    /// Ends the transaction and forgets statements, portals and settings, as `DISCARD ALL` does: for pools.
    pub fn reset(&mut self) {
        self.rollback();
        self.transaction = Transaction::default();
        self.statements.clear();
        self.clear_portals();
        self.state.give_all_locks_back();
        self.state.settings.borrow_mut().reset_all();
        self.state.settings.borrow_mut().commit();
        self.refresh();
    }
}

impl<E: Engine> Drop for Session<E> {
    fn drop(&mut self) {
        self.rollback();
        self.leave_temporary();
        if let Some(mut worker) = self.worker.take() {
            worker.rollback();
            self.state.shared.workers.give(&self.place, worker);
        }
        self.state.shared.workers.leave(&self.place);
        self.stop_listening();
        self.state.shared.sessions.leave(self.state.id);
    }
}

/// Where the statements of a query begin, asked for in their order.
struct Places<'t> {
    text: &'t str,
    bytes: usize,
    chars: u32,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, bytes: 0, chars: 0 }
    }

    /// The characters of the query before one of its parts.
    fn of(&mut self, part: &str) -> u32 {
        let start = part.as_ptr().addr() - self.text.as_ptr().addr();
        self.chars += self.text[self.bytes..start].chars().count() as u32;
        self.bytes = start;
        self.chars
    }
}
