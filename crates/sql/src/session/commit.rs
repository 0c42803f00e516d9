//! The end of a transaction that succeeds: checks that were put off, the gate of changes, the engine's commit, and what
//! is done behind it.

use super::Session;
use super::block_repeat::Repeats;
use super::notify::{announce, unprepared};
use super::transaction::Added;
use crate::patience::{CHANGE_WAIT, COURTESY_WAIT};
use crate::sequence::store_error;
use crate::shared::PerDatabase;
use scaledb_base::Timestamp;
use scaledb_catalog::{Catalog, TableDesc};
use scaledb_engine::{Engine, SerializationPoint, TxnKind, Worker};
use scaledb_locks::NotTaken;
use scaledb_notify::{CommitPlace, Hub, Joined, Ordered, Pending, Reserved, Ticket};
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// Commits a transaction that has locked rows, with a place in the order of now instead of its begin's: behind those
/// who have read the rows meanwhile, which is no reason to fail.
fn commit_now(worker: &mut impl Worker) -> scaledb_base::Result<Timestamp> {
    let all = worker.read_mark();
    worker.refresh(all)?;
    worker.commit()
}

/// Commits a transaction of one query, which was compared as a whole when it ended: it has its place there, though
/// others have changed since what it has read. Not in an engine whose transactions have their place at their begin: one
/// that comes before it may commit behind it. It depends on no more than what was committed by now.
#[cold]
fn commit_as_checked(worker: &mut impl Worker) -> Option<Timestamp> {
    worker.begin(TxnKind::Present).ok()?;
    worker.commit().ok()
}

/// How often a transaction that wants nothing but a place in the order is run.
const ATTEMPTS: u32 = 10;

/// What is left to do for those who listen when a transaction is durable.
enum Told {
    /// They are sessions of this process, and hear of it.
    Here(Ticket),
    /// The engine tells those of all nodes; the session itself listens from its place on, or not, if it was undone.
    Everywhere { joined: Joined, place: CommitPlace, _reserved: Reserved },
}

/// What gives the notifications of a transaction that is about to commit their place: the engine in a cluster, which is
/// handed them; else the lock under which it commits.
///
/// # Errors
/// It says too much.
fn place_among_tellers<'h, W: Worker>(
    is_shared: bool,
    database: &'h PerDatabase,
    worker: &mut W,
    pending: &Pending,
) -> Result<Option<Ordered<'h>>> {
    if is_shared {
        return announce(worker, database.oid, pending).map(|()| None);
    }
    // who has the lock may wait at its commit for a worker with priority
    Ok(database.hub.order(pending, || worker.yield_priority()))
}

impl<E: Engine> Session<E> {
    /// Commits the transaction, and returns when all that it depends on is durable, unless `synchronous_commit` is
    /// off.
    ///
    /// # Errors
    /// 40001 and others: it was rolled back. 58030: it may be committed, and the disk does not take it.
    pub(super) fn commit(&mut self) -> Result<()> {
        let mut repeats = Repeats::default();
        let (depends_on, told) = loop {
            // first, for triggers may write, and say something
            let committed = match self.check_deferred(true) {
                Err(error) => Err(error),
                Ok(()) if self.state.pending.borrow().is_empty() => self.try_commit().map(|at| (at, None)),
                Ok(()) => self.try_commit_and_tell(),
            };
            match committed {
                Ok(committed) => break committed,
                Err(error) => {
                    let wrote = self.transaction.writes || self.transaction.changed;
                    if repeats.attempts == 0 {
                        repeats = Repeats::until(self.deadline());
                    }
                    if let Err(error) = self.repeat_block(error, &mut repeats, true) {
                        self.note_failed_commit(&error, wrote);
                        self.rollback();
                        return Err(error);
                    }
                }
            }
        };
        // of this transaction: SET LOCAL ends with it
        let synchronous = self.synchronous;
        // Whoever has a lock next reads what was written under it, at the replicas of its own node: they have it when
        // the epoch has committed. Whoever queues up after a conflict reads it or conflicts again.
        let locked = self.state.shared.is_shared && self.state.owner.borrow().has_asked();
        let behind = locked.then(|| self.state.shared.engine.wait_durable(depends_on));
        // while no other session writes to their tables
        self.drop_indexes(true);
        self.state.settings.borrow_mut().commit();
        self.hold_portals();
        // the worker is given back before the wait: others can have it meanwhile
        self.finish();
        let durable = match behind {
            Some(durable) => durable,
            None if synchronous => self.state.shared.engine.wait_durable(depends_on),
            None => Ok(()),
        };
        if !self.transaction.abandoned.is_empty() || !self.transaction.dropped.is_empty() {
            self.empty_dropped();
        }
        match told {
            // without it, nobody hears of what may be lost
            Some(Told::Here(ticket)) if durable.is_ok() => ticket.deliver(),
            Some(Told::Everywhere { joined, place, .. }) => {
                let place = durable.as_ref().ok().map(|()| place);
                self.state.database.hub.settle_channels(self.state.id, &joined, place);
            }
            Some(Told::Here(_)) | None => {}
        }
        durable.map_err(crate::error::not_durable)
    }

    /// Drops indexes of the engine that nothing names behind a commit, or behind a rollback.
    pub(super) fn drop_indexes(&mut self, committed: bool) {
        if self.transaction.added.is_empty() && self.transaction.gone.is_empty() {
            return;
        }
        let gone = std::mem::take(&mut self.transaction.gone);
        for added in std::mem::take(&mut self.transaction.added) {
            // a statement that was run again has made others
            let named = |table: &Arc<TableDesc>| table.indexes.iter().any(|index| index.engine == added.name);
            let stays = committed && self.state.catalog.tables().any(named);
            self.settle_index(&added, stays);
        }
        gone.into_iter().filter(|_| committed).for_each(|index| self.state.shared.drop_index(index));
    }

    pub(super) fn settle_index(&self, added: &Added, stays: bool) {
        if !stays {
            self.state.shared.drop_index(added.index);
        }
        self.state.shared.settle(added.table);
    }

    /// Empties tables of the engine that nothing names after a commit.
    #[cold]
    pub(super) fn empty_dropped(&mut self) {
        let abandoned = std::mem::take(&mut self.transaction.abandoned).into_iter().map(|table| table.info);
        for table in std::mem::take(&mut self.transaction.dropped).into_iter().chain(abandoned) {
            self.empty(table);
        }
    }

    /// Commits a transaction that says something to those who listen, or is to listen itself; with its place among
    /// those that say something.
    #[cold]
    fn try_commit_and_tell(&mut self) -> Result<(Timestamp, Option<Told>)> {
        let (hub, id) = (self.state.database.hub.clone(), self.state.id);
        let joined = {
            let pending = self.state.pending.borrow();
            if self.state.shared.is_shared && pending.listens() {
                self.state.shared.ears.add(self.state.database.oid, &hub);
            }
            hub.prepare(id, &pending, self.state.bell.as_ref(), &mut self.mail).map_err(unprepared)?
        };
        if self.state.shared.is_shared {
            return self.try_commit_and_announce(&hub, joined);
        }
        let committed = self.try_commit();
        hub.settle_channels(id, &joined, committed.as_ref().ok().map(|_| CommitPlace::FIRST));
        let depends_on = committed?;
        let mut pending = self.state.pending.borrow_mut();
        // one that has read and written nothing has its place behind all that have committed
        let ticket = self.transaction.ticket.take();
        let ticket = ticket.or_else(|| hub.order(&pending, || ()).map(|ordered| ordered.enter(&mut pending)));
        pending.clear();
        Ok((depends_on, ticket.map(Told::Here)))
    }

    /// Commits a transaction that says something to those who listen at all nodes of a cluster, or is to listen itself.
    fn try_commit_and_announce(
        &mut self,
        hub: &Arc<Hub>,
        joined: Joined,
    ) -> Result<(Timestamp, Option<Told>)> {
        let reserved = hub.reserve(&self.state.pending.borrow());
        let needs_place = self.state.pending.borrow().needs_place();
        let committed = match self.transaction.has_begun() || !needs_place {
            true => self.try_commit(),
            false => self.try_commit_for_its_place(),
        };
        let depends_on = committed.inspect_err(|_| hub.settle_channels(self.state.id, &joined, None))?;
        self.state.pending.borrow_mut().clear();
        // not what the catalog depends on, which may be later
        let place = match (&self.worker, needs_place) {
            (Some(worker), true) => CommitPlace(worker.depends_on().raw()),
            _ => CommitPlace::FIRST,
        };
        Ok((depends_on, Some(Told::Everywhere { joined, place, _reserved: reserved })))
    }

    /// Commits a transaction of a cluster that has neither read nor written anything: it has a place among the others'
    /// all the same. Others come in its way only by a change of the catalog or of the members.
    fn try_commit_for_its_place(&mut self) -> Result<Timestamp> {
        for attempt in 1.. {
            self.ensure_begun()?;
            match self.try_commit() {
                Err(error) if error.code() == SqlState::SERIALIZATION_FAILURE && attempt < ATTEMPTS => {
                    if let Some(worker) = self.worker.as_mut() {
                        worker.back_off(attempt);
                    }
                    self.begin_again(false);
                }
                done => return done,
            }
        }
        Err(SqlError::internal("no attempt"))
    }

    /// The latest commit that the transaction depends on, itself included.
    fn try_commit(&mut self) -> Result<Timestamp> {
        // One that has begun behind the change of members would commit without the locks that it was granted before. If
        // they change from here on it does not commit either: the engine ends it.
        if self.state.owner.borrow().is_lost() {
            return Err(crate::error::lock_not_taken(NotTaken::Lost));
        }
        if !self.transaction.has_begun() {
            return Ok(Timestamp::ZERO);
        }
        if !self.on_commit.is_empty() {
            self.commit_temporary()?;
        }
        if self.transaction.changed {
            return self.commit_change();
        }
        let (shared, database) = (&self.state.shared, &self.state.database);
        let raised = loop {
            let writes = |table| self.transaction.writes && self.has_used(table);
            if let Some(raised) = shared.gate.raise(self.state.id, &self.flag, writes) {
                break raised;
            }
            shared.gate.wait(self.state.id, writes, self.patience(CHANGE_WAIT))?;
        };
        let Some(worker) = self.worker.as_mut() else { return Err(SqlError::internal("no worker")) };
        // a snapshot has the catalog of its begin, and comes before all changes since
        if self.transaction.version != Some(database.version()) && !self.transaction.snapshot {
            let (before, now) = (&self.state.catalog, database.catalog());
            let mut tables = self.transaction.touched.iter();
            if !tables.all(|(oid, ..)| before.finds_same(&now, *oid))
                || !self.state.used.is_same(before, &now)
            {
                return Err(crate::error::changed_definition());
            }
        }
        let id = worker.id();
        shared.trace.begin(id, self.transaction.statement);
        let overtaken = shared.commits.is_some() && self.state.owner.borrow().count() > 0;
        let ordered =
            place_among_tellers(shared.is_shared, database, &mut **worker, &self.state.pending.borrow())?;
        let is_checked = !self.transaction.writes
            && self.transaction.checked.is_some_and(|all| worker.read_mark() == all)
            && self.state.pending.borrow().is_empty()
            && self.state.owner.borrow().count() == 0
            && shared.engine.serialization_point() == SerializationPoint::Commit;
        let committed = match if overtaken { commit_now(&mut **worker) } else { worker.commit() } {
            Err(error) if is_checked && error.is_conflict() => commit_as_checked(&mut **worker).ok_or(error),
            committed => committed,
        };
        if let (Some(ordered), Ok(_)) = (ordered, &committed) {
            self.transaction.ticket = Some(ordered.enter(&mut self.state.pending.borrow_mut()));
        }
        shared.trace.end(id, committed.as_ref().ok().copied());
        if let Some(commits) = &shared.commits {
            // before the flag goes down: see `commits`
            commits.fetch_add(1, Ordering::Release);
        }
        drop(raised);
        match committed {
            // the tables that it found are those of the last change of the catalog
            Ok(_) => Ok(worker.depends_on().max(database.changed_at())),
            Err(error) => Err(self.state.explain(error, |table| self.transaction.statement_on(table))),
        }
    }

    /// Commits a transaction that has changed the catalog.
    fn commit_change(&mut self) -> Result<Timestamp> {
        let (shared, database) = (&self.state.shared, &self.state.database);
        if !self.transaction.barred {
            // whatever becomes of the wait, this change may go on
            let _ = shared.gate.wait_for_others(self.state.id, self.patience(COURTESY_WAIT));
        }
        shared.refresh_others(database, &database.catalog(), &self.state.catalog)?;
        let Some(worker) = self.worker.as_deref_mut() else { return Err(SqlError::internal("no worker")) };
        let closed = shared.gate.close();
        // A row that was committed since the begin may have a later timestamp: it would stay in the old table. Not so
        // if the transaction began behind its bars.
        let overtaken = self.transaction.ran && self.transaction.commits != shared.commits();
        let changed = if overtaken {
            None
        } else if self.transaction.version == Some(database.version()) {
            Some((*self.state.catalog).clone())
        } else {
            self.transaction.beside_others(&self.state)
        };
        let Some(mut catalog) = changed else {
            let what = if overtaken { "transactions" } else { "change of the catalog" };
            return Err(SqlError::new(
                SqlState::SERIALIZATION_FAILURE,
                format!("could not serialize access due to concurrent {what}"),
            )
            .hint("The transaction might succeed if retried."));
        };
        catalog.forget_access();
        let before = database.catalog();
        let changes = database.store.changes(&before, &catalog).map_err(store_error)?;
        // what is of temporary relations alone concerns this process only
        let is_stored = !shared.is_shared || !changes.is_empty();
        catalog.follow(&before, is_stored);
        // until the new catalog is in force the library begins to use no table
        let held = shared.pins.hold(&before, &catalog)?;
        if is_stored {
            database.store.write_changes(worker, &changes, &catalog).map_err(store_error)?;
        }
        let made = self.transaction.made.as_ref();
        let others = shared.write_others(worker, database, &before, &catalog, made)?;
        let id = worker.id();
        shared.trace.begin(id, self.transaction.statement);
        let ordered = place_among_tellers(shared.is_shared, database, worker, &self.state.pending.borrow())?;
        let committed = worker.commit();
        if let (Some(ordered), Ok(_)) = (ordered, &committed) {
            self.transaction.ticket = Some(ordered.enter(&mut self.state.pending.borrow_mut()));
        }
        shared.trace.end(id, committed.as_ref().ok().copied());
        if let Err(error) = committed {
            drop(held);
            drop(closed);
            return Err(self.state.explain(error, |table| self.transaction.statement_on(table)));
        }
        let depends_on = worker.depends_on();
        let catalog = Arc::new(catalog);
        shared.publish(database, catalog.clone(), depends_on);
        let gone = shared.publish_others(others, depends_on);
        drop(held);
        drop(closed);
        shared.sequences.forget(&database.store, before.values_gone(&catalog));
        for theirs in &gone {
            shared.sequences.forget(&database.store, theirs.values_gone(&Catalog::default()));
            // nobody opens it again
            self.transaction.closed.retain(|database| database.oid != theirs.own_database());
        }
        self.state.use_catalog(catalog);
        self.transaction.created.clear();
        Ok(depends_on)
    }
}
