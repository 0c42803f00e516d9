//! What others may know of a connection, and do to it: the watch, cancel requests, the metrics.

use crate::rules::Peer;
use crate::stream::Socket;
use scaledb_base::timeouts::{Timeouts, millis};
use scaledb_pgwire::{Report, SqlState, Status};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Instant;

/// Milliseconds since the server started, as of the last turn of the watch: reading it costs a load.
#[derive(Debug)]
pub(crate) struct Ticks {
    start: Instant,
    now: AtomicU64,
}

impl Ticks {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), now: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) -> u64 {
        // pairs with nothing: a time that is a turn old is good enough
        self.now.load(Ordering::Relaxed)
    }

    pub(crate) fn turn(&self) -> u64 {
        let now = millis(self.start.elapsed());
        // pairs with nothing: see `now`
        self.now.store(now, Ordering::Relaxed);
        now
    }
}

/// A statement that runs for longer is stopped when its client hangs up.
const GONE_MILLIS: u64 = 500;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Authenticating,
    Idle,
    IdleInTransaction,
    Busy,
    /// A statement waits for the data of the client.
    Copying,
}

impl Phase {
    pub(crate) const ALL: [Self; 5] =
        [Self::Authenticating, Self::Idle, Self::IdleInTransaction, Self::Busy, Self::Copying];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Authenticating => "authenticating",
            Self::Idle => "idle",
            Self::IdleInTransaction => "idle in transaction",
            Self::Busy => "active",
            Self::Copying => "copying",
        }
    }
}

/// Why a statement is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Cancel {
    Request = 1,
    Timeout,
    Shutdown,
    Gone,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Ending {
    Shutdown = 1,
    IdleInTransaction,
    Authentication,
    /// Another session has asked for it.
    Terminated,
    /// Memory is short, and its transaction keeps some from being used again.
    HoldsMemory,
}

/// Stops what a session runs: a batch of statements, named by its number, so that a late call stops no other one. Any
/// thread may call it at any time.
pub trait Cancels: Send + Sync {
    /// The number of the batch that runs, or of the last one that did. It grows.
    fn running(&self) -> u64;
    /// Stops the batch with this number, if it still runs.
    fn stop(&self, number: u64);
}

/// See [`Cancels`].
pub type Canceller = Arc<dyn Cancels>;

/// Counts of one connection; only its own thread writes them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) statements: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) conflicts: AtomicU64,
}

impl Counts {
    /// Adds to a count that no other thread writes.
    pub(crate) fn add(count: &AtomicU64) {
        // statistics: one writer, and readers that take what they find
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> [u64; 3] {
        // statistics
        [&self.statements, &self.errors, &self.conflicts].map(|count| count.load(Ordering::Relaxed))
    }
}

/// A connection, as others see it.
pub(crate) struct Control {
    pub(crate) socket: Arc<Socket>,
    pub(crate) peer: Peer,
    ticks: Arc<Ticks>,
    /// The phase in the low byte, and since when in the others.
    state: AtomicU64,
    /// When the statement began.
    begun: AtomicU64,
    /// The newest batch that was cancelled, and in the low byte the [`Cancel`]; 0 if none was.
    cancel: AtomicU64,
    /// An [`Ending`], or 0.
    ending: AtomicU32,
    statement_timeout: AtomicU64,
    idle_timeout: AtomicU64,
    canceller: OnceLock<Canceller>,
    pub(crate) counts: Counts,
}

impl Control {
    pub(crate) fn new(socket: Arc<Socket>, peer: Peer, ticks: Arc<Ticks>) -> Self {
        let now = ticks.now();
        Self {
            socket,
            peer,
            ticks,
            state: AtomicU64::new(pack(Phase::Authenticating, now)),
            begun: AtomicU64::new(now),
            cancel: AtomicU64::new(0),
            ending: AtomicU32::new(0),
            statement_timeout: AtomicU64::new(0),
            idle_timeout: AtomicU64::new(0),
            canceller: OnceLock::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn open(&self, canceller: Canceller, timeouts: Timeouts) {
        // a connection is opened once
        let _ = self.canceller.set(canceller);
        self.set_timeouts(timeouts);
        self.enter(Phase::Idle);
    }

    pub(crate) fn set_timeouts(&self, timeouts: Timeouts) {
        // pair with nothing: the watch may see them a turn late
        self.statement_timeout.store(millis(timeouts.statement), Ordering::Relaxed);
        self.idle_timeout.store(millis(timeouts.idle_in_transaction), Ordering::Relaxed);
    }

    /// A batch of statements has begun: its number is the one that runs.
    pub(crate) fn begin(&self) {
        // pairs with nothing: the watch may see it a turn late
        self.begun.store(self.ticks.now(), Ordering::Relaxed);
        self.enter(Phase::Busy);
    }

    /// How long the batch has been running, as of the last turn of the watch.
    pub(crate) fn busy_millis(&self) -> u64 {
        // pairs with nothing: this thread has stored it
        self.ticks.now().saturating_sub(self.begun.load(Ordering::Relaxed))
    }

    /// The statement waits for data.
    pub(crate) fn copying(&self) {
        self.enter(Phase::Copying);
    }

    /// The data are complete, and the statement goes on.
    pub(crate) fn copied(&self) {
        self.enter(Phase::Busy);
    }

    /// A batch of statements is done.
    pub(crate) fn done(&self, status: Status) {
        let idle = status == Status::Idle;
        self.enter(if idle { Phase::Idle } else { Phase::IdleInTransaction });
    }

    fn enter(&self, phase: Phase) {
        // pairs with the load in `state`, which then sees what was set before the phase
        self.state.store(pack(phase, self.ticks.now()), Ordering::Release);
    }

    /// The phase, and since when it is in it.
    pub(crate) fn state(&self) -> (Phase, u64) {
        // pairs with `enter`
        let state = self.state.load(Ordering::Acquire);
        (Phase::ALL[(state & 0xff) as usize], state >> 8)
    }

    /// The number of the batch that runs, or of the last one that did.
    fn running(&self) -> u64 {
        self.canceller.get().map_or(0, |canceller| canceller.running())
    }

    /// Cancels the statement that runs, if one does.
    pub(crate) fn cancel(&self, why: Cancel) {
        // the phase is loaded first: a batch that it shows has its number already
        if matches!(self.state().0, Phase::Busy | Phase::Copying) {
            self.stop(self.running(), why);
        }
    }

    /// Cancels the batch with this number, if it still runs.
    fn stop(&self, number: u64, why: Cancel) {
        let word = number << 8 | why as u64;
        // pairs with `cancelled`: the reason is there before the batch is told. The first one stays.
        let noted = self
            .cancel
            .try_update(Ordering::AcqRel, Ordering::Acquire, |noted| (noted >> 8 < number).then_some(word));
        if let (Ok(_), Some(canceller)) = (noted, self.canceller.get()) {
            canceller.stop(number);
        }
    }

    /// Why the statement was cancelled that ended just now.
    pub(crate) fn cancelled(&self) -> Option<Cancel> {
        // pairs with `stop`
        let noted = self.cancel.load(Ordering::Acquire);
        let all = [Cancel::Request, Cancel::Timeout, Cancel::Shutdown, Cancel::Gone];
        all.into_iter().find(|why| noted == self.running() << 8 | *why as u64)
    }

    /// Ends the connection as soon as it waits for its client.
    pub(crate) fn end(&self, why: Ending) {
        // pairs with `ending`; the first reason stays. A failure means there was one.
        let _ = self.ending.compare_exchange(0, why as u32, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Why the connection must end, in the words for its client.
    #[inline]
    pub(crate) fn ending(&self) -> Option<Box<Report>> {
        // pairs with `end`
        let reason = self.ending.load(Ordering::Acquire);
        if reason == 0 { None } else { Some(farewell(reason)) }
    }

    /// Ends the session at another one's word: what it runs is cancelled, and its client is told 57P01.
    pub(crate) fn terminate(&self) {
        self.end(Ending::Terminated);
        self.cancel(Cancel::Shutdown);
        // the watch does it again, if the session is between two batches now
        if matches!(self.state().0, Phase::Idle | Phase::IdleInTransaction | Phase::Copying) {
            self.socket.close(std::net::Shutdown::Read);
        }
    }

    /// Ends a session that has been waiting for its client within a transaction for so many milliseconds. False: it has
    /// not.
    pub(crate) fn end_idle(&self, now: u64, millis: u64, why: Ending) -> bool {
        let (phase, since) = self.state();
        let idle = matches!(phase, Phase::IdleInTransaction | Phase::Copying);
        if !idle || now.saturating_sub(since) < millis {
            return false;
        }
        self.end(why);
        self.socket.close(std::net::Shutdown::Read);
        true
    }

    /// What the watch does about a connection whose time is up, or that was told to end.
    pub(crate) fn watch(&self, now: u64, authentication: u64, look_for_gone: bool) {
        let over = |since: u64, limit: u64| limit > 0 && now.saturating_sub(since) > limit;
        // loaded before the times: they may be those of a later batch, but never of an earlier one
        let number = self.running();
        let (phase, since) = self.state();
        // pair with nothing: see `set_timeouts`
        let (statement, idle) =
            (self.statement_timeout.load(Ordering::Relaxed), self.idle_timeout.load(Ordering::Relaxed));
        // pairs with `end`. Again and again: the session may have been between two batches when it was told
        let terminated = self.ending.load(Ordering::Acquire) == Ending::Terminated as u32;
        match phase {
            Phase::Busy if terminated => self.stop(number, Cancel::Shutdown),
            Phase::Idle | Phase::IdleInTransaction | Phase::Copying if terminated => {
                self.socket.close(std::net::Shutdown::Read);
            }
            Phase::Authenticating if over(since, authentication) => {
                self.end(Ending::Authentication);
                self.socket.close(std::net::Shutdown::Both);
            }
            // whose data do not come keeps a transaction open, too
            Phase::IdleInTransaction | Phase::Copying if over(since, idle) => {
                self.end(Ending::IdleInTransaction);
                self.socket.close(std::net::Shutdown::Read);
            }
            Phase::Busy if over(since, statement) => self.stop(number, Cancel::Timeout),
            // pairs with nothing: see `begin`
            Phase::Copying if over(self.begun.load(Ordering::Relaxed), statement) => {
                self.stop(number, Cancel::Timeout);
            }
            // the client does not wait for the answer any more
            Phase::Busy if look_for_gone && over(since, GONE_MILLIS) && self.socket.is_gone() => {
                self.stop(number, Cancel::Gone);
            }
            _ => {}
        }
    }
}

fn pack(phase: Phase, since: u64) -> u64 {
    since << 8 | phase as u64
}

#[cold]
fn farewell(reason: u32) -> Box<Report> {
    if reason == Ending::HoldsMemory as u32 {
        let what = "terminating connection: snapshot too old";
        let detail = "Memory is short, and this session's idle transaction kept what others have replaced.";
        let mut report = Report::fatal(SqlState::SNAPSHOT_TOO_OLD, what);
        report.detail = Some(detail.to_owned());
        report.hint = Some("End transactions before waiting for what is outside of the database.".to_owned());
        return report;
    }
    let (code, what) = if reason == Ending::IdleInTransaction as u32 {
        (
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            "terminating connection due to idle-in-transaction timeout",
        )
    } else if reason == Ending::Authentication as u32 {
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "canceling authentication due to timeout")
    } else {
        (SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
    };
    Report::fatal(code, what)
}
