//! The version word of a node: lock, obsolete flag and change counter in one.
//!
//! ```text
//!   63                                  2        1         0
//!   ┌───────────────────────────────────┬──────────┬────────┐
//!   │ changes                           │ obsolete │ locked │
//!   └───────────────────────────────────┴──────────┴────────┘
//! ```
//!
//! Readers take no lock: they read the word, read the node, and read the word again. Between an
//! unlocked word and the same word nothing was written, so what they saw is a state the node had.
//! A holder that changed nothing puts the old word back, so readers do not notice it.

use scaledb_sync::atomic::{AtomicU64, Ordering, fence};
use scaledb_sync::hint::Backoff;

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const CHANGE: u64 = 4;

/// Somebody was in the way: begin again.
#[derive(Debug)]
pub(super) struct Restart;

/// See the module.
pub(super) struct VersionLock(AtomicU64);

impl VersionLock {
    /// The version of a new node.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A node that is born in the hands of its maker.
    pub(super) fn new_locked() -> Self {
        Self(AtomicU64::new(LOCKED))
    }

    /// The word of an unlocked node in use; waits for a holder.
    #[inline(always)]
    pub(super) fn read(&self) -> Result<u64, Restart> {
        // pairs with the Release store of `Guard::drop`: the last holder's writes are seen
        let word = self.0.load(Ordering::Acquire);
        if word & (LOCKED | OBSOLETE) == 0 { Ok(word) } else { self.read_contended() }
    }

    #[cold]
    fn read_contended(&self) -> Result<u64, Restart> {
        let mut backoff = Backoff::new();
        loop {
            // pairs with the Release store of `Guard::drop`
            let word = self.0.load(Ordering::Acquire);
            if word & OBSOLETE != 0 {
                return Err(Restart);
            }
            if word & LOCKED == 0 {
                return Ok(word);
            }
            backoff.wait_forever();
        }
    }

    /// Whether nothing was written since `word` was read: what was loaded in between is consistent,
    /// and pointers among it may be followed.
    #[inline(always)]
    pub(super) fn validate(&self, word: u64) -> Result<(), Restart> {
        // pairs with the Release fence of `try_lock`: if a load before this fence saw a holder's
        // write, the load below sees that it holds the lock
        fence(Ordering::Acquire);
        if self.0.load(Ordering::Relaxed) == word { Ok(()) } else { Err(Restart) }
    }

    /// The word as it will be if the present holder, if any, changes nothing.
    #[inline(always)]
    pub(super) fn stamp(&self) -> u64 {
        // pairs with the Release store of `Guard::drop`
        self.0.load(Ordering::Acquire) & !LOCKED
    }

    /// Whether the node has the version `word` and is not locked.
    #[inline(always)]
    pub(super) fn is(&self, word: u64) -> bool {
        // pairs with the Release store of `Guard::drop`
        self.0.load(Ordering::Acquire) == word
    }

    /// Locks a node that still has the version `word`.
    #[inline(always)]
    pub(super) fn try_lock(&self, word: u64) -> Result<Guard<'_>, Restart> {
        // Acquire pairs with the Release store of `Guard::drop`; Relaxed: a failure reads nothing more
        match self.0.compare_exchange(word, word | LOCKED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                // pairs with the Acquire fence of `validate`: no write of ours is seen before the lock
                fence(Ordering::Release);
                Ok(Guard { lock: self, before: word, after: word })
            }
            Err(_) => Err(Restart),
        }
    }

    /// The guard of a node made by [`VersionLock::new_locked`], for its maker.
    pub(super) fn adopt(&self) -> Guard<'_> {
        Guard { lock: self, before: 0, after: 0 }
    }
}

/// Holds a node's lock.
pub(super) struct Guard<'t> {
    lock: &'t VersionLock,
    before: u64,
    after: u64,
}

impl Guard<'_> {
    /// Readers must notice: the node was, or is about to be, changed.
    #[inline(always)]
    pub(super) fn change(&mut self) {
        self.after = self.before + CHANGE;
    }

    /// Unlocks a node that was unlinked, and marks it obsolete.
    pub(super) fn bury(mut self) {
        self.after = (self.before + CHANGE) | OBSOLETE;
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // pairs with the Acquire loads above: whoever sees the new word sees what was written
        self.lock.0.store(self.after, Ordering::Release);
    }
}
