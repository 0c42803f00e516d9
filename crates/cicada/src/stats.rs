//! Counters and sizes, for reports.

use crate::reader::Reader;
use crate::shared::{Counters, Shared};
use crate::table::Table;
use crate::weigh;
use scaledb_base::TableId;
use scaledb_durability::log_stats;
use scaledb_engine::{Reclamation, Stats, TableStats};
use scaledb_sync::atomic::{AtomicU64, Ordering};

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed) // a statistic
}

impl Shared {
    /// Commits of all workers.
    pub(crate) fn commits(&self) -> u64 {
        self.counters.iter().map(|c| load(&c.commits)).sum()
    }

    /// A number that changes when transactions end.
    pub(crate) fn events(&self) -> u64 {
        let of =
            |c: &Counters| load(&c.commits) + load(&c.rollbacks) + c.conflicts.iter().map(load).sum::<u64>();
        self.counters.iter().map(|c| of(c)).sum()
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats {
            memory_bytes: self.domain.used(),
            backoff_ns: self.clock.duration(self.contention.limit()).as_nanos() as u64,
            log: self.log().map(|log| log_stats(&log.stats())),
            ..Stats::default()
        };
        for counters in &self.counters {
            stats.commits += load(&counters.commits);
            stats.rollbacks += load(&counters.rollbacks);
            for (sum, conflicts) in stats.conflicts.iter_mut().zip(&counters.conflicts) {
                *sum += load(conflicts);
            }
        }
        // without a free worker id the trees and hash tables cannot be walked: their sizes stay 0 then
        let mut reader = Reader::new(self).ok();
        stats.tables = self.tables.iter().map(|table| table.stats(reader.as_mut())).collect();
        stats
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

impl Table {
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
