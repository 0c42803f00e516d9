//! How fast a node that comes back with nothing has all that it is to keep.

use super::{Three, ok};
use scaledb_cluster::MetadataStore;
use scaledb_scar::{NodeId, PartitionId};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::thread;
use std::time::{Duration, Instant};

const ROWS: usize = 100_000;

/// Run by hand: `cargo test -p scaledb-cluster --test sql copies -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn a_node_that_comes_back_copies() {
    let mut three = Three::start_with(Duration::from_secs(5), Duration::from_millis(20));
    {
        let [mut a, ..] = three.sessions();
        ok(&mut a, "create table t (id int primary key, n int, name text)");
        for first in (0..ROWS).step_by(2_000) {
            let rows = format!("generate_series({first}, {first} + 1999)");
            ok(&mut a, &format!("insert into t select i, i, repeat('x', 100) from {rows} i"));
        }
    }
    three.databases.remove(2);
    for writes in [false, true] {
        three.cluster.kill(NodeId(2));
        let done = AtomicBool::new(false);
        let mut session = three.databases[0].session("postgres", "postgres");
        let (took, written) = thread::scope(|scope| {
            let done = &done;
            let writer = scope.spawn(move || {
                let mut written = 0;
                while writes && !done.load(Ordering::SeqCst) {
                    ok(&mut session, &format!("update t set n = n + 1 where id = {}", written * 7 % ROWS));
                    written += 1;
                }
                written
            });
            let since = Instant::now();
            let put_out = || {
                let view = three.cluster.store().view().unwrap().unwrap();
                !view.view.members.has(NodeId(2))
            };
            while !put_out() {
                thread::sleep(Duration::from_millis(5));
            }
            let noticed = since.elapsed();
            let since = Instant::now();
            three.cluster.restart(NodeId(2), || true).expect("a member");
            let has_all = || {
                let view = three.cluster.store().view().unwrap().unwrap();
                view.view.members.has(NodeId(2)) && view.is_settled() && !view.view.is_learner(NodeId(2))
            };
            while !has_all() {
                thread::sleep(Duration::from_millis(5));
            }
            done.store(true, Ordering::SeqCst);
            println!("put out after {noticed:.2?}");
            (since.elapsed(), writer.join().expect("a thread"))
        });
        let member = three.cluster.member(NodeId(2)).expect("a member").clone();
        let sizes = member.call(|node, _| {
            let partitions = (0..node.view().partitions.len()).map(|partition| PartitionId(partition as u16));
            partitions.filter_map(|partition| node.size(partition)).collect::<Vec<_>>()
        });
        let (records, bytes) =
            sizes.iter().fold((0, 0), |(records, bytes), size| (records + size.records, bytes + size.bytes));
        let seconds = took.as_secs_f64();
        println!(
            "{records} records, {} KiB in {took:.2?}: {:.0} records and {:.1} MiB per second; {written} updates meanwhile",
            bytes >> 10,
            records as f64 / seconds,
            bytes as f64 / seconds / f64::from(1 << 20)
        );
    }
}
