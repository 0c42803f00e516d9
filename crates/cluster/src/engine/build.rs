//! An index is added to a table, made from the rows that it has, in transactions of some rows each: the table is
//! [closed](super::closed) meanwhile.
//!
//! ```text
//!   1  the index has its id, and is noted as one that is being built: p id
//!   2  entries of some rows, again and again
//!   3  the table has the index, and the note is gone
//! ```
//!
//! Nobody finds the entries before 3. Where the index is part of a transaction that closed the table, only that has it
//! even then, until it commits: others neither write entries nor refuse keys that are taken. Who fails before that
//! leaves a note, or an index that nobody has, and the next one to build an index of the table removes it: nobody else
//! builds one while the table is closed.

use super::Cluster;
use super::definitions::{self, ClosedTables, Entry, Stored};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Engine, IndexDef, TableInfo};
use scaledb_sync::Arc;

/// Rows whose entries are written in one transaction.
const BATCH: usize = if cfg!(debug_assertions) { 100 } else { 2_000 };

impl Cluster {
    /// Builds an index of a table that is closed: for everybody at once (`settled`), or when the closer commits.
    pub(super) fn build_index(
        &self,
        table: TableId,
        def: &IndexDef,
        closed: &ClosedTables,
        settled: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<TableInfo>> {
        self.remove_abandoned(table, closed)?;
        self.remove_unfinished(closed)?;
        let with = self.change(|worker| {
            worker.need_closed(closed)?;
            let stored = Self::stored(worker, table)?;
            let id = TableId(Self::next_id(worker, 1)?);
            stored.table()?.info.new_index(id, def, |name| Self::is_taken(worker, name))?;
            let mut stored = stored.with_index(id, def.clone());
            if !settled {
                stored.unsettled.push((id, closed.clone()));
            }
            worker
                .put(definitions::unfinished(id), Some(Entry::Table(Box::new(stored.clone())).to_value()?))?;
            Ok(stored)
        })?;
        let built = self.fill_and_add(with, def, closed, go_on);
        if built.is_err() {
            // what cannot be removed now is removed before the next index
            let _ = self.remove_unfinished(closed);
        }
        built
    }

    fn fill_and_add(
        &self,
        with: Stored,
        def: &IndexDef,
        closed: &ClosedTables,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<TableInfo>> {
        let (made, table) = (Arc::new(with.table()?), with.id);
        let number = made.indexes.len() - 1;
        let id = made.indexes[number].id;
        let mut start = Vec::new();
        loop {
            if !go_on() {
                return Err(Error::Stopped);
            }
            let next = self.change(|worker| {
                worker.need_closed(closed)?;
                worker.fill(&made, number, &start, BATCH)
            })?;
            match next {
                Some(next) => start = next,
                None => break,
            }
        }
        self.change(|worker| {
            worker.need_closed(closed)?;
            if Self::is_taken(worker, &def.name)? {
                return Err(Error::TableExists(def.name.clone()));
            }
            worker.put(definitions::unfinished(id), None)?;
            worker.put(definitions::entry(id), Some(Entry::IndexOf(table).to_value()?))?;
            worker.put(definitions::name(&def.name), Some(definitions::id_to_value(id.0)))?;
            worker.put(definitions::entry(table), Some(Entry::Table(Box::new(with.clone())).to_value()?))
        })?;
        Ok(made.info.clone())
    }

    /// Removes indexes that were built for transactions which have not committed.
    fn remove_abandoned(&self, table: TableId, closed: &ClosedTables) -> Result<()> {
        let unsettled = self.change(|worker| Ok(Self::stored(worker, table)?.unsettled))?;
        for (index, _) in unsettled.iter().filter(|(_, by)| !by.is_of(closed)) {
            self.drop_index(*index)?;
        }
        Ok(())
    }

    /// Removes the entries of indexes whose making has failed.
    fn remove_unfinished(&self, closed: &ClosedTables) -> Result<()> {
        let unfinished = self.change(|worker| {
            worker.need_closed(closed)?;
            worker.unfinished()
        })?;
        for stored in unfinished {
            let table = stored.table()?;
            let Some(space) = table.indexes.last() else { continue };
            self.sweep(space)?;
            self.change(|worker| worker.put(definitions::unfinished(space.id), None))?;
        }
        Ok(())
    }
}
