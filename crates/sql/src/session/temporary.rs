//! Temporary relations: those of one session, gone with it.
//!
//! They stand in the catalog like all others, in a schema of their session, `pg_temp_` and its number, which is first
//! in its search path and in no other session's. What a session leaves behind because the process was killed is removed
//! when the database is opened again.

use super::Session;
use crate::patience::{CHANGE_ATTEMPTS, runs_again};
use crate::sequence::store_error;
use scaledb_catalog::{Catalog, Relation, Store};
use scaledb_engine::{Engine, TxnKind, Worker};
use scaledb_planner::bind::Lookup;
use scaledb_planner::bind::names::{is_temporary, temporary_schema};
use scaledb_types::{Result, SqlError};
use sqlparser::ast::OnCommit;

/// What becomes of a temporary table at each commit.
pub(super) struct AtCommit {
    table: u32,
    action: OnCommit,
}

impl<E: Engine> Session<E> {
    /// The schema of this session's temporary relations, which from now on is in its path.
    pub(super) fn make_temporary_schema(&mut self) -> String {
        if !self.state.has_temporary {
            self.state.has_temporary = true;
            self.derive();
        }
        temporary_schema(self.state.id)
    }

    /// Notes what ON COMMIT says of a table.
    pub(super) fn on_commit(&mut self, table: u32, action: OnCommit) {
        if !matches!(action, OnCommit::PreserveRows) {
            self.on_commit.push(AtCommit { table, action });
        }
    }

    /// Does what ON COMMIT says, within the transaction that is about to commit.
    #[cold]
    pub(super) fn commit_temporary(&mut self) -> Result<()> {
        let (own, committed) = (self.state.catalog.clone(), self.state.database.catalog());
        // a DROP may yet be rolled back, and so may the CREATE
        self.on_commit.retain(|at| own.table(at.table).is_some() || committed.table(at.table).is_some());
        let emptied: Vec<u32> = self.on_commit.iter().map(|at| at.table).collect();
        for number in 0..self.on_commit.len() {
            let AtCommit { table: oid, action } = self.on_commit[number];
            let Some(desc) = own.table(oid) else { continue };
            match action {
                OnCommit::PreserveRows => {}
                OnCommit::Drop => {
                    self.drop_relation(&Relation::Table(desc.clone()), &emptied, true, &mut Vec::new())?;
                }
                OnCommit::DeleteRows if self.transaction.has_written(oid) => {
                    let reference =
                        own.references_to(oid).into_iter().find(|r| !emptied.contains(&r.from.oid));
                    if let Some(reference) = reference {
                        let what = "unsupported ON COMMIT and foreign key combination";
                        return Err(SqlError::unsupported(what).detail(format!(
                            "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                            reference.from.name, desc.name
                        )));
                    }
                    let table = self.state.table(oid)?;
                    self.delete_all(&table)?;
                }
                OnCommit::DeleteRows => {}
            }
        }
        Ok(())
    }

    /// Removes all temporary relations of the session.
    ///
    /// # Errors
    /// 40001, in a transaction block; 25006.
    pub(super) fn drop_temporary(&mut self) -> Result<()> {
        let alone = self.transaction.is_alone();
        for tries in 1.. {
            let mut dropped = self.drop_all_temporary();
            if alone {
                dropped = dropped.and_then(|()| self.commit());
            }
            match dropped {
                Err(error) if alone => {
                    self.rollback();
                    if !runs_again(&error, tries, CHANGE_ATTEMPTS) {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
        Ok(())
    }

    fn drop_all_temporary(&mut self) -> Result<()> {
        if !self.state.has_temporary {
            return Ok(());
        }
        // the catalog as it is now
        self.ensure_begun()?;
        let own = temporary_schema(self.state.id);
        let relations: Vec<Relation> =
            self.state.catalog.relations().filter(|relation| relation.schema() == own).cloned().collect();
        if relations.is_empty() {
            return Ok(());
        }
        self.begin_change()?;
        let oids: Vec<u32> = relations.iter().map(Relation::oid).collect();
        relations.iter().try_for_each(|relation| self.drop_relation(relation, &oids, true, &mut Vec::new()))
    }

    /// The end of the session. What cannot be removed now is when the database is opened.
    pub(super) fn leave_temporary(&mut self) {
        if !self.state.has_temporary {
            return;
        }
        // the end of the session cancels what it ran, not this
        self.in_batch = false;
        self.begin_batch();
        self.synchronous = false;
        let _ = self.drop_temporary();
    }
}

/// Removes what sessions of an earlier process have left behind. Returns the catalog without it.
///
/// # Errors
/// The engine's.
pub(crate) fn remove_left_over<W: Worker>(
    store: &Store,
    worker: &mut W,
    catalog: Catalog,
) -> Result<Catalog> {
    let left: Vec<u32> =
        catalog.relations().filter(|relation| is_temporary(relation.schema())).map(Relation::oid).collect();
    if left.is_empty() {
        return Ok(catalog);
    }
    let mut now = catalog.clone();
    for oid in left {
        now.remove(oid);
    }
    now.version += 1;
    loop {
        worker.begin(TxnKind::ReadWrite).map_err(crate::error::plain)?;
        store.write(worker, &catalog, &now).map_err(store_error)?;
        match worker.commit() {
            Ok(_) => return Ok(now),
            Err(error) if error.is_conflict() => worker.back_off(1),
            Err(error) => return Err(crate::error::plain(error)),
        }
    }
}
