//! Settings that the server has for all sessions, those that are there included.

use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;

/// Names and values. Written when the server starts, and when it reads its configuration again.
#[derive(Debug, Default)]
pub(crate) struct Presets {
    /// Counts changes: sessions compare it at each batch of statements.
    generation: AtomicU64,
    values: Mutex<Vec<(&'static str, String)>>,
}

impl Presets {
    pub(crate) fn set(&self, values: Vec<(&'static str, String)>) {
        let mut now = self.values.lock();
        *now = values;
        self.generation.fetch_add(1, Ordering::Relaxed); // the lock publishes the values
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed) // a session that sees a new one takes the lock
    }

    /// The values, and their generation.
    pub(crate) fn get(&self) -> (u64, Vec<(&'static str, String)>) {
        let values = self.values.lock();
        (self.generation(), values.clone())
    }
}
