//! Which indexes a table has, for those who write to it; `change.rs` changes that.

use scaledb_base::TableId;
use scaledb_row::ColumnSet;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::lock::Mutex;

/// The indexes of a table that a write keeps.
#[derive(Clone)]
pub(crate) struct IndexSet {
    pub(crate) ids: Vec<TableId>,
    /// Columns that are part of any index's key.
    pub(crate) columns: ColumnSet,
    /// Who writes with a raw timestamp before this would write before others have used an index that is gone.
    pub(crate) since: u64,
    /// The set is about to be replaced: nobody writes.
    pub(crate) closed: bool,
}

/// Changes of indexes.
#[derive(Default)]
pub(crate) struct Changes {
    /// How many there were, twice.
    pub(crate) count: CachePadded<AtomicU64>,
    /// Held by who changes a table's indexes.
    pub(crate) turn: Mutex<()>,
    /// Dropped indexes that have entries still, and the key from where on.
    pub(crate) dropped: Mutex<Vec<(TableId, Vec<u8>)>>,
}
