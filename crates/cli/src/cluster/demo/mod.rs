//! `scaledb cluster demo`: three nodes in this process, TPC-C and Retwis at all of them; one ends without a warning,
//! and comes back.

mod work;

use crate::Result;
use crate::args::ClusterDemoArgs;
use crate::format::{count, plural};
use crate::output::say;
use scaledb_cluster::engine::{Answers, Cluster};
use scaledb_cluster::{LocalCluster, Member, Settings};
use scaledb_scar::NodeId;
use scaledb_sql::Database;
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread::sleep;
use std::collections::BTreeMap;
use std::time::Duration;
use work::{Known, Tally, Work};

const NODES: u8 = 3;
const PARTITIONS: u16 = 16;

/// The node that ends: at first it leads.
const ENDS: NodeId = NodeId(0);

/// How often a line is printed.
const LINE: Duration = Duration::from_secs(1);

/// How long a change of members may take here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shows it. Whether nothing was lost.
pub(crate) fn run(args: &ClusterDemoArgs) -> Result {
    let silence = Duration::from_millis(args.silence);
    let settings = Settings { suspect_after: silence, heartbeat: silence / 10, ..Settings::default() };
    let mut cluster = LocalCluster::start(settings, NODES, PARTITIONS, 1)?;
    say!(
        "{NODES} nodes in this process, of which one may fail; {}, {} at each node; epochs of {:?}",
        plural(u64::from(PARTITIONS), "partition"),
        plural(u64::from(args.clients), "client"),
        settings.epoch,
    );
    let mut databases = BTreeMap::new();
    for member in cluster.members() {
        databases.insert(member.node(), open(member)?);
    }
    let first = databases.values().next().ok_or("there is no node")?;
    let work = Arc::new(Work::found(first, args.warehouses)?);
    say!(
        "loaded: TPC-C in SQL, {} divided by PARTITION BY HASH, items at every node; Retwis on 10,000 keys",
        plural(u64::from(args.warehouses), "small warehouse"),
    );
    let clients_of = |node: NodeId, life: usize| {
        let first = (life * usize::from(NODES) + usize::from(node.0)) * usize::from(args.clients);
        // pairs, so that each node has both kinds
        let first = first + first % 2;
        first..first + usize::from(args.clients)
    };
    let tally = Tally::new();
    let mut clients = Vec::new();
    for (&node, database) in &databases {
        clients.extend(work.start(database, clients_of(node, 0), &tally));
    }
    watch(&cluster, &tally, args.seconds);
    // until here it was the usual
    let usual = tally.longest_gap();
    say!("node {} leads; it ends now, without a word to the others", ENDS.0);
    let ended = tally.elapsed();
    databases.remove(&ENDS);
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
        let database = open(member)?;
        clients.extend(work.start(&database, clients_of(ENDS, 1), &tally));
        databases.insert(ENDS, database);
    }
    watch(&cluster, &tally, args.seconds);
    let all = tally.longest_gap();
    tally.stop();
    let mut known = Known::default();
    for client in clients {
        known = known.and(client.join().map_err(|_| "a client has panicked")?);
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
    for (node, database) in &databases {
        match work.wrong_at(database, &known)? {
            None => say!(
                "node {}: TPC-C's twelve conditions hold, and every transaction that was answered is there",
                node.0
            ),
            Some(wrong) => {
                passed = false;
                say!("node {}: WRONG: {wrong}", node.0);
            }
        }
    }
    Ok(passed)
}

fn open(member: &Arc<Member>) -> Result<Database<Cluster>> {
    Ok(Database::open(Cluster::new(member.clone(), Answers::WithTheEpoch))?)
}

/// A line each second.
fn watch(cluster: &LocalCluster, tally: &Tally, seconds: u64) {
    let read = || {
        let counters = [&tally.orders, &tally.tpcc, &tally.retwis, &tally.conflicts];
        counters.map(|counter| counter.load(Ordering::SeqCst))
    };
    for _ in 0..seconds {
        let before = read();
        sleep(LINE);
        let after = read();
        let [orders, tpcc, retwis, conflicts] = std::array::from_fn(|i| count(after[i] - before[i]));
        let views = cluster.members().map(|member| member.view().view.number.0).max().unwrap_or_default();
        say!(
            "  {:>4.0} s  view {views}  {} nodes  TPC-C {tpcc:>6}/s ({orders:>5} New-Orders)  Retwis {retwis:>6}/s  \
             {conflicts:>5} conflicts/s",
            tally.elapsed().as_secs_f64(),
            cluster.members().count(),
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
