//! Threads.

#[cfg(sim)]
pub use crate::sim::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, try_spawn, yield_now};
#[cfg(loom)]
pub use loom::thread::{JoinHandle, spawn, yield_now};
#[cfg(shuttle)]
pub use shuttle::thread::{JoinHandle, spawn, yield_now};
#[cfg(not(any(loom, shuttle, sim)))]
pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};

/// Starts a thread with a name, if the system has one to give; [`spawn`] panics where this returns an error.
///
/// # Errors
///
/// The system's: too many threads, or too little memory.
#[cfg(not(any(loom, shuttle, sim)))]
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Sleeps for about `duration`; under a model checker, only a scheduling point.
pub fn sleep(duration: std::time::Duration) {
    #[cfg(sim)]
    crate::sim::thread::sleep(duration);
    #[cfg(not(any(loom, shuttle, sim)))]
    std::thread::sleep(duration);
    #[cfg(any(loom, shuttle))]
    {
        let _ = duration;
        yield_now();
    }
}

/// On a simulated machine, the core of the thread that this one starts next; the system's threads go where it likes.
#[inline]
pub fn place_next(core: usize) {
    #[cfg(sim)]
    scaledb_machine::place_next(core);
    #[cfg(not(sim))]
    let _ = core;
}

/// The number of hardware threads this process may use (1 when the system does not say).
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
