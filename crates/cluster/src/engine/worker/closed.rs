//! What a transaction has to do with tables that are [closed](crate::engine::closed).

use super::ClusterWorker;
use crate::engine::definitions::{self, ClosedTables, Entry};
use crate::engine::talk::conflict;
use scaledb_base::{ConflictKind, Error, Result, TableId};
use scaledb_engine::{TxnKind, Worker};
use scaledb_sync::atomic::Ordering;

impl ClusterWorker {
    /// The number of the view that the node has installed.
    pub(in crate::engine) fn view(&mut self) -> u64 {
        self.talk.view_number().0
    }

    /// Who has closed which tables. The transaction depends on it from here on.
    pub(in crate::engine) fn closed_by(&mut self) -> Result<Option<ClosedTables>> {
        let value = self.read(&definitions::closed())?;
        let closed = value.map_or(Ok(None), |value| ClosedTables::of_value(&value))?;
        // a transaction is of the view that its node has installed, or does not go on
        Ok(closed.filter(|closed| closed.view == self.view()))
    }

    /// The transaction commits only where these tables are closed by this closer.
    pub(in crate::engine) fn need_closed(&mut self, closed: &ClosedTables) -> Result<()> {
        match self.closed_by()? {
            Some(found) if found == *closed => Ok(()),
            _ => Err(self.met_closed(closed.tables.first().copied().unwrap_or(TableId(0)))),
        }
    }

    /// Before a write to a table: the transaction depends on that it is open, and does not go on if it is closed.
    pub(super) fn check_open(&mut self, table: TableId) -> Result<()> {
        if !self.running()?.has_looked {
            let closed = self.closed_by()?;
            let closed = closed.filter(|closed| self.passes.as_deref() != Some(closed));
            let running = self.running()?;
            (running.has_looked, running.closed) = (true, closed);
        }
        match &self.running()?.closed {
            Some(closed) if closed.has(table) => {
                self.shared.met_closed.store(true, Ordering::Relaxed); // a hint
                Err(self.met_closed(table))
            }
            _ => Ok(()),
        }
    }

    /// Opens the tables that the worker passes, with the commit, and everybody has the indexes that were built for it.
    pub(super) fn open_with_commit(&mut self) -> Result<()> {
        let Some(closed) = self.passes.clone() else { return Ok(()) };
        if self.running()?.kind != TxnKind::ReadWrite {
            return Ok(());
        }
        self.need_closed(&closed)?;
        for &table in &closed.tables {
            let Some(value) = self.read(&definitions::entry(table))? else { continue };
            if let Entry::Table(mut stored) = Entry::from_value(&value)?
                && stored.settle(&closed)
            {
                self.put(definitions::entry(table), Some(Entry::Table(stored).to_value()?))?;
            }
        }
        self.put(definitions::closed(), Some(ClosedTables::nobody()))
    }

    /// The transaction ends with a conflict about who may write to a table.
    #[cold]
    fn met_closed(&mut self, table: TableId) -> Error {
        self.rollback();
        self.shared.count(ConflictKind::DefinitionChanged);
        conflict(ConflictKind::DefinitionChanged, table, &[]).into()
    }
}
