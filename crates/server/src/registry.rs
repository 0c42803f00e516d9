//! All connections, and the keys with which requests to cancel their statements are authorized.

use crate::control::{Cancel, Control, Phase};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;

/// A session that cancel requests may name.
struct Named {
    key: Vec<u8>,
    control: Arc<Control>,
}

#[derive(Default)]
struct Inner {
    /// By their numbers: those that authenticate, too.
    all: HashMap<u64, Arc<Control>>,
    /// By what clients know them by.
    sessions: HashMap<i32, Named>,
    /// Counts of those that have ended.
    ended: [u64; 3],
}

#[derive(Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    next: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) cancels: AtomicU64,
    /// Idle transactions that were ended because memory was short.
    pub(crate) holders_ended: AtomicU64,
    pub(crate) unauthenticated: AtomicUsize,
}

impl Registry {
    /// Adds a connection; returns its number.
    pub(crate) fn add(&self, control: Arc<Control>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        self.inner.lock().all.insert(number, control);
        number
    }

    /// Makes a connection a session, if there are fewer than `limit`. True if it is one now.
    pub(crate) fn name(&self, pid: i32, key: Vec<u8>, control: Arc<Control>, limit: usize) -> bool {
        let mut inner = self.inner.lock();
        let room = inner.sessions.len() < limit;
        if room {
            inner.sessions.insert(pid, Named { key, control });
        }
        room
    }

    /// Removes a connection, and the session that it was.
    pub(crate) fn remove(&self, number: u64, pid: Option<i32>) {
        let mut inner = self.inner.lock();
        if let Some(pid) = pid {
            inner.sessions.remove(&pid);
        }
        if let Some(control) = inner.all.remove(&number) {
            for (sum, count) in inner.ended.iter_mut().zip(control.counts.take()) {
                *sum += count;
            }
        }
    }

    /// A session, by its number.
    pub(crate) fn session(&self, pid: i32) -> Option<Arc<Control>> {
        self.inner.lock().sessions.get(&pid).map(|named| named.control.clone())
    }

    /// How many sessions there are.
    pub(crate) fn sessions(&self) -> usize {
        self.inner.lock().sessions.len()
    }

    /// A cancel request. One that knows no key does nothing.
    pub(crate) fn cancel(&self, pid: i32, key: &[u8]) {
        let inner = self.inner.lock();
        if let Some(named) = inner.sessions.get(&pid)
            && same(&named.key, key)
        {
            self.cancels.fetch_add(1, Ordering::Relaxed); // a statistic
            named.control.cancel(Cancel::Request);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.inner.lock().all.len()
    }

    pub(crate) fn for_each(&self, mut f: impl FnMut(&Control)) {
        for control in self.inner.lock().all.values() {
            f(control);
        }
    }

    /// Statements, errors and conflicts so far, and how many connections are in each phase.
    pub(crate) fn counts(&self) -> ([u64; 3], [u64; Phase::ALL.len()]) {
        let inner = self.inner.lock();
        let mut sums = inner.ended;
        let mut phases = [0; Phase::ALL.len()];
        for control in inner.all.values() {
            for (sum, count) in sums.iter_mut().zip(control.counts.take()) {
                *sum += count;
            }
            phases[control.state().0 as usize] += 1;
        }
        (sums, phases)
    }
}

/// Compares in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
