//! What an engine counts.

use crate::metric::Metrics;
use scaledb_base::{ConflictKind, TableId, WorkerId};
use std::time::Duration;

/// Counters of a database since it was opened, summed over its workers; and its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Committed transactions, read-only ones included.
    pub commits: u64,
    /// Aborts by conflict, in the order of [`ConflictKind::ALL`].
    pub conflicts: [u64; ConflictKind::ALL.len()],
    /// Transactions that their callers rolled back.
    pub rollbacks: u64,
    /// Bytes taken from the system for rows and indexes.
    pub memory_bytes: u64,
    /// The present limit of the randomized backoff, in nanoseconds.
    pub backoff_ns: u64,
    /// Counters per table and index.
    pub tables: Vec<TableStats>,
    /// The log; `None` for an engine that keeps none.
    pub log: Option<LogStats>,
}

/// Counters of the redo log since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogStats {
    /// Bytes written, padding included.
    pub bytes: u64,
    /// Groups of transactions, each written and synced at once.
    pub groups: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Half of the writes and syncs took at most so many microseconds (a power of two).
    pub sync_p50_us: u64,
    /// 99 % of them took at most so many (a power of two).
    pub sync_p99_us: u64,
}

/// Counters of one table or index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStats {
    /// Its id.
    pub id: Option<TableId>,
    /// Its name.
    pub name: String,
    /// Keys, absent ones that await clean-up included, whether they are in the tree yet or not.
    pub entries: u64,
    /// Records that clean-up removed.
    pub cleaned: u64,
    /// Bytes of what finds single keys beside the tree.
    pub hash_bytes: u64,
    /// Keys in the tree, absent ones that await clean-up included.
    pub tree_entries: u64,
    /// Bytes of the tree.
    pub tree_bytes: u64,
    /// Bytes of what else the index needs.
    pub other_bytes: u64,
    /// Bytes of the records, about: those of some leaves, for all. Old versions of rows are not among them.
    pub record_bytes: u64,
    /// How long before a scan the rows that it found had been written.
    pub write_to_scan: WriteToScan,
    /// What only this engine counts.
    pub metrics: Metrics,
}

/// How long before range scans of the present found them rows had been inserted or updated last: of a sample of the
/// scans, how many rows by powers of two. What the scanning transaction wrote itself is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteToScan {
    counts: [u64; Self::BUCKETS],
}

impl WriteToScan {
    /// Powers of two, of microseconds; the last stands for all that is longer.
    pub const BUCKETS: usize = 32;

    /// The number of the bucket of a time.
    pub fn bucket(time: Duration) -> usize {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        (u64::BITS - micros.leading_zeros()).min(Self::BUCKETS as u32 - 1) as usize
    }

    /// With the counts of buckets, in their order.
    pub fn new(counts: [u64; Self::BUCKETS]) -> Self {
        Self { counts }
    }

    /// Rows that were looked at.
    pub fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What times lie below, of each bucket, and the rows in it. The last one has no end: the largest duration.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> {
        let end = |bucket: usize| match bucket + 1 {
            Self::BUCKETS => Duration::MAX,
            _ => Duration::from_micros(1 << bucket),
        };
        self.counts.into_iter().enumerate().map(move |(bucket, count)| (end(bucket), count))
    }

    /// The end of the bucket in which this part of the rows, from 0 to 1, is reached; `None` without rows.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (part * self.rows() as f64).ceil().max(1.0) as u64;
        let mut sum = 0;
        let reached = self.buckets().find(|(_, count)| {
            sum += count;
            sum >= wanted
        });
        reached.map(|(end, _)| end)
    }
}

impl std::ops::AddAssign for WriteToScan {
    fn add_assign(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
    }
}

impl TableStats {
    /// A metric of the engine by its name; 0 if it has none of that name.
    pub fn metric(&self, name: &str) -> u64 {
        self.metrics.get(name).unwrap_or(0)
    }
}

/// The memory of rows and indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes taken from the system.
    pub bytes: u64,
    /// What bounds them.
    pub budget: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { bytes: 0, budget: u64::MAX }
    }
}

/// What keeps memory from being used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclamation {
    /// Rows that were deleted, and versions that were replaced, whose memory waits for those who may read them yet.
    pub waiting: u64,
    /// Bytes that are out of tables and indexes, and wait likewise. What [`waiting`](Self::waiting) counts is not among
    /// them.
    pub waiting_bytes: u64,
    /// Workers that may: they are in transactions, or do what the engine itself has to. With each, for how long; the
    /// longest first.
    pub active: Vec<(WorkerId, Duration)>,
}

impl Reclamation {
    /// How far the memory that is used again lags behind.
    pub fn lag(&self) -> Duration {
        self.active.first().map_or(Duration::ZERO, |(_, time)| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_powers_of_two() {
        let bucket = |micros| WriteToScan::bucket(Duration::from_micros(micros));
        assert_eq!([0, 1, 2, 3, 4, 1_000].map(bucket), [0, 1, 2, 2, 3, 10]);
        assert_eq!(WriteToScan::bucket(Duration::MAX), WriteToScan::BUCKETS - 1);
        assert_eq!(WriteToScan::default().quantile(0.5), None);
        let mut counts = [0; WriteToScan::BUCKETS];
        (counts[3], counts[10], counts[31]) = (90, 9, 1);
        let mut found = WriteToScan::new(counts);
        let at = |found: &WriteToScan, part| found.quantile(part).unwrap();
        assert_eq!(at(&found, 0.0), Duration::from_micros(8));
        assert_eq!(at(&found, 0.9), Duration::from_micros(8));
        assert_eq!(at(&found, 0.91), Duration::from_micros(1_024));
        assert_eq!(at(&found, 1.0), Duration::MAX);
        found += found;
        assert_eq!((found.rows(), at(&found, 0.5)), (200, Duration::from_micros(8)));
    }
}
