//! What keeps memory from being used again: rows that were deleted and versions that were replaced wait for all
//! transactions that are older.

use std::time::Duration;

/// What waits, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclamation {
    /// Rows and versions that wait.
    pub waiting: u64,
    /// Bytes that wait and are out of tables and indexes already; rows and versions in `waiting` are not among them.
    pub waiting_bytes: u64,
    /// How long the oldest of those that they wait for has been there.
    pub lag: Duration,
    /// The transactions that they wait for, the oldest first.
    pub transactions: Vec<Held>,
}

/// A transaction, or something else that looks at rows: a checkpoint, a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The session whose transaction it is, if it is one's: its `pg_backend_pid()`.
    pub session: Option<u32>,
    /// How long it has been there. A transaction begins with its first statement that reads or writes.
    pub time: Duration,
}
