//! Counters and sizes, for reports.

use crate::reader::Reader;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::weigh;
use scaledb_base::TableId;
use scaledb_engine::{Reclamation, TableStats};
use scaledb_kit::load;
use scaledb_sync::atomic::Ordering;

impl CicadaShared {
    pub(crate) fn all_table_stats(&self) -> Vec<TableStats> {
        // an index that was dropped is about to be empty
        let tables = || self.tables.iter().filter(|table| table.until.load(Ordering::Relaxed) == u64::MAX);
        // without a free worker id the trees and hash tables cannot be walked: their sizes stay 0 then
        let mut reader = Reader::new(self).ok();
        tables().map(|table| table.stats(reader.as_mut())).collect()
    }

    pub(crate) fn reclamation(&self) -> Reclamation {
        let lanes = &self.lanes[..self.domain.workers()];
        Reclamation {
            waiting: lanes.iter().map(|lane| lane.lock().len() as u64).sum(),
            waiting_bytes: self.domain.waiting_bytes(),
            active: self.domain.active(),
        }
    }

    pub(crate) fn table_stats(&self, id: TableId) -> Option<TableStats> {
        let table = self.tables.get(id).ok()?;
        Some(table.stats(Reader::new(self).ok().as_mut()))
    }
}

impl CicadaTable {
    /// `reader` has not entered: it holds clean-up back for the time of one table.
    fn stats(&self, reader: Option<&mut Reader<'_>>) -> TableStats {
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
