//! Readers of committed rows that are no transactions: for checkpoints and statistics.

use crate::table::EngineTable;
use scaledb_base::Result;
use scaledb_memory::Local;

/// Reads committed rows while transactions go on.
pub trait Reader<T: EngineTable> {
    /// Begins to read: what it reaches from here on stays where it is.
    fn enter(&mut self);

    /// Ends it: what was reached may go.
    fn exit(&mut self);

    /// Its access to memory; active while it reads.
    fn local(&self) -> &Local;

    /// Frees what it has waiting. It does not read now.
    fn collect(&mut self);

    /// Hands the row of a record to `f`, with the raw timestamps of its commits, as many as
    /// [`Records::stamps`](crate::Records::stamps) says. A record without a row has timestamps, too.
    ///
    /// # Errors
    /// Those of `f`.
    fn read(
        &mut self,
        table: &T,
        record: T::Record,
        f: impl FnOnce(&[u64], Option<&[u64]>) -> Result<()>,
    ) -> Result<()>;
}
