//! What is an engine's own.

use crate::core::Core;
use scaledb_base::{Result, TableId};
use scaledb_durability::{Directory, Durability, Inspected, Pace, Recovered};
use scaledb_engine::{
    IndexDef, Metric, OptionSpec, Reclamation, SerializationPoint, TableDef, TableInfo, TableStats, Worker,
};
use scaledb_log::Log;
use scaledb_memory::Local;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;

/// What an engine adds to an [`Instance`](crate::Instance): a database's tables and how transactions run on them. It
/// is what the workers of a database share.
pub trait Protocol: Send + Sync + Sized + 'static {
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
    /// Its workers.
    type Worker: Worker;
    /// What an instance has to know of the configuration.
    fn settings(config: &Self::Config) -> Settings;

    /// An empty database whose clock starts after `after`, in ticks.
    fn new(config: Self::Config, after: u64) -> Self;

    /// What every database has.
    fn core(&self) -> &Core;

    /// Reads a directory into memory; transactions come when it has returned.
    ///
    /// # Errors
    /// Those of [`Directory::restore`].
    fn restore(&self, directory: &mut Directory, durability: &Durability) -> Result<Recovered>;

    /// Creates a table, durably.
    ///
    /// # Errors
    /// As [`Engine::create_table`](scaledb_engine::Engine::create_table).
    fn create_table(&self, local: Local, def: TableDef) -> Result<std::sync::Arc<TableInfo>>;

    /// Adds an index to a table, durably.
    ///
    /// # Errors
    /// As [`Engine::add_index_while`](scaledb_engine::Engine::add_index_while).
    fn add_index(
        self: &Arc<Self>,
        local: Local,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<std::sync::Arc<TableInfo>>;

    /// Drops an index, durably.
    ///
    /// # Errors
    /// As [`Engine::drop_index`](scaledb_engine::Engine::drop_index).
    fn drop_index(self: &Arc<Self>, local: Local, index: TableId) -> Result<std::sync::Arc<TableInfo>>;

    /// The table called `name`.
    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>>;

    /// All tables, in the order of their ids.
    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>>;

    /// A worker with this access to memory.
    fn worker(self: &Arc<Self>, local: Local) -> Self::Worker;

    /// Counters and sizes of all tables and indexes.
    fn all_table_stats(&self) -> Vec<TableStats>;

    /// Counters and sizes of one table or index.
    fn table_stats(&self, id: TableId) -> Option<TableStats>;

    /// What keeps memory from being used again.
    fn reclamation(&self) -> Reclamation;

    /// One round of what is done for idle workers. `local` is not active. Returns whether there is more to do.
    fn tend(self: &Arc<Self>, local: &mut Local, now: u64) -> bool;

    /// Writes a checkpoint; returns its size in bytes.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed); what the walk needs; the database is being closed.
    fn checkpoint(self: &Arc<Self>, log: &Arc<Log>, pace: Pace, stop: &AtomicBool) -> Result<u64>;

    /// Compares tables with their indexes. Nothing else runs, and `local` is active.
    ///
    /// # Errors
    /// What does not fit together.
    fn inspect(&self, local: &Local) -> Result<Inspected>;
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
