//! Savepoints: SAVEPOINT, RELEASE, ROLLBACK TO.

use super::Session;
use super::transaction::Block;
use crate::exec::context::ConstraintModes;
use crate::routine::cursors::Cursors as _;
use scaledb_catalog::Catalog;
use scaledb_engine::{Engine, Savepoint, Worker};
use scaledb_notify::PendingMark;
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// A savepoint.
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) engine: Option<Savepoint>,
    /// Its number among the steps that the block has recorded.
    pub(super) step: usize,
    pub(super) settings: usize,
    pub(super) constraints: ConstraintModes,
    pub(super) catalog: Arc<Catalog>,
    pub(super) deferred: usize,
    pub(super) created: usize,
    pub(super) truncated: usize,
    pub(super) dropped: usize,
    pub(super) added: usize,
    pub(super) gone: usize,
    pub(super) changed: bool,
    /// Whether the transaction was to be read only.
    pub(super) read_only: Option<bool>,
    /// The last portal before it.
    pub(super) portal: u64,
    pub(super) locks: scaledb_locks::Mark,
    pub(super) pending: PendingMark,
}

impl<E: Engine> Session<E> {
    /// SAVEPOINT.
    ///
    /// # Errors
    /// 25P01 outside of a block.
    pub(super) fn savepoint(&mut self, name: String) -> Result<()> {
        self.need_block("SAVEPOINT")?;
        self.mark(name)
    }

    /// Begins a part of a statement that may be undone: its number. It has no name, so that statements cannot end it.
    pub(super) fn begin_part(&mut self) -> Result<usize> {
        self.mark(String::new())?;
        Ok(self.transaction.savepoints.len() - 1)
    }

    /// Ends a part, whose changes stay.
    pub(super) fn end_part(&mut self, number: usize) {
        self.transaction.savepoints.truncate(number);
        self.settle_fired(number, false);
    }

    /// Undoes a part, and ends it.
    ///
    /// # Errors
    /// 40001 if a conflict has ended the transaction.
    pub(super) fn undo_part(&mut self, number: usize) -> Result<()> {
        self.return_to(number)?;
        self.end_part(number);
        Ok(())
    }

    fn mark(&mut self, name: String) -> Result<()> {
        self.begin_to_read()?;
        let engine = match self.worker.as_mut() {
            Some(worker) => Some(worker.savepoint().map_err(crate::error::plain)?),
            None => None,
        };
        let mark = Mark {
            name,
            engine,
            step: self.transaction.record.add_savepoint(),
            settings: self.state.settings.borrow().mark(),
            constraints: self.constraints.clone(),
            catalog: self.state.catalog.clone(),
            deferred: self.transaction.deferred.len(),
            created: self.transaction.created.len(),
            truncated: self.transaction.truncated.len(),
            dropped: self.transaction.dropped.len(),
            added: self.transaction.added.len(),
            gone: self.transaction.gone.len(),
            changed: self.transaction.changed,
            read_only: self.transaction.modes.read_only,
            portal: self.state.portals.last(),
            locks: self.state.owner.borrow().mark(),
            pending: self.state.pending.borrow().mark(),
        };
        self.transaction.savepoints.push(mark);
        Ok(())
    }

    /// RELEASE.
    ///
    /// # Errors
    /// 3B001.
    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        self.need_block("RELEASE SAVEPOINT")?;
        let number = self.find_savepoint(name)?;
        self.transaction.modes.read_only = self.transaction.savepoints[number].read_only;
        self.transaction.savepoints.truncate(number);
        self.settle_fired(number, false);
        Ok(())
    }

    /// ROLLBACK TO.
    ///
    /// # Errors
    /// 3B001; 40001 if a conflict has ended the transaction.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        if !self.transaction.is_failed() {
            self.need_block("ROLLBACK TO SAVEPOINT")?;
        }
        let number = self.find_savepoint(name)?;
        self.return_to(number)
    }

    fn return_to(&mut self, number: usize) -> Result<()> {
        self.transaction.record.check_kept()?;
        self.transaction.record.end_whole();
        self.transaction.savepoints.truncate(number + 1);
        let mark = &self.transaction.savepoints[number];
        let (added, gone, truncated) = (mark.added, mark.gone, mark.truncated);
        let (engine, settings, deferred) = (mark.engine, mark.settings, mark.deferred);
        let (locks, constraints) = (mark.locks, mark.constraints.clone());
        let (read_only, portal, pending) = (mark.read_only, mark.portal, mark.pending);
        let (catalog, created, dropped, changed) =
            (mark.catalog.clone(), mark.created, mark.dropped, mark.changed);
        if let (Some(worker), Some(savepoint)) = (self.worker.as_mut(), engine) {
            worker.rollback_to(savepoint).map_err(|error| match error {
                scaledb_base::Error::TransactionEnded => crate::error::ended_by_conflict(),
                other => crate::error::plain(other),
            })?;
        }
        if self.transaction.is_failed() {
            // the transaction goes on because of an error, which may be about what the catalog had or had not
            self.state.used.note_all();
        }
        self.transaction.modes.read_only = read_only;
        self.state.portals.retain(|other| other.number <= portal);
        self.state.owner.borrow_mut().release_to(locks);
        self.state.pending.borrow_mut().truncate(pending);
        self.state.settings.borrow_mut().rollback_to(settings);
        self.transaction.deferred.truncate(deferred);
        self.settle_fired(number, true);
        self.constraints = constraints;
        if !Arc::ptr_eq(&catalog, &self.state.catalog) {
            self.use_former(catalog);
        }
        for table in self.transaction.created.split_off(created) {
            // its rows go with the transaction, so it is not used again before
            self.transaction.dropped.retain(|other| other.id != table.info.id);
            self.transaction.abandoned.push(table);
        }
        self.transaction.dropped.truncate(dropped);
        self.transaction.truncated.truncate(truncated);
        // before others write again, whom it would hold up
        for added in self.transaction.added.split_off(added) {
            self.settle_index(&added, false);
        }
        self.transaction.gone.truncate(gone);
        self.transaction.changed = changed;
        // the change that others would wait for is gone
        if !changed {
            self.unbar();
        }
        if self.transaction.is_failed() {
            self.transaction.block = Block::Explicit;
        }
        self.refresh();
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.transaction.savepoints.iter().rposition(|mark| mark.name == name).ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_SAVEPOINT_SPECIFICATION,
                format!("savepoint \"{name}\" does not exist"),
            )
        })
    }
}
