//! Transactions of a session.

use super::Session;
use super::savepoint::Mark;
use crate::api::{Severity, Status};
use crate::bind::Lookup;
use crate::exec::late::Check;
use crate::exec::{Exec, Scratch};
use crate::parse::utility::{Isolation, Modes};
use crate::patience::CHANGE_WAIT;
use crate::trace::Number;
use scaledb_base::TableId;
use scaledb_base::timeouts::LOCK_TIMEOUT;
use scaledb_catalog::Catalog;
use scaledb_engine::{Engine, SerializationPoint, TableInfo, TxnKind, Worker};
use scaledb_types::{Result, SqlError, SqlState};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a session stands between BEGIN and COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// Statements commit by themselves.
    #[default]
    None,
    /// Statements that arrived together commit together.
    Implicit,
    Explicit,
    Failed,
}

/// A table of the engine that a transaction has made.
pub(super) struct Created {
    pub(super) info: Arc<TableInfo>,
    /// Rows were committed to it beside the transaction: it is emptied if that rolls back.
    pub(super) filled: bool,
}

/// An index that a transaction has added to a table of the engine.
pub(super) struct Added {
    pub(super) table: TableId,
    pub(super) index: TableId,
    pub(super) name: String,
}

/// The transaction of a session.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) block: Block,
    pub(super) modes: Modes,
    /// Modes of the next ones: SET SESSION CHARACTERISTICS.
    pub(super) defaults: Modes,
    /// The engine's transaction has begun, with this version of the catalog.
    pub(super) version: Option<u64>,
    /// Whether it reads a snapshot.
    pub(super) snapshot: bool,
    /// Commits of others before it began, where they are counted.
    pub(super) commits: u64,
    /// Tables that it has used: oid, the engine's table, and the last statement that did.
    pub(super) touched: Vec<(u32, TableId, Number)>,
    /// The last statement that wrote, or the last one of all.
    pub(super) statement: Number,
    pub(super) writes: bool,
    pub(super) savepoints: Vec<Mark>,
    /// Foreign keys that wait for the commit.
    pub(super) deferred: Vec<Check>,
    /// A statement has run in it that is not a change of the catalog.
    pub(super) ran: bool,
    /// Whether it has put bars before tables.
    pub(super) barred: bool,
    /// Tables of the engine that it has made.
    pub(super) created: Vec<Created>,
    /// The tables of these whose statement was rolled back.
    pub(super) abandoned: Vec<Created>,
    /// Tables of the engine that nothing names after its commit.
    pub(super) dropped: Vec<Arc<TableInfo>>,
    /// Indexes that it has added to tables of the engine.
    pub(super) added: Vec<Added>,
    /// Indexes of the engine that nothing names after its commit.
    pub(super) gone: Vec<TableId>,
    /// Whether it has changed the catalog.
    pub(super) changed: bool,
    /// When it began, for `now()`.
    pub(super) time: Option<i64>,
}

impl Transaction {
    pub(super) fn status(&self) -> Status {
        match self.block {
            Block::None | Block::Implicit => Status::Idle,
            Block::Explicit => Status::InTransaction,
            Block::Failed => Status::Failed,
        }
    }

    pub(super) fn begin_implicit(&mut self) {
        if self.block == Block::None {
            self.block = Block::Implicit;
        }
    }

    pub(super) fn is_implicit(&self) -> bool {
        self.block == Block::Implicit
    }

    pub(super) fn is_failed(&self) -> bool {
        self.block == Block::Failed
    }

    /// Whether statements commit by themselves.
    pub(super) fn is_alone(&self) -> bool {
        self.block == Block::None
    }

    pub(super) fn in_block(&self) -> bool {
        self.block == Block::Explicit
    }

    /// Whether the engine's transaction runs.
    pub(super) fn has_begun(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.modes.read_only.or(self.defaults.read_only).unwrap_or(false)
    }

    /// The modes of the transaction, the session's defaults included.
    pub(super) fn effective_modes(&self) -> Modes {
        let mut modes = self.defaults;
        merge(&mut modes, self.modes);
        modes
    }

    /// Notes the tables that a statement uses.
    pub(super) fn touch(&mut self, tables: &[(u32, TableId)], statement: Number) {
        for &(oid, id) in tables {
            match self.touched.iter_mut().find(|known| (known.0, known.1) == (oid, id)) {
                Some(known) => known.2 = statement,
                None => self.touched.push((oid, id, statement)),
            }
        }
    }

    /// Notes a statement, for the messages of transactions that conflict with this one.
    pub(super) fn note(&mut self, statement: Number, writes: bool) {
        self.ran = true;
        if writes || !self.writes {
            self.statement = statement;
            self.writes = writes;
        }
    }

    /// Whether it has not done anything in the engine but to begin.
    fn is_clean(&self) -> bool {
        !self.ran && !self.writes && self.savepoints.is_empty()
    }

    /// Whether the table is one that it has used.
    pub(super) fn has_touched(&self, table: u32) -> bool {
        self.touched.iter().any(|(oid, ..)| *oid == table)
    }

    /// Whether it may have written rows of the table.
    pub(super) fn has_written(&self, table: u32) -> bool {
        self.writes && self.has_touched(table)
    }

    /// The last statement that has used a table, or the transaction's last one.
    pub(super) fn statement_on(&self, table: u32) -> Number {
        let used = self.touched.iter().rev().find(|(oid, ..)| *oid == table);
        used.map(|(.., statement)| *statement).filter(|statement| *statement > 0).unwrap_or(self.statement)
    }

    pub(super) fn set_defaults(&mut self, modes: Modes) {
        merge(&mut self.defaults, modes);
    }

    /// What SHOW answers for the modes.
    pub(super) fn mode(&self, name: &str) -> Option<String> {
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        Some(match name {
            "transaction_read_only" => on(self.is_read_only()),
            "transaction_deferrable" => {
                on(self.modes.deferrable.or(self.defaults.deferrable).unwrap_or(false))
            }
            "transaction_isolation" => {
                let level =
                    self.modes.isolation.or(self.defaults.isolation).unwrap_or(Isolation::Serializable);
                level.name().to_owned()
            }
            _ => return None,
        })
    }
}

fn merge(modes: &mut Modes, with: Modes) {
    modes.read_only = with.read_only.or(modes.read_only);
    modes.deferrable = with.deferrable.or(modes.deferrable);
    modes.isolation = with.isolation.or(modes.isolation);
}

impl<E: Engine> Session<E> {
    /// BEGIN.
    pub(super) fn begin_block(&mut self, modes: Modes) {
        if self.transaction.in_block() {
            self.state.notice(
                Severity::Warning,
                SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"),
            );
            return;
        }
        self.transaction.block = Block::Explicit;
        merge(&mut self.transaction.modes, modes);
    }

    /// SET TRANSACTION.
    ///
    /// # Errors
    /// 25001 once it has begun.
    pub(super) fn set_modes(&mut self, modes: Modes) -> Result<()> {
        if !self.transaction.in_block() {
            let what = "SET TRANSACTION can only be used in transaction blocks";
            self.state.notice(Severity::Warning, SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what));
            return Ok(());
        }
        let changes =
            modes.read_only == Some(false) && self.transaction.is_read_only() || modes.deferrable.is_some();
        if self.transaction.has_begun() && changes {
            let what = "transaction modes must be set before any query";
            return Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, what));
        }
        merge(&mut self.transaction.modes, modes);
        Ok(())
    }

    /// Begins the engine's transaction, unless it runs.
    pub(super) fn ensure_begun(&mut self) -> Result<()> {
        self.state.read_only.set(self.transaction.is_read_only());
        if self.transaction.has_begun() {
            return Ok(());
        }
        let modes = &self.transaction;
        let deferrable = modes.modes.deferrable.or(modes.defaults.deferrable).unwrap_or(false);
        let mut kind = match modes.is_read_only() {
            true if deferrable => TxnKind::Deferrable,
            // one of several statements would conflict with any writer, and might never commit beside many
            true if !modes.is_alone() => TxnKind::Present,
            true => TxnKind::ReadOnly,
            false => TxnKind::ReadWrite,
        };
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.state.shared.workers.take(&self.place, &self.state.shared.engine)?,
        };
        let begun = loop {
            let version = self.state.shared.version();
            if self.state.catalog.version != version {
                let catalog = self.state.shared.catalog();
                self.state.use_catalog(catalog);
            }
            // borrowed: a count of its owners would be written by every transaction of every session
            let shared = &self.state.shared;
            // first: a commit between the two is counted
            self.transaction.commits = shared.commits();
            let begun = match kind.is_snapshot() {
                true => match self.begin_snapshot(&mut worker, kind) {
                    Ok(begun) => begun,
                    Err(error) => break Err(error),
                },
                false => worker.begin(kind),
            };
            if shared.is_shared && begun.is_ok() {
                match shared.is_newest(&mut worker) {
                    Ok(true) => {}
                    Ok(false) => {
                        worker.rollback();
                        match shared.read_again(&mut worker) {
                            Ok(()) => continue,
                            Err(error) => break Err(error),
                        }
                    }
                    Err(error) => {
                        worker.rollback();
                        break Err(error);
                    }
                }
            }
            if matches!(begun, Err(scaledb_base::Error::SnapshotNotReady)) {
                // a session leaves its transaction open: what is read here is validated at the commit, as others' reads
                // are
                kind = TxnKind::ReadOnly;
                continue;
            }
            // A snapshot is later than the catalog that it is read with, and may not be so by a change. The gate first:
            // one that has committed has closed it, and opens it behind the new version.
            if !kind.is_snapshot() || begun.is_err() || shared.gate.is_open() && shared.version() == version {
                break begun.map_err(crate::error::plain);
            }
            worker.rollback();
            if let Err(error) = shared.gate.wait(self.state.id, |_| false, self.patience(CHANGE_WAIT)) {
                break Err(error);
            }
        };
        if begun.is_ok() {
            self.activity.take(worker.id());
        }
        self.worker = Some(worker);
        begun?;
        self.transaction.snapshot = kind.is_snapshot();
        self.transaction.version = Some(self.state.catalog.version);
        Ok(())
    }

    /// Begins a transaction of the engine that reads a snapshot, which may wait for others.
    ///
    /// # Errors
    /// 57014: the wait was cancelled, or took too long.
    fn begin_snapshot(&self, worker: &mut E::Worker, kind: TxnKind) -> Result<scaledb_base::Result<()>> {
        let (context, why) = (self.context(), Cell::new(None));
        let go_on = || match context.check_cancel() {
            Ok(()) => true,
            Err(error) => {
                why.set(Some(error));
                false
            }
        };
        let begun = worker.begin_while(kind, &go_on);
        why.into_inner().map_or(Ok(begun), Err)
    }

    /// COMMIT of a block. False if it had failed, and was rolled back.
    ///
    /// # Errors
    /// 40001 and others: it was rolled back.
    pub(super) fn commit_block(&mut self) -> Result<bool> {
        match self.transaction.block {
            Block::Failed => {
                self.rollback();
                Ok(false)
            }
            Block::None => {
                self.warn_no_transaction();
                Ok(true)
            }
            _ => self.commit().map(|()| true),
        }
    }

    /// ROLLBACK of a block.
    pub(super) fn rollback_block(&mut self) {
        if self.transaction.block == Block::None {
            self.warn_no_transaction();
        }
        self.rollback();
    }

    fn warn_no_transaction(&self) {
        let what = "there is no transaction in progress";
        self.state.notice(Severity::Warning, SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what));
    }

    /// Commits statements that arrived together.
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub(super) fn end_implicit(&mut self) -> Result<()> {
        if self.transaction.is_implicit() { self.commit() } else { Ok(()) }
    }

    pub(super) fn fail_implicit(&mut self) {
        self.fail();
    }

    /// A statement has failed: so has its transaction.
    pub(super) fn fail(&mut self) {
        match self.transaction.block {
            Block::Explicit | Block::Failed => {
                // writes are kept for ROLLBACK TO, unless a conflict has ended them
                self.transaction.block = Block::Failed;
                // without a way back there is nothing to wait for
                if self.transaction.savepoints.is_empty() && std::mem::take(&mut self.transaction.barred) {
                    self.drop_indexes(false);
                    self.state.shared.gate.unbar(self.state.id);
                }
                // others need not wait for what cannot commit
                let mark = self.transaction.savepoints.last().map(|mark| mark.locks);
                self.state.release_locks_to(mark);
            }
            Block::None | Block::Implicit => self.rollback(),
        }
    }

    /// Whether the transaction has used a table.
    pub(super) fn has_used(&self, table: u32) -> bool {
        self.transaction.has_touched(table) || self.state.used.contains(table)
    }

    /// Says, each time that it is called, whether to wait on.
    pub(super) fn patience(&self, longest: Duration) -> impl FnMut() -> Result<()> + '_ {
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
    pub(super) fn wait_for_changes(&self, tables: &[(u32, TableId)]) -> Result<()> {
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
    pub(super) fn bar(&mut self, tables: &[u32]) -> Result<()> {
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
    pub(super) fn begin_behind(&mut self) -> Result<()> {
        let shared = self.state.shared.clone();
        if self.transaction.is_clean()
            && let Some(worker) = self.worker.as_mut()
        {
            worker.rollback();
            self.transaction.commits = shared.commits();
            worker.begin(TxnKind::ReadWrite).map_err(crate::error::plain)?;
            if !shared.is_newest(worker)? {
                return Err(crate::error::changed_definition());
            }
        } else {
            // behind a savepoint, too: what was committed since its begin may not be seen
            self.transaction.ran = true;
        }
        if self.transaction.version == Some(shared.version()) {
            Ok(())
        } else {
            Err(crate::error::changed_definition())
        }
    }

    /// Whether rows may be copied beside the transaction: it has written none that would be missing, and will see those
    /// that are written.
    pub(super) fn can_copy_beside(&self) -> bool {
        self.goes_behind() && !self.transaction.writes
    }

    /// Whether the transaction's place is behind all that was committed before the bars that it puts up.
    pub(super) fn goes_behind(&self) -> bool {
        // no bar keeps other nodes from the table: what they write the transaction has to have read
        !self.state.shared.is_shared
            && (self.transaction.is_clean()
                || self.state.shared.engine.serialization_point() == SerializationPoint::Commit)
    }

    /// The transaction writes rows.
    pub(super) fn note_writes(&mut self) {
        self.transaction.ran = true;
        self.transaction.writes = true;
    }

    /// Looks at what waits for the commit: all of it, or what need not wait any more.
    pub(super) fn check_deferred(&mut self, all: bool) -> Result<()> {
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
    pub(super) fn check_not_pending(&self, oid: u32, verb: &str) -> Result<()> {
        if !self.transaction.deferred.iter().any(|check| check.table() == oid) {
            return Ok(());
        }
        let name = self.state.catalog.table(oid).map_or("", |table| table.name.as_str());
        let what = format!("cannot {verb} \"{name}\" because it has pending trigger events");
        Err(SqlError::new(SqlState::OBJECT_IN_USE, what))
    }

    /// An error over what the transaction has read: a conflict instead, if no one state of the database has all that.
    /// Else a client would hear of a violation that there is in no order of the transactions. A node of a cluster says
    /// what follows from rows or from the catalog when its epoch has committed, as it answers a commit: cut off, it may
    /// have neither as they are.
    #[cold]
    pub(super) fn unless_stale(&mut self, error: SqlError) -> SqlError {
        // cardinality, data, integrity
        const OVER_DATA: [&str; 3] = ["21", "22", "23"];
        // and what depends on the catalog: dependents, views, states of objects, names
        const OVER_CATALOG: [&str; 4] = ["2B", "44", "55", "42"];
        let is_of = |classes: &[&str]| classes.iter().any(|class| error.code().as_str().starts_with(class));
        let shared = self.state.shared.is_shared;
        let over_catalog = shared && is_of(&OVER_CATALOG) && error.code() != SqlState::SYNTAX_ERROR;
        if !over_catalog && !is_of(&OVER_DATA) {
            return error;
        }
        if !self.transaction.has_begun() {
            return match shared.then(|| self.confirm_catalog()) {
                Some(Err(stale)) => stale,
                _ => error,
            };
        }
        match self.worker.as_mut().map(|worker| worker.check_so_far()) {
            Some(Err(stale))
                if stale.is_conflict() || matches!(stale, scaledb_base::Error::NotHere { .. }) =>
            {
                self.state.explain(stale, |table| self.transaction.statement_on(table))
            }
            _ => error,
        }
    }

    /// `unless_stale`, at a node of a cluster: for errors before rows are read.
    #[cold]
    pub(super) fn unless_cut_off(&mut self, error: SqlError) -> SqlError {
        if self.state.shared.is_shared { self.unless_stale(error) } else { error }
    }

    /// Confirms the catalog that this session has, outside of a transaction.
    fn confirm_catalog(&mut self) -> Result<()> {
        let shared = self.state.shared.clone();
        let mut worker = shared.workers.take(&self.place, &shared.engine)?;
        let confirmed = shared.confirm_catalog(&mut worker, self.state.catalog.version);
        shared.workers.give(&self.place, worker);
        confirmed
    }

    /// Rolls the transaction back.
    pub(super) fn rollback(&mut self) {
        let created = self.take_back();
        self.finish();
        self.discard(created);
    }

    /// Empties tables that a transaction which was rolled back has made.
    pub(super) fn discard(&mut self, created: Vec<Created>) {
        for table in created {
            // what the transaction itself has written never was
            if table.filled { self.empty(table.info) } else { self.state.shared.keep_spare(table.info) }
        }
    }

    /// Begins anew with the transaction's first statement, or its only one. What it has locked it keeps; it has no
    /// engine's transaction until the next run.
    pub(super) fn begin_again(&mut self, alone: bool) {
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
        transaction.touched.clear();
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
        if self.transaction.changed {
            let catalog = self.state.shared.catalog();
            self.use_former(catalog);
        }
        self.drop_indexes(false);
        let mut created = std::mem::take(&mut self.transaction.created);
        created.append(&mut self.transaction.abandoned);
        self.transaction.dropped.clear();
        created
    }

    /// Goes back to a catalog from before changes of this transaction.
    pub(super) fn use_former(&mut self, catalog: Arc<Catalog>) {
        let shared = &self.state.shared;
        shared.sequences.forget(&shared.store, self.state.catalog.values_gone(&catalog));
        self.state.use_catalog(catalog);
        self.cache.clear();
    }

    /// The end of a transaction, however it went.
    pub(super) fn finish(&mut self) {
        self.state.release_locks();
        self.finish_but_locks();
    }

    pub(super) fn finish_but_locks(&mut self) {
        let transaction = &mut self.transaction;
        transaction.block = Block::None;
        transaction.modes = Modes::default();
        transaction.version = None;
        transaction.snapshot = false;
        transaction.ran = false;
        if std::mem::take(&mut transaction.barred) {
            self.state.shared.gate.unbar(self.state.id);
        }
        transaction.touched.clear();
        self.state.used.clear();
        transaction.statement = 0;
        transaction.writes = false;
        transaction.savepoints.clear();
        transaction.deferred.clear();
        transaction.changed = false;
        transaction.time = None;
        self.constraints.all = None;
        self.constraints.named.clear();
        self.end_portals();
        if let Some(worker) = self.worker.take() {
            self.activity.give();
            self.state.shared.workers.give(&self.place, worker);
        }
        self.refresh();
    }

    /// Empties a table of the engine that nothing names any more, and keeps it for another one.
    pub(super) fn empty(&mut self, table: Arc<TableInfo>) {
        let shared = self.state.shared.clone();
        let Ok(mut worker) = shared.workers.take(&self.place, &shared.engine) else { return };
        // if it fails, rows stay, and it is not used again before the next start
        let emptied = crate::shared::empty(&shared.engine, &mut *worker, table.id).is_ok();
        shared.workers.give(&self.place, worker);
        if emptied {
            shared.keep_spare(table);
        }
    }

    pub(super) fn need_block(&self, what: &str) -> Result<()> {
        if self.transaction.in_block() {
            return Ok(());
        }
        let what = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what))
    }

    /// Refuses statements in a block that has failed.
    ///
    /// # Errors
    /// 25P02.
    pub(super) fn refuse_failed(&self) -> Result<()> {
        if !self.transaction.is_failed() {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }

    /// The table of an oid, as the transaction sees it.
    pub(super) fn table(&self, oid: u32) -> Result<Arc<crate::plan::Table>> {
        self.state.table(oid)
    }
}
