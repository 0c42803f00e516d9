//! The Cicada engine: optimistic, multi-version, multi-clock (Lim, Kaminsky, Andersen, *Cicada: Dependably Fast
//! Multi-Core In-Memory Transactions*, SIGMOD 2017). Section numbers in this crate are the paper's.
//!
//! A transaction takes its timestamp when it begins, reads the versions that were current then, keeps its
//! writes to itself, and installs them as pending versions when it commits, if nobody with another timestamp
//! is in the way. Readers never block writers and are never copied to; the price is a new version per write.
//!
//! ```text
//!  worker.rs   the engine interface
//!    read.rs     point reads, promotion             txn.rs, own.rs   read_set, range_set, write_set
//!    scan.rs     range scans, and their check       table.rs         a table or index: hash, tree, guards
//!    write.rs    buffered writes                    guard.rs         read timestamps of what has no record
//!    commit.rs   V1 to V5                           record.rs        head, key, inlined version
//!  gc.rs         superseded versions, gone records  version.rs       one version
//!  clock.rs      a worker's clock                   horizon.rs       min_wts, min_rts, epochs
//!  contention.rs the backoff                        shared.rs        all of a database
//!  background.rs chores for idle workers            rules.rs, techniques.rs  switches for tests and figures
//!  redo.rs       what a commit tells the log        durable.rs       opening a directory
//!  checkpoint.rs all rows to files                  recovery.rs, rebuild.rs  rows and log back, the indexes
//! ```
//!
//! The order in which commits take effect is that of their timestamps; unless it is told otherwise
//! ([`Consistency`]), it agrees with real time.

mod background;
mod checkpoint;
mod clock;
mod commit;
mod config;
mod contention;
mod durable;
mod gc;
mod guard;
mod horizon;
mod inspect;
mod own;
mod read;
mod reader;
mod rebuild;
mod record;
mod recovery;
mod redo;
mod rules;
mod scan;
mod shared;
mod stats;
mod table;
mod techniques;
mod txn;
mod version;
mod weigh;
mod worker;
mod write;

pub use config::{Clocks, Config, Consistency, OPTIONS};
pub use rules::{Rule, Rules};
pub use scaledb_durability::{Durability, Inspected, Progress, Recovered};
pub use techniques::{Technique, Techniques};
pub use worker::CicadaWorker;

use background::Background;
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_durability::{Checkpointer, failed};
use scaledb_engine::{
    Engine, Memory, Reclamation, SerializationPoint, Stats, TableDef, TableInfo, TableStats,
};
use scaledb_log::Log;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;
use shared::Shared;

/// A database with the Cicada engine, in memory and, if it has a directory, on disk.
pub struct Cicada {
    // first: the threads end before the rest goes
    _background: Option<Background>,
    checkpointer: Option<Checkpointer>,
    recovered: Recovered,
    shared: Arc<Shared>,
}

impl Cicada {
    /// The database of the configuration's directory, as it was acknowledged; without one, an empty database.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): the directory cannot be read, is damaged, in use, or
    /// another engine's. [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
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
    /// As [`Cicada::open`], and whatever does not fit together.
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

impl Engine for Cicada {
    type Worker = CicadaWorker;

    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        let mut local = self.shared.domain.register()?;
        self.shared.create_table(&mut local, def)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.shared.table_info(name)
    }

    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>> {
        self.shared.table_infos()
    }

    fn worker(&self) -> Result<CicadaWorker> {
        Ok(CicadaWorker::new(self.shared.clone(), self.shared.domain.register()?))
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

    fn serialization_point(&self) -> SerializationPoint {
        SerializationPoint::Begin
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

    fn name(&self) -> &'static str {
        "cicada"
    }

    #[inline]
    fn durable(&self) -> Timestamp {
        self.shared.log().map_or(Timestamp::MAX, |log| log.durable())
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.shared.log().map_or(Ok(()), |log| log.wait(ts).map_err(failed))
    }
}
