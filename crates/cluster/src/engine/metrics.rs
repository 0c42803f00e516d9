//! What a node says of itself and of each partition that it keeps, for Prometheus.

use crate::member::Member;
use scaledb_engine::{Labelled, Metric, MetricKind};
use scaledb_scar::{PartitionId, Placement};

/// Partitions that have lines of their own.
const PARTITIONS: usize = 1_024;

fn labelled(
    name: &'static str,
    help: &'static str,
    kind: MetricKind,
    values: Vec<(Vec<(&'static str, String)>, u64)>,
) -> Labelled {
    Labelled { metric: Metric { name, help, kind }, values }
}

/// The metrics of a member.
pub(super) fn metrics(member: &Member) -> Vec<Labelled> {
    let numbers = member.numbers();
    let view = member.view();
    let gauge = |name, help, value| labelled(name, help, MetricKind::Gauge, vec![(Vec::new(), value)]);
    let counter = |name, help, value| labelled(name, help, MetricKind::Counter, vec![(Vec::new(), value)]);
    let by = |label, values: &[(&str, u64)]| {
        values.iter().map(|&(name, value)| (vec![(label, name.to_owned())], value)).collect::<Vec<_>>()
    };
    let aborts = [
        ("locked", numbers.locked),
        ("changed", numbers.changed),
        ("members", numbers.undone),
        ("other", numbers.other),
    ];
    let messages = [("sent", numbers.sent), ("received", numbers.received)];
    let leads = view.view.leader == member.node();
    let (bytes, limit) = member.call(|node, _| node.memory());
    let mut all = vec![
        gauge("scaledb_cluster_view", "The number of the node's view", numbers.view.0),
        gauge("scaledb_cluster_members", "Members of the newest view", view.view.members.count() as u64),
        gauge("scaledb_cluster_leads", "1: the node ends the epochs", u64::from(leads)),
        gauge("scaledb_cluster_halted", "1: too many members are silent", u64::from(member.halt().is_some())),
        gauge("scaledb_cluster_epoch", "The epoch of the node", numbers.epoch.0),
        gauge(
            "scaledb_cluster_transactions",
            "Transactions of the node that are neither answered nor done",
            numbers.transactions,
        ),
        gauge("scaledb_cluster_memory_bytes", "What the records of the node weigh, about", bytes as u64),
        gauge("scaledb_cluster_memory_limit_bytes", "What they may: beyond it none is added", limit as u64),
        counter("scaledb_cluster_epochs", "Epochs that have ended", numbers.epochs),
        counter("scaledb_cluster_views", "Changes of view", numbers.views),
        counter(
            "scaledb_cluster_store_errors",
            "Calls that the metadata store has not answered",
            numbers.store_errors,
        ),
        counter(
            "scaledb_cluster_waits",
            "Calls of sessions that waited for other nodes, or for the next epoch",
            numbers.waits,
        ),
        counter(
            "scaledb_cluster_commits",
            "Transactions of the node whose epoch has committed",
            numbers.committed,
        ),
        labelled(
            "scaledb_cluster_messages",
            "Messages to and from other nodes",
            MetricKind::Counter,
            by("direction", &messages),
        ),
        counter("scaledb_cluster_written_bytes", "Bytes written for other nodes", numbers.written),
        labelled(
            "scaledb_cluster_aborts",
            "Transactions of the node that did not commit, by what was in the way",
            MetricKind::Counter,
            by("reason", &aborts),
        ),
    ];
    all.extend(of_partitions(member, &view.view.partitions));
    all
}

fn of_partitions(member: &Member, places: &[Placement]) -> [Labelled; 4] {
    let me = member.node();
    let role = |place: &Placement| match place.primary == me {
        true => Some("primary"),
        false if place.backups.has(me) => Some("backup"),
        false => place.learners.has(me).then_some("learner"),
    };
    let (mut roles, mut records, mut bare, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, place) in places.iter().enumerate().take(PARTITIONS) {
        let Some(role) = role(place) else { continue };
        let Some(size) = member.call(|node, _| node.size(PartitionId(number as u16))) else { continue };
        let labels = || vec![("partition", number.to_string())];
        roles.push((vec![("partition", number.to_string()), ("role", role.to_owned())], 1));
        records.push((labels(), size.records as u64));
        bare.push((labels(), size.bare as u64));
        bytes.push((labels(), size.bytes as u64));
    }
    let gauges = |name, help, values| labelled(name, help, MetricKind::Gauge, values);
    [
        gauges("scaledb_cluster_partition", "What the node is of each partition that it keeps", roles),
        gauges("scaledb_cluster_partition_records", "Records of a partition at the node", records),
        gauges(
            "scaledb_cluster_partition_bare_records",
            "Records without a value: of deleted rows until their epoch has committed, and of locked keys",
            bare,
        ),
        gauges("scaledb_cluster_partition_bytes", "What they weigh, about", bytes),
    ]
}
