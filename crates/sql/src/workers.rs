//! Workers of the engine, lent to sessions.
//!
//! An engine has a bounded number of workers, and a database may have more sessions. A session keeps its
//! worker between transactions in a place where others find it: taking it from there and putting it back
//! costs an uncontended lock. A statement that finds none waits, and is handed the next one that is given back. Workers
//! are boxed: they move several times in each transaction.

use crate::patience::WORKER_WAIT;
use scaledb_base::Error;
use scaledb_base::limits::MAX_WORKERS;
use scaledb_engine::{Engine, Worker};
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a session leaves its worker between transactions.
#[derive(Debug)]
pub(crate) struct WorkerSlot<W>(Mutex<Option<Box<W>>>);

/// Sessions leave so many workers to what else needs them: checkpoints, new tables, sequences, the engine's
/// background. Without that, a database full of sessions would never write a checkpoint.
pub(crate) const SPARED: usize = 16;

/// The workers of a database.
#[derive(Debug)]
pub(crate) struct Workers<W> {
    places: Mutex<Vec<Arc<WorkerSlot<W>>>>,
    /// Workers of sessions that have ended.
    idle: Mutex<Vec<Box<W>>>,
    returned: Condvar,
    /// Sessions that wait for a worker.
    waiting: AtomicUsize,
    /// Workers that there are.
    made: AtomicUsize,
}

impl<W: Worker> Workers<W> {
    pub(crate) fn new() -> Self {
        Self {
            places: Mutex::new(Vec::new()),
            idle: Mutex::new(Vec::new()),
            returned: Condvar::new(),
            waiting: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
        }
    }

    /// A place for a new session.
    pub(crate) fn place(&self) -> Arc<WorkerSlot<W>> {
        let place = Arc::new(WorkerSlot(Mutex::new(None)));
        let mut places = self.places.lock();
        places.retain(|place| Arc::strong_count(place) > 1);
        places.push(place.clone());
        place
    }

    /// A worker for a transaction: the session's own, an idle one, a new one, or another session's.
    ///
    /// # Errors
    /// 53300 if all are at work for too long.
    #[inline]
    pub(crate) fn take<E: Engine<Worker = W>>(&self, place: &WorkerSlot<W>, engine: &E) -> Result<Box<W>> {
        // the lock is released before others' places are looked at, and this one among them
        let own = place.0.lock().take();
        own.map_or_else(|| self.find(engine), Ok)
    }

    #[cold]
    fn find<E: Engine<Worker = W>>(&self, engine: &E) -> Result<Box<W>> {
        if let Some(worker) = self.idle.lock().pop() {
            return Ok(worker);
        }
        if let Some(worker) = self.make(engine)? {
            return Ok(worker);
        }
        // before places are looked at, under their locks: a thread that gives a worker back after that look sees it
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let found = self.wait();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        found.ok_or_else(|| {
            SqlError::new(SqlState::TOO_MANY_CONNECTIONS, "all workers are in transactions of other sessions")
                .hint("End transactions that are idle, or use fewer connections.")
        })
    }

    /// A worker for what can do without: an idle one, or a new one.
    pub(crate) fn spare<E: Engine<Worker = W>>(&self, engine: &E) -> Option<Box<W>> {
        let idle = self.idle.lock().pop();
        idle.or_else(|| self.make(engine).ok().flatten())
    }

    /// Puts it back.
    pub(crate) fn give_spare(&self, worker: Box<W>) {
        self.idle.lock().push(worker);
        self.returned.notify_one();
    }

    /// A new worker, if there may be one more.
    fn make<E: Engine<Worker = W>>(&self, engine: &E) -> Result<Option<Box<W>>> {
        // counts; the engine has the last word
        if self.made.fetch_add(1, Ordering::Relaxed) < MAX_WORKERS - SPARED {
            match engine.worker() {
                Ok(worker) => return Ok(Some(Box::new(worker))),
                Err(Error::TooManyWorkers { .. }) => {}
                Err(error) => {
                    self.made.fetch_sub(1, Ordering::Relaxed);
                    return Err(crate::error::plain(error));
                }
            }
        }
        self.made.fetch_sub(1, Ordering::Relaxed); // a count
        Ok(None)
    }

    /// Waits for a worker that another session gives back.
    fn wait(&self) -> Option<Box<W>> {
        let deadline = Instant::now() + WORKER_WAIT;
        loop {
            if let Some(worker) = self.steal() {
                return Some(worker);
            }
            let mut idle = self.idle.lock();
            if let Some(worker) = idle.pop() {
                return Some(worker);
            }
            if Instant::now() > deadline {
                return None;
            }
            // the timeout is for the deadline only: giving a worker back wakes a waiter
            idle = self.returned.wait_timeout(idle, Duration::from_millis(100));
            if let Some(worker) = idle.pop() {
                return Some(worker);
            }
        }
    }

    fn steal(&self) -> Option<Box<W>> {
        let places: Vec<_> = self.places.lock().clone();
        places.iter().find_map(|place| place.0.lock().take())
    }

    /// Ends an idle worker, to make room for one that the engine needs. False if there is none.
    pub(crate) fn discard_one(&self) -> bool {
        let idle = self.idle.lock().pop();
        let discarded = idle.or_else(|| self.steal()).is_some();
        if discarded {
            self.made.fetch_sub(1, Ordering::Relaxed); // a count
        }
        discarded
    }

    /// Puts a worker back after a transaction.
    #[inline]
    pub(crate) fn give(&self, place: &WorkerSlot<W>, worker: Box<W>) {
        *place.0.lock() = Some(worker);
        // after the place's lock was held: a worker that found nothing there has been counted
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.hand_over(place);
        }
    }

    /// Gives the session's worker to one that waits.
    #[cold]
    fn hand_over(&self, place: &WorkerSlot<W>) {
        // the lock is released before the other is taken
        let worker = place.0.lock().take();
        if let Some(worker) = worker {
            self.idle.lock().push(worker);
            self.returned.notify_one();
        }
    }

    /// A session ends: its worker goes to others.
    pub(crate) fn leave(&self, place: &WorkerSlot<W>) {
        self.hand_over(place);
    }
}
