//! How much memory the records of a table or index take, about.

use crate::reader::SnapshotReader;
use crate::record::Record;
use crate::table::Tree;
use crate::version::Version;
use scaledb_index::btree::TreeStats;
use scaledb_kit::Reader;
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

/// Leaves whose records are weighed.
const SAMPLE: usize = 200;

/// Bytes of the records of a tree with their newest versions. `sizes` are those of the tree.
pub(crate) fn records(tree: &Tree, reader: &SnapshotReader<'_>, sizes: &TreeStats) -> u64 {
    tree.estimate(reader.local(), sizes, SAMPLE, |raw| {
        // SAFETY: the tree held the record in this activity.
        let record = unsafe { Record::from_raw(raw) };
        let newest = record.latest().load(Ordering::SeqCst);
        // SAFETY: reached from its record since the reader has entered, which holds clean-up back until it exits.
        let newest = (newest > Record::OBSOLETE).then(|| unsafe { Version::from_raw(newest) });
        let apart = newest.filter(|version| !version.is_inlined());
        Local::block_bytes(record.block())
            + apart.map_or(0, |version| Local::block_bytes(Version::bytes(version.words())))
    })
}
