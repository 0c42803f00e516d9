//! `scaledb cluster demo`: three nodes in this process, one of which ends without a warning, and comes back.

use super::bank::{self, Client, PARTITIONS, Tally};
use crate::Result;
use crate::args::ClusterDemoArgs;
use crate::format::{count, plural};
use crate::output::say;
use scaledb_cluster::{LocalCluster, Member, Settings};
use scaledb_scar::NodeId;
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

const NODES: u8 = 3;

/// The node that ends: at first it leads.
const ENDS: NodeId = NodeId(0);

/// How often a line is printed.
const LINE: Duration = Duration::from_secs(1);

/// How long a change of members may take here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shows it. Whether nothing was lost.
pub(crate) fn run(args: &ClusterDemoArgs) -> Result {
    let settings = Settings::default();
    let mut cluster = LocalCluster::start(settings, NODES, PARTITIONS, 1)?;
    say!(
        "{NODES} nodes in this process, {} with two replicas or more, {} at each node; epochs of {:?}",
        plural(u64::from(PARTITIONS), "partition"),
        plural(u64::from(args.clients), "client"),
        settings.epoch,
    );
    if !cluster.member(ENDS).is_some_and(|member| bank::found(member)) {
        return Err("the accounts could not be made".into());
    }
    let tally = Tally::new();
    let mut clients = Vec::new();
    for member in cluster.members() {
        clients.extend(start(member, args.clients, &tally));
    }
    watch(&cluster, &tally, args.seconds);
    // until here it was the usual
    let usual = tally.longest_gap();
    say!("node {} leads; it ends now, without a word to the others", ENDS.0);
    let ended = tally.elapsed();
    cluster.kill(ENDS);
    wait("the others have made no new view", || {
        cluster.members().all(|member| !member.view().view.members.has(ENDS))
    })?;
    let noticed = tally.elapsed() - ended;
    watch(&cluster, &tally, args.seconds);
    let gap = tally.longest_gap();
    say!("node {} comes back with nothing, and learns what the others have", ENDS.0);
    let begun = tally.elapsed();
    cluster.restart(ENDS, || tally.elapsed() - begun < PATIENCE)?;
    wait("the node has not learned what the others have", || {
        cluster.members().all(|member| {
            let view = member.view();
            view.is_settled() && view.view.partitions.iter().all(|place| place.replicas().count() > 1)
        })
    })?;
    let learned = tally.elapsed() - begun;
    if let Some(member) = cluster.member(ENDS) {
        clients.extend(start(member, args.clients, &tally));
    }
    watch(&cluster, &tally, args.seconds);
    let all = tally.longest_gap();
    tally.stop();
    let mut known = Vec::new();
    for client in clients {
        known.push(client.join().map_err(|_| "a client has panicked")?);
    }
    say!(
        "the others had a new view after {noticed:.1?}; a member is given up when it is silent for {:?}",
        settings.suspect_after
    );
    say!("it came back, and had learned all, within {learned:.1?}");
    say!(
        "longest time without an answer: {usual:.1?} before, {gap:.1?} with the failure, {all:.1?} to the end"
    );
    let mut passed = true;
    for member in cluster.members() {
        match bank::wrong_at(member, &known) {
            None => say!(
                "node {}: no money is lost, and every transfer that was answered is there",
                member.node().0
            ),
            Some(wrong) => {
                passed = false;
                say!("node {}: WRONG: {wrong}", member.node().0);
            }
        }
    }
    Ok(passed)
}

fn start(member: &Arc<Member>, clients: u16, tally: &Arc<Tally>) -> Vec<JoinHandle<Client>> {
    // clients of a node that comes back are others than before: their transfers have other numbers
    let first = u64::from(member.node().0) << 32 | member.view().view.number.0 << 16;
    let client = |i: u16| {
        let (member, tally) = (member.clone(), tally.clone());
        spawn(move || bank::transfers(&member, first + u64::from(i), &tally))
    };
    (0..clients).map(client).collect()
}

/// A line each second.
fn watch(cluster: &LocalCluster, tally: &Tally, seconds: u64) {
    for _ in 0..seconds {
        let before = [&tally.committed, &tally.conflicts].map(|counter| counter.load(Ordering::SeqCst));
        sleep(LINE);
        let after = [&tally.committed, &tally.conflicts].map(|counter| counter.load(Ordering::SeqCst));
        let views = cluster.members().map(|member| member.view().view.number.0).max().unwrap_or_default();
        say!(
            "  {:>4.0} s  view {views}  {} nodes  {:>8} transfers/s  {:>6} conflicts/s",
            tally.elapsed().as_secs_f64(),
            cluster.members().count(),
            count(after[0] - before[0]),
            count(after[1] - before[1]),
        );
    }
}

fn wait(otherwise: &str, done: impl Fn() -> bool) -> Result<()> {
    let begin = std::time::Instant::now();
    while !done() {
        if begin.elapsed() > PATIENCE {
            return Err(otherwise.into());
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
