//! The ACC engine: asynchronous concurrency control (ScaleDB section 4.2, as corrected by this project).
//!
//! A commit touches what it truly shares with others: its own records. New keys go into a hash structure
//! and a pending list; each worker merges its own into the B+ trees later, sorted, in batches, or inserts at
//! commit where that is cheaper. Point reads are current; scans repair what has not been merged, and validate.
//!
//! ```text
//!  worker.rs   what a worker can do; the kit makes it the engine interface
//!    read.rs     point reads                    txn.rs      read_set, range_set, write_set
//!    scan.rs     range scans, and their check   table.rs    a table or index: hash, tree, phantomlet
//!    write.rs    buffered writes                write_finder.rs  the writes of a large one
//!                                               pending.rs  unmerged entries of a worker and table
//!    commit/     C1 to C6, and abort            lane.rs     a worker's pin and lock
//!  merge.rs      M1 to M6                       shared.rs   all of a database
//!  cleanup.rs    deleted records, old versions  rules.rs    switches for tests
//!  snapshot.rs   read-only transactions without validation
//!  lookahead.rs  asks for the rows that a scan reads next
//!  boundary.rs   the timestamps that they read at
//!  retain.rs     the old rows that they need
//!  contention.rs priority                       tune.rs     the merge batch, and whether to merge
//!  background.rs chores, and the thread that does them for idle workers
//!  redo.rs       what a commit tells the log
//!  change.rs     what changes of indexes wait for
//!  record/       a record, its header words, the old rows that snapshots need
//!  records.rs, reader.rs  what the kit asks of records: for recovery, indexes, checkpoints
//! ```
//!
//! The order in which commits take effect is that of their timestamps, and agrees with real time.

mod background;
mod boundary;
mod change;
mod cleanup;
mod commit;
mod config;
mod contention;
mod lane;
mod lookahead;
mod merge;
mod pending;
mod read;
mod reader;
pub mod record;
mod records;
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
mod write_finder;

pub use config::{Config, IndexUpdates, OPTIONS};
pub use rules::{Rule, Rules};
pub use scaledb_durability::{Durability, Inspected, Progress, Recovered};
pub use shared::AccShared;
pub use worker::AccWorker;

use reader::RowReader;
use scaledb_base::{Result, Timestamp};
use scaledb_engine::{Metric, OptionSpec, SerializationPoint, TableStats};
use scaledb_kit::{Instance, Protocol, Settings};
use scaledb_memory::Local;
use table::AccTable;

/// A database with the ACC engine, in memory and, if it has a directory, on disk.
pub type Acc = Instance<AccShared>;

impl Protocol for AccShared {
    const NAME: &'static str = "acc";
    const SERIALIZATION_POINT: SerializationPoint = SerializationPoint::Commit;
    const TABLE_OPTIONS: &'static [OptionSpec] = config::TABLE_OPTIONS;
    const TABLE_METRICS: &'static [Metric] = stats::METRICS;

    type Config = Config;
    type Reader<'a> = RowReader;

    fn settings(config: &Config) -> Settings {
        let Config { reserve, background, ref durability, .. } = *config;
        Settings { reserve, background, durability: durability.clone() }
    }

    fn new(config: Config, after: u64) -> Self {
        Self::new(config, after)
    }

    fn reader(&self) -> Result<RowReader> {
        RowReader::new(self)
    }

    fn begin_checkpoint(&self) -> Result<Timestamp> {
        Ok(self.merge_horizon())
    }

    fn table_stats(&self, table: &AccTable, reader: Option<&mut RowReader>) -> TableStats {
        table.stats(reader)
    }

    fn waiting(&self) -> u64 {
        self.waiting()
    }

    fn tend(&self, local: &mut Local, _: u64) -> bool {
        background::tend(self, local)
    }

    fn await_commits(&self) {
        self.await_commits();
    }

    fn begin_definition(&self) -> u64 {
        Timestamp::start_of(self.clock.now_fenced() + 1).raw()
    }

    fn end_definition(&self) -> u64 {
        Timestamp::start_of(self.clock.now_fenced()).raw()
    }

    fn merge_all(&self, local: &mut Local, index: &AccTable) -> Result<()> {
        self.merge_all(local, index)
    }
}
