//! What a transaction remembers: its read_set, range_set and write_set.

use crate::record::{Overflow, Record, Word};
use crate::write_finder::WriteFinder;
use scaledb_base::limits::{MAX_GROUPS, MAX_WRITES};
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_engine::ReadMark;
use scaledb_index::btree::{Finger, LeafRead, LeafStamp};
use scaledb_index::phantomlet::CellId;
use scaledb_kit::{
    Absent, KEPT, KEPT_OF_ROWS, Remembered, Transaction, TxnCore, WriteMark, WriteSet, is_huge, is_large,
};
use scaledb_row::{ColumnSet, GroupSet};
use std::ops::{Deref, DerefMut, Range};

/// Where a row was found.
pub(crate) type RowLocation = scaledb_kit::RowLocation<Record>;

/// A row that a scan has to look at.
#[derive(Clone, Copy)]
pub(crate) struct Candidate(pub(crate) RowLocation);

/// A record's group as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    pub(crate) record: Record,
    pub(crate) seen: Word,
    pub(crate) table: TableId,
    pub(crate) group: u32,
}

/// The part of a leaf that was scanned.
pub(crate) struct RangeRead {
    pub(crate) table: TableId,
    pub(crate) stamp: LeafStamp,
    /// In `Txn::cells`.
    pub(crate) cells: Range<usize>,
    /// In `Txn::keys`: the first key, and the one behind the last (`None`: to the end).
    pub(crate) low: Range<usize>,
    pub(crate) high: Option<Range<usize>>,
    /// In `Txn::seen`: the records found there, in key order, pending ones included.
    pub(crate) seen: Range<usize>,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A new row; the image is all of it.
    Insert,
    /// Some columns of a row; the image holds what was loaded and set.
    Update,
    /// A row that was deleted and inserted again; the image is all of it.
    Replace,
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
    /// The record; `None` for an insert until it is locked.
    pub(crate) record: Option<Record>,
    pub(crate) hash: u64,
    /// In `Txn::keys`; empty unless an insert.
    pub(crate) key: Range<usize>,
    /// For an insert: the leaf that the tree, if it was asked, named when the key was not found.
    pub(crate) leaf: Option<(LeafStamp, u64)>,
    /// In `Txn::images`.
    pub(crate) image: Range<usize>,
    /// Columns that the image holds.
    pub(crate) loaded: ColumnSet,
    /// Columns that were set.
    pub(crate) dirty: ColumnSet,
    /// For an index entry of a row that this transaction inserts: that row's number in the write_set.
    pub(crate) base: Option<usize>,
    /// The words as they were read, of the groups in `read`.
    pub(crate) seen: [Word; MAX_GROUPS],
    pub(crate) read: GroupSet,
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

impl Write {
    /// The groups that the write changes.
    pub(crate) fn groups(&self, layout: &scaledb_row::Layout) -> GroupSet {
        match self.op {
            Op::Update => layout.groups_of(self.dirty),
            _ => GroupSet::all(layout.groups()),
        }
    }
}

/// What a commit has locked and inserted for one write, for its abort.
#[derive(Default)]
pub(crate) struct Held {
    /// Locked groups and their words before.
    pub(crate) groups: GroupSet,
    pub(crate) before: [Word; MAX_GROUPS],
    /// The record is this commit's placeholder.
    pub(crate) created: bool,
    /// The placeholder is in the tree already.
    pub(crate) in_tree: bool,
    /// The placeholder's leaf and part, if the tree has been asked.
    pub(crate) leaf: Option<(LeafStamp, u64)>,
    /// The placeholder's pending item and its cell.
    pub(crate) item: Option<(u64, CellId)>,
    /// A larger block for a row that outgrows its record.
    pub(crate) overflow: Option<Overflow>,
}

/// The running transaction of a worker. Its memory is reused from transaction to transaction.
pub struct Txn {
    core: TxnCore,
    /// The boundary that a snapshot reads at.
    pub(crate) snapshot: Timestamp,
    pub(crate) reads: Vec<Read>,
    pub(crate) absents: Vec<Absent>,
    pub(crate) ranges: Vec<RangeRead>,
    pub(crate) cells: Vec<(CellId, u64)>,
    pub(crate) seen: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    pub(crate) writes: WriteSet<Write>,
    pub(crate) images: Vec<u64>,
    /// A Bloom filter of the records and keys in the write_set.
    filter: u64,
    /// All writes by [`identity`], once there are more than [`SCANNED`].
    many: WriteFinder,
    /// The latest commit that was read.
    pub(crate) latest: Timestamp,
    pub(crate) held: Vec<Held>,
    /// Cells that the running commit posted to.
    pub(crate) posts: Vec<(TableId, CellId, u64)>,
    /// How many of `posts` are counted.
    pub(crate) posted: usize,
    pub(crate) row: Vec<u64>,
    pub(crate) old_row: Vec<u64>,
    pub(crate) leaf: LeafRead,
    pub(crate) finger: Finger,
    pub(crate) candidates: Vec<Candidate>,
}

/// Records that a transaction writes; few in unit tests, which run into the limit.
const WRITES: usize = if cfg!(test) { 256 } else { MAX_WRITES };

/// A write_set of so many is searched one by one, behind the filter.
const SCANNED: usize = if scaledb_sync::MODEL { 2 } else { 32 };

/// What a write is found by: its record or, for an insert, its key's hash.
fn identity(write: &Write) -> u64 {
    write.record.map_or(write.hash, Record::raw)
}

impl Txn {
    pub(crate) fn new(core: TxnCore) -> Self {
        Self {
            core,
            snapshot: Timestamp::ZERO,
            reads: Vec::new(),
            absents: Vec::new(),
            ranges: Vec::new(),
            cells: Vec::new(),
            seen: Vec::new(),
            keys: Vec::new(),
            writes: WriteSet::new(WRITES),
            images: Vec::new(),
            filter: 0,
            many: WriteFinder::default(),
            latest: Timestamp::ZERO,
            held: Vec::new(),
            posts: Vec::new(),
            posted: 0,
            row: Vec::new(),
            old_row: Vec::new(),
            leaf: LeafRead::new(),
            finger: Finger::default(),
            candidates: Vec::new(),
        }
    }

    /// Empties everything for the next transaction, and frees memory that a large one has taken. Returns whether it was
    /// so large that the worker's other memory should be checked, too.
    #[inline]
    pub(crate) fn clear(&mut self) -> bool {
        self.core.end();
        self.reads.clear();
        self.absents.clear();
        self.ranges.clear();
        self.cells.clear();
        self.seen.clear();
        self.keys.clear();
        self.writes.clear();
        self.images.clear();
        self.held.clear();
        self.posts.clear();
        self.posted = 0;
        self.filter = 0;
        if !self.many.is_empty() {
            // a large image is rare: its memory is freed
            self.many = WriteFinder::default();
        }
        self.latest = Timestamp::ZERO;
        let size =
            self.reads.capacity() + self.images.capacity() + self.keys.capacity() + self.seen.capacity();
        is_large(size, self.held.capacity()) && self.give_back(size)
    }

    /// Shrinks memory to what transactions of usual size need.
    #[cold]
    fn give_back(&mut self, size: usize) -> bool {
        self.reads.shrink_to(KEPT_OF_ROWS);
        self.absents.shrink_to(KEPT);
        self.ranges.shrink_to(KEPT);
        self.cells.shrink_to(KEPT);
        self.seen.shrink_to(KEPT_OF_ROWS);
        self.keys.shrink_to(KEPT_OF_ROWS);
        self.writes.shrink_to(KEPT);
        self.images.shrink_to(KEPT_OF_ROWS);
        self.held.shrink_to(KEPT);
        self.posts.shrink_to(KEPT);
        self.candidates.clear();
        self.candidates.shrink_to(KEPT);
        is_huge(size)
    }

    /// Remembers the words of a record's groups.
    #[inline]
    pub(crate) fn remember(
        &mut self,
        table: TableId,
        record: Record,
        groups: GroupSet,
        seen: &[Word; MAX_GROUPS],
    ) {
        for group in groups.iter() {
            let seen = seen[group];
            self.latest = self.latest.max(seen.ts());
            self.reads.push(Read { record, seen, table, group: group as u32 });
        }
    }

    /// Removes recent reads of groups that are about to be written: their locks are taken only if the words are
    /// unchanged, so that validation would be redundant. A read that a scan made just before the update is among the
    /// last reads; one that is not found there is merely validated twice.
    #[inline]
    pub(crate) fn forget_reads(&mut self, record: Record, groups: GroupSet, seen: &[Word; MAX_GROUPS]) {
        const RECENT: usize = 16;
        let mut at = self.reads.len();
        let end = at.saturating_sub(RECENT);
        while at > end {
            at -= 1;
            let read = &self.reads[at];
            if read.record == record {
                let group = read.group as usize;
                if groups.has(group) && read.seen == seen[group] {
                    self.reads.swap_remove(at);
                }
            }
        }
    }

    /// Copies a key to `Txn::keys`.
    #[inline]
    pub(crate) fn keep_key(&mut self, key: &[u8]) -> Range<usize> {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        start..self.keys.len()
    }

    #[inline]
    fn bit(x: u64) -> u64 {
        1 << (x.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
    }

    /// Whether the filter lets a record or a key's hash pass.
    #[inline]
    fn may_have(&self, x: u64) -> bool {
        self.filter & Self::bit(x) != 0
    }

    /// The write of a record.
    #[inline]
    pub(crate) fn write_of(&self, record: Record) -> Option<usize> {
        if !self.may_have(record.raw()) {
            return None;
        }
        if !self.many.is_empty() {
            return self.many.find(record.raw(), |number| self.writes[number].record == Some(record));
        }
        self.writes.iter().position(|w| w.record == Some(record))
    }

    /// The insert of a key.
    #[inline]
    pub(crate) fn insert_of(&self, table: TableId, hash: u64, key: &[u8]) -> Option<usize> {
        if !self.writes.has_inserts() || !self.may_have(hash) {
            return None;
        }
        let is_it = |w: &Write| {
            w.record.is_none() && w.hash == hash && w.table == table && self.keys[w.key.clone()] == *key
        };
        if !self.many.is_empty() {
            return self.many.find(hash, |number| is_it(&self.writes[number]));
        }
        self.writes.iter().position(is_it)
    }

    /// The insert that this commit has found a record for, a placeholder of its own or the one that the key had; `hash`
    /// is that of the record's key.
    pub(crate) fn insert_at(&self, hash: u64, record: Record) -> Option<usize> {
        if !self.writes.has_inserts() || !self.may_have(hash) {
            return None;
        }
        let is_it = |number: usize| self.writes[number].record == Some(record);
        if !self.many.is_empty() {
            return self.many.find(hash, is_it);
        }
        (0..self.writes.len()).find(|&number| is_it(number))
    }

    /// Adds a write. Returns its number.
    ///
    /// # Errors
    /// [`Error::TooManyWrites`](scaledb_base::Error::TooManyWrites),
    /// [`Error::TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    pub(crate) fn push_write(&mut self, write: Write) -> Result<usize> {
        self.check_room(write.op == Op::Delete)?;
        match write.record {
            Some(record) => self.filter |= Self::bit(record.raw()),
            None => self.filter |= Self::bit(write.hash),
        }
        let number = self.writes.push(write);
        if number >= SCANNED || !self.many.is_empty() {
            let first = if self.many.is_empty() { 0 } else { number };
            for number in first..=number {
                self.many.add(identity(&self.writes[number]), number);
            }
        }
        Ok(number)
    }

    /// The numbers of the writes since `mark` that insert what was not there.
    pub(crate) fn inserts_since(&self, mark: WriteMark) -> impl Iterator<Item = usize> + use<> {
        let inserts: Vec<usize> =
            self.writes.since(mark).filter(|&number| self.writes[number].op == Op::Insert).collect();
        inserts.into_iter()
    }

    /// Truncates the write_set to an earlier state.
    pub(crate) fn undo_to(&mut self, mark: WriteMark) {
        self.writes.undo_changes(mark);
        if !self.many.is_empty() {
            for number in self.writes.since(mark) {
                self.many.remove(identity(&self.writes[number]), number);
            }
        }
        for write in self.writes.cut(mark) {
            // reads of a write stay in the read_set when the write is undone
            if let Some(record) = write.record {
                self.reads.extend(write.read.iter().map(|group| Read {
                    record,
                    seen: write.seen[group],
                    table: write.table,
                    group: group as u32,
                }));
            }
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

    /// The lengths of the read sets. Keys are not truncated: those of writes stand among them.
    fn read_mark(&self) -> ReadMark {
        ReadMark([self.reads.len(), self.absents.len(), self.ranges.len(), self.seen.len(), self.cells.len()])
    }

    fn forget_reads_since(&mut self, mark: ReadMark) {
        let ReadMark([reads, absents, ranges, seen, cells]) = mark;
        self.reads.truncate(reads);
        self.absents.truncate(absents);
        self.ranges.truncate(ranges);
        self.seen.truncate(seen);
        self.cells.truncate(cells);
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
        // a transaction of deletes alone has grown only the state of its commit
        txn.held.resize_with(1 << 17, Held::default);
        txn.posts.resize(1 << 17, (TableId(0), CellId(0), 1));
        assert!(!txn.clear());
        assert!(txn.held.capacity() <= LEFT && txn.posts.capacity() <= LEFT);
        txn.keys.resize(1 << 20, 0);
        txn.images.resize(1 << 18, 0);
        txn.cells.resize(1 << 18, (CellId(0), 0));
        assert!(txn.clear(), "worth a look at the worker's other memory");
        assert!(txn.keys.capacity() <= LEFT && txn.images.capacity() <= LEFT && txn.cells.capacity() <= LEFT);
        assert!(!txn.clear());
    }
}
