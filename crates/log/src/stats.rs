//! What the log has done since it was started.

use scaledb_sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const BUCKETS: usize = 32;

/// Counters of a log since its start.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogStats {
    /// Written to segments, padding included.
    pub bytes: u64,
    /// Groups with transactions.
    pub groups: u64,
    /// Groups without, which only move the horizon or seal the group in front of them.
    pub markers: u64,
    /// Transactions in the groups.
    pub transactions: u64,
    /// How long the synced writes took.
    pub sync_times: SyncTimes,
    /// Segments that hold the log now.
    pub segments: u64,
    /// How often a segment could not be prepared ahead.
    pub preparations_failed: u64,
}

/// Times, counted in buckets of powers of two of a microsecond.
#[derive(Debug, Clone, Copy, Default)]
pub struct SyncTimes {
    /// Bucket `i` counts times below 2^i µs that are in no bucket before it.
    pub buckets: [u64; BUCKETS],
}

impl SyncTimes {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// A time that the share `q` (0 to 1) of them did not exceed; zero if there were none.
    pub fn quantile(&self, q: f64) -> Duration {
        let wanted = (self.count() as f64 * q.clamp(0.0, 1.0)).ceil() as u64;
        let mut seen = 0;
        for (i, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return Duration::from_micros(1 << i);
            }
        }
        Duration::ZERO
    }
}

/// The counters while they count. All are statistics: `Relaxed` throughout.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) bytes: AtomicU64,
    pub(crate) groups: AtomicU64,
    pub(crate) markers: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) preparations_failed: AtomicU64,
    sync_times: [AtomicU64; BUCKETS],
}

impl Counters {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            bytes: zero(),
            groups: zero(),
            markers: zero(),
            transactions: zero(),
            preparations_failed: zero(),
            sync_times: std::array::from_fn(|_| zero()),
        }
    }

    pub(crate) fn synced(&self, took: Duration) {
        let micros = took.as_micros() as u64;
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        add(&self.sync_times[bucket.min(BUCKETS - 1)], 1);
    }

    pub(crate) fn read(&self) -> LogStats {
        // statistics
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogStats {
            bytes: get(&self.bytes),
            groups: get(&self.groups),
            markers: get(&self.markers),
            transactions: get(&self.transactions),
            sync_times: SyncTimes { buckets: std::array::from_fn(|i| get(&self.sync_times[i])) },
            segments: 0,
            preparations_failed: get(&self.preparations_failed),
        }
    }
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed); // a statistic
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(micros: &[u64], q: f64) -> u128 {
        let counters = Counters::new();
        micros.iter().for_each(|&micros| counters.synced(Duration::from_micros(micros)));
        counters.read().sync_times.quantile(q).as_micros()
    }

    #[test]
    fn a_quantile_is_the_end_of_the_bucket_that_it_lies_in() {
        assert_eq!(quantile(&[], 0.5), 0);
        for (q, expected) in [(0.0, 1), (0.25, 1), (0.26, 4), (0.75, 4), (0.76, 128), (1.0, 128)] {
            assert_eq!(quantile(&[0, 3, 3, 100], q), expected, "{q}");
        }
        assert_eq!(quantile(&[100], 0.0), 128);
        assert_eq!(quantile(&[u64::MAX], 1.0), 1 << 31);
    }
}
