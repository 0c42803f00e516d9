//! How a log is to be written.

use std::time::Duration;

/// How a log is to be written.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// The size of a segment. A group that is larger makes its segment larger.
    pub segment_bytes: u64,
    /// How long a commit that nobody waits for stays in memory, at most, while the log is idle otherwise. With
    /// one sync on top of it, it is what a crash may take of such commits.
    pub flush_interval: Duration,
    /// While many commits come, a group waits for more of them in steps of this length or more, as long as each
    /// step makes it larger by an eighth.
    pub gather_step: Duration,
    /// How long a group waits for more commits at most. Zero: it never waits.
    pub gather_most: Duration,
    /// What a worker may have in its buffer before it waits for the flusher.
    pub buffer_bytes: usize,
    /// False: groups are written and never synced. For experiments that show what that loses.
    pub sync: bool,
    /// How many segments are kept for another use when a checkpoint has made them superfluous.
    pub recycle: usize,
    /// No threads: who waits flushes, and [`crate::Log::flush_once`] does. For tests that repeat exactly.
    pub manual: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            flush_interval: Duration::from_millis(5),
            gather_step: Duration::from_micros(100),
            gather_most: Duration::from_micros(1500),
            buffer_bytes: 8 << 20,
            sync: true,
            recycle: 2,
            manual: false,
        }
    }
}
