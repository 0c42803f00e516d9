//! Counters and sizes, for reports.

use crate::lane::Lane;
use crate::shared::AccShared;
use crate::table::{AccTable, Points};
use crate::weigh;
use scaledb_base::TableId;
use scaledb_engine::{Metric, MetricKind, Metrics, Reclamation, TableStats};
use scaledb_kit::load;
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

/// What ACC counts for tables and indexes. `Table::stats` has the values, in this order.
pub(crate) const METRICS: &[Metric] = &[
    counter("posted", "Entries that commits left for a merge."),
    counter("merged", "Entries that merges moved into the tree."),
    counter("merges", "Merges."),
    counter(
        "synchronous",
        "Entries inserted in the tree by commits themselves: synchronous tables, and full indexlets.",
    ),
    counter("node_locks", "Tree nodes locked, by merges, synchronous inserts and clean-up."),
    counter(
        "repairs",
        "Leaves that were scanned while other workers had unmerged entries in their partition.",
    ),
    gauge("pending", "Entries that wait for a merge."),
    gauge("merge_batch", "The merge batch in force."),
];

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help, kind: MetricKind::Counter }
}

const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help, kind: MetricKind::Gauge }
}

impl AccShared {
    pub(crate) fn all_table_stats(&self) -> Vec<TableStats> {
        // an index that was dropped is about to be empty
        let tables = || self.tables.iter().filter(|table| table.until.load(Ordering::Relaxed) == u64::MAX);
        // without a free worker id the trees and hash tables cannot be walked: their sizes stay 0 then
        if let Ok(mut local) = self.domain.register() {
            local.enter();
            let stats = tables().map(|table| table.stats(Some(&local))).collect();
            local.exit();
            stats
        } else {
            tables().map(|table| table.stats(None)).collect()
        }
    }

    pub(crate) fn reclamation(&self) -> Reclamation {
        let lanes = &self.lanes[..self.domain.workers()];
        let waiting = |lane: &Lane| {
            let lane = lane.lock();
            (lane.deleted.len() + lane.versions.len()) as u64
        };
        Reclamation {
            waiting: lanes.iter().map(|lane| waiting(lane)).sum(),
            waiting_bytes: self.domain.waiting_bytes(),
            active: self.domain.active(),
        }
    }

    pub(crate) fn table_stats(&self, id: TableId) -> Option<TableStats> {
        let table = self.tables.get(id).ok()?;
        let Ok(mut local) = self.domain.register() else { return Some(table.stats(None)) };
        local.enter();
        let stats = table.stats(Some(&local));
        local.exit();
        Some(stats)
    }
}

impl AccTable {
    fn stats(&self, local: Option<&Local>) -> TableStats {
        let mut stats = TableStats {
            id: Some(self.id),
            name: self.name.clone(),
            other_bytes: self.phantomlet.bytes(),
            ..TableStats::default()
        };
        let (mut pending, mut posted, mut merged, mut merges) = (0, 0, 0, 0);
        let (mut synchronous, mut node_locks) = (0, 0);
        for worker in self.workers() {
            let counters = &worker.counters;
            posted += load(&counters.posted);
            merged += load(&counters.merged);
            merges += load(&counters.merges);
            synchronous += load(&counters.synchronous);
            node_locks += load(&counters.node_locks);
            stats.cleaned += load(&counters.cleaned);
            pending += worker.list.len();
        }
        let repairs = load(&self.tuning.repairs);
        let batch = u64::from(self.tuning.batch.load(Ordering::Relaxed)); // a setting
        let values = vec![posted, merged, merges, synchronous, node_locks, repairs, pending, batch];
        stats.metrics = Metrics::new(METRICS, values);
        if let Some(local) = local {
            stats.hash_bytes = match &self.points {
                Points::Hash(hashed) => hashed.bytes(local),
                Points::Indexlet(indexlet) => indexlet.bytes(),
            };
            if let Some(tree) = &self.tree {
                let sizes = tree.stats(local);
                stats.tree_entries = sizes.entries as u64;
                stats.tree_bytes = sizes.bytes as u64;
                stats.record_bytes = weigh::records(tree, local, &sizes);
            }
        }
        stats.entries = stats.tree_entries + pending;
        stats
    }
}
