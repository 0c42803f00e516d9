//! Threads.

#[cfg(loom)]
pub use loom::thread::{JoinHandle, spawn, yield_now};
#[cfg(shuttle)]
pub use shuttle::thread::{JoinHandle, spawn, yield_now};
#[cfg(not(any(loom, shuttle)))]
pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};

/// Starts a thread with a name, if the system has one to give; [`spawn`] panics where this returns an error.
///
/// # Errors
///
/// The system's: too many threads, or too little memory.
#[cfg(not(any(loom, shuttle)))]
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

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
