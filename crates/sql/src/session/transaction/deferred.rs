//! Constraints that are checked when the transaction is done.

use super::super::Session;
use crate::exec::late::Check;
use crate::exec::{Exec, Scratch};
use scaledb_engine::Engine;
use scaledb_types::{Result, SqlError, SqlState};

impl<E: Engine> Session<E> {
    /// Looks at what waits for the commit: all of it, or what need not wait any more.
    ///
    /// # Errors
    /// Those of the constraints, and of constraint triggers.
    pub(in crate::session) fn check_deferred(&mut self, all: bool) -> Result<()> {
        if self.transaction.deferred.is_empty() {
            return Ok(());
        }
        let said = self.state.said();
        self.state.acted.set(false);
        let drawn = self.transaction.record.drawn;
        self.state.drawn.borrow_mut().begin_statement(drawn);
        let (mut result, mut due) = (Ok(()), Vec::new());
        // what triggers write may have to wait in its turn
        while due.len() < self.transaction.deferred.len() && result.is_ok() {
            result = self.check_more_deferred(all, &mut due);
        }
        self.state.settle(said);
        if self.state.acted.take() || self.state.has_said(said) {
            self.transaction.record.end_whole();
        }
        // a rollback to a savepoint brings back what was wrong before it
        if result.is_ok() && self.transaction.savepoints.is_empty() {
            let mut due = due.into_iter();
            self.transaction.deferred.retain(|_| due.next() == Some(false));
        }
        result.map_err(|error| self.unless_stale(error))
    }

    /// Looks at what waits behind that of which it is known whether it is due, and makes this known of it.
    fn check_more_deferred(&mut self, all: bool, due: &mut Vec<bool>) -> Result<()> {
        let Some(mut worker) = self.worker.take() else { return Err(SqlError::internal("no worker")) };
        let mut checks = std::mem::take(&mut self.transaction.deferred);
        let (from, savepoints) = (due.len(), self.transaction.savepoints.len());
        let context = self.context();
        let mut exec = Exec::new(&mut *worker, &context, &[], (0, 0, 0), Scratch::default());
        due.extend(checks[from..].iter().map(|check| all || !exec.waits(check)));
        let now = checks[from..].iter_mut().zip(&due[from..]);
        let result = exec.check_deferred(now.filter(|(_, due)| **due).map(|(check, _)| check), savepoints);
        checks.append(&mut exec.deferred);
        drop(exec);
        self.worker = Some(worker);
        if self.state.wrote.take() {
            self.note_writes();
        }
        self.transaction.deferred = checks;
        result
    }

    /// A savepoint is gone, or is gone back to, of which there were `count` before it: what triggers have done since is
    /// done at that place, or not done.
    pub(in crate::session) fn settle_fired(&mut self, count: usize, undone: bool) {
        for check in &mut self.transaction.deferred {
            if let Check::Trigger(fired) = check
                && fired.done.is_some_and(|savepoints| savepoints > count)
            {
                fired.done = if undone { None } else { Some(count) };
            }
        }
    }

    /// 55006 for a table that something waits to look at.
    pub(in crate::session) fn check_not_pending(&self, oid: u32, verb: &str) -> Result<()> {
        if !self.transaction.deferred.iter().any(|check| check.table() == oid && !check.is_done()) {
            return Ok(());
        }
        let name = self.state.catalog.table(oid).map_or("", |table| table.name.as_str());
        let what = format!("cannot {verb} \"{name}\" because it has pending trigger events");
        Err(SqlError::new(SqlState::OBJECT_IN_USE, what))
    }
}
