//! What is an engine's own.

use crate::operations::Transactions;
use crate::reader::Reader;
use scaledb_base::{Result, Timestamp};
use scaledb_durability::Durability;
use scaledb_engine::{CatalogEntry, Metric, OptionSpec, SerializationPoint, TableStats};
use scaledb_memory::Local;

/// What an engine adds to an [`Instance`](crate::Instance): how transactions run on a database's tables. It is what the
/// workers of a database share.
pub trait Protocol: Transactions {
    /// The engine's name: for reports, and in the directories that it writes.
    const NAME: &'static str;
    /// What decides where a transaction stands in the serial order.
    const SERIALIZATION_POINT: SerializationPoint;
    /// Options of tables that it alone has.
    const TABLE_OPTIONS: &'static [OptionSpec];
    /// What it alone counts for tables.
    const TABLE_METRICS: &'static [Metric];

    /// How a database is opened.
    type Config;
    /// Readers of committed rows that are no transactions.
    type Reader<'a>: Reader<Self::Table>;

    /// What an instance has to know of the configuration.
    fn settings(config: &Self::Config) -> Settings;

    /// An empty database whose clock starts after `after`, in ticks.
    fn new(config: Self::Config, after: u64) -> Self;

    /// A directory has been read into memory; transactions come when this has returned.
    fn recovered(&self) {}

    /// A reader of committed rows.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers).
    fn reader(&self) -> Result<Self::Reader<'_>>;

    /// A timestamp such that a reader sees every commit before it, and the log has the others.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers).
    fn begin_checkpoint(&self) -> Result<Timestamp>;

    /// Counters and sizes of a table or index; the sizes of its structures only with a reader, which does not read now.
    fn table_stats(&self, table: &Self::Table, reader: Option<&mut Self::Reader<'_>>) -> TableStats;

    /// Rows that were deleted, and versions that were replaced, whose memory waits for those who may read them yet.
    fn waiting(&self) -> u64;

    /// One round of what is done for idle workers. `local` is not active. Returns whether there is more to do.
    fn tend(&self, local: &mut Local, now: u64) -> bool;

    /// Logs a change of tables, before what is new can be used. Returns when it is in the log; the caller waits until
    /// it is durable.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed).
    fn log_definition(&self, local: &Local, entry: &CatalogEntry) -> Result<Timestamp> {
        self.core().log_definition(local.id(), entry)
    }

    /// A change of indexes has been counted: returns when no commit is left that succeeds without having seen the
    /// count.
    fn await_commits(&self);

    /// A raw timestamp later than every transaction that has run without an index that has just been made, or that has
    /// written to a table that has just been closed.
    fn begin_definition(&self) -> u64;

    /// A raw timestamp later than every transaction that has used a dropped index, and earlier than every one that
    /// writes without it.
    fn end_definition(&self) -> u64;

    /// Brings what commits have left unmerged into the structures of an index. `local` is active.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    fn merge_all(&self, local: &mut Local, index: &Self::Table) -> Result<()> {
        let _ = (local, index);
        Ok(())
    }
}

/// What an instance has to know of an engine's configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of memory to take from the system at once.
    pub reserve: u64,
    /// Whether a thread works for idle workers.
    pub background: bool,
    /// The directory.
    pub durability: Option<Durability>,
}
