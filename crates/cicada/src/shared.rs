//! What the workers of a database share.

use crate::config::Config;
use crate::garbage::Queue;
use crate::horizon::Horizon;
use crate::table::CicadaTable;
use scaledb_base::Timestamp;
use scaledb_kit::{Core, Regulation, WORKERS};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{CachePadded, names};
use std::ops::Deref;
use std::time::Duration;

/// What the workers of a database share.
pub struct CicadaShared {
    pub(crate) config: Config,
    core: Core<CicadaTable>,
    pub(crate) horizon: Horizon,
    /// The clean-up queues of the workers.
    pub(crate) lanes: Box<[CachePadded<Mutex<Queue>>]>,
    /// Up to this generation, leaves need not know where they came from.
    needed_after: CachePadded<AtomicU64>,
    next_needed: Mutex<NextNeeded>,
    /// `Config::quiescence`, in ticks.
    pub(crate) quiescence: u64,
}

impl Deref for CicadaShared {
    type Target = Core<CicadaTable>;

    #[inline(always)]
    fn deref(&self) -> &Core<CicadaTable> {
        &self.core
    }
}

/// The next value of `needed_after`.
#[derive(Default)]
struct NextNeeded {
    generation: u64,
    /// When `min_wts` has passed it, all transactions that ran when the generation was read have ended.
    ticks: u64,
    /// They have ended. A commit may have postponed its timestamp, so `ticks` now is the latest of their timestamps,
    /// and `min_wts` has to pass that, too.
    ended: bool,
}

impl CicadaShared {
    /// An empty database whose clock starts after `after`, in ticks.
    pub(crate) fn new(config: Config, after: u64) -> Self {
        let regulation = Regulation {
            fixed: config.backoff,
            most: Duration::from_millis(1),
            falls_without_conflicts: false,
        };
        let core = Core::new(config.clock, after, config.memory_budget, regulation);
        let shared = Self {
            horizon: Horizon::new(config.rules),
            lanes: (0..WORKERS).map(|_| CachePadded(Mutex::new(Queue::new()))).collect(),
            needed_after: CachePadded(AtomicU64::new(0)),
            next_needed: Mutex::new(NextNeeded::default()),
            quiescence: core.clock.ticks(config.quiescence),
            core,
            config,
        };
        names::name_all(&shared.lanes, "lane");
        names::name_of(&**shared.generation, "tree.generation");
        names::name_of(&shared.horizon, "horizon");
        shared
    }

    /// The leader's work: the horizon, and what it says about the trees. `ticks` is the leader's clock.
    pub(crate) fn lead(&self, ticks: u64, now: u64) {
        if !self.horizon.lead(ticks, now) {
            return;
        }
        let mut next = self.next_needed.lock();
        if self.horizon.min_wts() <= Timestamp::start_of(next.ticks + 1).raw() {
            return;
        }
        if !next.ended {
            (next.ticks, next.ended) = (self.horizon.latest(), true);
            return;
        }
        // every scan that met a leaf before that generation has a timestamp that no inserter is below
        self.needed_after.fetch_max(next.generation, Ordering::SeqCst);
        let generation = self.generation.load(Ordering::SeqCst);
        *next = NextNeeded { generation, ticks: self.horizon.latest(), ended: false };
    }

    /// The generation up to which leaves may forget where they came from.
    #[inline]
    pub(crate) fn needed_after(&self) -> u64 {
        self.needed_after.load(Ordering::SeqCst)
    }

    /// A raw timestamp greater than every one given out so far, and less than every later one.
    pub(crate) fn begin_anew(&self) -> u64 {
        let ticks = self.horizon.latest() + 1;
        self.horizon.raise_floor(ticks);
        Timestamp::start_of(ticks).raw()
    }
}
