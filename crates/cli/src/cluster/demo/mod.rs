//! `scaledb cluster demo`: three nodes, each a process of this machine, under TPC-C and Retwis in SQL; the one that
//! leads is killed, and comes back with nothing. Nothing that was answered is lost.

mod clients;
mod nodes;

use crate::Result;
use crate::args::ClusterDemoArgs;
use crate::format::{count, plural};
use crate::output::say;
use clients::{Nodes, Tally, Work, answered};
use nodes::{Cluster, NAMES, PARTITIONS};
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread::sleep;
use std::time::{Duration, Instant};

/// How often a line is printed.
const LINE: Duration = Duration::from_secs(1);

/// Shows it. Whether every check has passed.
pub(crate) fn run(args: &ClusterDemoArgs) -> Result {
    let mut cluster = Cluster::new(&args.etcd, args.silence)?;
    let begin = Instant::now();
    let addresses = cluster.start(&[0, 1, 2])?;
    cluster.wait_for("the cluster has no view", scaledb_cluster::ClusterView::is_settled)?;
    say!(
        "Three nodes, each a process that speaks PostgreSQL's protocol; {PARTITIONS} partitions, each in the memory of two \
         nodes ({:.1} s)",
        begin.elapsed().as_secs_f64()
    );
    for (name, address) in NAMES.iter().zip(&addresses) {
        say!("  node {name}: psql -h {} -p {} -U postgres", address.ip(), address.port());
    }
    let begin = Instant::now();
    let work = Work::found(addresses[0], args.warehouses)?;
    let warehouses = plural(args.warehouses.into(), "small warehouse");
    say!("TPC-C with {warehouses}, and Retwis, are loaded ({:.1} s)", begin.elapsed().as_secs_f64());
    let (nodes, tally) = (Nodes::new(addresses), Tally::new());
    let clients = work.start(&nodes, args.clients, &tally);
    say!("\n{} at each node: half run TPC-C, half Retwis", plural(args.clients.into(), "client"));
    watch(&mut cluster, &tally, args.seconds)?;
    // until here it was the usual
    let usual = tally.longest_gap();

    let view = cluster.view().ok_or("the cluster has no view")?;
    let leader = view.view.leader;
    let name = view.lives.get(&leader).map_or("", |life| life.name.as_str());
    let killed = NAMES.iter().position(|known| *known == name).ok_or("the leader is no node of ours")?;
    say!("\nnode {name}, which leads, is killed now (kill -9); its clients go to the others");
    let began = tally.elapsed();
    cluster.kill(killed);
    nodes.set(killed, None);
    cluster.wait_for("the others have made no new view", |view| {
        !view.view.members.has(leader) && view.is_settled()
    })?;
    let noticed = tally.elapsed() - began;
    watch(&mut cluster, &tally, args.seconds)?;
    let gap = tally.longest_gap();

    say!("\nnode {name} is started again; its memory is gone, and it copies from the others while they work");
    let began = tally.elapsed();
    let address = cluster.start(&[killed])?;
    cluster.wait_for("the node has not got what it should have", |view| {
        let mut places = view.view.partitions.iter();
        view.is_settled()
            && view.view.members.count() == NAMES.len()
            && places.all(|place| place.learners.count() == 0 && place.replicas().count() > 1)
    })?;
    let learned = tally.elapsed() - began;
    nodes.set(killed, address.into_iter().next());
    watch(&mut cluster, &tally, args.seconds)?;
    let returned = tally.longest_gap();
    tally.stop();
    let mut finished = Vec::new();
    for client in clients {
        finished.push(client.join().map_err(|_| "a client has panicked")?);
    }

    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    say!("\nWhat happened");
    let of = |counter: &scaledb_sync::atomic::AtomicU64| count(counter.load(Ordering::SeqCst));
    say!(
        "  {} transactions of TPC-C and {} of Retwis were answered; {} times one met another and was run again",
        of(&tally.tpcc),
        of(&tally.retwis),
        of(&tally.conflicts)
    );
    say!(
        "  the others went on without node {name} after {}; a node is given up when it is silent for {}",
        seconds(noticed),
        seconds(args.silence)
    );
    say!("  node {name} was a full member again {} after its start", seconds(learned));
    say!(
        "  longest time without an answer to any client: {} before, {} when the node was killed, {} when it came back",
        seconds(usual),
        seconds(gap),
        seconds(returned)
    );
    check(&work, &nodes, &finished)
}

/// Looks at each node whether all is there. Whether it is.
fn check(work: &Work, nodes: &Nodes, finished: &[clients::Finished]) -> Result {
    let (orders, posts, wrong) = answered(finished);
    say!("\nWhat each node answers now");
    let mut passed = wrong.is_none();
    if let Some(wrong) = wrong {
        say!("  FAILED: a client was told what none should be: {wrong}");
    }
    for (address, name) in nodes.all().into_iter().zip(NAMES) {
        match work.wrong_at(address, finished)? {
            None => say!(
                "  node {name}: TPC-C's twelve conditions hold, and Retwis' three; all of {} orders and payments and {} \
                 posts that were answered are there",
                count(orders),
                count(posts)
            ),
            Some(wrong) => {
                passed = false;
                say!("  node {name}: FAILED: {wrong}");
            }
        }
    }
    say!("{}", if passed { "Nothing that was answered is lost." } else { "FAILED" });
    Ok(passed)
}

/// A line each second.
fn watch(cluster: &mut Cluster, tally: &Tally, seconds: u64) -> Result<()> {
    let counters = [&tally.tpcc, &tally.retwis, &tally.conflicts];
    for _ in 0..seconds {
        let before = counters.map(|counter| counter.load(Ordering::SeqCst));
        let begin = Instant::now();
        sleep(LINE);
        cluster.goes_on()?;
        let members = cluster.view().map_or(0, |view| view.view.members.count());
        let rate = |i: usize| {
            let more = counters[i].load(Ordering::SeqCst) - before[i];
            count((more as f64 / begin.elapsed().as_secs_f64()) as u64)
        };
        say!(
            "  {:>4.0} s  {members} nodes  TPC-C {:>7}/s  Retwis {:>7}/s  run again {:>6}/s",
            tally.elapsed().as_secs_f64(),
            rate(0),
            rate(1),
            rate(2),
        );
    }
    Ok(())
}
