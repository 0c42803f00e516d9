//! `scaledb cluster add | drain | remove | rebalance`: tells the cluster what to do, and says how far it is.

use super::store;
use crate::Result;
use crate::args::{NodeCommandArgs, RebalanceArgs, StoreArgs};
use crate::format::plural;
use crate::output::say;
use scaledb_cluster::steer::{self, Left};
use scaledb_cluster::{ClusterView, Etcd, MetadataStore};
use scaledb_scar::NodeId;
use scaledb_sync::thread::sleep;
use std::time::{Duration, Instant};

/// How often it is looked how far the cluster is.
const LOOK: Duration = Duration::from_millis(200);

/// What an operator wants of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Add,
    Drain,
    Remove,
}

/// Tells the cluster, and waits until it is done. Whether it was done in time.
pub(super) fn node(args: &NodeCommandArgs, wish: Wish) -> Result {
    let store = open(&args.store)?;
    let name = &args.node;
    let node = match wish {
        Wish::Add => steer::add(&store, name)?,
        Wish::Drain => steer::drain(&store, name)?,
        Wish::Remove => steer::remove(&store, name)?,
    };
    let told = match wish {
        Wish::Add => format!("node {name} may be a member, and gets its part"),
        Wish::Drain => format!("node {name} drains: its replicas go to others, and it stays a member"),
        Wish::Remove => format!("node {name} is removed: its replicas go to others first"),
    };
    say!("{told}; the cluster goes on with it, whether this command waits or not");
    let mut joined = false;
    let done = |now: &ClusterView| {
        let Left { replicas, primaries, copying, member } = steer::left(now, node);
        match wish {
            Wish::Add => {
                // one that comes later is given its part when it is there
                if member && !joined {
                    joined = true;
                    steer::rebalance(&store)?;
                    return Ok(false);
                }
                Ok(member && copying == 0 && !now.rebalancing && now.is_settled())
            }
            Wish::Drain => Ok(replicas == 0 && primaries == 0 && now.view.leader != node && now.is_settled()),
            Wish::Remove => Ok(!member && copying == 0 && !now.rebalancing && now.is_settled()),
        }
    };
    let done = wait(&store, args.timeout, Some((node, name)), done)?;
    if done {
        say!("done: {}", whole(&store)?);
    }
    Ok(done)
}

/// Makes replicas and primaries even, and waits for it.
pub(super) fn rebalance(args: &RebalanceArgs) -> Result {
    let store = open(&args.store)?;
    steer::rebalance(&store)?;
    say!("the cluster makes replicas and primaries even, whether this command waits or not");
    let done = wait(&store, args.timeout, None, |now| Ok(!now.rebalancing && now.is_settled()))?;
    if done {
        say!("done: {}", whole(&store)?);
    }
    Ok(done)
}

fn open(args: &StoreArgs) -> Result<Etcd> {
    store(&args.cluster, &args.cluster_name)
}

/// A line whenever something is different, until it is done, or it has taken too long.
fn wait(
    store: &Etcd,
    timeout: Option<Duration>,
    of: Option<(NodeId, &str)>,
    mut done: impl FnMut(&ClusterView) -> Result<bool>,
) -> Result<bool> {
    let begin = Instant::now();
    let mut last = String::new();
    loop {
        let now = store.view()?.ok_or("the cluster has no view")?;
        let line = progress(&now, of);
        if line != last {
            say!("  {:>4.1} s  {line}", begin.elapsed().as_secs_f64());
            last = line;
        }
        if done(&now)? {
            return Ok(true);
        }
        if timeout.is_some_and(|timeout| begin.elapsed() > timeout) {
            say!("it is not done yet; the cluster goes on");
            return Ok(false);
        }
        sleep(LOOK);
    }
}

fn progress(now: &ClusterView, of: Option<(NodeId, &str)>) -> String {
    let copying: usize = now.view.partitions.iter().map(|place| place.learners.count()).sum();
    let copying = format!("{} being copied", plural(copying as u64, "replica"));
    let view = format!("view {}", now.view.number.0);
    match of {
        Some((node, name)) => {
            let Left { replicas, primaries, member, .. } = steer::left(now, node);
            let is = if member { "is a member" } else { "is no member" };
            let (replicas, primaries) =
                (plural(replicas as u64, "replica"), plural(primaries as u64, "partition"));
            format!("{view}: {name} {is}, keeps {replicas}, is primary of {primaries}; {copying}")
        }
        None => format!("{view}: {copying}"),
    }
}

/// The parts that members have.
fn whole(store: &Etcd) -> Result<String> {
    let now = store.view()?.ok_or("the cluster has no view")?;
    let part = |(&node, life): (&NodeId, &scaledb_cluster::Life)| {
        let Left { replicas, primaries, .. } = steer::left(&now, node);
        format!("{} keeps {} and is primary of {primaries}", life.name, plural(replicas as u64, "replica"))
    };
    Ok(now.lives.iter().map(part).collect::<Vec<_>>().join(", "))
}
