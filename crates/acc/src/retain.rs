//! Whether commits keep the rows that they overwrite, and for which boundaries of snapshots: see `snapshot.rs`.

use scaledb_base::Timestamp;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use std::time::Duration;

pub(crate) const OFF: u64 = 0;
pub(crate) const ON: u64 = 1;
/// Commits still retain versions, and new snapshots take the slow path: on the way to `OFF`.
pub(crate) const CLOSING: u64 = 2;

/// Retaining ends this long after the last snapshot.
const LINGER: Duration = Duration::from_secs(10);

/// Boundaries are multiples of two to the power of this: it covers the worker's bits and some of the ticks, a quarter
/// to half a millisecond. A snapshot that is to hold all that was committed before waits for the next boundary; and
/// the closer boundaries lie, the more of the rows that are updated often are kept.
const GRID_BITS: u32 =
    if scaledb_sync::MODEL { Timestamp::ORIGIN_BITS + 3 } else { Timestamp::ORIGIN_BITS + 14 };

/// What all snapshots of a database share.
pub(crate) struct Snapshots {
    pub(crate) state: CachePadded<AtomicU64>,
    pub(crate) floor: CachePadded<AtomicU64>,
    /// The first boundary for which everything is retained.
    pub(crate) since: AtomicU64,
    pub(crate) last_use: AtomicU64,
    /// Snapshots that wait for lanes to merge.
    pub(crate) waiting: CachePadded<AtomicU64>,
    pub(crate) gate: Mutex<()>,
    pub(crate) linger: u64,
}

pub(crate) fn boundary_at(ts: u64) -> u64 {
    ts >> GRID_BITS << GRID_BITS
}

pub(crate) fn boundary_after(ts: u64) -> u64 {
    boundary_at(ts) + (1 << GRID_BITS)
}

impl Snapshots {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            state: CachePadded(AtomicU64::new(OFF)),
            floor: CachePadded(AtomicU64::new(0)),
            since: AtomicU64::new(0),
            last_use: AtomicU64::new(0),
            waiting: CachePadded(AtomicU64::new(0)),
            gate: Mutex::new(()),
            linger: clock.ticks(LINGER),
        }
    }

    /// Whether commits keep the rows that they overwrite. Read when the pin is out.
    #[inline]
    pub(crate) fn is_retaining(&self) -> bool {
        // SeqCst: pairs with the store in `start_retaining`, which then waits for the pins that it sees
        self.state.load(Ordering::SeqCst) != OFF
    }

    /// Whether no snapshot runs, and none will begin that reads before the present time: those to come read at or after
    /// [`Snapshots::since`], which is set anew before the first of them begins.
    pub(crate) fn are_off(&self) -> bool {
        self.state.load(Ordering::SeqCst) == OFF
    }

    /// Whether a snapshot could read between two commits.
    #[inline]
    pub(crate) fn boundary_between(&self, before: Timestamp, after: Timestamp) -> bool {
        boundary_at(before.raw()) != boundary_at(after.raw())
    }

    /// Whether lanes should merge at once.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0 // a hint
    }
}
