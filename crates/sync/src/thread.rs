//! Threads.

#[cfg(loom)]
pub use loom::thread::{JoinHandle, spawn, yield_now};
#[cfg(shuttle)]
pub use shuttle::thread::{JoinHandle, spawn, yield_now};
#[cfg(not(any(loom, shuttle)))]
pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};

/// Sleeps for about `duration`; under a model checker, only a scheduling point.
pub fn sleep(duration: std::time::Duration) {
    #[cfg(not(any(loom, shuttle)))]
    std::thread::sleep(duration);
    #[cfg(any(loom, shuttle))]
    {
        let _ = duration;
        yield_now();
    }
}

/// The number of hardware threads this process may use (1 when the system does not say).
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
