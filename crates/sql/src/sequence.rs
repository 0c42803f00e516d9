//! Sequences: values are given outside of transactions.
//!
//! A sequence gives values from memory, and notes in the engine how far it may go before it must note again. No value
//! is given before its note is durable, whatever becomes of the transaction that asked: a client may have used the
//! value elsewhere. So a value costs a lock, and after a crash some are skipped. A sequence from which many are taken
//! notes further ahead, so that loading rows does not wait for the disk at every 32nd.
//!
//! Nodes of a cluster share the notes: each takes values behind those that any has taken, and gives them from its own
//! memory, as sessions of PostgreSQL do with CACHE. A `setval` is for what is taken from then on.

use scaledb_catalog::{SequenceDesc, SequenceValue, Store};
use scaledb_engine::{Engine, Worker};
use scaledb_sync::lock::Mutex;
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Values that are given between two notes: at first, and of a sequence in demand.
const AHEAD: (i64, i64) = (32, 8192);

/// A sequence that needs the next note within this time notes twice as far ahead.
const SOON: Duration = Duration::from_secs(1);

/// How a sequence goes on: its increment, and its least and greatest value. ALTER SEQUENCE changes them.
type Steps = (i64, i64, i64);

fn steps_of(desc: &SequenceDesc) -> Steps {
    (desc.increment, desc.min, desc.max)
}

/// A sequence in memory.
#[derive(Debug)]
struct SequenceState {
    /// The last value given, or the first to be given.
    last: i64,
    called: bool,
    /// Values that may be given before the next note.
    left: i64,
    /// The steps of the last note: a value of other ones needs a note of its own.
    steps: Steps,
    /// How many the last note was for, and when it was made.
    noted: Option<(i64, Instant)>,
}

impl SequenceState {
    fn new(value: SequenceValue, desc: &SequenceDesc) -> Self {
        Self { last: value.last, called: value.called, left: 0, steps: steps_of(desc), noted: None }
    }

    /// How many values the next note is for.
    fn ahead(&self) -> i64 {
        match self.noted {
            Some((count, when)) if when.elapsed() < SOON => (count * 2).clamp(AHEAD.0, AHEAD.1),
            _ => AHEAD.0,
        }
    }
}

/// The sequences of a database that have been used.
#[derive(Debug)]
pub(crate) struct Sequences<W> {
    states: Mutex<HashMap<u32, Arc<Mutex<SequenceState>>>>,
    /// Reads and writes notes. Its own: the transactions that ask for values hold the others.
    worker: Mutex<W>,
}

impl<W: Worker> Sequences<W> {
    pub(crate) fn new(worker: W) -> Self {
        Self { states: Mutex::new(HashMap::new()), worker: Mutex::new(worker) }
    }

    fn state(&self, store: &Store, desc: &SequenceDesc) -> Result<Arc<Mutex<SequenceState>>> {
        if let Some(state) = self.states.lock().get(&desc.value_id()) {
            return Ok(state.clone());
        }
        let noted = store.sequence(&mut *self.worker.lock(), desc.value_id()).map_err(store_error)?;
        let state =
            SequenceState::new(noted.unwrap_or(SequenceValue { last: desc.start, called: false }), desc);
        let mut all = self.states.lock();
        Ok(all.entry(desc.value_id()).or_insert_with(|| Arc::new(Mutex::new(state))).clone())
    }

    /// Writes a note, and waits until it is durable.
    fn note<E: Engine<Worker = W>>(
        &self,
        store: &Store,
        engine: &E,
        id: u32,
        value: SequenceValue,
    ) -> Result<()> {
        let depends_on = {
            let mut worker = self.worker.lock();
            store.set_sequence(&mut *worker, id, value).map_err(store_error)?;
            worker.depends_on()
        };
        engine.wait_durable(depends_on).map_err(crate::error::not_durable)
    }

    /// Takes values behind those that any node has taken: the first, and how many.
    fn take<E: Engine<Worker = W>>(
        &self,
        store: &Store,
        engine: &E,
        desc: &SequenceDesc,
        ahead: i64,
    ) -> Result<(i64, i64)> {
        let mut taken = (0, 0);
        let depends_on = {
            let mut worker = self.worker.lock();
            let noted = store.advance_sequence(&mut *worker, desc.value_id(), |noted| {
                let first = match noted {
                    Some(SequenceValue { last, called: true }) => step(desc, last)?,
                    Some(SequenceValue { last, called: false }) => last,
                    None => desc.start,
                };
                let (far, count) = ahead_of(desc, first, ahead);
                taken = (first, count);
                Ok(SequenceValue { last: far, called: true })
            });
            noted.map_err(store_error)??;
            worker.depends_on()
        };
        engine.wait_durable(depends_on).map_err(crate::error::not_durable)?;
        Ok(taken)
    }

    /// The next value.
    ///
    /// # Errors
    /// 2200H at the end.
    pub(crate) fn next<E: Engine<Worker = W>>(
        &self,
        store: &Store,
        engine: &E,
        desc: &SequenceDesc,
    ) -> Result<i64> {
        let state = self.state(store, desc)?;
        let mut state = state.lock();
        if state.steps != steps_of(desc) {
            // what was noted for other steps says nothing about these
            (state.left, state.steps) = (0, steps_of(desc));
        }
        if state.left == 0 && engine.is_shared() {
            let ahead = state.ahead();
            let (first, count) = self.take(store, engine, desc, ahead)?;
            let noted = Some((ahead, Instant::now()));
            *state = SequenceState { last: first, called: false, left: count, noted, ..*state };
        }
        let next = if state.called { step(desc, state.last)? } else { state.last };
        if state.left == 0 {
            let ahead = state.ahead();
            let (far, count) = ahead_of(desc, next, ahead);
            self.note(store, engine, desc.value_id(), SequenceValue { last: far, called: true })?;
            state.left = count;
            state.noted = Some((ahead, Instant::now()));
        }
        state.left -= 1;
        state.last = next;
        state.called = true;
        Ok(next)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// 22003.
    pub(crate) fn set<E: Engine<Worker = W>>(
        &self,
        store: &Store,
        engine: &E,
        desc: &SequenceDesc,
        value: i64,
        called: bool,
    ) -> Result<()> {
        if !(desc.min..=desc.max).contains(&value) {
            return Err(SqlError::out_of_range(format!(
                "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                desc.name, desc.min, desc.max
            )));
        }
        let state = self.state(store, desc)?;
        let mut state = state.lock();
        let value = SequenceValue { last: value, called };
        self.note(store, engine, desc.value_id(), value)?;
        *state = SequenceState::new(value, desc);
        Ok(())
    }

    /// Forgets the values of sequences that have been dropped or restarted.
    pub(crate) fn forget(&self, store: &Store, ids: impl Iterator<Item = u32>) {
        for id in ids {
            self.states.lock().remove(&id);
            // a note that stays is never read: no sequence gets its number again
            let _ = store.forget_sequence(&mut *self.worker.lock(), id);
        }
    }

    /// The last value, and whether it was given.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn peek(&self, store: &Store, desc: &SequenceDesc) -> Result<(i64, bool)> {
        let state = self.state(store, desc)?;
        let state = state.lock();
        Ok((state.last, state.called))
    }
}

/// How far the values from `next` on go, if there are to be `ahead` of them; and how many there are.
fn ahead_of(desc: &SequenceDesc, next: i64, ahead: i64) -> (i64, i64) {
    let (mut far, mut count) = (next, 1);
    while count < ahead
        && let Some(further) = far.checked_add(desc.increment)
        && (desc.min..=desc.max).contains(&further)
    {
        far = further;
        count += 1;
    }
    (far, count)
}

fn step(desc: &SequenceDesc, last: i64) -> Result<i64> {
    match last.checked_add(desc.increment).filter(|next| (desc.min..=desc.max).contains(next)) {
        Some(next) => Ok(next),
        None if desc.cycle => Ok(if desc.increment > 0 { desc.min } else { desc.max }),
        None => {
            let (end, value) = if desc.increment > 0 { ("maximum", desc.max) } else { ("minimum", desc.min) };
            let what = format!("nextval: reached {end} value of sequence \"{}\" ({value})", desc.name);
            Err(SqlError::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, what))
        }
    }
}

/// An error of the catalog's store.
pub(crate) fn store_error(error: scaledb_catalog::Error) -> SqlError {
    match error {
        scaledb_catalog::Error::Engine(error) => crate::error::plain(error),
        other => SqlError::new(SqlState::DATA_CORRUPTED, other.to_string()),
    }
}
