//! What a running transaction takes of the budget of all transactions.

use scaledb_base::Result;
use scaledb_memory::{Domain, Private};
use scaledb_sync::Arc;

/// A transaction accounts for its memory in steps of so many words: a MiB.
const STEP: usize = 1 << 17;

/// The memory of one transaction that has been accounted for.
pub struct Account {
    private: Private,
    /// How large the transaction may grow, in words, before it accounts for its memory again.
    until: usize,
}

impl Account {
    /// That of a transaction which has remembered nothing.
    pub fn new(domain: Arc<Domain>) -> Self {
        Self { private: Private::new(domain), until: STEP }
    }

    /// The transaction has ended.
    #[inline]
    pub fn clear(&mut self) {
        self.private.clear();
        self.until = STEP;
    }

    /// Before a write, a delete or another one: the transaction has about `words` now. If that is a step more than the
    /// last time, it takes what it has, `bytes`, from the budget.
    ///
    /// # Errors
    /// [`Error::TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    #[inline]
    pub fn grow(&mut self, words: usize, bytes: impl FnOnce() -> usize, deletes: bool) -> Result<()> {
        if words <= self.until {
            return Ok(());
        }
        self.private.raise_to(bytes(), deletes)?;
        self.until = words + STEP;
        Ok(())
    }
}
