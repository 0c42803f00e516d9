//! Transactions beside changes of tables: bars before tables, who waits for them, and who begins behind them.
//!
//! A bar keeps the sessions of this process from a table. In a cluster a change that reads or copies rows closes the
//! table at all nodes, too ([`Engine::close_tables`]); one of the catalog alone needs no more than the catalog's
//! version, on which every transaction depends.

use super::super::Session;
use super::Closed;
use crate::patience::CHANGE_WAIT;
use scaledb_base::TableId;
use scaledb_base::timeouts::LOCK_TIMEOUT;
use scaledb_engine::{Engine, SerializationPoint, TxnKind, Worker};
use scaledb_planner::bind::names::is_temporary;
use scaledb_planner::plan::BoundTable;
use scaledb_types::{Result, SqlError, SqlState};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How often a session looks whether a table of a cluster is open again.
const LOOK: Duration = Duration::from_millis(10);

impl<E: Engine> Session<E> {
    /// Whether the transaction has used a table.
    pub(in crate::session) fn has_used(&self, table: u32) -> bool {
        self.transaction.has_touched(table) || self.state.used.contains(table)
    }

    /// Says, each time that it is called, whether to wait on.
    pub(in crate::session) fn patience(&self, longest: Duration) -> impl FnMut() -> Result<()> + '_ {
        let context = self.context();
        let lock_timeout = self.state.settings.borrow().timeout(LOCK_TIMEOUT);
        let until = Instant::now() + lock_timeout.unwrap_or(longest);
        move || {
            context.check_cancel()?;
            if Instant::now() < until {
                return Ok(());
            }
            let what = "canceling statement due to lock timeout: another session changes the table";
            Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, what))
        }
    }

    /// Before a statement that begins a transaction and writes: waits for changes of its tables, whose end it would
    /// have to wait for at its commit, for nothing.
    #[inline]
    pub(in crate::session) fn wait_for_changes(&self, tables: &[(u32, TableId)]) -> Result<()> {
        let writes = |table| tables.iter().any(|(oid, _)| *oid == table);
        let gate = &self.state.shared.gate;
        if !self.transaction.has_begun() && gate.is_barred(self.state.id, writes) {
            gate.wait(self.state.id, writes, self.patience(CHANGE_WAIT))?;
        }
        let engine = &self.state.shared.engine;
        let is_closed = || tables.iter().any(|(_, table)| engine.is_closed(*table));
        if self.transaction.closure.is_none() && is_closed() {
            let mut go_on = self.patience(CHANGE_WAIT);
            while is_closed() {
                go_on()?;
                scaledb_sync::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// From here on, no other session of this process commits a write to the tables before this transaction has ended,
    /// and it sees all that was committed to them.
    ///
    /// # Errors
    /// 55P03 and 57014; 40001 if the catalog has changed since the transaction began.
    pub(in crate::session) fn bar(&mut self, tables: &[u32]) -> Result<()> {
        let shared = self.state.shared.clone();
        // before the wait: what it has waited for is taken away again
        shared.gate.bar(self.state.id, tables, self.patience(CHANGE_WAIT))?;
        self.transaction.barred = true;
        self.begin_behind()
    }

    /// [`bar`](Self::bar), at all nodes of a cluster: the rows of the tables stay as they are.
    ///
    /// # Errors
    /// As [`bar`](Self::bar).
    pub(in crate::session) fn bar_everywhere(&mut self, tables: &[u32]) -> Result<()> {
        self.bar(tables)?;
        // one that has written depends on that tables were open
        if !self.state.shared.is_shared || self.transaction.writes {
            return Ok(());
        }
        let mut ids: Vec<TableId> = self.transaction.closed_tables().to_vec();
        for table in tables {
            // one of an attempt before may not be there; one that is temporary has no other writers
            let Ok(table) = self.table(*table) else { continue };
            if !is_temporary(&table.desc.schema) && !ids.contains(&table.info.id) {
                ids.push(table.info.id);
            }
        }
        if ids.len() == self.transaction.closed_tables().len() {
            return Ok(());
        }
        let shared = self.state.shared.clone();
        let why = RefCell::new(None);
        let patience = RefCell::new(self.patience(CHANGE_WAIT));
        let go_on = || patience.borrow_mut()().map_err(|error| why.replace(Some(error))).is_ok();
        let closed = shared.engine.close_tables(&ids, &go_on);
        drop(patience);
        let closed = closed.map_err(|error| why.take().unwrap_or_else(|| crate::error::plain(error)))?;
        self.transaction.closure = closed.map(|closure| Closed { closure, tables: ids });
        self.begin_behind()?;
        if let Some(worker) = self.worker.as_mut() {
            worker.pass(closed);
        }
        Ok(())
    }

    /// Others write to the tables again.
    pub(in crate::session) fn unbar(&mut self) {
        if let Some(Closed { closure, .. }) = self.transaction.closure.take() {
            if let Some(worker) = self.worker.as_mut() {
                worker.pass(None);
            }
            self.state.shared.engine.open_tables(closure);
        }
        // behind that: one closes tables at a time
        if std::mem::take(&mut self.transaction.barred) {
            self.state.shared.gate.unbar(self.state.id);
        }
    }

    /// Begins the engine's transaction anew, if it has done nothing yet: so that its place is behind all that was
    /// committed before.
    ///
    /// # Errors
    /// 40001 if the catalog has changed meanwhile.
    pub(in crate::session) fn begin_behind(&mut self) -> Result<()> {
        let shared = self.state.shared.clone();
        if self.transaction.is_clean()
            && let Some(worker) = self.worker.as_mut()
        {
            worker.rollback();
            self.transaction.commits = shared.commits();
            worker.begin(TxnKind::ReadWrite).map_err(crate::error::plain)?;
            if !shared.is_newest(&self.state.database, worker)? {
                return Err(crate::error::changed_definition());
            }
        } else {
            // behind a savepoint, too: what was committed since its begin may not be seen
            self.transaction.ran = true;
        }
        let is_of_now = self.transaction.version == Some(self.state.database.version());
        if is_of_now || self.transaction.beside_others(&self.state).is_some() {
            Ok(())
        } else {
            Err(crate::error::changed_definition())
        }
    }

    /// Whether the rows of a table may be copied beside the transaction: it has written none that would be missing, and
    /// others write none. In a cluster one that has read depends on definitions that would change, and on gaps that
    /// reach from one table to the next.
    pub(in crate::session) fn can_copy_beside(&self, table: &BoundTable) -> bool {
        let is_closed =
            || is_temporary(&table.desc.schema) || self.transaction.closed_tables().contains(&table.info.id);
        let alone = !self.state.shared.is_shared || self.transaction.is_clean() && is_closed();
        alone && self.goes_behind() && !self.transaction.writes
    }

    /// Whether the transaction's place is behind all that was committed before the bars that it puts up.
    pub(in crate::session) fn goes_behind(&self) -> bool {
        self.transaction.is_clean()
            || self.state.shared.engine.serialization_point() == SerializationPoint::Commit
    }

    /// The transaction writes rows.
    pub(in crate::session) fn note_writes(&mut self) {
        self.transaction.ran = true;
        self.transaction.writes = true;
    }
}
