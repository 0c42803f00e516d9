//! How the kit reads and makes an engine's records: while a directory is opened or inspected, and for indexes that are
//! added to tables with rows.

use crate::core::Core;
use crate::table::{EngineTable, TableCore};
use scaledb_base::{Result, Timestamp};
use scaledb_engine::TableOptions;
use scaledb_memory::Local;

/// The record type of an engine.
pub(crate) type RecordOf<P> = <<P as Records>::Table as EngineTable>::Record;

/// An engine's tables and records.
pub trait Records: Send + Sync + Sized + 'static {
    /// Its tables.
    type Table: EngineTable;

    /// What every database has.
    fn core(&self) -> &Core<Self::Table>;

    /// An empty table or index that is not published yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    fn make_table(&self, local: &mut Local, core: TableCore, options: &TableOptions) -> Result<Self::Table>;

    /// How many timestamps a checkpoint has of each row of a table.
    fn stamps(&self, table: &Self::Table) -> usize;

    /// A record that is in no index, with a row that was committed at `stamps`: as many as [`Records::stamps`] says.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    fn create(
        &self,
        local: &mut Local,
        table: &Self::Table,
        key: &[u8],
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<RecordOf<Self>>;

    /// Replaces the row of a record that no other thread touches by one that was committed at `stamps`, unless the
    /// record's is as new.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    fn replace_older(
        &self,
        local: &mut Local,
        table: &Self::Table,
        record: RecordOf<Self>,
        row: &[u64],
        stamps: &[Timestamp],
    ) -> Result<()>;

    /// Sets columns, as the log has them, of a record that no other thread touches: those that are older than `ts`.
    /// `row` is room for a row.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory);
    /// [`Error::Directory`](scaledb_base::Error::Directory): they do not fit the table.
    fn update_older(
        &self,
        local: &mut Local,
        table: &Self::Table,
        record: RecordOf<Self>,
        columns: &[u8],
        ts: Timestamp,
        row: &mut Vec<u64>,
    ) -> Result<()>;

    /// The newest committed row of a record, and the latest commit that it shows; `None` if it was deleted. Nobody
    /// writes to the table; what has been written before is waited for. `words` is room for a row.
    fn committed_row<'a>(
        &self,
        table: &Self::Table,
        record: RecordOf<Self>,
        words: &'a mut Vec<u64>,
    ) -> Option<(&'a [u64], Timestamp)>;

    /// Whether a record has a row; `None` if it is as no committed transaction can have left it. Nobody else uses the
    /// database.
    fn has_row(&self, record: RecordOf<Self>) -> Option<bool>;
}
