//! What a transaction remembers: its read_set, range_set and write_set.

use crate::own::OwnWrites;
use crate::record::Record;
use crate::version::Version;
use scaledb_base::limits::MAX_WRITES;
use scaledb_base::{Result, TableId};
use scaledb_engine::ReadMark;
use scaledb_index::btree::{LeafRead, LeafStamp};
use scaledb_kit::{
    Absent, KEPT, KEPT_OF_ROWS, Remembered, Transaction, TxnCore, WriteMark, WriteSet, is_huge, is_large,
};
use scaledb_row::ColumnSet;
use std::ops::{Deref, DerefMut, Range};

/// Where a row was found.
pub(crate) type RowLocation = scaledb_kit::RowLocation<Record>;

/// A record as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    pub(crate) record: Record,
    pub(crate) table: TableId,
    /// The visible version, or [`Record::NOTHING`].
    pub(crate) seen: u64,
    /// The version after it, or 0: a later search begins there (section 3.5).
    pub(crate) later: u64,
}

/// The part of a leaf that was scanned.
#[derive(Clone)]
pub(crate) struct RangeRead {
    pub(crate) table: TableId,
    pub(crate) stamp: LeafStamp,
    pub(crate) part: u64,
    /// In `Txn::keys`: the first key, and the one behind the last (`None`: to the end).
    pub(crate) low: Range<usize>,
    pub(crate) high: Option<Range<usize>>,
    /// In `Txn::seen`: the records found there, in key order.
    pub(crate) seen: Range<usize>,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A new row.
    Insert,
    /// A row instead of the one that was read.
    Update,
    /// No row any more.
    Delete,
    /// An insert that was deleted again.
    Nothing,
}

/// One record of the write_set.
#[derive(Clone)]
pub struct Write {
    pub(crate) table: TableId,
    pub(crate) op: Op,
    /// The record; `None` for a key without one until the commit.
    pub(crate) record: Option<Record>,
    /// Of a key without a record.
    pub(crate) hash: u64,
    /// In `Txn::keys`: of a key without a record.
    pub(crate) key: Range<usize>,
    /// The row, in `Txn::images`.
    pub(crate) image: Range<usize>,
    /// The columns that differ from the version before; all of an insert's. For the log.
    pub(crate) dirty: ColumnSet,
    /// For an index entry of a row that this transaction writes: that row's number in the write_set.
    pub(crate) base: Option<usize>,
}

impl scaledb_kit::Write for Write {
    type Record = Record;

    #[inline]
    fn table(&self) -> TableId {
        self.table
    }

    #[inline]
    fn record(&self) -> Option<Record> {
        self.record
    }

    #[inline]
    fn is_nothing(&self) -> bool {
        self.op == Op::Nothing
    }
}

/// What a commit has done for one write.
#[derive(Default, Clone, Copy)]
pub(crate) struct Held {
    /// The pending version.
    pub(crate) version: Option<Version>,
    /// It is in the record's chain.
    pub(crate) installed: bool,
    /// The record is this commit's, and new in the indexes.
    pub(crate) created: bool,
}

/// The running transaction of a worker. Its memory is reused from transaction to transaction.
pub struct Txn {
    core: TxnCore,
    /// The timestamp; for a snapshot the boundary: everything before is seen.
    pub(crate) ts: u64,
    /// The latest commit that a check met in a scanned range, beside what was read.
    pub(crate) latest: u64,
    pub(crate) reads: Vec<Read>,
    pub(crate) absents: Vec<Absent>,
    pub(crate) ranges: Vec<RangeRead>,
    pub(crate) seen: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    pub(crate) writes: WriteSet<Write>,
    pub(crate) images: Vec<u64>,
    own: OwnWrites,
    /// Records without a row that are kept for inserts.
    pub(crate) pins: Vec<(TableId, Record)>,
    pub(crate) held: Vec<Held>,
    /// The order of installation: numbers of writes to records that exist.
    pub(crate) order: Vec<(u64, u32)>,
    /// Addresses of new records of one index, for its tree.
    pub(crate) batch: Vec<(TableId, u64)>,
    pub(crate) leaf: LeafRead,
    pub(crate) candidates: Vec<RowLocation>,
}

/// Records that a transaction writes; few in unit tests, which run into the limit.
const WRITES: usize = if cfg!(test) { 256 } else { MAX_WRITES };

impl Txn {
    pub(crate) fn new(core: TxnCore) -> Self {
        Self {
            core,
            ts: 0,
            latest: 0,
            reads: Vec::new(),
            absents: Vec::new(),
            ranges: Vec::new(),
            seen: Vec::new(),
            keys: Vec::new(),
            writes: WriteSet::new(WRITES),
            images: Vec::new(),
            own: OwnWrites::new(),
            pins: Vec::new(),
            held: Vec::new(),
            order: Vec::new(),
            batch: Vec::new(),
            leaf: LeafRead::new(),
            candidates: Vec::new(),
        }
    }

    /// Forgets everything but the memory; what one large transaction took is given back. Returns whether it was so
    /// large that the worker's other memory is worth a look.
    #[inline]
    pub(crate) fn clear(&mut self) -> bool {
        self.core.end();
        self.latest = 0;
        self.reads.clear();
        self.absents.clear();
        self.ranges.clear();
        self.seen.clear();
        self.keys.clear();
        self.writes.clear();
        self.images.clear();
        self.own.clear();
        self.held.clear();
        self.order.clear();
        let size =
            self.reads.capacity() + self.images.capacity() + self.keys.capacity() + self.seen.capacity();
        is_large(size, self.held.capacity()) && self.give_back(size)
    }

    /// Keeps memory for transactions of usual size.
    #[cold]
    fn give_back(&mut self, size: usize) -> bool {
        self.reads.shrink_to(KEPT_OF_ROWS);
        self.absents.shrink_to(KEPT);
        self.ranges.shrink_to(KEPT);
        self.seen.shrink_to(KEPT_OF_ROWS);
        self.keys.shrink_to(KEPT_OF_ROWS);
        self.writes.shrink_to(KEPT);
        self.images.shrink_to(KEPT_OF_ROWS);
        self.pins.shrink_to(KEPT);
        self.held.shrink_to(KEPT);
        self.order.shrink_to(KEPT);
        self.batch.clear();
        self.batch.shrink_to(KEPT);
        self.candidates.clear();
        self.candidates.shrink_to(KEPT);
        is_huge(size)
    }

    /// Copies a key.
    #[inline]
    pub(crate) fn keep_key(&mut self, key: &[u8]) -> Range<usize> {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        start..self.keys.len()
    }

    /// Copies a row.
    #[inline]
    pub(crate) fn keep_row(&mut self, row: &[u64]) -> Range<usize> {
        let start = self.images.len();
        self.images.extend_from_slice(row);
        start..self.images.len()
    }

    /// The write of a record.
    #[inline]
    pub(crate) fn write_of(&self, record: Record) -> Option<usize> {
        self.own.find(record.raw(), |n| self.writes.get(n).is_some_and(|w| w.record == Some(record)))
    }

    /// The write that has made a record in this commit, and not only found it. `hash` is the key's: such a write
    /// stands where its key was, or, if the table has grown since, where its record is.
    pub(crate) fn creator_of(&self, hash: u64, record: Record) -> Option<usize> {
        let made = |n: usize| {
            let held = self.held.get(n).is_some_and(|held| held.created);
            held && self.writes.get(n).is_some_and(|w| w.record == Some(record))
        };
        self.own.find(hash, made).or_else(|| self.own.find(record.raw(), made))
    }

    /// The insert of a key that had no record.
    #[inline]
    pub(crate) fn insert_of(&self, table: TableId, hash: u64, key: &[u8]) -> Option<usize> {
        if !self.writes.has_inserts() {
            return None;
        }
        self.own.find(hash, |n| {
            self.writes.get(n).is_some_and(|w| {
                w.record.is_none() && w.hash == hash && w.table == table && self.keys[w.key.clone()] == *key
            })
        })
    }

    /// Adds a write. Returns its number.
    ///
    /// # Errors
    /// [`Error::TooManyWrites`](scaledb_base::Error::TooManyWrites),
    /// [`Error::TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    pub(crate) fn push_write(&mut self, write: Write) -> Result<usize> {
        self.check_room(write.op == Op::Delete)?;
        fn place(write: &Write) -> u64 {
            write.record.map_or(write.hash, Record::raw)
        }
        let number = self.writes.len();
        let (of, writes) = (place(&write), &self.writes);
        // what a rollback took back may still be named: `find` sees that it is gone
        self.own.insert(of, number, |n| writes.get(n).map_or(0, place));
        Ok(self.writes.push(write))
    }

    /// The key of a write that had no record has got one, by another transaction.
    pub(crate) fn find_record(&mut self, number: usize, record: Record) {
        self.writes[number].record = Some(record);
        let writes = &self.writes;
        self.own.insert(record.raw(), number, |n| {
            writes.get(n).map_or(0, |w| w.record.map_or(w.hash, Record::raw))
        });
    }

    /// Back to an earlier state of the write_set. Inserts that are taken back have found their keys absent:
    /// that was read, if `keep_reads`.
    pub(crate) fn undo_to(&mut self, mark: WriteMark, keep_reads: bool) {
        self.writes.undo_changes(mark);
        for write in self.writes.cut(mark).filter(|write| keep_reads && write.record.is_none()) {
            self.absents.push(Absent { table: write.table, hash: write.hash, key: write.key });
        }
    }
}

impl Deref for Txn {
    type Target = TxnCore;

    #[inline(always)]
    fn deref(&self) -> &TxnCore {
        &self.core
    }
}

impl DerefMut for Txn {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut TxnCore {
        &mut self.core
    }
}

impl Transaction for Txn {
    type Write = Write;

    #[inline(always)]
    fn writes(&self) -> &WriteSet<Write> {
        &self.writes
    }

    #[inline(always)]
    fn writes_mut(&mut self) -> &mut WriteSet<Write> {
        &mut self.writes
    }

    fn used(&self) -> impl Iterator<Item = TableId> {
        let reads = self.reads.iter().map(|read| read.table);
        let absents = self.absents.iter().map(|absent| absent.table);
        reads.chain(absents).chain(self.ranges.iter().map(|range| range.table))
    }

    #[inline(always)]
    fn remembered(&self) -> Remembered {
        Remembered {
            images: self.images.len(),
            reads: self.reads.len(),
            keys: self.keys.len(),
            write_bytes: size_of::<Write>() + size_of::<Held>(),
            read_bytes: size_of::<Read>(),
        }
    }

    /// The lengths of what was read; keys stay, for the writes have theirs among them.
    fn read_mark(&self) -> ReadMark {
        ReadMark([self.reads.len(), self.absents.len(), self.ranges.len(), self.seen.len(), 0])
    }

    fn forget_reads_since(&mut self, mark: ReadMark) {
        let ReadMark([reads, absents, ranges, seen, _]) = mark;
        self.reads.truncate(reads);
        self.absents.truncate(absents);
        self.ranges.truncate(ranges);
        self.seen.truncate(seen);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use scaledb_memory::Domain;
    use scaledb_sync::Arc;
    use scaledb_sync::clock::Clock;

    #[test]
    fn a_huge_transaction_leaves_no_more_memory_than_a_usual_one_keeps() {
        const LEFT: usize = 1 << 14;
        let mut txn = Txn::new(TxnCore::new(&Domain::new(Arc::new(Clock::new(0)), u64::MAX), 0));
        assert!(!txn.clear());
        // of deletes, say: nothing but what the commit held
        txn.held.resize(1 << 17, Held::default());
        txn.order.resize(1 << 17, (0, 0));
        assert!(!txn.clear());
        assert!(txn.held.capacity() <= LEFT && txn.order.capacity() <= LEFT);
        txn.keys.resize(1 << 20, 0);
        txn.images.resize(1 << 18, 0);
        txn.batch.resize(1 << 18, (TableId(0), 0));
        assert!(txn.clear(), "worth a look at the worker's other memory");
        assert!(txn.keys.capacity() <= LEFT && txn.images.capacity() <= LEFT && txn.batch.capacity() <= LEFT);
        assert!(!txn.clear());
    }
}
