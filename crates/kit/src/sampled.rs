//! How long before scans found them rows were written: of one transaction in [`SAMPLED`], all scans of the present.
//!
//! A record's head says when its row was written last, so nobody who writes has anything to do with it.

use scaledb_engine::WriteToScan;
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Of the transactions of a worker, the scans of one in so many are sampled (a power of two).
pub(crate) const SAMPLED: u64 = 64;
/// A model has nothing to measure, and counts every atomic.
const COUNTERS: usize = if scaledb_sync::MODEL { 0 } else { WriteToScan::BUCKETS };

/// What was counted for a table or index.
pub(crate) struct Sampled(Box<[AtomicU64]>);

impl Sampled {
    pub(crate) fn new() -> Self {
        Self((0..COUNTERS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Adds what a scan has found. By all workers, but by few of their scans.
    pub(crate) fn add(&self, found: &[u64; WriteToScan::BUCKETS]) {
        for (counter, &rows) in self.0.iter().zip(found).filter(|(_, rows)| **rows > 0) {
            counter.fetch_add(rows, Ordering::Relaxed); // a statistic
        }
    }

    pub(crate) fn get(&self) -> WriteToScan {
        let mut counts = [0; WriteToScan::BUCKETS];
        let counters = counts.iter_mut().zip(&self.0);
        counters.for_each(|(count, counter)| *count = counter.load(Ordering::Relaxed)); // a statistic
        WriteToScan::new(counts)
    }
}
