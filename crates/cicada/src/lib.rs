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
//!  gc.rs, garbage.rs  superseded versions, records  version.rs       one version
//!  clock.rs      a worker's clock                   horizon.rs       min_wts, min_rts, epochs
//!  background.rs chores for idle workers            shared.rs        all of a database
//!  redo.rs       what a commit tells the log        rules.rs, techniques.rs  switches for tests and figures
//!  change.rs, indexes.rs  indexes come and go
//!  checkpoint.rs all rows to files                  recovery.rs, rebuild.rs  rows and log back, the indexes
//! ```
//!
//! The order in which commits take effect is that of their timestamps; unless it is told otherwise
//! ([`Consistency`]), it agrees with real time.

mod background;
mod change;
mod checkpoint;
mod clock;
mod commit;
mod config;
mod garbage;
mod gc;
mod guard;
mod horizon;
mod indexes;
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
use recovery::Recovery;
pub use rules::{Rule, Rules};
use scaledb_base::{Result, TableId};
use scaledb_durability::{Directory, Pace};
pub use scaledb_durability::{Durability, Inspected, Progress, Recovered};
use scaledb_engine::{
    IndexDef, Metric, OptionSpec, Reclamation, SerializationPoint, TableDef, TableInfo, TableStats,
};
use scaledb_kit::{Core, Instance, Protocol, Settings};
use scaledb_log::Log;
use scaledb_memory::Local;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;
pub use shared::CicadaShared;
pub use techniques::{Technique, Techniques};
pub use worker::CicadaWorker;

/// A database with the Cicada engine, in memory and, if it has a directory, on disk.
pub type Cicada = Instance<CicadaShared>;

impl Protocol for CicadaShared {
    const NAME: &'static str = "cicada";
    const SERIALIZATION_POINT: SerializationPoint = SerializationPoint::Begin;
    const TABLE_OPTIONS: &'static [OptionSpec] = &[];
    const TABLE_METRICS: &'static [Metric] = &[];

    type Config = Config;
    type Worker = CicadaWorker;

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
        let recovered = directory.restore(&mut Recovery::new(self), durability)?;
        // snapshots see what was recovered
        let now = self.clock.now_fenced();
        self.lead(now, now);
        Ok(recovered)
    }

    fn create_table(&self, mut local: Local, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        self.create_table(&mut local, def)
    }

    fn add_index(
        self: &Arc<Self>,
        mut local: Local,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<std::sync::Arc<TableInfo>> {
        self.make_and_add_index(&mut local, table, def, go_on)
    }

    fn drop_index(self: &Arc<Self>, local: Local, index: TableId) -> Result<std::sync::Arc<TableInfo>> {
        let info = self.mark_dropped(&local, index)?;
        drop(local);
        if !self.config.background {
            // what cannot be deleted now goes with the next one
            while change::empty_some(self).unwrap_or(false) {}
        }
        Ok(info)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.table_info(name)
    }

    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>> {
        self.table_infos()
    }

    fn worker(self: &Arc<Self>, local: Local) -> CicadaWorker {
        CicadaWorker::new(self.clone(), local)
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

    fn tend(self: &Arc<Self>, local: &mut Local, now: u64) -> bool {
        // what cannot be deleted now stays for the next round
        background::tend(self, local, now) | change::empty_some(self).unwrap_or(true)
    }

    fn checkpoint(self: &Arc<Self>, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64> {
        checkpoint::write(self, log, pace, stop)
    }

    fn inspect(&self, local: &Local) -> Result<Inspected> {
        inspect::inspect(self, local)
    }
}
