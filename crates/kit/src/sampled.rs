//! How long before scans found them rows were written: of one transaction in [`SAMPLED`], all scans of the present.
//!
//! A record's head says when its row was written last, so nobody who writes has anything to do with it.

use scaledb_engine::WriteToScan;
use scaledb_sync::atomic::{AtomicU64, Ordering};

/// Of the transactions of a worker, the scans of one in so many are sampled.
pub(crate) const SAMPLED: u64 = 64;
/// A model has nothing to measure, and counts every atomic.
const COUNTERS: usize = if scaledb_sync::MODEL { 0 } else { WriteToScan::BUCKETS };

/// Whether the one of this number is among the one in `one_in` that are measured.
///
/// Which ones are must have nothing to do with what an application does in turn: of one that writes in every second
/// transaction, every 64th would write always, or never. Multiples of the golden ratio are spread evenly, whichever of
/// them are taken in regular steps (Fibonacci hashing).
#[inline]
pub fn is_sampled(number: u64, one_in: u64) -> bool {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= u64::MAX / one_in
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_regular_steps_one_in_so_many_is_sampled() {
        for (one_in, step) in [8, 64].into_iter().flat_map(|one_in| (1..=128).map(move |step| (one_in, step)))
        {
            let sampled = (0..one_in * 1000).filter(|n| is_sampled(7 + n * step, one_in)).count();
            assert!((800..1200).contains(&sampled), "one in {one_in}, every {step}th: {sampled}");
        }
    }
}
