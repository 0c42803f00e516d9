//! The ACC engine: asynchronous concurrency control (ScaleDB section 4.2, as corrected by this project).
//!
//! A commit touches what it truly shares with others: its own records. New keys go into a hash structure
//! and a pending list; each worker merges its own into the B+ trees later, sorted, in batches. Point reads
//! are current; scans repair what has not been merged, and validate.
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
//!  contention.rs backoff and priority           tune.rs     the merge batch
//!  background.rs chores, and the thread that does them for idle workers
//! ```
//!
//! The order in which commits take effect is that of their timestamps, and agrees with real time.

mod background;
mod cleanup;
mod commit;
mod config;
mod contention;
mod lane;
mod merge;
mod pending;
mod read;
mod rules;
mod scan;
mod shared;
mod snapshot;
mod stats;
mod table;
mod tune;
mod txn;
mod worker;
mod write;

pub use config::Config;
pub use rules::{Rule, Rules};
pub use worker::AccWorker;

use background::Background;
use scaledb_base::Result;
use scaledb_engine::{Engine, Stats, TableDef, TableInfo};
use scaledb_sync::Arc;
use shared::Shared;

/// A database with the ACC engine, in memory.
pub struct Acc {
    // first: the thread ends before the rest goes
    _background: Option<Background>,
    shared: Arc<Shared>,
}

impl Acc {
    /// An empty database.
    ///
    /// # Errors
    /// None at present; opening will fail when there is something to read.
    pub fn open(config: Config) -> Result<Self> {
        let (background, reserve) = (config.background, config.reserve);
        let shared = Arc::new(Shared::new(config));
        shared.domain.reserve(reserve);
        let background = if background {
            Some(Background::start(shared.clone(), shared.domain.register()?))
        } else {
            None
        };
        Ok(Self { _background: background, shared })
    }
}

impl Engine for Acc {
    type Worker = AccWorker;

    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        let mut local = self.shared.domain.register()?;
        self.shared.create_table(&mut local, def)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.shared.table_info(name)
    }

    fn worker(&self) -> Result<AccWorker> {
        Ok(AccWorker::new(self.shared.clone(), self.shared.domain.register()?))
    }

    fn stats(&self) -> Stats {
        self.shared.stats()
    }

    fn name(&self) -> &'static str {
        "acc"
    }
}
