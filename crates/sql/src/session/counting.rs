//! Counting the runs of statements: how long they take, and how they end.

use super::Session;
use crate::compiled::{Action, Held};
use crate::counts::Ended;
use scaledb_engine::Engine;
use scaledb_parse::utility::Utility;
use scaledb_types::SqlError;
use std::time::Instant;

/// When a run began, and the session's repeated runs before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    at: Instant,
    reruns: u64,
}

/// A COPY FROM STDIN that has begun.
pub(super) struct Later {
    compiled: Held,
    begun: Begun,
}

impl<E: Engine> Session<E> {
    /// A run begins; `None` if it is not counted. What EXECUTE runs is counted, and not EXECUTE.
    #[inline]
    pub(super) fn count_begin(&self, compiled: &Held) -> Option<Begun> {
        let execute = matches!(compiled.action, Action::Utility(Utility::Execute { .. }));
        let counted = self.tracks && !execute;
        counted.then(|| Begun { at: Instant::now(), reruns: self.reruns })
    }

    /// The run has ended, with so many rows.
    #[inline]
    pub(super) fn count_end(&self, compiled: &Held, begun: Begun, end: Result<u64, &SqlError>) {
        let ended = Ended {
            nanos: u64::try_from(begun.at.elapsed().as_nanos()).unwrap_or(u64::MAX),
            rows: end.unwrap_or(0),
            reruns: self.reruns - begun.reruns,
            error: end.err().map(SqlError::code),
        };
        self.counts.ran(compiled, &ended);
    }

    /// The run goes on with the data that the client sends.
    pub(super) fn count_later(&mut self, compiled: &Held, begun: Begun) {
        self.counted_later = Some(Later { compiled: compiled.clone(), begun });
    }

    /// The data of a COPY have ended.
    pub(super) fn count_copy(&mut self, end: Result<u64, &SqlError>) {
        self.log_copy_end(end.err());
        if let Some(Later { compiled, begun }) = self.counted_later.take() {
            self.count_end(&compiled, begun, end);
        }
    }
}
