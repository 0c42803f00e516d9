//! The write_set of a transaction: its writes in the order in which they were made, their states before they were
//! changed again, and the names that the transaction's rows have.
//!
//! ```text
//!  name of a row   0 | address of its record                       found in an index
//!                  1 | cuts when it was named | number of a write  inserted by this transaction
//! ```

use crate::record::Record;
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Cuts, RowId, Savepoint};
use std::ops::{Deref, DerefMut};
use std::vec::Drain;

/// Bits of a write's number in the name of a row.
const NUMBER_BITS: u32 = 24;
const _: () = assert!(scaledb_base::limits::MAX_WRITES <= 1 << NUMBER_BITS);

/// Where a transaction found a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLocation<R> {
    /// A record, whether it has a row or not.
    Record(R),
    /// An insert of this transaction, by its number in the write_set.
    Own(usize),
}

/// What a write_set has to know of a write.
pub trait Write: Clone {
    /// The record type of the engine.
    type Record: Record;

    /// The table or index that is written.
    fn table(&self) -> TableId;

    /// The record; `None` for an insert whose key has none.
    fn record(&self) -> Option<Self::Record>;

    /// Whether it changes nothing: an insert that was deleted again.
    fn is_nothing(&self) -> bool;
}

/// A state of a write_set that it can be rolled back to.
#[derive(Clone, Copy, Debug)]
pub struct WriteMark {
    writes: usize,
    changes: usize,
}

/// The write_set of a transaction. Its memory is reused from transaction to transaction.
#[derive(Debug)]
pub struct WriteSet<W> {
    writes: Vec<W>,
    /// `(number, write)`: writes as they were before this transaction changed them again.
    undo: Vec<(usize, W)>,
    /// To which lengths the write_set was cut back.
    cuts: Cuts,
    /// In the order in which they were made: `writes` and `changes` ascend.
    savepoints: Vec<WriteMark>,
    /// How many writes had no record when they were added: they insert.
    inserts: usize,
    /// The tables with inserts: a scan of another one need not look through the write_set.
    inserted: Vec<TableId>,
    limit: usize,
}

impl<W> Deref for WriteSet<W> {
    type Target = [W];

    #[inline(always)]
    fn deref(&self) -> &[W] {
        &self.writes
    }
}

impl<W> DerefMut for WriteSet<W> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [W] {
        &mut self.writes
    }
}

impl<'a, W> IntoIterator for &'a WriteSet<W> {
    type Item = &'a W;
    type IntoIter = std::slice::Iter<'a, W>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.writes.iter()
    }
}

impl<W: Write> WriteSet<W> {
    /// An empty one, for at most `limit` writes.
    pub fn new(limit: usize) -> Self {
        Self {
            writes: Vec::new(),
            undo: Vec::new(),
            cuts: Cuts::default(),
            savepoints: Vec::new(),
            inserts: 0,
            inserted: Vec::new(),
            limit,
        }
    }

    /// Forgets everything but the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.writes.clear();
        self.undo.clear();
        self.cuts.clear();
        self.savepoints.clear();
        self.inserts = 0;
        self.inserted.clear();
    }

    /// Keeps room for so many writes.
    pub fn shrink_to(&mut self, writes: usize) {
        self.writes.shrink_to(writes);
        self.undo.shrink_to(writes);
    }

    /// Whether one more write finds room.
    ///
    /// # Errors
    /// [`Error::TooManyWrites`].
    #[inline]
    pub fn check_room(&self) -> Result<()> {
        if self.writes.len() < self.limit { Ok(()) } else { Err(Error::TooManyWrites { limit: self.limit }) }
    }

    /// Adds a write. Returns its number.
    #[inline]
    pub fn push(&mut self, write: W) -> usize {
        debug_assert!(self.writes.len() < self.limit, "the caller has checked that there is room");
        if write.record().is_none() {
            self.inserts += 1;
            let table = write.table();
            if self.inserted.last() != Some(&table) && !self.inserted.contains(&table) {
                self.inserted.push(table);
            }
        }
        self.writes.push(write);
        self.writes.len() - 1
    }

    /// Write access to an earlier write, which is noted for a rollback to a savepoint.
    pub fn rewrite(&mut self, number: usize) -> &mut W {
        self.undo.push((number, self.writes[number].clone()));
        &mut self.writes[number]
    }

    /// Whether the transaction has inserts.
    #[inline]
    pub fn has_inserts(&self) -> bool {
        self.inserts > 0
    }

    /// Whether the transaction may have inserted in a table.
    #[inline]
    pub fn inserts_into(&self, table: TableId) -> bool {
        self.inserts > 0 && self.inserted.contains(&table)
    }

    /// The present state.
    #[inline]
    pub fn mark(&self) -> WriteMark {
        WriteMark { writes: self.writes.len(), changes: self.undo.len() }
    }

    /// The writes that were added since a mark, by their numbers.
    pub fn since(&self, mark: WriteMark) -> std::ops::Range<usize> {
        mark.writes..self.writes.len()
    }

    /// The first half of a rollback: earlier writes are again as they were at the mark.
    pub fn undo_changes(&mut self, mark: WriteMark) {
        while self.undo.len() > mark.changes {
            let (number, write) = self.undo.pop().expect("longer than the mark");
            self.writes[number] = write;
        }
    }

    /// The second half of a rollback: takes away the writes since the mark, and hands them over.
    pub fn cut(&mut self, mark: WriteMark) -> Drain<'_, W> {
        debug_assert!(self.undo.len() <= mark.changes, "earlier writes are as they were");
        self.cuts.cut(self.writes.len(), mark.writes);
        self.inserts -= self.writes[mark.writes..].iter().filter(|write| write.record().is_none()).count();
        self.writes.drain(mark.writes..)
    }

    /// A new savepoint, at the present state.
    pub fn savepoint(&mut self) -> Savepoint {
        let mark = self.mark();
        debug_assert!(
            self.savepoints
                .last()
                .is_none_or(|last| last.writes <= mark.writes && last.changes <= mark.changes),
            "nothing was taken back behind a savepoint that stays"
        );
        self.savepoints.push(mark);
        Savepoint(self.savepoints.len() as u64 - 1)
    }

    /// The state at a savepoint, which stays; later ones are gone.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`].
    pub fn back_to(&mut self, savepoint: Savepoint) -> Result<WriteMark> {
        let number = savepoint.0 as usize;
        let mark = *self.savepoints.get(number).ok_or(Error::NoSuchSavepoint)?;
        self.savepoints.truncate(number + 1);
        Ok(mark)
    }

    /// Where the row of a write is.
    #[inline]
    pub fn location(&self, number: usize) -> RowLocation<W::Record> {
        self.writes[number].record().map_or(RowLocation::Own(number), RowLocation::Record)
    }

    /// The name by which transaction `txn` comes back to a row.
    #[inline]
    pub fn row_id(&self, txn: u64, table: TableId, location: RowLocation<W::Record>) -> RowId {
        let raw = match location {
            RowLocation::Record(record) => record.raw(),
            RowLocation::Own(number) => RowId::OWN | self.cuts.now() << NUMBER_BITS | number as u64,
        };
        // SAFETY: records that the transaction found stay valid while it runs; a write's number is checked
        // when it comes back.
        unsafe { RowId::new(raw, txn, table) }
    }

    /// Where the row of that name is.
    ///
    /// # Errors
    /// [`Error::StaleRow`].
    #[inline]
    pub fn named(&self, txn: u64, table: TableId, id: RowId) -> Result<RowLocation<W::Record>> {
        let raw = id.check(txn, table)?;
        if raw & RowId::OWN == 0 {
            // SAFETY: `row_id` gave the name in this transaction.
            return Ok(RowLocation::Record(unsafe { W::Record::from_raw(raw) }));
        }
        let number = (raw & ((1 << NUMBER_BITS) - 1)) as usize;
        // a rollback to a savepoint may have taken the write back, and another one have got its number
        let gone = self.cuts.have_taken(number, (raw & !RowId::OWN) >> NUMBER_BITS);
        match self.writes.get(number) {
            Some(write) if !gone && write.table() == table => Ok(self.location(number)),
            _ => Err(Error::StaleRow),
        }
    }
}
