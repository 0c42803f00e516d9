//! Row locks: those that `FOR UPDATE` and its like take, and those of others that statements wait for before they
//! write.
//!
//! A run that must wait for a row lock is given up: what it has read so far may be old when the wait is over. The
//! session waits, and runs the statement again while it holds the lock (`session::waiting`).

use super::{Exec, Flow, Next, codec};
use scaledb_engine::{ReadMark, RowId, Worker};
use scaledb_locks::{Mode, Tag};
use scaledb_planner::plan::{BoundTable, Node, Policy, RowLock, Scan};
use scaledb_types::{Result, SqlError, SqlState, Value};

/// The row locks of one run of a statement.
#[derive(Debug, Default)]
pub(crate) struct Locking {
    /// The run may be given up and begun anew as long as it has written nothing; `whole`: even then.
    pub(crate) again: bool,
    pub(crate) whole: bool,
    /// It locks what it writes, because it has met a conflict before.
    pub(crate) reserves: bool,
    /// It has written something.
    pub(crate) wrote: bool,
    /// Why it was given up.
    pub(crate) given_up: Option<GivenUp>,
    /// Names of rows, by the numbers that scans leave in the frame: sorts and joins carry values only.
    names: Vec<RowId>,
}

/// Why a run was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// It needs this lock.
    Waits(Tag, Mode),
    /// It needs this lock for the session.
    Keeps(Tag, Mode),
    /// A row was changed before it was locked. What was read of it is forgotten.
    Changed,
    /// It reads much, and is to do so in a snapshot.
    ReadsMuch,
}

/// The error that ends a run that is given up. The client gets it if the statement is not run again.
#[cold]
pub(crate) fn given_up() -> SqlError {
    let what = "could not serialize access: a row was changed while it was being locked";
    SqlError::new(SqlState::SERIALIZATION_FAILURE, what)
}

impl<'a, W: Worker> Exec<'a, W> {
    /// Notes the row that a scan is at and that has passed its filter, for the operator above that locks it.
    #[inline]
    pub(super) fn name_row(&mut self, scan: &Scan, row: RowId) -> Result<()> {
        if let Some(locked) = &scan.locked {
            self.memory.take_rows(size_of::<RowId>())?;
            self.frame[locked.name] = Value::Int8(self.locking.names.len() as i64);
            self.locking.names.push(row);
        }
        Ok(())
    }

    /// Locks the rows of an input.
    pub(super) fn lock_rows(
        &mut self,
        input: &Node,
        locks: &[RowLock],
        next: Next<'_, 'a, W>,
    ) -> Result<Flow> {
        self.run(input, &mut |exec| {
            for lock in locks {
                let Some(row) = exec.named(lock) else { continue };
                if !exec.reserve(&lock.table, row, lock.mode, lock.policy)? {
                    return Ok(Flow::Continue(()));
                }
            }
            for lock in locks.iter().filter(|lock| lock.policy == Policy::Skip) {
                let Some(row) = exec.named(lock) else { continue };
                // if it has changed since the scan, another transaction has changed it
                if !exec.is_as_found(lock, row)? {
                    return Ok(Flow::Continue(()));
                }
            }
            next(exec)
        })
    }

    fn named(&self, lock: &RowLock) -> Option<RowId> {
        self.row_named(&self.frame[lock.name])
    }

    /// The row that a scan has left this number of; none for NULL.
    pub(super) fn row_named(&self, name: &Value) -> Option<RowId> {
        let Value::Int8(number) = name else { return None };
        self.locking.names.get(usize::try_from(*number).ok()?).copied()
    }

    /// Reads a row that is locked by now, so that the transaction depends on it; whether it is as the scan has found
    /// it.
    fn is_as_found(&mut self, lock: &RowLock, row: RowId) -> Result<bool> {
        let Some(worker) = self.worker.take() else {
            return Err(SqlError::internal("a row is locked within a scan"));
        };
        let (frame, schema) = (&self.frame, &lock.table.info.schema);
        let same = worker.get_at(lock.table.info.id, row, &lock.projection, |row| {
            for load in &lock.loads.columns {
                if codec::load(row, schema, load.column, load.ty)? != frame[load.slot] {
                    return Ok(false);
                }
            }
            for &(position, slot) in &lock.loads.added {
                if codec::column(row, &lock.table, position)? != frame[slot] {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        self.worker = Some(worker);
        same.map_err(|error| self.context.engine_error(error))?.unwrap_or(Ok(false))
    }

    /// Whether a statement that writes a row must ask for its lock: somebody has locked some row, or this statement has
    /// met a conflict.
    #[inline]
    pub(super) fn must_reserve(&self, table: &BoundTable) -> bool {
        self.locking.reserves || self.context.locks.has_rows_of(table.desc.oid)
    }

    /// Locks rows that are to be written: of a cluster with one question for many.
    ///
    /// # Errors
    /// 55P03; that the run is given up.
    #[cold]
    pub(super) fn reserve_all(&mut self, table: &BoundTable, rows: &[RowId], mode: Mode) -> Result<()> {
        if self.context.locks.members().is_none() {
            for &row in rows {
                self.reserve(table, row, mode, Policy::Wait)?;
            }
            return Ok(());
        }
        let mut tags = Vec::with_capacity(rows.len());
        for &row in rows {
            tags.extend(self.row_tag(table, row)?);
        }
        let mut rest = &tags[..];
        while !rest.is_empty() {
            rest = &rest[self.context.host.take_locks(rest, mode)?..];
            if let Some((&tag, behind)) = rest.split_first() {
                self.wait_for_row(tag, mode)?;
                rest = behind;
            }
        }
        Ok(())
    }

    /// What a row is locked by; none for one that this transaction has inserted.
    fn row_tag(&mut self, table: &BoundTable, row: RowId) -> Result<Option<Tag>> {
        let Some(mut record) = row.record() else { return Ok(None) };
        if self.context.locks.members().is_some() {
            let key = self.worker()?.key_of(table.info.id, row);
            let key = key.map_err(|error| self.context.engine_error(error))?;
            let number = self.context.host.owner().borrow_mut().number_of(table.desc.oid, &key);
            record = number.unwrap_or(record);
        }
        Ok(Some(Tag::Row { table: table.desc.oid, record }))
    }

    /// Waits for a row that another session has locked, or gives the run up to do that.
    fn wait_for_row(&mut self, tag: Tag, mode: Mode) -> Result<()> {
        if self.locking.wrote && !self.locking.whole || !self.locking.again {
            self.worker()?.yield_priority();
            return self.context.wait_for_lock(tag, mode, false);
        }
        Err(self.give_up(GivenUp::Waits(tag, mode)))
    }

    /// Locks a row. False if it is to be skipped.
    ///
    /// # Errors
    /// 55P03; that the run is given up.
    #[cold]
    pub(super) fn reserve(
        &mut self,
        table: &BoundTable,
        row: RowId,
        mode: Mode,
        policy: Policy,
    ) -> Result<bool> {
        let Some(tag) = self.row_tag(table, row)? else { return Ok(true) };
        if self.context.host.take_lock(tag, mode)? {
            return Ok(true);
        }
        match policy {
            Policy::Skip => Ok(false),
            Policy::NoWait => {
                let what = format!("could not obtain lock on row in relation \"{}\"", table.desc.name);
                Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, what))
            }
            Policy::Wait => self.wait_for_row(tag, mode).map(|()| true),
        }
    }

    fn give_up(&mut self, why: GivenUp) -> SqlError {
        self.locking.given_up = Some(why);
        given_up()
    }

    /// The end of a statement that has locked rows: none of them was changed between its read and its lock.
    ///
    /// # Errors
    /// A conflict over earlier reads; that the run is given up.
    pub(crate) fn settle_locks(&mut self, mark: ReadMark) -> Result<()> {
        if self.locking.wrote || !self.locking.again {
            return Ok(());
        }
        let current = self.worker()?.refresh(mark).map_err(|error| self.context.engine_error(error))?;
        if current { Ok(()) } else { Err(self.give_up(GivenUp::Changed)) }
    }
}
