//! Allocations that fail where a test wants them to. Builds without debug assertions do not look.

use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Allocations to come that succeed; [`NEVER`]: all.
pub(crate) struct Faults {
    left: AtomicU64,
    /// How many fail then.
    fails: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Faults {
    pub(crate) fn new() -> Self {
        Self { left: AtomicU64::new(NEVER), fails: AtomicU64::new(0) }
    }

    pub(crate) fn set(&self, after: u64, fails: u64) {
        self.fails.store(fails, Ordering::SeqCst);
        self.left.store(after, Ordering::SeqCst);
    }

    /// Ends the faults. Returns whether there was one.
    pub(crate) fn clear(&self) -> bool {
        self.left.swap(NEVER, Ordering::SeqCst) == 0
    }

    /// Whether this allocation is to fail.
    #[inline]
    pub(crate) fn hit(&self) -> bool {
        cfg!(debug_assertions) && !scaledb_sync::MODEL && self.count()
    }

    fn count(&self) -> bool {
        // set before the allocations that a test means
        if self.left.load(Ordering::Relaxed) == NEVER {
            return false;
        }
        let one_less = |left: u64| (left != 0 && left != NEVER).then(|| left - 1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) != Err(0) {
            return false;
        }
        let fails = |fails: u64| fails.checked_sub(1);
        self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok()
    }
}
