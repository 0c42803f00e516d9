//! Counters and sizes, for reports.

use crate::lane::Lane;
use crate::reader::RowReader;
use crate::shared::AccShared;
use crate::table::{AccTable, Points};
use crate::weigh;
use scaledb_engine::{Metric, MetricKind, Metrics, TableStats};
use scaledb_kit::{Reader, load};
use scaledb_sync::atomic::Ordering;

/// What ACC counts for tables and indexes. `AccTable::stats` has the values, in this order.
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
    /// Records and versions that wait for clean-up.
    pub(crate) fn waiting(&self) -> u64 {
        let waiting = |lane: &Lane| {
            let lane = lane.lock();
            (lane.deleted.len() + lane.versions.len()) as u64
        };
        self.lanes[..self.domain.workers()].iter().map(|lane| waiting(lane)).sum()
    }
}

impl AccTable {
    /// `reader` does not read now.
    pub(crate) fn stats(&self, reader: Option<&mut RowReader>) -> TableStats {
        let mut stats = TableStats {
            id: Some(self.id),
            name: self.name.clone(),
            other_bytes: self.phantomlet.bytes(),
            ..TableStats::default()
        };
        let (mut pending, mut posted, mut merged, mut merges) = (0, 0, 0, 0);
        let (mut synchronous, mut node_locks, mut repairs) = (0, 0, 0);
        for worker in self.workers() {
            let counters = &worker.counters;
            posted += load(&counters.posted);
            merged += load(&counters.merged);
            merges += load(&counters.merges);
            synchronous += load(&counters.synchronous);
            node_locks += load(&counters.node_locks);
            repairs += load(&worker.visits.leaves);
            stats.cleaned += load(&counters.cleaned);
            pending += worker.list.len();
        }
        let batch = u64::from(self.tuning.batch.load(Ordering::Relaxed)); // a setting
        let values = vec![posted, merged, merges, synchronous, node_locks, repairs, pending, batch];
        stats.metrics = Metrics::new(METRICS, values);
        if let Some(reader) = reader {
            reader.enter();
            let local = reader.local();
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
            reader.exit();
        }
        stats.entries = stats.tree_entries + pending;
        stats
    }
}
