//! Ends of transactions: what is undone, what is given back.

use super::super::Session;
use super::{Block, Created};
use scaledb_catalog::Catalog;
use scaledb_engine::{Engine, TableInfo, Worker};
use scaledb_parse::utility::Modes;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// Rolls the transaction back.
    pub(in crate::session) fn rollback(&mut self) {
        let created = self.take_back();
        self.finish();
        self.discard(created);
    }

    /// Empties tables that a transaction which was rolled back has made.
    pub(in crate::session) fn discard(&mut self, created: Vec<Created>) {
        for table in created {
            // what the transaction itself has written never was
            if table.filled { self.empty(table.info) } else { self.state.shared.keep_spare(table.info) }
        }
    }

    /// Begins anew with the transaction's first statement, or its only one. What it has locked it keeps; it has no
    /// engine's transaction until the next run.
    pub(in crate::session) fn begin_again(&mut self, alone: bool) {
        if alone {
            let created = self.take_back();
            self.finish_but_locks();
            self.discard(created);
            return;
        }
        if let Some(mut worker) = self.worker.take() {
            worker.rollback();
            self.activity.give();
            self.state.shared.workers.give(&self.place, worker);
        }
        let transaction = &mut self.transaction;
        transaction.version = None;
        transaction.checked = None;
        transaction.touched.clear();
        transaction.truncated.clear();
        transaction.statement = 0;
        transaction.ran = false;
        transaction.writes = false;
        transaction.deferred.clear();
        self.state.waited.set(false);
    }

    /// Undoes what the transaction has done; the tables that it has made are left to the caller.
    fn take_back(&mut self) -> Vec<Created> {
        if let Some(worker) = self.worker.as_mut() {
            worker.rollback();
        }
        self.state.settings.borrow_mut().rollback_to(0);
        self.state.pending.borrow_mut().clear();
        if self.transaction.changed {
            let catalog = self.state.database.catalog();
            self.use_former(catalog);
        }
        self.drop_indexes(false);
        let mut created = std::mem::take(&mut self.transaction.created);
        created.append(&mut self.transaction.abandoned);
        self.transaction.dropped.clear();
        created
    }

    /// Goes back to a catalog from before changes of this transaction.
    pub(in crate::session) fn use_former(&mut self, catalog: Arc<Catalog>) {
        let shared = &self.state.shared;
        shared.sequences.forget(&self.state.database.store, self.state.catalog.values_gone(&catalog));
        self.state.use_catalog(catalog);
        self.cache.clear();
    }

    /// The end of a transaction, however it went.
    pub(in crate::session) fn finish(&mut self) {
        self.state.release_locks();
        self.finish_but_locks();
    }

    pub(in crate::session) fn finish_but_locks(&mut self) {
        self.end_record();
        let transaction = &mut self.transaction;
        transaction.block = Block::None;
        transaction.modes = Modes::default();
        transaction.version = None;
        transaction.snapshot = false;
        transaction.wants_snapshot = None;
        transaction.checked = None;
        transaction.ran = false;
        self.unbar();
        let transaction = &mut self.transaction;
        transaction.touched.clear();
        transaction.truncated.clear();
        self.state.used.clear();
        self.state.txid.set(None);
        transaction.statement = 0;
        transaction.writes = false;
        transaction.savepoints.clear();
        transaction.deferred.clear();
        transaction.changed = false;
        transaction.unchanged = None;
        transaction.made = None;
        for database in transaction.closed.drain(..) {
            database.close(false);
        }
        transaction.time = None;
        self.constraints.all = None;
        self.constraints.named.clear();
        self.end_portals();
        if let Some(worker) = self.worker.take() {
            self.activity.give();
            self.state.shared.workers.give(&self.place, worker);
        }
        if self.state.shared.memory.was_loosened() {
            self.state.shared.engine.loosen();
        }
        self.refresh();
    }

    /// Empties a table of the engine that nothing names any more, and keeps it for another one.
    pub(in crate::session) fn empty(&mut self, table: Arc<TableInfo>) {
        let shared = self.state.shared.clone();
        let Ok(mut worker) = shared.workers.take(&self.place, &shared.engine) else { return };
        // if it fails, rows stay, and it is not used again before the next start
        let emptied = crate::shared::empty(&shared.engine, &mut *worker, table.id).is_ok();
        shared.workers.give(&self.place, worker);
        if emptied {
            shared.keep_spare(table);
        }
    }
}
