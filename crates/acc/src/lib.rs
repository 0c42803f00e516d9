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
//!  retain.rs     the old rows that they need
//!  contention.rs priority                       tune.rs     the merge batch, and whether to merge
//!  background.rs chores, and the thread that does them for idle workers
//!  redo.rs       what a commit tells the log
//!  change.rs, indexes.rs  indexes come and go
//!  checkpoint.rs all rows to files               recovery.rs rows and log back, rebuild.rs the indexes
//! ```
//!
//! The order in which commits take effect is that of their timestamps, and agrees with real time.

mod background;
mod change;
mod checkpoint;
mod cleanup;
mod commit;
mod config;
mod contention;
mod indexes;
mod inspect;
mod lane;
mod merge;
mod pending;
mod read;
mod rebuild;
mod recovery;
mod redo;
mod retain;
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
pub use shared::AccShared;
pub use worker::AccWorker;

use recovery::Recovery;
use scaledb_base::{Result, TableId};
use scaledb_durability::{Directory, Pace};
use scaledb_engine::{
    IndexDef, Metric, OptionSpec, Reclamation, SerializationPoint, TableDef, TableInfo, TableStats,
};
use scaledb_kit::{Core, Instance, Protocol, Settings};
use scaledb_log::Log;
use scaledb_memory::Local;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;

/// A database with the ACC engine, in memory and, if it has a directory, on disk.
pub type Acc = Instance<AccShared>;

impl Protocol for AccShared {
    const NAME: &'static str = "acc";
    const SERIALIZATION_POINT: SerializationPoint = SerializationPoint::Commit;
    const TABLE_OPTIONS: &'static [OptionSpec] = config::TABLE_OPTIONS;
    const TABLE_METRICS: &'static [Metric] = stats::METRICS;

    type Config = Config;
    type Worker = AccWorker;

    fn settings(config: &Config) -> Settings {
        let Config { reserve, background, ref durability, .. } = *config;
        Settings { reserve, background, durability: durability.clone() }
    }

    fn new(config: Config, after: u64) -> Self {
        Self::new(config, after)
    }

    #[inline]
    fn core(&self) -> &Core {
        self
    }

    fn restore(&self, directory: &mut Directory, durability: &Durability) -> Result<Recovered> {
        directory.restore(&mut Recovery::new(self), durability)
    }

    fn create_table(&self, mut local: Local, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        let (info, ts) = self.create_table(&mut local, def)?;
        drop(local);
        self.wait_durable(ts)?;
        Ok(info)
    }

    fn add_index(
        self: &Arc<Self>,
        mut local: Local,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<std::sync::Arc<TableInfo>> {
        let (info, ts) = self.make_and_add_index(&mut local, table, def, go_on)?;
        drop(local);
        self.wait_durable(ts)?;
        Ok(info)
    }

    fn drop_index(self: &Arc<Self>, local: Local, index: TableId) -> Result<std::sync::Arc<TableInfo>> {
        let (info, ts) = self.mark_dropped(&local, index)?;
        drop(local);
        if !self.config.background {
            // what cannot be deleted now goes with the next one
            while change::empty_some(self).unwrap_or(false) {}
        }
        self.wait_durable(ts)?;
        Ok(info)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.table_info(name)
    }

    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>> {
        self.table_infos()
    }

    fn worker(self: &Arc<Self>, local: Local) -> AccWorker {
        AccWorker::new(self.clone(), local)
    }

    fn all_table_stats(&self) -> Vec<TableStats> {
        self.all_table_stats()
    }

    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        self.table_stats(id)
    }

    fn reclamation(&self) -> Reclamation {
        self.reclamation()
    }

    fn tend(self: &Arc<Self>, local: &mut Local, _: u64) -> bool {
        // what cannot be deleted now stays for the next round
        background::tend(self, local) | change::empty_some(self).unwrap_or(true)
    }

    fn checkpoint(self: &Arc<Self>, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64> {
        checkpoint::write(self, log, pace, stop)
    }

    fn inspect(&self, local: &Local) -> Result<Inspected> {
        inspect::inspect(self, local)
    }
}
