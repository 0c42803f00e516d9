//! Errors that say something of rows or of the catalog: what they follow from is validated before a client hears them.

use super::super::Session;
use super::super::waiting::Effort;
use scaledb_engine::{Engine, ReadMark, Worker};
use scaledb_planner::plan::Plan;
use scaledb_types::{Result, SqlError, SqlState};

impl<E: Engine> Session<E> {
    /// An error over what the transaction has read: a conflict instead, if no one state of the database has all that.
    /// Else a client would hear of a violation that there is in no order of the transactions. A node of a cluster says
    /// what follows from rows or from the catalog when its epoch has committed, as it answers a commit: cut off, it may
    /// have neither as they are.
    #[cold]
    pub(in crate::session) fn unless_stale(&mut self, error: SqlError) -> SqlError {
        // cardinality, data, integrity, rows that a trigger has changed
        const OVER_DATA: [&str; 4] = ["21", "22", "23", "27"];
        // and what depends on the catalog: dependents, views, states of objects, names
        const OVER_CATALOG: [&str; 4] = ["2B", "44", "55", "42"];
        const OVER_LIMITS: [&str; 2] = ["53", "54"];
        let is_of = |classes: &[&str]| classes.iter().any(|class| error.code().as_str().starts_with(class));
        let shared = self.state.shared.is_shared;
        let over_catalog = shared && is_of(&OVER_CATALOG) && error.code() != SqlState::SYNTAX_ERROR;
        // what a function raises follows from what it has read, whatever its code
        let raised = error.fields().context.is_some() && !is_of(&["40"]);
        if !over_catalog && !is_of(&OVER_DATA) && !raised {
            return error;
        }
        if !self.transaction.has_begun() {
            return match shared.then(|| self.confirm_catalog()) {
                Some(Err(stale)) => stale,
                _ => error,
            };
        }
        match self.worker.as_mut().map(|worker| worker.check_so_far()) {
            // a limit was passed, which has ended it
            Some(Err(scaledb_base::Error::TransactionEnded)) if is_of(&OVER_LIMITS) => error,
            // at a node of a cluster an error that is not confirmed is not told, for whatever reason
            Some(Err(stale))
                if shared || stale.is_conflict() || matches!(stale, scaledb_base::Error::NotHere { .. }) =>
            {
                self.state.explain(stale, |table| self.transaction.statement_on(table))
            }
            _ => error,
        }
    }

    /// `unless_stale`, at a node of a cluster: for errors before rows are read.
    #[cold]
    pub(in crate::session) fn unless_cut_off(&mut self, error: SqlError) -> SqlError {
        if self.state.shared.is_shared { self.unless_stale(error) } else { error }
    }

    /// Before a query in a transaction block, whose rows a client sees before they are validated: what was read so far.
    /// At a node of a cluster a look at the others would cost a round of messages.
    #[inline]
    pub(in crate::session) fn begin_shown(&mut self, plan: &Plan, effort: &Effort) -> Option<ReadMark> {
        if effort.alone || plan.writes || self.state.shared.is_shared || self.transaction.snapshot {
            return None;
        }
        self.worker.as_mut().map(|worker| worker.read_mark())
    }

    /// Behind a query in a transaction block: all that it has read is of one state, as of now. Whoever rolls back or
    /// leaves has seen no mixture.
    ///
    /// # Errors
    /// 40001: it is not. The transaction could not commit any more.
    #[inline]
    pub(in crate::session) fn check_shown(&mut self, mark: ReadMark) -> Result<()> {
        let Some(worker) = self.worker.as_mut() else { return Ok(()) };
        // rows, absent keys and ranges
        let read = |ReadMark(lengths): ReadMark| lengths.iter().take(3).sum::<usize>();
        let all = worker.read_mark();
        if read(all) >= read(mark) + 2 {
            worker
                .check_since(mark)
                .map_err(|error| self.state.explain(error, |table| self.transaction.statement_on(table)))?;
        }
        if read(mark) == 0 {
            self.transaction.checked = Some(all);
        }
        Ok(())
    }

    /// Confirms the catalog that this session has, outside of a transaction.
    fn confirm_catalog(&mut self) -> Result<()> {
        let shared = self.state.shared.clone();
        let mut worker = shared.workers.take(&self.place, &shared.engine)?;
        let stored = self.state.catalog.stored_version();
        let confirmed = shared.confirm_catalog(&self.state.database, &mut worker, stored);
        shared.workers.give(&self.place, worker);
        confirmed
    }
}
