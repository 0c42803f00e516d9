//! Cancelling: which batch of statements runs, and which one is to stop.
//!
//! A batch is what one simple query asks for, or the extended messages up to a Sync. A cancel request names the batch
//! by its number; numbers only grow, so that a request that comes late, when its batch has ended, stops nothing.

use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// The numbers of a session's batches.
#[derive(Debug)]
struct Numbers {
    /// The batch that runs, or the last one that did. Only the session writes it.
    running: AtomicU64,
    /// The newest batch that was asked to stop. `stopped <= running`.
    stopped: AtomicU64,
}

/// Cancels the statements that a session runs, from another thread.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Numbers>);

impl Cancel {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Numbers { running: AtomicU64::new(1), stopped: AtomicU64::new(0) }))
    }

    /// The statement at hand fails with 57014. Nothing happens if the session is idle.
    pub fn cancel(&self) {
        self.stop(self.running());
    }

    /// The number of the batch that runs, or of the last one that did.
    pub fn running(&self) -> u64 {
        // pairs with `advance`
        self.0.running.load(Ordering::Acquire)
    }

    /// The batch with this number fails with 57014, if it still runs. No other does.
    pub fn stop(&self, number: u64) {
        // pairs with nothing: the session compares numbers. An older request does not hide a newer one.
        self.0.stopped.fetch_max(number, Ordering::Relaxed);
    }

    /// The next batch begins.
    pub(crate) fn advance(&self) {
        // only the session writes it; a thread that sees the number sees what came before the batch
        let number = self.0.running.load(Ordering::Relaxed) + 1;
        self.0.running.store(number, Ordering::Release);
    }

    /// Whether the batch that runs is to stop.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        // one is the session's own, the other stands alone
        self.0.stopped.load(Ordering::Relaxed) == self.0.running.load(Ordering::Relaxed)
    }

    /// The request has been obeyed: it stops one statement, also of a session that sends no Sync.
    #[cold]
    pub(crate) fn obeyed(&self) {
        let number = self.0.running.load(Ordering::Relaxed);
        // a failure means that it was not wanted any more; pairs with nothing, as in `stop`
        let _ = self.0.stopped.compare_exchange(number, number - 1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_request_does_not_stop_the_next_batch() {
        let cancel = Cancel::new();
        cancel.advance();
        let number = cancel.running();
        cancel.stop(number);
        assert!(cancel.is_due());
        cancel.advance();
        assert!(!cancel.is_due());
        cancel.stop(number);
        assert!(!cancel.is_due());
    }

    #[test]
    fn an_older_request_does_not_hide_a_newer_one() {
        let cancel = Cancel::new();
        let old = cancel.running();
        cancel.advance();
        cancel.cancel();
        cancel.stop(old);
        assert!(cancel.is_due());
        cancel.obeyed();
        assert!(!cancel.is_due());
    }
}
