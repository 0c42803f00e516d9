//! Workers of the engine, lent to sessions.
//!
//! An engine has a bounded number of workers, and a database may have more sessions. A session keeps its
//! worker between transactions in a place where others find it: taking it from there and putting it back
//! costs an uncontended lock.

use scaledb_base::Error;
use scaledb_engine::{Engine, Worker};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a session leaves its worker between transactions.
#[derive(Debug)]
pub(crate) struct Place<W>(Mutex<Option<W>>);

/// The longest wait for a worker of another session.
const PATIENCE: Duration = Duration::from_secs(10);

/// The workers of a database.
#[derive(Debug)]
pub(crate) struct Workers<W> {
    places: Mutex<Vec<Arc<Place<W>>>>,
    /// Workers of sessions that have ended.
    idle: Mutex<Vec<W>>,
    returned: Condvar,
}

impl<W: Worker> Workers<W> {
    pub(crate) fn new() -> Self {
        Self { places: Mutex::new(Vec::new()), idle: Mutex::new(Vec::new()), returned: Condvar::new() }
    }

    /// A place for a new session.
    pub(crate) fn place(&self) -> Arc<Place<W>> {
        let place = Arc::new(Place(Mutex::new(None)));
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
    pub(crate) fn take<E: Engine<Worker = W>>(&self, place: &Place<W>, engine: &E) -> Result<W> {
        // the lock is released before others' places are looked at, and this one among them
        let own = place.0.lock().take();
        own.map_or_else(|| self.find(engine), Ok)
    }

    #[cold]
    fn find<E: Engine<Worker = W>>(&self, engine: &E) -> Result<W> {
        let mut deadline = None;
        loop {
            if let Some(worker) = self.idle.lock().pop() {
                return Ok(worker);
            }
            match engine.worker() {
                Ok(worker) => return Ok(worker),
                Err(Error::TooManyWorkers { .. }) => {}
                Err(error) => return Err(crate::error::plain(error)),
            }
            if let Some(worker) = self.steal() {
                return Ok(worker);
            }
            let now = Instant::now();
            if now > *deadline.get_or_insert(now + PATIENCE) {
                return Err(SqlError::new(
                    SqlState::TOO_MANY_CONNECTIONS,
                    "all workers are in transactions of other sessions",
                )
                .hint("End transactions that are idle, or use fewer connections."));
            }
            let guard = self.idle.lock();
            drop(self.returned.wait_timeout(guard, Duration::from_millis(1)));
        }
    }

    fn steal(&self) -> Option<W> {
        let places: Vec<_> = self.places.lock().clone();
        places.iter().find_map(|place| place.0.lock().take())
    }

    /// Ends an idle worker, to make room for one that the engine needs. False if there is none.
    pub(crate) fn discard_one(&self) -> bool {
        let idle = self.idle.lock().pop();
        idle.or_else(|| self.steal()).is_some()
    }

    /// Puts a worker back after a transaction.
    #[inline]
    pub(crate) fn give(&self, place: &Place<W>, worker: W) {
        *place.0.lock() = Some(worker);
    }

    /// A session ends: its worker goes to others.
    pub(crate) fn leave(&self, place: &Place<W>) {
        if let Some(worker) = place.0.lock().take() {
            self.idle.lock().push(worker);
            self.returned.notify_all();
        }
    }
}
