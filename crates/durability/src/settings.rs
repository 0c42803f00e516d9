//! How a database is kept on disk, and what its opening reports.

use scaledb_log::LogOptions;
use scaledb_log::disk::Disk;
use std::time::Duration;

/// How a database is kept on disk.
#[derive(Clone, Debug)]
pub struct Durability {
    /// The directory.
    pub disk: std::sync::Arc<dyn Disk>,
    /// Settings of the log.
    pub log: LogOptions,
    /// Threads that read the directory when it is opened; 0: one for each processor.
    pub recovery_threads: usize,
    /// A checkpoint is written when the log has grown by this many bytes, and by as many as the last
    /// checkpoint has, since that was begun; 0: only when somebody asks for it.
    pub checkpoint_bytes: u64,
    /// The part of all processors, 0 to 1, that a checkpoint in the background uses.
    pub checkpoint_share: f64,
    /// Told how far the opening is, some times a second.
    pub progress: Option<fn(&Progress)>,
}

impl Durability {
    /// The default settings for a directory.
    pub fn new(disk: std::sync::Arc<dyn Disk>) -> Self {
        Self {
            disk,
            log: LogOptions::default(),
            recovery_threads: 0,
            checkpoint_bytes: 1 << 30,
            checkpoint_share: 0.08,
            progress: None,
        }
    }
}

/// How far the opening of a directory is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Rows read from the checkpoint.
    pub rows: u64,
    /// Rows in the checkpoint.
    pub all_rows: u64,
    /// Bytes of the log replayed.
    pub log_bytes: u64,
    /// Bytes of the log to replay.
    pub all_log_bytes: u64,
    /// Tables whose indexes have been built.
    pub tables: u64,
    /// Tables.
    pub all_tables: u64,
}

/// What the opening of a directory found, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovered {
    /// Rows read from the checkpoint.
    pub rows: u64,
    /// Transactions replayed from the log.
    pub transactions: u64,
    /// Inserts, updates and deletes replayed from the log.
    pub operations: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Entries inserted in range indexes.
    pub entries: u64,
    /// Reading the checkpoint.
    pub load_time: Duration,
    /// Replaying the log.
    pub replay_time: Duration,
    /// Building the indexes.
    pub rebuild_time: Duration,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// Tables, without indexes.
    pub tables: u64,
    /// Rows.
    pub rows: u64,
    /// Secondary indexes.
    pub indexes: u64,
    /// Their entries.
    pub entries: u64,
}

/// The log's figures, as an engine reports them.
pub fn log_stats(log: &scaledb_log::LogStats) -> scaledb_engine::LogStats {
    scaledb_engine::LogStats {
        bytes: log.bytes,
        groups: log.groups,
        transactions: log.transactions,
        sync_p50_us: log.sync_times.quantile(0.5).as_micros() as u64,
        sync_p99_us: log.sync_times.quantile(0.99).as_micros() as u64,
    }
}
