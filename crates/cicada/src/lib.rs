//! The Cicada engine: optimistic, multi-version, multi-clock (Lim, Kaminsky, Andersen, *Cicada: Dependably Fast
//! Multi-Core In-Memory Transactions*, SIGMOD 2017). Section numbers in this crate are the paper's.
//!
//! A transaction takes its timestamp when it begins, reads the versions that were current then, keeps its
//! writes to itself, and installs them as pending versions when it commits, if nobody with another timestamp
//! is in the way. Readers never block writers and are never copied to; the price is a new version per write.
//!
//! ```text
//!  worker.rs   what a worker can do; the kit makes it the engine interface
//!    read.rs     point reads, promotion             txn.rs, own.rs   read_set, range_set, write_set
//!    scan.rs     range scans, and their check       table.rs         a table or index: hash, tree, guards
//!    write.rs    buffered writes                    guard.rs         read timestamps of what has no record
//!    commit.rs   V1 to V5                           record.rs        head, key, inlined version
//!  gc.rs, garbage.rs  superseded versions, records  version.rs       one version
//!  clock.rs      a worker's clock                   horizon.rs       min_wts, min_rts, epochs
//!  background.rs chores for idle workers            shared.rs        all of a database
//!  redo.rs       what a commit tells the log        rules.rs, techniques.rs  switches for tests and figures
//!  records.rs, reader.rs  what the kit asks of records: for recovery, indexes, checkpoints
//! ```
//!
//! The order in which commits take effect is that of their timestamps; unless it is told otherwise
//! ([`Consistency`]), it agrees with real time.

mod background;
mod clock;
mod commit;
mod config;
mod garbage;
mod gc;
mod guard;
mod horizon;
mod own;
mod read;
mod reader;
mod record;
mod records;
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
pub use shared::CicadaShared;
pub use techniques::{Technique, Techniques};
pub use worker::CicadaWorker;

use reader::SnapshotReader;
use scaledb_base::{Result, Timestamp};
use scaledb_engine::{CatalogEntry, Metric, OptionSpec, SerializationPoint, TableStats};
use scaledb_kit::{Instance, Protocol, Records, Settings};
use scaledb_memory::Local;
use scaledb_sync::atomic::{Ordering, fence};
use table::CicadaTable;

/// A database with the Cicada engine, in memory and, if it has a directory, on disk.
pub type Cicada = Instance<CicadaShared>;

impl Protocol for CicadaShared {
    const NAME: &'static str = "cicada";
    const SERIALIZATION_POINT: SerializationPoint = SerializationPoint::Begin;
    const TABLE_OPTIONS: &'static [OptionSpec] = &[];
    const TABLE_METRICS: &'static [Metric] = &[];

    type Config = Config;
    type Reader<'a> = SnapshotReader<'a>;

    fn settings(config: &Config) -> Settings {
        let Config { reserve, background, ref durability, .. } = *config;
        Settings { reserve, background, durability: durability.clone() }
    }

    fn new(config: Config, after: u64) -> Self {
        Self::new(config, after)
    }

    fn recovered(&self) {
        // snapshots see what was recovered
        let now = self.clock.now_fenced();
        self.lead(now, now);
    }

    fn reader(&self) -> Result<SnapshotReader<'_>> {
        SnapshotReader::new(self)
    }

    fn begin_checkpoint(&self) -> Result<Timestamp> {
        self.snapshot_boundary()
    }

    fn table_stats(&self, table: &CicadaTable, reader: Option<&mut SnapshotReader<'_>>) -> TableStats {
        table.stats(reader)
    }

    fn waiting(&self) -> u64 {
        self.waiting()
    }

    fn tend(&self, local: &mut Local, now: u64) -> bool {
        background::tend(self, local, now)
    }

    /// Waits until the change is durable: a transaction that began before may use what is new, and postpones its own
    /// timestamp when it sees how far the log is.
    fn log_definition(&self, local: &Local, entry: &CatalogEntry) -> Result<Timestamp> {
        let ts = self.core().log_definition(local.id(), entry)?;
        self.wait_durable(ts)?;
        Ok(ts)
    }

    /// A commit installs its versions where they are found, and then looks at the count.
    fn await_commits(&self) {
        // pairs with the fences of those who insert, and with their look at the count
        fence(Ordering::SeqCst);
    }

    fn begin_definition(&self) -> u64 {
        self.begin_anew()
    }

    fn end_definition(&self) -> u64 {
        self.begin_anew()
    }
}
