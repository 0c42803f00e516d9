//! The gate between commits and changes of the catalog.
//!
//! A transaction works with plans that were made from one version of the catalog. A change of the catalog
//! must not commit in the midst of such a commit, or its writes would go to tables that are no longer
//! used. So each session raises a flag while it commits, and looks whether the gate is closed behind it;
//! who changes the catalog closes the gate, and waits for the flags. Both write before they read, in one total
//! order (SeqCst): at least one of the two sees the other.

use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

/// A session's flag: it is committing.
#[derive(Debug, Default)]
pub(crate) struct Flag(CachePadded<AtomicBool>);

/// The gate of a database.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
    /// Held by who changes the catalog.
    turn: Mutex<()>,
    waiting: Mutex<()>,
    opened: Condvar,
    flags: Mutex<Vec<Arc<Flag>>>,
}

/// A raised flag; it goes down when this is dropped.
pub(crate) struct Raised<'a>(&'a Flag);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        // pairs with the load in `close`: who sees it down sees the commit
        self.0.0.store(false, Ordering::Release);
    }
}

/// The closed gate; it opens when this is dropped.
pub(crate) struct Closed<'a> {
    gate: &'a Gate,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.closed.store(false, Ordering::SeqCst);
        drop(self.gate.waiting.lock());
        self.gate.opened.notify_all();
    }
}

impl Gate {
    /// A flag for a new session.
    pub(crate) fn flag(&self) -> Arc<Flag> {
        let flag = Arc::new(Flag::default());
        let mut flags = self.flags.lock();
        flags.retain(|flag| Arc::strong_count(flag) > 1);
        flags.push(flag.clone());
        flag
    }

    /// Raises the flag; waits while the gate is closed.
    #[inline]
    pub(crate) fn enter<'a>(&self, flag: &'a Flag) -> Raised<'a> {
        loop {
            flag.0.store(true, Ordering::SeqCst);
            if !self.closed.load(Ordering::SeqCst) {
                return Raised(flag);
            }
            flag.0.store(false, Ordering::SeqCst);
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let mut guard = self.waiting.lock();
        while self.closed.load(Ordering::SeqCst) {
            guard = self.opened.wait_timeout(guard, Duration::from_millis(10));
        }
    }

    /// Closes the gate and waits until no flag is raised.
    pub(crate) fn close(&self) -> Closed<'_> {
        let turn = self.turn.lock();
        self.closed.store(true, Ordering::SeqCst);
        let closed = Closed { gate: self, _turn: turn };
        for flag in self.flags.lock().iter() {
            let mut wait = scaledb_sync::hint::Backoff::new();
            while flag.0.load(Ordering::SeqCst) {
                wait.wait_forever();
            }
        }
        closed
    }
}
