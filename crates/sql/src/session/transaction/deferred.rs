//! Constraints that are checked when the transaction is done.

use super::super::Session;
use crate::exec::{Exec, Scratch};
use scaledb_engine::Engine;
use scaledb_types::{Result, SqlError, SqlState};

impl<E: Engine> Session<E> {
    /// Looks at what waits for the commit: all of it, or what need not wait any more.
    pub(in crate::session) fn check_deferred(&mut self, all: bool) -> Result<()> {
        if self.transaction.deferred.is_empty() {
            return Ok(());
        }
        let mut checks = std::mem::take(&mut self.transaction.deferred);
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let context = self.context();
        let mut exec = Exec::new(&mut *worker, &context, &[], (0, 0, 0), Scratch::default());
        let due: Vec<bool> = checks.iter().map(|check| all || !exec.waits(check)).collect();
        let result =
            exec.check_deferred(checks.iter().zip(&due).filter(|(_, due)| **due).map(|(check, _)| check));
        drop(exec);
        self.worker = Some(worker);
        // a rollback to a savepoint brings back what was wrong before it
        if result.is_ok() && self.transaction.savepoints.is_empty() {
            let mut due = due.into_iter();
            checks.retain(|_| due.next() == Some(false));
        }
        self.transaction.deferred = checks;
        result.map_err(|error| self.unless_stale(error))
    }

    /// 55006 for a table that something waits to look at.
    pub(in crate::session) fn check_not_pending(&self, oid: u32, verb: &str) -> Result<()> {
        if !self.transaction.deferred.iter().any(|check| check.table() == oid) {
            return Ok(());
        }
        let name = self.state.catalog.table(oid).map_or("", |table| table.name.as_str());
        let what = format!("cannot {verb} \"{name}\" because it has pending trigger events");
        Err(SqlError::new(SqlState::OBJECT_IN_USE, what))
    }
}
