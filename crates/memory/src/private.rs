//! What transactions remember until they commit lies in memory of their own, and is bounded by a budget beside that
//! of rows and indexes: a third of that; half of it for what deletes, so that there is a way out when others have used
//! theirs up.

use crate::domain::Domain;
use scaledb_base::{Error, Result};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Budgets are at least so large.
const LEAST: u64 = 32 << 20;

/// Bytes of all transactions, and their limit.
pub(crate) struct PrivateBudget {
    used: AtomicU64,
    growth: u64,
    deletes: u64,
}

impl PrivateBudget {
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            used: AtomicU64::new(0),
            growth: (budget / 3).max(LEAST),
            deletes: (budget / 2).max(2 * LEAST),
        }
    }
}

/// What one transaction has taken. It says so now and then, in large steps, so that small transactions write nothing
/// that is shared.
pub struct Private {
    domain: Arc<Domain>,
    bytes: u64,
}

impl Private {
    /// Nothing yet.
    pub fn new(domain: Arc<Domain>) -> Self {
        Self { domain, bytes: 0 }
    }

    /// The transaction has `bytes` now, which is not less than before; for another delete, or for something else.
    ///
    /// # Errors
    /// [`Error::TransactionsTooLarge`]: all transactions together would have too much.
    #[cold]
    pub fn raise_to(&mut self, bytes: usize, deletes: bool) -> Result<()> {
        let more = (bytes as u64).saturating_sub(self.bytes);
        let budget = self.domain.private();
        let before = budget.used.fetch_add(more, Ordering::Relaxed); // only a sum
        let limit = if deletes { budget.deletes } else { budget.growth };
        if before.saturating_add(more) > limit {
            budget.used.fetch_sub(more, Ordering::Relaxed); // only a sum
            return Err(Error::TransactionsTooLarge { own: self.bytes, limit });
        }
        self.bytes += more;
        Ok(())
    }

    /// The transaction has nothing any more.
    #[inline]
    pub fn clear(&mut self) {
        if self.bytes > 0 {
            self.domain.private().used.fetch_sub(self.bytes, Ordering::Relaxed); // only a sum
            self.bytes = 0;
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.clear();
    }
}
