//! Transactions beside changes of tables: bars before tables, who waits for them, and who begins behind them.

use super::super::Session;
use crate::patience::CHANGE_WAIT;
use scaledb_base::TableId;
use scaledb_base::timeouts::LOCK_TIMEOUT;
use scaledb_engine::{Engine, SerializationPoint, TxnKind, Worker};
use scaledb_types::{Result, SqlError, SqlState};
use std::time::{Duration, Instant};

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
        Ok(())
    }

    /// From here on, no other session commits a write to the tables before this transaction has ended, and it sees all
    /// that was committed to them.
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

    /// Whether rows may be copied beside the transaction: it has written none that would be missing, and will see those
    /// that are written.
    pub(in crate::session) fn can_copy_beside(&self) -> bool {
        self.goes_behind() && !self.transaction.writes
    }

    /// Whether the transaction's place is behind all that was committed before the bars that it puts up.
    pub(in crate::session) fn goes_behind(&self) -> bool {
        // no bar keeps other nodes from the table: what they write the transaction has to have read
        !self.state.shared.is_shared
            && (self.transaction.is_clean()
                || self.state.shared.engine.serialization_point() == SerializationPoint::Commit)
    }

    /// The transaction writes rows.
    pub(in crate::session) fn note_writes(&mut self) {
        self.transaction.ran = true;
        self.transaction.writes = true;
    }
}
