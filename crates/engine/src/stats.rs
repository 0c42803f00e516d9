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
    /// What only this engine counts.
    pub metrics: Metrics,
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
