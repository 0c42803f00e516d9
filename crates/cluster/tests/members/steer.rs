//! What an operator asks for, while transfers run: a node comes and gets its part, another is drained and goes.

use super::bank::{PARTITIONS, settings, transfers_during, until};
use scaledb_cluster::steer::{self, Refused, left};
use scaledb_cluster::{ClusterView, LocalCluster, MetadataStore, placement};
use scaledb_scar::NodeId;

fn view(cluster: &LocalCluster) -> ClusterView {
    cluster.store().view().unwrap().unwrap()
}

/// How many replicas the members keep, those left out that all keep.
fn replicas(cluster: &LocalCluster) -> Vec<usize> {
    let view = view(cluster);
    view.view.members.iter().map(|node| left(&view, node).replicas).collect()
}

fn is_done(cluster: &LocalCluster) -> bool {
    let view = view(cluster);
    !view.rebalancing
        && view.is_settled()
        && view.view.partitions.iter().all(|place| place.learners.count() == 0)
}

#[test]
fn a_node_comes_another_drains_and_goes_and_comes_back() {
    let mut cluster = LocalCluster::start(settings(), 3, PARTITIONS as u16, 1).unwrap();
    transfers_during(&mut cluster, |cluster, go_on| {
        let store = cluster.store().clone();
        go_on();
        cluster.restart(NodeId(3), || true).unwrap();
        steer::add(&*store, "node-3").unwrap();
        until("an even cluster", || is_done(cluster) && replicas(cluster)[3] > 0);
        let counts = replicas(cluster);
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        go_on();
        // it leads
        assert_eq!(view(cluster).view.leader, NodeId(0));
        steer::drain(&*store, "node-0").unwrap();
        until("it is drained", || placement::is_drained(&view(cluster), NodeId(0)) && is_done(cluster));
        assert_eq!(replicas(cluster)[0], 0);
        // it takes part
        assert!(view(cluster).view.members.has(NodeId(0)));
        go_on();
        let gone = cluster.member(NodeId(0)).unwrap().clone();
        steer::remove(&*store, "node-0").unwrap();
        until("it has left", || gone.was_removed());
        assert!(is_done(cluster) && !view(cluster).view.members.has(NodeId(0)));
        go_on();
        cluster.kill(NodeId(0));
        steer::add(&*store, "node-0").unwrap();
        cluster.restart(NodeId(0), || true).unwrap();
        steer::rebalance(&*store).unwrap();
        until("it has its part again", || is_done(cluster) && replicas(cluster)[0] > 0);
        go_on();
    });
}

#[test]
fn a_member_may_fail_while_another_drains() {
    let mut cluster = LocalCluster::start(settings(), 4, PARTITIONS as u16, 1).unwrap();
    transfers_during(&mut cluster, |cluster, go_on| {
        go_on();
        let store = cluster.store().clone();
        steer::remove(&*store, "node-1").unwrap();
        // the first step is made: it is primary of nothing, and keeps much
        until("it begins", || left(&view(cluster), NodeId(1)).primaries == 0);
        cluster.kill(NodeId(2));
        let gone = cluster.member(NodeId(1)).unwrap().clone();
        until("it has left all the same", || gone.has_left());
        let view = view(cluster);
        assert_eq!(view.view.members, [0, 3].map(NodeId).into_iter().collect());
        assert!(view.view.partitions.iter().all(|place| place.replicas().count() == 2));
        go_on();
    });
}

#[test]
fn what_would_leave_too_few_replicas_is_refused() {
    let cluster = LocalCluster::start(settings(), 3, PARTITIONS as u16, 1).unwrap();
    let store = cluster.store();
    steer::drain(&**store, "node-0").unwrap();
    let refused = steer::remove(&**store, "node-1").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "node-1 cannot go: 1 others stay, and 2 are needed so that 1 may fail together"
    );
    assert_eq!(steer::drain(&**store, "nobody").unwrap_err(), Refused::NoNode("nobody".to_owned()));
    steer::add(&**store, "node-0").unwrap();
    steer::drain(&**store, "node-1").unwrap();
}
