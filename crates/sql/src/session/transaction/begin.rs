//! Begins the engine's transaction of a session's one, at its first statement.

use super::super::Session;
use crate::patience::CHANGE_WAIT;
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_types::Result;
use std::cell::Cell;
use std::time::Instant;

impl<E: Engine> Session<E> {
    /// Begins the engine's transaction, unless it runs, for something that cannot be done again.
    ///
    /// # Errors
    /// As of [`Session::begin_to_write`].
    #[inline]
    pub(in crate::session) fn ensure_begun(&mut self) -> Result<()> {
        self.transaction.record.end_whole();
        self.begin_to_write()
    }

    /// Begins the engine's transaction, unless it runs, for something else than a query: it reads the present.
    ///
    /// # Errors
    /// It has not begun; 40001: the transaction has read a snapshot until now, and that is past.
    #[inline]
    pub(in crate::session) fn begin_to_write(&mut self) -> Result<()> {
        self.leave_snapshot()?;
        self.begin_to_read()
    }

    /// Begins the engine's transaction, unless it runs.
    ///
    /// # Errors
    /// It has not begun; 40001: it cannot go on.
    pub(in crate::session) fn begin_to_read(&mut self) -> Result<()> {
        self.transaction.record.check_kept()?;
        self.state.modes.set(self.transaction.effective_modes());
        if self.transaction.has_begun() {
            return Ok(());
        }
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.state.shared.workers.take(&self.place, &self.state.shared.engine)?,
        };
        let begun = self.begin_at_newest_catalog(&mut worker);
        if begun.is_ok() {
            self.activity.take(worker.id());
        }
        self.worker = Some(worker);
        self.transaction.snapshot = begun?.is_snapshot();
        self.transaction.version = Some(self.state.catalog.version);
        Ok(())
    }

    /// Begins the engine's transaction with the catalog that is the newest then.
    ///
    /// # Errors
    /// It has not begun.
    fn begin_at_newest_catalog(&mut self, worker: &mut E::Worker) -> Result<TxnKind> {
        let (mut kind, mut attempts) = (self.kind_to_begin(false), 0);
        loop {
            let version = self.state.database.version();
            if self.state.catalog.version != version {
                let catalog = self.state.database.catalog();
                self.state.use_catalog(catalog);
            }
            // borrowed: a count of its owners would be written by every transaction of every session
            let shared = &self.state.shared;
            // first: a commit between the two is counted
            self.transaction.commits = shared.commits();
            let begun = match kind.is_snapshot() {
                true => self.begin_snapshot(worker, kind)?,
                false => worker.begin(kind),
            };
            if shared.is_shared && begun.is_ok() && !self.has_newest_catalog(worker)? {
                shared.read_again(&self.state.database, worker)?;
                // a snapshot may be of before a change that this node knows already
                if kind.is_snapshot() {
                    self.context().check_cancel()?;
                    attempts += 1;
                    worker.back_off(attempts);
                }
                continue;
            }
            let not_ready = matches!(begun, Err(scaledb_base::Error::SnapshotNotReady));
            if not_ready || begun.is_err() && self.transaction.wants_snapshot.is_some() {
                // a session leaves its transaction open: what is read here is validated at the commit, as others' reads
                // are
                self.transaction.wants_snapshot = None;
                kind = self.kind_to_begin(true);
                continue;
            }
            // A snapshot is later than the catalog that it is read with, and may not be so by a change. The gate first:
            // one that has committed has closed it, and opens it behind the new version.
            if !kind.is_snapshot()
                || begun.is_err()
                || shared.gate.is_open() && self.state.database.version() == version
            {
                return begun.map(|()| kind).map_err(crate::error::plain);
            }
            worker.rollback();
            shared.gate.wait(self.state.id, |_| false, self.patience(CHANGE_WAIT))?;
        }
    }

    /// Which kind of transaction of the engine these modes need; `present` if it cannot be a snapshot of the present.
    fn kind_to_begin(&self, present: bool) -> TxnKind {
        let modes = &self.transaction;
        let deferrable = modes.modes.deferrable.or(modes.defaults.deferrable).unwrap_or(false);
        match modes.is_read_only() {
            true if deferrable => TxnKind::Deferrable,
            _ if modes.wants_snapshot.is_some() => TxnKind::Present,
            // it may write its temporary tables
            true if self.state.has_temporary => TxnKind::ReadWrite,
            // one of several statements would conflict with any writer, and might never commit beside many
            // In a cluster it begins one when it needs it (`block_read`): before, it may announce something.
            true if !modes.is_alone() && !present && !self.state.shared.is_shared => TxnKind::Present,
            true => TxnKind::ReadOnly,
            false => TxnKind::ReadWrite,
        }
    }

    /// Whether the transaction that has begun reads the catalog that this node knows; it is rolled back if not.
    fn has_newest_catalog(&self, worker: &mut E::Worker) -> Result<bool> {
        let newest = self.state.shared.is_newest(&self.state.database, worker);
        if !matches!(newest, Ok(true)) {
            worker.rollback();
        }
        newest
    }

    /// Begins a transaction of the engine that reads a snapshot, which may wait for others.
    ///
    /// # Errors
    /// 57014: the wait was cancelled, or took too long.
    fn begin_snapshot(&self, worker: &mut E::Worker, kind: TxnKind) -> Result<scaledb_base::Result<()>> {
        let (context, why) = (self.context(), Cell::new(None));
        let until = self.transaction.wants_snapshot.map(|patience| Instant::now() + patience);
        let go_on = || match context.check_cancel() {
            Ok(()) => until.is_none_or(|until| Instant::now() < until),
            Err(error) => {
                why.set(Some(error));
                false
            }
        };
        let begun = worker.begin_while(kind, &go_on);
        why.into_inner().map_or(Ok(begun), Err)
    }
}
