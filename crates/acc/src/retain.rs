//! Whether commits keep the rows that they overwrite: while snapshots are in use, see `snapshot.rs`.

use crate::boundary::Boundaries;
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

/// A snapshot that need not hold all that was committed before it began takes a boundary that is not older.
const LAG: Duration = Duration::from_millis(4);

/// What all snapshots of a database share.
pub(crate) struct Snapshots {
    pub(crate) state: CachePadded<AtomicU64>,
    pub(crate) boundaries: Boundaries,
    /// No snapshot that begins from now on reads at an earlier boundary.
    pub(crate) floor: CachePadded<AtomicU64>,
    /// In builds with assertions, the latest boundary before which clean-up may have freed versions.
    ///
    /// ```text
    ///   freed ≤ S of every snapshot that runs or will run
    /// ```
    pub(crate) freed: AtomicU64,
    /// The confirmed boundary that the floor moves up to when it is reached.
    pub(crate) next: AtomicU64,
    /// The first boundary for which everything is retained.
    pub(crate) since: AtomicU64,
    pub(crate) last_use: AtomicU64,
    /// Snapshots that wait for lanes to merge.
    pub(crate) waiting: CachePadded<AtomicU64>,
    pub(crate) gate: Mutex<()>,
    pub(crate) linger: u64,
    /// [`LAG`] in ticks.
    pub(crate) lag: u64,
}

impl Snapshots {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            state: CachePadded(AtomicU64::new(OFF)),
            boundaries: Boundaries::new(clock),
            floor: CachePadded(AtomicU64::new(0)),
            freed: AtomicU64::new(0),
            next: AtomicU64::new(0),
            since: AtomicU64::new(0),
            last_use: AtomicU64::new(0),
            waiting: CachePadded(AtomicU64::new(0)),
            gate: Mutex::new(()),
            linger: clock.ticks(LINGER),
            lag: if scaledb_sync::MODEL { 8 } else { clock.ticks(LAG) },
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

    /// Whether lanes should merge at once.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0 // a hint
    }
}
