//! Locks of fibers: as those of the standard library, and on its own ones outside of a machine.

use scaledb_machine as machine;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

/// Tries before a fiber gives its core away.
const SPINS: u32 = 20;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

/// A guard of the simulated machine's mutex.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// Absent only while a condition variable has it.
    guard: Option<std::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if !machine::is_running() {
            let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(MutexGuard { mutex: self, guard: Some(guard) });
        }
        let mut tries = 0;
        loop {
            if let Ok(guard) = self.try_lock() {
                return Ok(guard);
            }
            tries += 1;
            if tries < SPINS { machine::pause() } else { machine::yield_now() }
        }
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        machine::rmw(self.address());
        match self.0.try_lock() {
            Ok(guard) => Ok(MutexGuard { mutex: self, guard: Some(guard) }),
            Err(TryLockError::Poisoned(poisoned)) => {
                Ok(MutexGuard { mutex: self, guard: Some(poisoned.into_inner()) })
            }
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        machine::store(self.mutex.address(), false);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Condvar {
    waiting: std::sync::Mutex<Vec<machine::FiberId>>,
    /// Outside of a machine.
    condvar: std::sync::Condvar,
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<machine::FiberId>> {
        // held for a moment, in which no fiber switches
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify_one(&self) {
        let first = {
            let mut waiting = self.waiting();
            (!waiting.is_empty()).then(|| waiting.remove(0))
        };
        first.map(machine::unblock);
        self.condvar.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        let all = std::mem::take(&mut *self.waiting());
        all.into_iter().for_each(machine::unblock);
        self.condvar.notify_all();
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        if !machine::is_running() {
            let held = guard.guard.take().expect("held");
            let woken = self.condvar.wait_timeout(held, timeout);
            guard.guard = Some(woken.map_or_else(|e| e.into_inner().0, |(held, _)| held));
            return Ok((guard, ()));
        }
        let (id, mutex) = (machine::current(), guard.mutex);
        self.waiting().push(id);
        drop(guard);
        // whoever notifies between takes the id out, and finds nobody blocked: then there is nothing to wait for
        if self.waiting().contains(&id) {
            machine::block(Some(machine::now() + timeout.as_nanos().min(1 << 60) as u64));
        }
        self.waiting().retain(|other| *other != id);
        Ok((mutex.lock().unwrap_or_else(PoisonError::into_inner), ()))
    }
}
