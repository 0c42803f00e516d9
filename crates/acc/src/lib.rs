//! The ACC engine: asynchronous concurrency control (ScaleDB section 4.2, as corrected by this project).
//!
//! A commit touches what it truly shares with others: its own records. New keys go into a hash structure
//! and a pending list; each worker merges its own into the B+ trees later, sorted, in batches, or inserts at
//! commit where that is cheaper. Point reads are current; scans repair what has not been merged, and validate.
//!
//! ```text
//!  worker.rs   the engine interface
//!    read.rs     point reads                    txn.rs      read_set, range_set, write_set
//!    scan.rs     range scans, and their check   table.rs    a table or index: hash, tree, phantomlet
//!    write.rs    buffered writes                pending.rs  unmerged entries of a worker and table
//!    commit.rs   C1 to C6, and abort            lane.rs     a worker's pin and lock
//!  merge.rs      M1 to M6                       shared.rs   all of a database
//!  cleanup.rs    deleted records, old versions  rules.rs    switches for tests
//!  snapshot.rs   read-only transactions without validation
//!  contention.rs backoff and priority           tune.rs     the merge batch, and whether to merge
//!  background.rs chores, and the thread that does them for idle workers
//!  redo.rs       what a commit tells the log     durable.rs  opening a directory
//!  checkpoint.rs all rows to files               recovery.rs rows and log back, rebuild.rs the indexes
//! ```
//!
//! The order in which commits take effect is that of their timestamps, and agrees with real time.

mod background;
mod checkpoint;
mod cleanup;
mod commit;
mod config;
mod contention;
mod durable;
mod inspect;
mod lane;
mod merge;
mod pending;
mod read;
mod rebuild;
mod recovery;
mod redo;
mod rules;
mod scan;
mod shared;
mod snapshot;
mod stats;
mod table;
mod tune;
mod txn;
mod weigh;
mod worker;
mod write;

pub use config::{Config, IndexUpdates, OPTIONS};
pub use rules::{Rule, Rules};
pub use scaledb_durability::{Durability, Inspected, Progress, Recovered};
pub use worker::AccWorker;

use background::Background;
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_durability::{Checkpointer, failed};
use scaledb_engine::{
    Engine, Memory, Metric, OptionSpec, Reclamation, Stats, TableDef, TableInfo, TableStats,
};
use scaledb_log::Log;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;
use shared::Shared;

/// A database with the ACC engine, in memory and, if it has a directory, on disk.
pub struct Acc {
    // first: the threads end before the rest goes
    _background: Option<Background>,
    checkpointer: Option<Checkpointer>,
    recovered: Recovered,
    shared: Arc<Shared>,
}

impl Acc {
    /// The database of the configuration's directory, as it was acknowledged; without one, an empty database.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): the directory cannot be read, is damaged, or in
    /// use. [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    pub fn open(config: Config) -> Result<Self> {
        let (background, durability) = (config.background, config.durability.clone());
        let (shared, recovered) = match &durability {
            Some(durability) => durable::open(config, durability)?,
            None => {
                let reserve = config.reserve;
                let shared = Arc::new(Shared::new(config, 0));
                shared.domain.reserve(reserve);
                (shared, Recovered::default())
            }
        };
        let background = if background {
            Some(Background::start(shared.clone(), shared.domain.register()?))
        } else {
            None
        };
        let checkpointer = match (&durability, shared.log()) {
            (Some(durability), Some(log)) => {
                let (ours, its_log) = (shared.clone(), log.clone());
                let write = move |pace, stop: &AtomicBool| checkpoint::write(&ours, &its_log, pace, stop);
                Some(Checkpointer::start(log, durability, recovered.log_bytes, write))
            }
            _ => None,
        };
        Ok(Self { _background: background, checkpointer, recovered, shared })
    }

    /// Reads a directory into memory, compares its tables with their indexes, and leaves the directory as it is:
    /// what `scaledb check` does behind the check of all checksums.
    ///
    /// # Errors
    /// As [`Acc::open`], and whatever does not fit together.
    pub fn inspect(config: Config) -> Result<(Recovered, Inspected)> {
        let Some(durability) = config.durability.clone() else { return Ok(Default::default()) };
        let (shared, recovered) = durable::read(config, &durability)?;
        let mut local = shared.domain.register()?;
        local.enter();
        let inspected = inspect::inspect(&shared, &local);
        local.exit();
        Ok((recovered, inspected?))
    }

    /// The memory that rows and indexes lie in.
    pub fn memory(&self) -> &scaledb_memory::Domain {
        &self.shared.domain
    }

    /// Bytes taken from the system for rows and indexes; the memory budget bounds them. One load, unlike
    /// [`Engine::stats`].
    pub fn memory_bytes(&self) -> u64 {
        self.shared.domain.used()
    }

    /// What opening the directory found.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// The redo log; `None` for a database in memory only.
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.shared.log()
    }

    /// Writes a checkpoint with all speed, and returns when it is in force: the next opening starts from it, and
    /// the log before it is gone. Does nothing for a database in memory only.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed): the checkpoint before stays in force.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpointer.as_ref().map_or(Ok(()), Checkpointer::write)
    }
}

impl Engine for Acc {
    type Worker = AccWorker;

    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        let mut local = self.shared.domain.register()?;
        let (info, ts) = self.shared.create_table(&mut local, def)?;
        drop(local);
        self.wait_durable(ts)?;
        Ok(info)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.shared.table_info(name)
    }

    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>> {
        self.shared.table_infos()
    }

    fn table_options(&self) -> &'static [OptionSpec] {
        config::TABLE_OPTIONS
    }

    fn table_metrics(&self) -> &'static [Metric] {
        stats::METRICS
    }

    fn worker(&self) -> Result<AccWorker> {
        Ok(AccWorker::new(self.shared.clone(), self.shared.domain.register()?))
    }

    fn stats(&self) -> Stats {
        self.shared.stats()
    }

    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        self.shared.table_stats(id)
    }

    fn memory(&self) -> Memory {
        Memory { bytes: self.shared.domain.used(), budget: self.shared.domain.budget() }
    }

    fn reclamation(&self) -> Reclamation {
        self.shared.reclamation()
    }

    fn name(&self) -> &'static str {
        "acc"
    }

    #[inline]
    fn durable(&self) -> Timestamp {
        self.shared.log().map_or(Timestamp::MAX, |log| log.durable())
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.shared.log().map_or(Ok(()), |log| log.wait(ts).map_err(failed))
    }

    fn close(&self) -> Result<()> {
        self.shared.log().map_or(Ok(()), |log| log.close().map_err(failed))
    }

    fn log_failure(&self) -> Option<String> {
        self.shared.log()?.failure().map(|error| error.to_string())
    }

    fn checkpoint(&self) -> Result<()> {
        Self::checkpoint(self)
    }
}
