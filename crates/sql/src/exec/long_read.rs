//! Runs that are given up because they read much: the session runs the statement again in a snapshot
//! (`session::long_read`).

use super::Exec;
use super::lock::{GivenUp, given_up};
use scaledb_engine::Worker;
use scaledb_types::SqlError;

/// Rows that a statement may touch before it is one that reads much. Beside them the begin of a snapshot, some 50 us,
/// is little.
pub(crate) const MUCH: u64 = 1_024;

impl<W: Worker> Exec<'_, W> {
    /// Gives the run up as soon as it has read much.
    pub(crate) fn watch_reads(&mut self) {
        self.much = MUCH;
        self.last_tick = MUCH;
    }

    /// Gives the run up when its rows would have to be sent before it has ended.
    pub(crate) fn watch_rows(&mut self) {
        self.much = u64::MAX - 1;
    }

    /// Whether the run may still be given up because it reads much.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.much != u64::MAX
    }

    /// Rows that were touched.
    pub(crate) fn touched(&self) -> u64 {
        self.ticks
    }

    /// Gives the run up: it reads much.
    #[cold]
    pub(crate) fn reads_much(&mut self) -> SqlError {
        self.locking.given_up = Some(GivenUp::ReadsMuch);
        given_up()
    }
}
