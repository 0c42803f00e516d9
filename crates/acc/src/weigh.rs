//! How much memory the records of a table or index take, about.

use crate::record::Record;
use crate::table::Tree;
use scaledb_index::btree::TreeStats;
use scaledb_memory::Local;

/// How many leaves are sampled.
const SAMPLE: usize = 200;

/// Bytes of the records of a tree, without the versions that are kept for snapshots. `sizes` are those of the tree.
pub(crate) fn records(tree: &Tree, local: &Local, sizes: &TreeStats) -> u64 {
    tree.estimate(local, sizes, SAMPLE, |raw| {
        // SAFETY: the tree held the record in this activity.
        let record = unsafe { Record::from_raw(raw) };
        Local::block_bytes(record.bytes())
    })
}
