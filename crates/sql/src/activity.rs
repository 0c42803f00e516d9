//! The connected sessions: what `pg_stat_activity` shows.

use crate::api::Status;
use crate::trace::Number;
use scaledb_base::WorkerId;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

const IDLE: u32 = 0;
const IN_TRANSACTION: u32 = 1;
const FAILED: u32 = 2;
const ACTIVE: u32 = 3;

/// What a session does. It alone writes it, with every statement, so that there is no lock and no clock here: the parts
/// are read one by one, and may be of two statements.
#[derive(Debug, Default)]
pub(crate) struct Activity(CachePadded<Doing>);

#[derive(Debug, Default)]
struct Doing {
    state: AtomicU32,
    statement: AtomicU64,
    /// As `timestamptz`, its bits.
    statement_start: AtomicU64,
    transaction_start: AtomicU64,
    /// One more than the number of the worker that a transaction has; 0 without one.
    worker: AtomicU32,
}

/// What a session did at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) state: &'static str,
    /// The statement that runs, or was the last to; 0: none yet.
    pub(crate) statement: Number,
    pub(crate) statement_start: Option<i64>,
    pub(crate) transaction_start: Option<i64>,
}

impl Activity {
    /// A statement begins; both times are `timestamptz`.
    #[inline]
    pub(crate) fn begin(&self, statement_start: i64, transaction_start: i64) {
        // for people to look at: nothing is published by it
        self.0.state.store(ACTIVE, Ordering::Relaxed);
        self.0.statement_start.store(statement_start as u64, Ordering::Relaxed);
        self.0.transaction_start.store(transaction_start as u64, Ordering::Relaxed);
    }

    /// Which one it is.
    #[inline]
    pub(crate) fn run(&self, statement: Number) {
        self.0.statement.store(statement, Ordering::Relaxed); // as in `begin`
    }

    /// A transaction of the engine begins.
    #[inline]
    pub(crate) fn take(&self, worker: WorkerId) {
        self.0.worker.store(u32::from(worker.0) + 1, Ordering::Relaxed); // as in `begin`
    }

    /// The transaction has ended; the worker is given back after this call.
    #[inline]
    pub(crate) fn give(&self) {
        self.0.worker.store(0, Ordering::Relaxed); // as in `begin`
    }

    /// The worker of its transaction.
    pub(crate) fn worker(&self) -> Option<WorkerId> {
        let worker = self.0.worker.load(Ordering::Relaxed); // as in `begin`
        u8::try_from(worker.checked_sub(1)?).ok().map(WorkerId)
    }

    /// The transaction has ended.
    #[inline]
    pub(crate) fn rest(&self, status: Status) {
        let state = match status {
            Status::Idle => IDLE,
            Status::InTransaction => IN_TRANSACTION,
            Status::Failed => FAILED,
        };
        self.0.state.store(state, Ordering::Relaxed); // as in `begin`
    }

    pub(crate) fn look(&self) -> Seen {
        // as in `begin`: the parts may be of two statements
        let state = self.0.state.load(Ordering::Relaxed);
        let time = |time: &AtomicU64| Some(time.load(Ordering::Relaxed) as i64).filter(|time| *time != 0);
        Seen {
            state: match state {
                ACTIVE => "active",
                IN_TRANSACTION => "idle in transaction",
                FAILED => "idle in transaction (aborted)",
                _ => "idle",
            },
            statement: self.0.statement.load(Ordering::Relaxed), // as in `begin`
            statement_start: time(&self.0.statement_start),
            transaction_start: time(&self.0.transaction_start).filter(|_| state != IDLE),
        }
    }
}

/// A session, as others see it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) user: String,
    /// The database that it is in: oid and name.
    pub(crate) database: (u32, String),
    pub(crate) application: String,
    /// When it began, as a `timestamptz`.
    pub(crate) begun: i64,
    pub(crate) activity: Arc<Activity>,
}

/// The sessions of a database, by their numbers. Written when a session begins, ends or changes its settings.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<u32, Known>>);

impl Sessions {
    /// A session begins. It says what it does there.
    pub(crate) fn enter(&self, id: u32, user: &str, database: (u32, &str)) -> Arc<Activity> {
        let activity = Arc::<Activity>::default();
        let known = Known {
            user: user.to_owned(),
            database: (database.0, database.1.to_owned()),
            application: String::new(),
            begun: scaledb_types::zone::clock(),
            activity: activity.clone(),
        };
        self.0.lock().insert(id, known);
        activity
    }

    /// Notes what an application calls itself.
    pub(crate) fn call(&self, id: u32, application: &str) {
        if let Some(known) = self.0.lock().get_mut(&id)
            && known.application != application
        {
            application.clone_into(&mut known.application);
        }
    }

    pub(crate) fn leave(&self, id: u32) {
        self.0.lock().remove(&id);
    }

    pub(crate) fn all(&self) -> Vec<(u32, Known)> {
        self.0.lock().iter().map(|(&id, known)| (id, known.clone())).collect()
    }
}
