//! Sequences: values are given outside of transactions.
//!
//! A sequence gives values from memory, and notes in the engine how far it may go before it must note again. So a
//! value costs a lock, and after a crash some are skipped.

use crate::database::Shared;
use scaledb_catalog::{SequenceDesc, SequenceValue};
use scaledb_engine::Engine;
use scaledb_sync::lock::Mutex;
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;

/// Values that are given between two notes.
const AHEAD: i64 = 32;

/// A sequence in memory.
#[derive(Debug)]
struct State {
    /// The last value given, or the first to be given.
    last: i64,
    called: bool,
    /// Values that may be given before the next note.
    left: i64,
}

/// The sequences of a database that have been used.
#[derive(Debug, Default)]
pub(crate) struct Sequences(Mutex<HashMap<u32, Arc<Mutex<State>>>>);

impl Sequences {
    fn state<E: Engine>(&self, shared: &Shared<E>, desc: &SequenceDesc) -> Result<Arc<Mutex<State>>> {
        if let Some(state) = self.0.lock().get(&desc.oid) {
            return Ok(state.clone());
        }
        let place = shared.workers.place();
        let mut worker = shared.workers.take(&place, &shared.engine)?;
        let noted = shared.store.sequence(&mut worker, desc.oid);
        shared.workers.give(&place, worker);
        shared.workers.leave(&place);
        let noted = noted.map_err(store_error)?.unwrap_or(SequenceValue { last: desc.start, called: false });
        let state = State { last: noted.last, called: noted.called, left: 0 };
        let mut all = self.0.lock();
        Ok(all.entry(desc.oid).or_insert_with(|| Arc::new(Mutex::new(state))).clone())
    }

    /// The next value.
    ///
    /// # Errors
    /// 2200H at the end.
    pub(crate) fn next<E: Engine>(&self, shared: &Shared<E>, desc: &SequenceDesc) -> Result<i64> {
        let state = self.state(shared, desc)?;
        let mut state = state.lock();
        let next = if state.called { step(desc, state.last)? } else { state.last };
        if state.left == 0 {
            // as far as the values ahead go
            let mut far = next;
            let mut count = 1;
            while count < AHEAD
                && let Some(further) = far.checked_add(desc.increment)
                && (desc.min..=desc.max).contains(&further)
            {
                far = further;
                count += 1;
            }
            note(shared, desc.oid, SequenceValue { last: far, called: true })?;
            state.left = count;
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
    pub(crate) fn set<E: Engine>(
        &self,
        shared: &Shared<E>,
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
        let state = self.state(shared, desc)?;
        let mut state = state.lock();
        note(shared, desc.oid, SequenceValue { last: value, called })?;
        *state = State { last: value, called, left: 0 };
        Ok(())
    }

    /// The last value, and whether it was given.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn peek<E: Engine>(&self, shared: &Shared<E>, desc: &SequenceDesc) -> Result<(i64, bool)> {
        let state = self.state(shared, desc)?;
        let state = state.lock();
        Ok((state.last, state.called))
    }
}

fn step(desc: &SequenceDesc, last: i64) -> Result<i64> {
    match last.checked_add(desc.increment).filter(|next| (desc.min..=desc.max).contains(next)) {
        Some(next) => Ok(next),
        None if desc.cycle => Ok(if desc.increment > 0 { desc.min } else { desc.max }),
        None => {
            let (end, value) = if desc.increment > 0 { ("maximum", desc.max) } else { ("minimum", desc.min) };
            let what = format!("nextval: reached {end} value of sequence \"{}\" ({value})", desc.name);
            Err(SqlError::new(SqlState::new(b"2200H"), what))
        }
    }
}

fn note<E: Engine>(shared: &Shared<E>, oid: u32, value: SequenceValue) -> Result<()> {
    let place = shared.workers.place();
    let mut worker = shared.workers.take(&place, &shared.engine)?;
    let noted = shared.store.set_sequence(&mut worker, oid, value);
    shared.workers.give(&place, worker);
    shared.workers.leave(&place);
    noted.map_err(store_error)
}

/// An error of the catalog's store.
pub(crate) fn store_error(error: scaledb_catalog::Error) -> SqlError {
    match error {
        scaledb_catalog::Error::Engine(error) => crate::error::plain(error),
        other => SqlError::new(SqlState::DATA_CORRUPTED, other.to_string()),
    }
}
