//! Blocking locks, for paths where a wait is acceptable (DDL, registries, background threads).
//!
//! A panic while a lock is held does not poison it: whoever needs that notices by other means.

#[cfg(sim)]
use crate::sim::lock as imp;
#[cfg(loom)]
use loom::sync as imp;
#[cfg(shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(loom, shuttle, sim)))]
use std::sync as imp;

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// A guard of [`Mutex`].
pub type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

/// A mutual exclusion lock without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex around `value`.
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, if nobody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// A condition variable nobody waits on.
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Releases the lock, waits for a notification or for `timeout`, and takes the lock again.
    /// (Model checkers have no time: there this only gives the processor away.)
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        #[cfg(not(any(loom, shuttle)))]
        {
            self.0.wait_timeout(guard, timeout).map_or_else(|e| e.into_inner().0, |(guard, _)| guard)
        }
        #[cfg(any(loom, shuttle))]
        {
            let _ = timeout;
            crate::thread::yield_now();
            guard
        }
    }
}
