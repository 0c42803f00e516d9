//! What each worker counts of its transactions.

use scaledb_base::ConflictKind;
use scaledb_engine::Stats;
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Counters of one worker; it alone writes them.
#[derive(Default)]
pub struct Counters {
    /// Committed transactions, read-only ones included.
    pub commits: AtomicU64,
    /// Aborts by conflict, in the order of [`ConflictKind::ALL`].
    pub conflicts: [AtomicU64; ConflictKind::ALL.len()],
    /// Transactions that ended otherwise.
    pub rollbacks: AtomicU64,
}

impl Counters {
    pub(crate) fn aborts(&self) -> u64 {
        self.conflicts.iter().map(load).sum()
    }

    /// A number that changes when transactions end.
    pub(crate) fn events(&self) -> u64 {
        load(&self.commits) + load(&self.rollbacks) + self.aborts()
    }

    pub(crate) fn add_to(&self, stats: &mut Stats) {
        stats.commits += load(&self.commits);
        stats.rollbacks += load(&self.rollbacks);
        for (sum, conflicts) in stats.conflicts.iter_mut().zip(&self.conflicts) {
            *sum += load(conflicts);
        }
    }
}

/// Adds to a counter that only this thread writes, without a locked instruction.
#[inline]
pub fn count(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed); // a statistic
}

/// What a counter is now, about.
pub fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed) // a statistic
}
