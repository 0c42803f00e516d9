//! `scaledb cluster status`: what the metadata store knows.

use super::store;
use crate::Result;
use crate::args::StoreArgs;
use crate::format::{plural, table};
use crate::output::{say, show};
use scaledb_cluster::MetadataStore;

/// Prints it. Whether all is well: there is a view, all its members have installed it and are there, and no partition
/// has less replicas than it should.
pub(crate) fn run(args: &StoreArgs) -> Result {
    let store = store(&args.cluster, &args.cluster_name)?;
    let (nodes, alive, current) = (store.nodes()?, store.alive()?, store.view()?);
    let reports = store.reports()?;
    let Some(current) = current else {
        say!(
            "the cluster {} has no view yet: {} registered",
            args.cluster_name,
            plural(nodes.len() as u64, "node")
        );
        return Ok(false);
    };
    let view = &current.view;
    let wanted = (view.failures + 1).min(nodes.len());
    let copying: usize = view.partitions.iter().map(|place| place.learners.count()).sum();
    let thin = view.partitions.iter().filter(|place| place.replicas().count() < wanted).count();
    say!(
        "cluster {}, view {}: {} of {}, {}, of which {} may fail together",
        args.cluster_name,
        view.number.0,
        view.members.count(),
        plural(nodes.len() as u64, "node"),
        plural(view.partitions.len() as u64, "partition"),
        view.failures,
    );
    let mut well = thin == 0;
    let (mut rows, mut last, mut full) = (Vec::new(), Vec::new(), Vec::new());
    for (&node, life) in &nodes {
        let is_alive = alive.get(&node) == Some(&life.incarnation);
        let member = current.names(node, life.incarnation);
        let removed = current.removed.has(node) && !view.members.has(node);
        well &= is_alive && member || removed;
        let report = reports.get(&node).filter(|report| report.life == life.incarnation);
        if member {
            full.extend(report.filter(|report| report.full).map(|_| life.name.clone()));
            last.push(report.map(|report| report.committed.0));
        }
        let role = match (member, view.leader == node) {
            (true, true) => "leader",
            (true, false) if current.removed.has(node) => "is removed",
            (true, false) if current.draining.has(node) => "drains",
            (true, false) => "member",
            (false, _) if removed => "removed",
            (false, _) if view.members.has(node) => "restarted",
            (false, _) => "out",
        };
        let primaries = view.partitions.iter().filter(|place| place.primary == node).count();
        let backups = view.partitions.iter().filter(|place| place.backups.has(node)).count();
        rows.push(vec![
            life.name.clone(),
            node.0.to_string(),
            life.address.clone(),
            role.to_owned(),
            if is_alive { "yes" } else { "no" }.to_owned(),
            primaries.to_string(),
            backups.to_string(),
            report.map_or_else(|| "-".to_owned(), |report| report.committed.0.to_string()),
        ]);
    }
    show!(
        "{}",
        table(&["node", "number", "address", "role", "lease", "primary of", "backup of", "epoch"], &rows)
    );
    // epochs that a node has not reported yet are no less durable
    let newest = last.iter().flatten().max();
    match newest {
        Some(epoch) if view.durable => {
            say!("durable: up to epoch {epoch} all is on the disks of all members")
        }
        Some(epoch) => {
            say!("in memory: up to epoch {epoch} all is in the memory of all replicas, and on no disk")
        }
        None => say!("no member has said how far it is"),
    }
    if !current.is_settled() {
        say!("the view is new: not all of its members have installed it");
        well = false;
    }
    if copying > 0 {
        say!("{} being copied", plural(copying as u64, "replica"));
    }
    if current.rebalancing {
        say!("replicas and primaries are being made even");
    }
    if !full.is_empty() {
        say!("no memory left for more rows (--memory): {}", full.join(", "));
        well = false;
    }
    if thin > 0 {
        say!("{} with less than {wanted} replicas", plural(thin as u64, "partition"));
    }
    Ok(well)
}
