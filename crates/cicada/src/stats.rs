//! Counters and sizes, for reports.

use crate::reader::SnapshotReader;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::weigh;
use scaledb_engine::TableStats;
use scaledb_kit::{Reader, load};

impl CicadaShared {
    /// Records and versions that wait for clean-up.
    pub(crate) fn waiting(&self) -> u64 {
        self.lanes[..self.domain.workers()].iter().map(|lane| lane.lock().len() as u64).sum()
    }
}

impl CicadaTable {
    /// `reader` has not entered: it holds clean-up back for the time of one table.
    pub(crate) fn stats(&self, reader: Option<&mut SnapshotReader<'_>>) -> TableStats {
        let mut stats = TableStats {
            id: Some(self.id),
            name: self.name.clone(),
            cleaned: load(&self.cleaned),
            other_bytes: self.absent.bytes() + self.leaves.bytes(),
            ..TableStats::default()
        };
        if let Some(reader) = reader {
            reader.enter();
            let local = reader.local();
            stats.hash_bytes = self.hash.as_ref().map_or(0, |index| index.bytes(local));
            if let Some(tree) = &self.tree {
                let sizes = tree.stats(local);
                stats.tree_entries = sizes.entries as u64;
                stats.entries = stats.tree_entries;
                stats.tree_bytes = sizes.bytes as u64;
                stats.record_bytes = weigh::records(tree, reader, &sizes);
            }
            reader.exit();
        }
        stats
    }
}
