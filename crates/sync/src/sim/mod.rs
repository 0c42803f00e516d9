//! What the facade is on the simulated machine.

pub(crate) mod lock;
pub(crate) mod thread;

use std::ops::Sub;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[inline(always)]
pub(crate) fn load(address: usize) {
    scaledb_machine::load(address);
}

#[inline(always)]
pub(crate) fn store(address: usize, order: Ordering) {
    scaledb_machine::store(address, order == Ordering::SeqCst);
}

#[inline(always)]
pub(crate) fn rmw(address: usize) {
    scaledb_machine::rmw(address);
}

#[inline(always)]
pub(crate) fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        scaledb_machine::fence();
    }
}

/// A moment, in the time of the machine; outside of one, in that of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instant {
    /// Nanoseconds since the machine was started.
    Simulated(u64),
    /// The system's.
    Real(std::time::Instant),
}

impl Instant {
    /// Now.
    pub fn now() -> Self {
        match scaledb_machine::is_running() {
            true => Self::Simulated(scaledb_machine::now()),
            false => Self::Real(std::time::Instant::now()),
        }
    }

    /// How long ago it was.
    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    /// The time since `earlier`; 0 if that was not earlier.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        match (*self, earlier) {
            (Self::Simulated(now), Self::Simulated(then)) => Duration::from_nanos(now.saturating_sub(then)),
            (Self::Real(now), Self::Real(then)) => now - then,
            // a machine began, or ended, between the two
            _ => Duration::ZERO,
        }
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}
