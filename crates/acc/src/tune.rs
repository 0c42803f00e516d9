//! Self-tuning of the merge batch.
//!
//! The paper sizes a table's batch as write rate times write-to-range-scan latency (section 4.1), figures
//! that an expert has to measure. Both are there already when a worker merges: the entries of the batch,
//! and how often scans had to look at entries that were still pending. A pending entry that is looked at
//! costs a scan some 10 ns, its record being warm; merging in small batches costs a descent per entry,
//! some 200 ns. So the batch doubles while scans look at each entry less than once before it is merged,
//! and halves when they do so more than four times. The epoch bounds the time that entries wait when
//! writes are rare.
//!
//! And whether to collect at all. An entry that is inserted at commit is handled once, a collected one
//! twice, and once more by each scan that has to look at it before it is merged; but an insert at commit
//! pays for each lock and cache line alone. Which is cheaper depends on the machine, on how many others
//! insert, where, and on who scans: so each worker measures both, for each index ([`Way`]).

use crate::config::IndexUpdates;
use scaledb_kit::is_sampled;
use scaledb_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use scaledb_sync::clock::Clock;

/// The batch of a new table.
pub(crate) const FIRST_BATCH: u32 = if scaledb_sync::MODEL { 2 } else { 128 };
const LEAST_BATCH: u32 = if scaledb_sync::MODEL { 2 } else { 16 };
/// The largest batch: a larger one would not be cheaper, as its records would not be in the cache any more.
const GREATEST_BATCH: u32 = if scaledb_sync::MODEL { 4 } else { 256 };

/// When a worker merges its entries of a table; see above.
pub(crate) struct Tuning {
    /// 0: synchronous.
    pub(crate) batch: AtomicU32,
    pub(crate) epoch_ticks: u64,
    /// The user chose the batch.
    pub(crate) fixed: bool,
    pub(crate) updates: IndexUpdates,
}

/// What scans had to do about a worker's entries: statistics.
#[derive(Default)]
pub(crate) struct Visits {
    /// Pending entries that scans had to look at since the last merge.
    pub(crate) entries: AtomicU64,
    /// Clock ticks that scans spent on repairs with these entries since the last merge that was measured: an estimate,
    /// from one transaction in [`SAMPLED`].
    pub(crate) ticks: AtomicU64,
    /// Scanned leaves that needed a repair by such entries, ever; one that needed those of several workers is counted
    /// with one of them.
    pub(crate) leaves: AtomicU64,
}

/// Adapts a table's batch after a merge of `entries`, which scans have looked at as often as `visits` says. `room`:
/// what the places of unmerged keys let each worker have.
pub(crate) fn after_merge(tuning: &Tuning, visits: &Visits, entries: u64, room: u64) {
    if tuning.fixed || entries == 0 {
        return;
    }
    // hints for later merges
    let visited = match visits.entries.load(Ordering::Relaxed) {
        0 => 0,
        _ => visits.entries.swap(0, Ordering::Relaxed),
    };
    let batch = tuning.batch.load(Ordering::Relaxed);
    let greatest = room.clamp(u64::from(LEAST_BATCH), u64::from(GREATEST_BATCH)) as u32;
    let next = if visited > 4 * entries {
        (batch / 2).max(LEAST_BATCH)
    } else if visited < entries && entries >= u64::from(batch) {
        (batch * 2).min(greatest)
    } else {
        batch.min(greatest)
    };
    if next != batch {
        tuning.batch.store(next, Ordering::Relaxed); // a hint
    }
}

/// One in so many inserts at commit is timed, one in so many posts, and the repairs of one in so many transactions.
const SAMPLED: u64 = 8;
/// Measurements that make a window.
const INSERTS: u64 = 32;
const MERGES: u64 = 4;
/// Windows until the other way is tried again, at first; doubled whenever that turns out to be dearer.
const PATIENCE: u64 = 8;
const GREATEST_PATIENCE: u64 = 256;
/// The other way is tried at once when an entry costs a quarter (one part of so many) more than it did there: the
/// workload has changed, as after a load.
const DEARER: u64 = 4;
/// Clock ticks are counted in sixteenths: an entry of a merge takes few of them.
const SCALE: u64 = 16;

/// How a worker gets its new keys into an index, and what that costs.
///
/// Written by the worker alone, within its commits: plain loads and stores.
#[derive(Default)]
pub(crate) struct Way {
    at_commit: AtomicBool,
    inserts: AtomicU64,
    /// Moving average of the cost of a post.
    post: AtomicU64,
    /// The running window: measurements, the sum of the costs of an entry, and the greatest, which is left out:
    /// the thread may have been interrupted.
    measured: AtomicU64,
    sum: AtomicU64,
    greatest: AtomicU64,
    /// The cost of an entry in the way that is in use, the cheaper one.
    cost: AtomicU64,
    /// The cost of an entry in the other way when it was measured last; 0 before the first time.
    other: AtomicU64,
    on_trial: AtomicBool,
    until_trial: AtomicU64,
    patience: AtomicU64,
}

/// Measures a stretch of a commit, in clock ticks, less what reading the clock takes.
pub(crate) struct Timer {
    begin: u64,
    reading: u64,
}

impl Timer {
    pub(crate) fn start(clock: &Clock) -> Self {
        let before = clock.now();
        let begin = clock.now();
        Self { begin, reading: begin.saturating_sub(before) }
    }

    pub(crate) fn ticks(self, clock: &Clock) -> u64 {
        clock.now().saturating_sub(self.begin + self.reading)
    }
}

/// Whether the repairs and posts of the worker's transaction of this number are to be timed.
#[inline]
pub(crate) fn is_timed(commit: u32) -> bool {
    is_sampled(u64::from(commit), SAMPLED)
}

/// After a timed repair that looked at so many pending entries of each of these workers: each is charged its share of
/// the time.
pub(crate) fn repaired<'a>(visited: impl Iterator<Item = (&'a Visits, u64)> + Clone, ticks: u64) {
    let all = visited.clone().map(|(_, entries)| entries).sum::<u64>().max(1);
    for (visits, entries) in visited {
        visits.ticks.fetch_add(ticks * SAMPLED * entries / all, Ordering::Relaxed); // statistics
    }
}

fn get(field: &AtomicU64) -> u64 {
    field.load(Ordering::Relaxed) // the worker's own
}

fn set(field: &AtomicU64, value: u64) {
    field.store(value, Ordering::Relaxed); // the worker's own
}

impl Way {
    #[inline]
    pub(crate) fn is_at_commit(&self) -> bool {
        self.at_commit.load(Ordering::Relaxed) // the worker's own
    }

    /// Whether the coming insert at commit is to be timed.
    #[inline]
    pub(crate) fn is_sampled(&self) -> bool {
        set(&self.inserts, get(&self.inserts) + 1);
        self.is_at_commit() && (scaledb_sync::MODEL || is_sampled(get(&self.inserts), SAMPLED))
    }

    /// After a timed insert at commit.
    pub(crate) fn inserted(&self, updates: IndexUpdates, ticks: u64) {
        self.measured(updates, INSERTS, ticks * SCALE);
    }

    /// After C3 of a commit that posted `entries`.
    pub(crate) fn posted(&self, entries: u64, ticks: u64) {
        let (old, new) = (get(&self.post), ticks * SCALE / entries.max(1));
        // an interrupted measurement has little weight
        let new = if old == 0 { new } else { new.min(4 * old) };
        set(&self.post, (7 * old + new) / 8);
    }

    /// After a merge of the worker's own. What scans paid for the entries while they were pending counts with it:
    /// an insert at commit saves that, too.
    pub(crate) fn merged(&self, updates: IndexUpdates, visits: &Visits, entries: u64, ticks: u64) {
        // a rest from before, or of an epoch that has ended, is no usual batch
        let whole = entries >= u64::from(LEAST_BATCH) || updates == IndexUpdates::Alternating;
        if whole && !self.is_at_commit() {
            let repairs = match visits.ticks.load(Ordering::Relaxed) {
                0 => 0,
                _ => visits.ticks.swap(0, Ordering::Relaxed),
            };
            self.measured(updates, MERGES, (ticks + repairs) * SCALE / entries.max(1) + get(&self.post));
        }
    }

    fn measured(&self, updates: IndexUpdates, window: u64, cost: u64) {
        match updates {
            IndexUpdates::Collected => {}
            IndexUpdates::Alternating => self.turn(),
            IndexUpdates::Measured => {
                set(&self.measured, get(&self.measured) + 1);
                set(&self.sum, get(&self.sum) + cost);
                set(&self.greatest, get(&self.greatest).max(cost));
                if get(&self.measured) == window {
                    self.judge((get(&self.sum) - get(&self.greatest)) / (window - 1));
                    [&self.measured, &self.sum, &self.greatest].iter().for_each(|field| set(field, 0));
                }
            }
        }
    }

    /// At the end of a window in which an entry took `cost`.
    fn judge(&self, cost: u64) {
        let trial = self.on_trial.load(Ordering::Relaxed); // the worker's own
        if trial && cost >= get(&self.cost) {
            set(&self.patience, (get(&self.patience) * 2).min(GREATEST_PATIENCE));
            set(&self.until_trial, get(&self.patience));
            self.on_trial.store(false, Ordering::Relaxed); // the worker's own
            set(&self.other, cost);
            self.turn();
            return;
        }
        if trial {
            set(&self.other, get(&self.cost));
        }
        set(&self.cost, cost);
        if trial || get(&self.patience) == 0 {
            set(&self.patience, PATIENCE);
            // the other way was not measured yet
            set(&self.until_trial, if trial { PATIENCE } else { 1 });
        }
        set(&self.until_trial, get(&self.until_trial) - 1);
        let dearer = get(&self.other) != 0 && cost > get(&self.other) + get(&self.other) / DEARER;
        let again = dearer || get(&self.until_trial) == 0;
        self.on_trial.store(again, Ordering::Relaxed); // the worker's own
        if again {
            self.turn();
        }
    }

    fn turn(&self) {
        self.at_commit.store(!self.is_at_commit(), Ordering::Relaxed); // the worker's own
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Whether entries are inserted at commit in the end, where an insert takes `insert` ticks, the merge of an entry
    /// `merge`, and repairs by the entries of a batch `repair` in all.
    fn inserts_at_commit(insert: u64, merge: u64, repair: u64) -> bool {
        const BATCH: u64 = 32;
        let (way, visits) = (Way::default(), Visits::default());
        let mut at_commit = 0;
        for _ in 0..1_000 {
            if way.is_at_commit() {
                at_commit += 1;
                (0..INSERTS).for_each(|_| way.inserted(IndexUpdates::Measured, insert));
            } else {
                repaired([(&visits, BATCH)].into_iter(), repair / SAMPLED);
                way.merged(IndexUpdates::Measured, &visits, BATCH, merge * BATCH);
            }
        }
        at_commit > 500
    }

    #[test]
    fn the_cheaper_way_is_taken_and_repairs_count() {
        assert!(inserts_at_commit(100, 200, 0));
        assert!(!inserts_at_commit(200, 100, 0));
        // as cheap to merge as before, but scans pay for what is pending
        assert!(inserts_at_commit(200, 100, 32 * 200));
    }

    #[test]
    fn a_change_of_the_workload_is_noticed_at_once() {
        const BATCH: u64 = 32;
        let (way, visits) = (Way::default(), Visits::default());
        // returns how many windows were at commit
        let windows = |count: u64, insert: u64, merge: u64| {
            let mut at_commit = 0;
            for _ in 0..count {
                if way.is_at_commit() {
                    at_commit += 1;
                    (0..INSERTS).for_each(|_| way.inserted(IndexUpdates::Measured, insert));
                } else {
                    let merged = || way.merged(IndexUpdates::Measured, &visits, BATCH, merge * BATCH);
                    (0..MERGES).for_each(|_| merged());
                }
            }
            at_commit
        };
        assert!(windows(100, 200, 100) < 10, "merging is cheaper");
        assert!(windows(20, 200, 1_000) >= 16, "it is dearer from now on");
        assert!(windows(20, 200, 100) < 20, "and tried again");
        assert!(windows(20, 2_000, 100) <= 3, "inserting is dearer from now on");
    }

    #[test]
    fn a_repair_is_charged_to_each_worker_by_its_entries() {
        let visits: [Visits; 2] = Default::default();
        repaired(visits.iter().zip([1, 3]), 400);
        assert_eq!(visits.map(|visits| visits.ticks.into_inner()), [100 * SAMPLED, 300 * SAMPLED]);
        repaired(std::iter::empty(), 400);
    }
}
