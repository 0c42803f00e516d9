//! What every transaction has, whatever else an engine remembers of it.

use crate::account::Account;
use crate::changes::SeenChanges;
use crate::sampled::{SAMPLED, is_sampled};
use crate::write_set::{RowLocation, Write, WriteSet};
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_engine::{ReadMark, RowId, TxnKind};
use scaledb_memory::Domain;
use scaledb_sync::Arc;
use std::ops::{DerefMut, Range};

/// Words of a write and of a read, about: for how often a transaction accounts for its memory.
const WRITE_WORDS: usize = 32;
const READ_WORDS: usize = 4;

/// A worker's transaction, as far as it is the same for all engines. Its memory is reused from transaction to
/// transaction.
pub struct TxnCore {
    /// Whether it runs.
    pub running: bool,
    /// What it may do, and at what time it reads.
    pub kind: TxnKind,
    /// Unique among all transactions of the process: the worker, and a count.
    pub serial: u64,
    /// Changes of indexes before it began, and before its first write.
    pub changes: SeenChanges,
    /// Its memory that was accounted for.
    pub account: Account,
    /// What the last committed transaction depends on.
    pub depends_on: Timestamp,
}

impl TxnCore {
    /// The transactions of a worker, none of which runs yet; `serial` is one before that of the first.
    pub fn new(domain: &Arc<Domain>, serial: u64) -> Self {
        Self {
            running: false,
            kind: TxnKind::ReadWrite,
            serial,
            changes: SeenChanges::default(),
            account: Account::new(domain.clone()),
            depends_on: Timestamp::ZERO,
        }
    }

    /// A transaction is about to begin, having seen these changes of indexes.
    #[inline]
    pub(crate) fn begin(&mut self, kind: TxnKind, changes: SeenChanges) {
        debug_assert!(!self.running);
        self.kind = kind;
        self.changes = changes;
        self.serial += 1 << Timestamp::ORIGIN_BITS;
    }

    /// Whether it is one of those whose scans are sampled. Scans of snapshots need no index of the present.
    #[inline]
    pub(crate) fn is_sampled(&self) -> bool {
        !scaledb_sync::MODEL
            && !scaledb_sync::SIMULATED
            && is_sampled(self.serial >> Timestamp::ORIGIN_BITS, SAMPLED)
            && !self.kind.is_snapshot()
    }

    /// The transaction has ended.
    #[inline]
    pub fn end(&mut self) {
        self.running = false;
        self.account.clear();
    }
}

/// A key that was looked for and found nowhere.
#[derive(Clone, Debug)]
pub struct Absent {
    /// The table or index.
    pub table: TableId,
    /// The hash of the key.
    pub hash: u64,
    /// Where the transaction has copied the key to.
    pub key: Range<usize>,
}

/// What of a transaction grows with it, and how much memory that takes.
pub struct Remembered {
    /// Words of rows that are written.
    pub images: usize,
    /// Reads.
    pub reads: usize,
    /// Bytes of keys.
    pub keys: usize,
    /// Bytes of a write, and of what its commit holds for it.
    pub write_bytes: usize,
    /// Bytes of a read.
    pub read_bytes: usize,
}

/// What an engine remembers of a transaction: [`TxnCore`], its write_set, and what it has read.
pub trait Transaction: DerefMut<Target = TxnCore> + Send {
    /// Its writes.
    type Write: Write;

    /// The write_set.
    fn writes(&self) -> &WriteSet<Self::Write>;

    /// The write_set, to be changed.
    fn writes_mut(&mut self) -> &mut WriteSet<Self::Write>;

    /// The tables and indexes that were read, as often as they were, as far as the commit validates that.
    fn used(&self) -> impl Iterator<Item = TableId>;

    /// How much has been read by now.
    fn read_mark(&self) -> ReadMark;

    /// Forgets what was read since.
    fn forget_reads_since(&mut self, mark: ReadMark);

    /// How much is remembered now.
    fn remembered(&self) -> Remembered;

    /// Whether one more write finds room: in the write_set, and in the memory of all transactions. That is a delete's
    /// if it `deletes`.
    ///
    /// # Errors
    /// [`Error::TooManyWrites`](scaledb_base::Error::TooManyWrites),
    /// [`Error::TransactionsTooLarge`](scaledb_base::Error::TransactionsTooLarge).
    #[inline]
    fn check_room(&mut self, deletes: bool) -> Result<()> {
        self.writes().check_room()?;
        let writes = self.writes().len();
        let Remembered { images, reads, keys, write_bytes, read_bytes } = self.remembered();
        let bytes = || images * size_of::<u64>() + writes * write_bytes + reads * read_bytes + keys;
        self.account.grow(images + WRITE_WORDS * writes + READ_WORDS * reads, bytes, deletes)
    }

    /// Whether nothing is to be written.
    #[inline]
    fn is_read_only(&self) -> bool {
        self.writes().iter().all(Write::is_nothing)
    }

    /// The name by which the transaction can come back to a row.
    #[inline]
    fn row_id(&self, table: TableId, place: RowLocation<<Self::Write as Write>::Record>) -> RowId {
        self.writes().row_id(self.serial, table, place)
    }

    /// The place that a row's name stands for.
    ///
    /// # Errors
    /// [`Error::StaleRow`](scaledb_base::Error::StaleRow).
    #[inline]
    fn place(&self, table: TableId, id: RowId) -> Result<RowLocation<<Self::Write as Write>::Record>> {
        self.writes().named(self.serial, table, id)
    }
}
