//! Processor time: what a thread got of its core, on a machine that others share.

use std::time::Duration;

/// The time that this thread has run for, where the system tells (Linux).
pub(crate) fn thread_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
