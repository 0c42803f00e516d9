//! What a running statement is given by its session.

use super::lock::{self, GivenUp};
use super::measure::Measures;
use super::triggers::Written;
use crate::api::Severity;
use crate::cancel::Cancel;
use crate::compiled::{Compiled, Held};
use crate::counts::Counts;
use crate::identity::RoleMark;
use crate::memory::Budget;
use crate::routine::{Loaded, Piece};
use crate::temporary::Allowance;
use crate::workers::SPARED;
use scaledb_base::TableId;
use scaledb_base::limits::MAX_WORKERS;
use scaledb_catalog::{RoutineDesc, TriggerDesc};
use scaledb_locks::{Blocked, Failed, Locks, Mode, Owner, Tag, Who};
use scaledb_notify::PendingMark;
use scaledb_parse::explain::Options;
use scaledb_parse::utility::Utility;
use scaledb_planner::bind::Keys;
use scaledb_planner::bind::expr::is_named;
use scaledb_planner::functions::SessionFn;
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::trigger::{Event, Trigger, Triggers};
use scaledb_planner::plan::{BoundTable, Computed, Plan};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The session, as far as running statements need it.
pub(crate) trait Host {
    /// A plan as EXPLAIN shows it, a row of one text for each line; with what its operators have done in a run, and how
    /// long that took, if it was run.
    fn shown(
        &self,
        env: &Env,
        plan: &Plan,
        options: Options,
        done: (Option<&Measures>, Option<Duration>),
    ) -> Vec<Box<[Value]>>;
    /// An error of the engine, with the names of what it is about.
    fn engine_error(&self, error: scaledb_base::Error) -> SqlError;
    /// Calls a function of the session.
    fn call(&self, function: &SessionFn, args: &[Value]) -> Result<Value>;
    /// The foreign keys of a table, and those that refer to it.
    fn keys_of(&self, table: u32) -> Result<Keys>;
    /// Whether the current role may read a table, or a column of it.
    fn may_read(&self, table: u32, attnum: Option<i16>) -> bool;
    /// Whether policies may hide rows of a table from the current role, so that errors show none.
    fn hides_rows(&self, table: u32) -> bool;
    /// For whom policies are chosen.
    fn reader(&self) -> Reader;
    /// The rows of a table that is computed.
    fn computed(&self, table: Computed) -> Result<Vec<Vec<Value>>>;
    /// Takes a lock for the transaction, unless it conflicts with a lock of another session.
    fn take_lock(&self, tag: Tag, mode: Mode) -> Result<bool>;
    /// Takes locks of what is written for the transaction, in order, up to the first that conflicts with a lock of
    /// another session; how many.
    fn take_locks(&self, tags: &[Tag], mode: Mode) -> Result<usize>;
    /// Takes a lock for the session, unless it conflicts with a lock of another one.
    fn keep_lock(&self, tag: Tag, mode: Mode) -> Result<bool>;
    /// Gives a lock of the session back, once. False if it has none.
    fn give_lock_back(&self, tag: Tag, mode: Mode) -> bool;
    /// Gives all locks of the session back.
    fn give_locks_back(&self);
    /// What the session has locked.
    fn owner(&self) -> &RefCell<Owner>;
    /// Notes that the statement at hand does something which is not undone with its transaction.
    fn act(&self);
    /// The transaction has waited: what it reads from here on should be of the present.
    fn note_wait(&self);
    /// Tells the client something.
    fn warn(&self, code: SqlState, what: &str);
    /// Tells the client something, with all its fields.
    fn tell(&self, severity: Severity, fields: SqlError);
    /// A routine, ready to run; for the rows of a table if a trigger of it calls it.
    fn routine(&self, desc: &Arc<RoutineDesc>, by: Option<(&TriggerDesc, u32)>) -> Result<Arc<Loaded>>;
    /// A trigger begins that sees all rows which a statement has written.
    fn enter_trigger(&self, written: Arc<Written>);
    /// It has ended.
    fn leave_trigger(&self);
    /// A routine as the catalog of the transaction has it now; none if it is gone.
    fn latest(&self, desc: &RoutineDesc) -> Option<Arc<RoutineDesc>>;
    /// The condition of a trigger, ready to run over the rows of its table.
    fn condition(&self, trigger: &Trigger, table: &BoundTable) -> Result<Arc<Loaded>>;
    /// The triggers of a table that an event fires; with the columns that are set.
    fn triggers_of(&self, table: &BoundTable, event: Event, set: Option<&[usize]>) -> Option<Box<Triggers>>;
    /// How many columns the rows have that a routine returns.
    fn width_of(&self, desc: &RoutineDesc) -> Result<usize>;
    /// Compiles a piece of SQL of a routine.
    fn compile(&self, env: &Env, piece: &Piece<'_>) -> Result<Compiled>;
    /// The plan that makes its only parameter one of a domain, or an array of such values.
    fn domain(&self, env: &Env, ty: Type) -> Result<Held>;
    /// Notes that a function runs a plan, within the statement that calls it.
    ///
    /// # Errors
    /// 25006.
    fn note_nested(&self, plan: &Plan) -> Result<()>;
    /// A routine begins, whose owner's privileges may count from here on.
    fn enter_routine(&self, desc: &RoutineDesc) -> Option<RoleMark>;
    /// It has ended.
    fn leave_routine(&self, mark: Option<RoleMark>);
    /// Notes what of the catalog an expression of a function depends on.
    fn note_uses(&self, plan: &Plan);
    /// Notes that what the transaction does may depend on all of the catalog.
    fn note_whole_catalog(&self);
    /// What the settings are, and what was said to those who listen, to come back to.
    fn mark(&self) -> HostMark;
    /// Goes back there.
    fn undo_to(&self, mark: HostMark);
    /// NOTIFY, LISTEN and UNLISTEN.
    fn about_channels(&self, utility: &Utility) -> Result<()>;
    /// The text of the name of a table, a type or a function.
    fn name_of(&self, value: &Value, ty: Type) -> Result<Value>;
}

/// A state of the settings and of what was said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMark {
    pub(crate) settings: usize,
    pub(crate) pending: PendingMark,
}

/// Which constraints wait for the commit, as SET CONSTRAINTS has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstraintModes {
    /// For all deferrable ones.
    pub(crate) all: Option<bool>,
    /// By name.
    pub(crate) named: Vec<(String, bool)>,
}

/// What a running statement is given by its session.
pub(crate) struct Context<'a> {
    pub(crate) env: &'a Env,
    /// What all statements may use together.
    pub(crate) budget: &'a Arc<Budget>,
    /// Bytes for sorts, groups and kept rows.
    pub(crate) memory_limit: usize,
    /// Where rows go that do not fit.
    pub(crate) temporary: Allowance<'a>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) deadline: Option<Instant>,
    pub(crate) host: &'a dyn Host,
    pub(crate) constraints: &'a ConstraintModes,
    pub(crate) locks: &'a Locks,
    /// `lock_timeout`, if there is one.
    pub(crate) lock_timeout: Option<Duration>,
    /// The session holds a worker of the engine while it waits.
    pub(crate) has_worker: bool,
    /// How many sessions do so.
    pub(crate) waiters: &'a AtomicUsize,
    /// The run may be given up to wait for a lock without a worker, whatever it has done.
    pub(crate) gives_up: bool,
    /// Why it was given up.
    pub(crate) given_up: Cell<Option<GivenUp>>,
    /// Calls of functions that are in each other now.
    pub(crate) calls: Cell<usize>,
    /// Triggers that are in each other now.
    pub(crate) triggers: Cell<i32>,
    pub(crate) counts: &'a Counts,
    /// Indexes that this transaction has dropped: the engine has them until it commits.
    pub(crate) dropped_indexes: &'a [TableId],
}

/// Sessions that may wait for locks with workers of the engine. Those that they wait for need some too, and so does
/// what works beside sessions.
const WAITERS: usize = MAX_WORKERS - 2 * SPARED;

impl Context<'_> {
    /// Fails if the statement was cancelled or has taken too long.
    ///
    /// # Errors
    /// 57014.
    pub(crate) fn check_cancel(&self) -> Result<()> {
        if self.cancel.is_due() {
            self.cancel.obeyed();
            return Err(SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ));
        }
        Ok(())
    }

    /// A value as text; `None` for NULL.
    pub(crate) fn text(&self, value: &Value, ty: Type) -> Option<String> {
        if is_named(ty)
            && let Ok(Value::Text(name)) = self.host.name_of(value, ty)
        {
            return Some(name.to_string());
        }
        value.to_text(ty, self.env).map(|text| text.to_string())
    }

    /// An error of the engine, as SQL has it.
    #[cold]
    pub(crate) fn engine_error(&self, error: scaledb_base::Error) -> SqlError {
        self.host.engine_error(error)
    }

    /// Calls a function of the session.
    ///
    /// # Errors
    /// What it refuses.
    pub(crate) fn call(&self, function: &SessionFn, args: &[Value]) -> Result<Value> {
        if function.name.starts_with("pg_sleep") {
            self.host.act();
            return self.sleep(args);
        }
        if function.name == "pg_trigger_depth" {
            return Ok(Value::Int4(self.triggers.get()));
        }
        if let Some(result) = super::advisory::call(self, function.name, args) {
            return result;
        }
        self.host.call(function, args)
    }

    /// Waits for a lock of an expression, or gives the run up: the session then waits without a worker.
    ///
    /// # Errors
    /// As [`Context::wait_for_lock`]; that the run is given up.
    pub(crate) fn wait_or_give_up(&self, tag: Tag, mode: Mode, keeps: bool) -> Result<()> {
        if !self.gives_up {
            return self.wait_for_lock(tag, mode, keeps);
        }
        let why = if keeps { GivenUp::Keeps(tag, mode) } else { GivenUp::Waits(tag, mode) };
        self.given_up.set(Some(why));
        Err(lock::given_up())
    }

    /// Waits for a lock, for the transaction or, if it `keeps` it, for the session.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014; 53300 if too many wait in transactions that have begun.
    pub(crate) fn wait_for_lock(&self, tag: Tag, mode: Mode, keeps: bool) -> Result<()> {
        let _counted = if self.has_worker { Some(Waiting::new(self.waiters)?) } else { None };
        let give_up = self.lock_timeout.map(|timeout| Instant::now() + timeout);
        let mut check = || {
            self.check_cancel()?;
            if give_up.is_some_and(|moment| Instant::now() > moment) {
                let what = "canceling statement due to lock timeout";
                return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, what));
            }
            Ok(())
        };
        let mut owner = self.host.owner().borrow_mut();
        let taken = match keeps {
            true => owner.keep(tag, mode, &mut check),
            false => owner.take(tag, mode, &mut check),
        };
        self.host.note_wait();
        taken.map_err(|failed| match failed {
            Failed::Stopped(error) => error,
            Failed::Deadlock(cycle) => deadlock(&cycle),
            Failed::Not(why) => crate::error::lock_not_taken(why),
        })
    }

    /// `pg_sleep(seconds)` and its like, for or until a time. A connection has a thread of its own: nobody else waits.
    fn sleep(&self, args: &[Value]) -> Result<Value> {
        const STEP: Duration = Duration::from_millis(10);
        let micros = |micros: i64| micros as f64 / 1e6;
        let seconds = match args.first() {
            Some(Value::Float8(seconds)) => *seconds,
            Some(Value::Interval(interval)) => {
                let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
                micros(interval.micros) + days * 86_400.0
            }
            Some(Value::Timestamptz(until)) => micros(until.saturating_sub(scaledb_types::zone::clock())),
            _ => return Ok(Value::Null),
        };
        let length = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        let start = Instant::now();
        loop {
            self.check_cancel()?;
            let rest = length.saturating_sub(start.elapsed());
            if rest.is_zero() {
                return Ok(Value::text(""));
            }
            scaledb_sync::thread::sleep(rest.min(STEP));
        }
    }

    /// Whether a deferrable constraint waits for the commit; `initially` if the transaction has said nothing.
    pub(crate) fn is_deferred(&self, name: &str, initially: bool) -> bool {
        let named = self.constraints.named.iter().rev().find(|(known, _)| known == name);
        named.map(|(_, deferred)| *deferred).or(self.constraints.all).unwrap_or(initially)
    }
}

/// A session that waits with a worker.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(waiters: &'a AtomicUsize) -> Result<Self> {
        // a count: the next one may wait as soon as another has stopped
        let waiting = Self(waiters);
        if waiters.fetch_add(1, Ordering::Relaxed) < WAITERS {
            return Ok(waiting);
        }
        let what = format!("{WAITERS} transactions wait for locks already");
        Err(SqlError::new(SqlState::TOO_MANY_CONNECTIONS, what)
            .hint("Take the lock with the first statement of the transaction: such waits are not limited."))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed); // a count
    }
}

/// 40P01.
#[cold]
fn deadlock(cycle: &[Blocked]) -> SqlError {
    let lines = cycle.iter().map(|edge| {
        let process = |who| match who {
            Who::Session(id) => format!("process {id}"),
            Who::Elsewhere(node) => format!("a process of node {node}"),
        };
        let (mode, what, by) = (edge.mode.name(), shown(edge.tag), process(edge.by));
        let mut owner = process(edge.owner);
        owner[..1].make_ascii_uppercase();
        format!("{owner} waits for {mode} on {what}; blocked by {by}.")
    });
    SqlError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
        .detail(lines.collect::<Vec<_>>().join("\n"))
        .hint("Roll back and run the whole transaction again.")
}

fn shown(tag: Tag) -> String {
    match tag {
        Tag::Row { table, .. } => format!("a row of relation {table}"),
        Tag::Table(table) => format!("relation {table}"),
        Tag::Advisory { key, pair: false } => format!("advisory lock {}", key as i64),
        Tag::Advisory { key, pair: true } => {
            format!("advisory lock ({},{})", (key >> 32) as i32, key as i32)
        }
    }
}
