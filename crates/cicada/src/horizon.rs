//! Who runs with which timestamp, and what follows for all (sections 3.1 and 3.8).
//!
//! ```text
//!  every transaction that writes, running or to come, has a timestamp  ≥ min_wts
//!  every transaction at all, running or to come, has one               ≥ min_rts
//!  every transaction that runs began after the epoch                     min_epoch  was over
//! ```
//!
//! A *leader*, whichever worker comes along every some microseconds, computes the three. The paper's workers
//! raise flags for it; here each has a slot that says what it runs, or that it runs nothing, so that idle
//! workers hold nothing up. The rule of the game is Dekker's: a worker announces a lower bound, then (after
//! a fence) reads the *floor* that its timestamp must reach; a leader raises the floor, then (after a fence)
//! reads the slots. One of the two sees the other.
//!
//! A version that was superseded by a commit at `wts` may be reused when `wts < min_rts`, for then no
//! timestamp leads to it; and when everybody who was running at the commit has ended, for they may have read
//! it before. The latter is told by epochs: a counter that each leader increments.

use crate::rules::{Rule, Rules};
use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// Runs nothing.
pub(crate) const IDLE: u64 = u64::MAX;

/// What a worker runs. It alone writes it.
struct Slot {
    /// The timestamp of a transaction that reads the present, or a lower bound; or [`IDLE`].
    writer: AtomicU64,
    /// The boundary of a snapshot, or a lower bound; or [`IDLE`].
    snapshot: AtomicU64,
    /// The epoch in which the transaction began, or an earlier one.
    epoch: AtomicU64,
    /// The ticks of the worker's last timestamp (section 3.1: its clock).
    clock: AtomicU64,
}

pub(crate) struct Horizon {
    slots: Box<[CachePadded<Slot>]>,
    /// One more than the highest worker id ever.
    workers: AtomicU64,
    /// In ticks: transactions that begin get no smaller timestamp.
    floor: CachePadded<AtomicU64>,
    min_wts: CachePadded<AtomicU64>,
    min_rts: CachePadded<AtomicU64>,
    epoch: CachePadded<AtomicU64>,
    min_epoch: CachePadded<AtomicU64>,
    leading: CachePadded<AtomicBool>,
    /// When the last leader was at it.
    led_at: AtomicU64,
    rules: Rules,
}

impl Horizon {
    pub(crate) fn new(rules: Rules) -> Self {
        let slot = || {
            CachePadded(Slot {
                writer: AtomicU64::new(IDLE),
                snapshot: AtomicU64::new(IDLE),
                epoch: AtomicU64::new(0),
                clock: AtomicU64::new(0),
            })
        };
        let word = || CachePadded(AtomicU64::new(0));
        Self {
            slots: (0..if scaledb_sync::MODEL { 6 } else { MAX_WORKERS }).map(|_| slot()).collect(),
            workers: AtomicU64::new(0),
            floor: word(),
            min_wts: word(),
            min_rts: word(),
            epoch: CachePadded(AtomicU64::new(1)),
            min_epoch: word(),
            leading: CachePadded(AtomicBool::new(false)),
            led_at: AtomicU64::new(0),
            rules,
        }
    }

    /// A worker that may run transactions from now on.
    pub(crate) fn register(&self, id: WorkerId) {
        self.workers.fetch_max(id.index() as u64 + 1, Ordering::SeqCst);
    }

    #[inline]
    fn slot(&self, id: WorkerId) -> &Slot {
        &self.slots[id.index()]
    }

    /// The ticks of a worker's last timestamp.
    #[inline]
    pub(crate) fn clock_of(&self, id: WorkerId) -> u64 {
        self.slot(id).clock.load(Ordering::Relaxed) // how late it is, and nothing else
    }

    /// How many workers there are to look at.
    pub(crate) fn workers(&self) -> usize {
        self.workers.load(Ordering::SeqCst) as usize
    }

    /// First half of the begin of a transaction that reads the present, at `ticks` or later. A fence follows:
    /// that of [`enter_at`](scaledb_memory::Local::enter_at).
    #[inline]
    pub(crate) fn announce(&self, id: WorkerId, ticks: u64) {
        let slot = self.slot(id);
        // the Release of `writer` publishes it
        slot.epoch.store(self.epoch.load(Ordering::Acquire), Ordering::Relaxed);
        // pairs with the Acquire in `lead`
        slot.writer.store(Timestamp::start_of(ticks).raw(), Ordering::Release);
    }

    /// Second half, after the fence: the transaction's ticks.
    #[inline]
    pub(crate) fn settle(&self, id: WorkerId, ticks: u64) -> u64 {
        let ticks = ticks.max(self.floor.load(Ordering::SeqCst));
        // read by threads that need a timestamp later than every transaction that has begun: see `latest`
        self.slot(id).clock.store(ticks, Ordering::Release);
        ticks
    }

    /// A transaction takes a later timestamp than it began with. What it announced stays: a lower bound.
    pub(crate) fn postpone(&self, id: WorkerId, ticks: u64) {
        // read, once the transaction has ended, by threads that need a timestamp later than every one given out
        self.slot(id).clock.store(ticks, Ordering::Release);
    }

    /// First half of the begin of a snapshot.
    pub(crate) fn announce_snapshot(&self, id: WorkerId) {
        let slot = self.slot(id);
        slot.epoch.store(self.epoch.load(Ordering::Acquire), Ordering::Relaxed);
        // pairs with the Acquire in `lead`
        slot.snapshot.store(self.min_rts.load(Ordering::SeqCst), Ordering::Release);
    }

    /// Second half, after the fence: the boundary, before which the snapshot sees everything.
    pub(crate) fn settle_snapshot(&self, id: WorkerId) -> u64 {
        let boundary = self.min_wts.load(Ordering::SeqCst);
        // pairs with the Acquire in `lead`
        self.slot(id).snapshot.store(boundary, Ordering::Release);
        boundary
    }

    /// The end of a transaction.
    #[inline]
    pub(crate) fn end(&self, id: WorkerId) {
        // what the transaction did is over for whoever sees this; pairs with the Acquires in `lead`
        self.slot(id).writer.store(IDLE, Ordering::Release);
        self.slot(id).snapshot.store(IDLE, Ordering::Release);
    }

    /// See the head of this file.
    #[inline]
    pub(crate) fn min_wts(&self) -> u64 {
        self.min_wts.load(Ordering::SeqCst)
    }

    /// See the head of this file.
    #[inline]
    pub(crate) fn min_rts(&self) -> u64 {
        if self.rules.on(Rule::ReclaimByTimestamp) { self.min_rts.load(Ordering::SeqCst) } else { IDLE }
    }

    /// See the head of this file.
    #[inline]
    pub(crate) fn min_epoch(&self) -> u64 {
        if self.rules.on(Rule::ReclaimAfterQuiescence) { self.min_epoch.load(Ordering::SeqCst) } else { IDLE }
    }

    /// The present epoch, for what was unlinked or superseded before.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.epoch.load(Ordering::SeqCst)
    }

    /// No timestamp that was given out has more ticks.
    pub(crate) fn latest(&self) -> u64 {
        fence(Ordering::SeqCst);
        let mut latest = 0;
        for slot in &self.slots[..self.workers()] {
            // a worker that has announced itself takes the larger of that and the floor; pairs with the Releases
            let writer = slot.writer.load(Ordering::Acquire);
            let announced = if writer == IDLE { 0 } else { Timestamp::from_raw(writer).ticks() };
            latest = latest.max(announced).max(slot.clock.load(Ordering::Acquire));
        }
        latest.max(self.floor.load(Ordering::SeqCst))
    }

    /// From here on no timestamp of fewer ticks is given out.
    pub(crate) fn raise_floor(&self, ticks: u64) {
        self.floor.fetch_max(ticks, Ordering::SeqCst);
    }

    /// The ticks at which the oldest transaction that reads the present began, if one runs. A hint.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let writers = self.slots[..self.workers()].iter().map(|slot| slot.writer.load(Ordering::Relaxed));
        writers.filter(|&writer| writer != IDLE).min().map(|writer| Timestamp::from_raw(writer).ticks())
    }

    /// Whether it is time for a leader.
    #[inline]
    pub(crate) fn wants_leader(&self, now: u64, every: u64) -> bool {
        now.wrapping_sub(self.led_at.load(Ordering::Relaxed)) >= every // a hint
    }

    /// The leader's work, unless somebody else is at it. `ticks` is the leader's clock, `now` the machine's.
    pub(crate) fn lead(&self, ticks: u64, now: u64) -> bool {
        // Acquire pairs with the Release below
        if self.leading.load(Ordering::Relaxed)
            || self.leading.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        self.led_at.store(now, Ordering::Relaxed); // a hint
        // snapshots that are not seen below read at this or later
        let published = self.min_wts.load(Ordering::SeqCst);
        let mut epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        let floor = self.floor.fetch_max(ticks, Ordering::SeqCst).max(ticks);
        fence(Ordering::SeqCst);
        let (mut wts, mut rts) = (Timestamp::start_of(floor).raw(), published);
        for slot in &self.slots[..self.workers()] {
            // pairs with the Releases of its owner
            let writer = slot.writer.load(Ordering::Acquire);
            let snapshot = slot.snapshot.load(Ordering::Acquire);
            if writer & snapshot == IDLE {
                continue;
            }
            epoch = epoch.min(slot.epoch.load(Ordering::Acquire));
            if self.rules.on(Rule::SnapshotBeforeWriters) {
                wts = wts.min(writer);
            }
            rts = rts.min(writer).min(snapshot);
        }
        rts = rts.min(wts);
        self.min_wts.fetch_max(wts, Ordering::SeqCst);
        self.min_rts.fetch_max(rts, Ordering::SeqCst);
        self.min_epoch.fetch_max(epoch, Ordering::SeqCst);
        // pairs with the Acquire above
        self.leading.store(false, Ordering::Release);
        true
    }
}
