//! What every table has, and every secondary index, which is a table of *entries*: its keys are the indexed columns
//! (and the primary key, unless the index is unique), and its rows hold the address of the record of the table.

use crate::record::{Record, RecordEntry};
use crate::sampled::Sampled;
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId};
use scaledb_engine::{TableInfo, check_row, check_update};
use scaledb_index::btree::BTree;
use scaledb_index::hash::HashIndex;
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnSet, ColumnType, KeySpec, RowRef, Schema};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::{CachePadded, Published, thread};
use std::ops::{DerefMut, Range};
use std::time::Duration;

/// How often a writer looks whether its table is open again.
const LOOK: Duration = Duration::from_millis(1);

/// Row numbers that a worker takes from its table at a time.
const ROW_BLOCK: u64 = 1 << 10;

/// A table of an engine: what every table has, and the structures that find its records.
pub trait EngineTable: DerefMut<Target = TableCore> + Send + Sync + 'static {
    /// Its records.
    type Record: Record;

    /// All keys, unordered; `None` if single keys are found in the tree.
    fn hash(&self) -> Option<&HashIndex>;

    /// The keys in order; `None` for a table that is never scanned.
    fn ordered(&self) -> Option<&BTree<RecordEntry<Self::Record>>>;

    /// Hands the records that are neither in the hash index nor in the tree yet to `f`; some of the others, maybe.
    fn for_each_unmerged(&self, f: impl FnMut(u64)) {
        let _ = f;
    }
}

/// What every table and index has.
pub struct TableCore {
    /// Its id.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// What it indexes; `None` for a table.
    pub index_of: Option<IndexOf>,
    /// The indexes of a table.
    pub indexes: Published<IndexSet>,
    /// The last of all changes of indexes that changed these: see [`Changes`](crate::Changes).
    pub changed: AtomicU64,
    /// An index has all entries that are seen at raw timestamps from here on, and before [`until`](Self::until).
    pub since: AtomicU64,
    /// The raw timestamp at which the index, or the table, was dropped; `u64::MAX` while it is there.
    pub until: AtomicU64,
    /// Whether a read compares its timestamp with `since` and `until`, as [`Core::may_use`](crate::core::Core::may_use)
    /// does: of an index always, of a table once it is dropped. Set behind `until`.
    pub(crate) asked: AtomicBool,
    /// The layout of its own rows: for an index, of its entries.
    pub schema: Schema,
    /// How long before scans found them rows were written.
    pub(crate) sampled: Sampled,
    /// Rows of a table without a primary key are numbered in blocks taken from here.
    pub row_numbers: CachePadded<AtomicU64>,
}

/// What a secondary index indexes.
#[derive(Clone, Debug)]
pub struct IndexOf {
    /// The table.
    pub base: TableId,
    /// The columns.
    pub key: KeySpec,
    /// Whether two rows may not share a key.
    pub unique: bool,
}

/// The indexes of a table that a write keeps.
#[derive(Clone, Debug)]
pub struct IndexSet {
    /// Their ids.
    pub ids: Vec<TableId>,
    /// Columns that are part of any index's key.
    pub columns: ColumnSet,
    /// The raw timestamp since which this is so: a write before it would come before reads of an index that was
    /// dropped. For engines whose transactions are ordered at their begin.
    pub since: u64,
    /// The set is about to be replaced: nobody writes.
    pub closed: bool,
}

impl IndexSet {
    /// The indexes of a table.
    pub fn of(table: &TableInfo) -> Self {
        let columns =
            table.indexes.iter().fold(ColumnSet::EMPTY, |set, index| set.union(index.key.columns()));
        Self { ids: table.indexes.iter().map(|index| index.id).collect(), columns, since: 0, closed: false }
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        Self { ids: Vec::new(), columns: ColumnSet::EMPTY, since: 0, closed: false }
    }
}

/// The schema of index entries: the address of the record of the table.
fn entry_schema() -> Schema {
    Schema::new(vec![Column::new("record", ColumnType::Int8)], &[]).expect("a constant schema")
}

impl TableCore {
    /// What a new table has.
    pub fn of_table(table: &TableInfo) -> Self {
        let (name, schema) = (table.name.clone(), table.schema.clone());
        Self::new(table.id, name, None, IndexSet::of(table), schema)
    }

    /// What a new index has.
    pub fn of_index(table: &TableInfo, index: &scaledb_engine::IndexInfo) -> Self {
        let of = IndexOf { base: table.id, key: index.key.clone(), unique: index.unique };
        Self::new(index.id, index.name.clone(), Some(of), IndexSet::none(), entry_schema())
    }

    fn new(id: TableId, name: String, index_of: Option<IndexOf>, indexes: IndexSet, schema: Schema) -> Self {
        let asked = index_of.is_some();
        Self {
            id,
            name,
            index_of,
            indexes: Published::new(indexes),
            changed: AtomicU64::new(0),
            since: AtomicU64::new(0),
            until: AtomicU64::new(u64::MAX),
            asked: AtomicBool::new(asked),
            schema,
            sampled: Sampled::new(),
            row_numbers: CachePadded(AtomicU64::new(0)),
        }
    }

    /// Whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.until.load(Ordering::SeqCst) != u64::MAX
    }

    /// It was dropped at a raw timestamp.
    pub(crate) fn set_dropped(&self, until: u64) {
        self.until.store(until, Ordering::SeqCst);
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether the engine numbers the rows.
    #[inline]
    pub fn is_numbered(&self) -> bool {
        self.index_of.is_none() && self.schema.primary_key().parts().is_empty()
    }

    /// Sets `key` to the key that a row of the table `base`, with primary key `pk`, has in this index.
    pub fn entry_key(&self, base: &Schema, row: RowRef<'_>, pk: &[u8], key: &mut KeyBuf) {
        let of = self.index_of.as_ref().expect("called for indexes");
        key.clear();
        let has_null = of.key.encode(base, row, key);
        if !of.unique || has_null {
            key.push_encoded(pk);
        }
    }

    /// A block of numbers for rows of a table without a primary key. Nobody else gets one of them.
    pub fn take_row_numbers(&self) -> Range<u64> {
        // only the numbers count
        let first = self.row_numbers.fetch_add(ROW_BLOCK, Ordering::Relaxed);
        first..first + ROW_BLOCK
    }

    /// Whether applications may write here: to a table, not to an index.
    ///
    /// # Errors
    /// [`Error::BadDefinition`].
    #[inline]
    pub fn check_writable(&self) -> Result<()> {
        if self.index_of.is_none() { Ok(()) } else { Err(self.is_index()) }
    }

    #[cold]
    fn is_index(&self) -> Error {
        Error::BadDefinition(format!("{} is an index: write to its table", self.name))
    }

    /// Whether the words are a row of this table.
    ///
    /// # Errors
    /// As [`check_row`].
    #[inline]
    pub fn check_row(&self, words: &[u64]) -> Result<()> {
        check_row(self.id, &self.schema, words)
    }

    /// Whether an update of the row with this key may set the columns `dirty`, and leave the row like this.
    ///
    /// # Errors
    /// As [`check_update`].
    #[inline]
    pub fn check_update(&self, key: &[u8], dirty: ColumnSet, words: &[u64]) -> Result<()> {
        check_update(&self.schema, key, dirty, words)
    }

    /// Waits until the table is open again, with other indexes, or has been dropped.
    #[cold]
    pub(crate) fn wait_for_change(&self) {
        while self.indexes.get().closed && !self.is_dropped() {
            thread::sleep(LOOK);
        }
    }
}

/// The conflict of a transaction that has used a table or an index as it is no more.
#[cold]
pub fn definition_changed(table: TableId) -> Error {
    Conflict { kind: ConflictKind::DefinitionChanged, table, key: Box::default(), with: None }.into()
}
