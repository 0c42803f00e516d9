//! Contention control: the backoff of `scaledb_kit`, and priority for a transaction that keeps losing.

use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::{CachePadded, thread};
use std::time::Duration;

/// A transaction that has lost this often asks for priority.
pub(crate) const PATIENCE: u32 = 12;

/// How long others wait, at most, for a transaction with priority.
const WAY: Duration = Duration::from_millis(500);

/// Priority among commits.
pub(crate) struct Contention {
    /// A transaction has priority: other commits wait.
    privileged: CachePadded<AtomicBool>,
    way: u64,
}

impl Contention {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { privileged: CachePadded(AtomicBool::new(false)), way: clock.ticks(WAY) }
    }

    /// Waits while another transaction has priority, for a bounded time.
    #[inline]
    pub(crate) fn give_way(&self, clock: &Clock) {
        // a hint: a worker that misses it does one more commit before it waits
        if self.privileged.load(Ordering::Relaxed) {
            self.wait_for_privileged(clock);
        }
    }

    #[cold]
    fn wait_for_privileged(&self, clock: &Clock) {
        let end = clock.now() + self.way;
        // a hint, as in `give_way`
        while self.privileged.load(Ordering::Relaxed) && clock.now() < end {
            thread::yield_now();
        }
    }

    /// Takes the priority, unless another worker has it.
    pub(crate) fn take(&self) -> bool {
        self.privileged.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives the priority back.
    pub(crate) fn release(&self) {
        self.privileged.store(false, Ordering::Release);
    }
}
