//! Threads for the time of one task. Under a model checker the caller does all of it.

use scaledb_base::Result;
#[cfg(not(any(loom, shuttle)))]
use scaledb_sync::thread;

/// Runs `f` in so many threads; the first error wins.
///
/// # Errors
/// Those of `f`.
pub fn in_parallel<R: Send>(threads: usize, f: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    #[cfg(not(any(loom, shuttle)))]
    if threads > 1 {
        return thread::scope(|scope| {
            let f = &f;
            let running: Vec<_> = (0..threads).map(|i| scope.spawn(move || f(i))).collect();
            let done = running.into_iter().map(|thread| thread.join());
            done.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
    }
    (0..threads).map(f).collect()
}

/// Runs `a` in a thread beside `b`, or before it.
pub(crate) fn beside<A: Send, B>(
    threaded: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B,
) -> (A, B) {
    #[cfg(not(any(loom, shuttle)))]
    if threaded {
        return thread::scope(|scope| {
            let a = scope.spawn(a);
            let b = b();
            (a.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), b)
        });
    }
    let _ = threaded;
    (a(), b())
}
