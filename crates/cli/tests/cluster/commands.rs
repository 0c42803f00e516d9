//! Nodes that come and go by command, and commands that are refused.

use crate::load::{count, run};
use crate::process::{Cluster, Process, connect, metric, scaledb, until};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A fourth node comes, gets its part, and the first one goes, while a client writes at another.
#[test]
fn nodes_come_and_go_by_command() {
    let Some(cluster) = Cluster::new() else { return };
    let mut nodes: Vec<Process> = ["a", "b", "c"].iter().map(|name| cluster.node(name)).collect();
    let at: Vec<SocketAddr> = nodes.iter_mut().map(Process::address).collect();
    until("three members", || cluster.is_well());
    let mut client = connect(at[1]);
    run(&mut client, "CREATE TABLE t (id int4 PRIMARY KEY, n int4)").unwrap();
    run(&mut client, "INSERT INTO t SELECT i, 0 FROM generate_series(1, 500) i").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let stop = stop.clone();
        thread::spawn(move || {
            let mut written = 0;
            while !stop.load(Ordering::SeqCst) {
                let sql = format!("UPDATE t SET n = n + 1 WHERE id = {}", 1 + written % 500);
                run(&mut client, &sql).unwrap();
                written += 1;
            }
            written
        })
    };
    let refused = scaledb().args(["cluster", "add", "d", "--cluster", &cluster.url]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let mut d = cluster.node("d");
    let (at_d, metrics) = d.addresses();
    let told = cluster.steer(&["add", "d"]);
    assert!(told.contains("replica") && told.contains("done: "), "{told}");
    let keeps = |role: &str| {
        let kept = metric(metrics, "scaledb_cluster_partition{");
        kept.iter().filter(|(labels, value)| labels.contains(role) && *value == 1).count()
    };
    assert!(keeps("primary") >= 1 && keeps("backup") >= 1 && keeps("learner") == 0);
    let records: u64 = metric(metrics, "scaledb_cluster_partition_records{").iter().map(|(_, n)| n).sum();
    assert!(records > 0 && metric(metrics, "scaledb_cluster_members")[0].1 == 4);

    let told = cluster.steer(&["drain", "a"]);
    assert!(told.contains("a is a member, keeps 0 replicas, is primary of 0 partitions"), "{told}");
    assert!(cluster.says().contains("drains"));
    assert_eq!(count(&mut connect(at[0]), "t"), 500);
    let told = cluster.steer(&["remove", "a"]);
    assert!(told.contains("a is no member"), "{told}");
    // it ends by itself, and that is no failure
    assert!(nodes[0].ends());
    until("all is well", || cluster.is_well());
    cluster.steer(&["rebalance"]);
    stop.store(true, Ordering::SeqCst);
    let written: i64 = writer.join().unwrap();
    let sum: i64 = connect(at_d).query_one("SELECT sum(n) FROM t", &[]).unwrap().get(0);
    assert_eq!(sum, written);
    // f = 1 of the three that are left
    let refused = scaledb().args(["cluster", "remove", "b", "--cluster", &cluster.url]).status().unwrap();
    assert!(refused.success(), "two are enough for two replicas");
    let refused = scaledb().args(["cluster", "remove", "c", "--cluster", &cluster.url]).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && error.contains("are needed"), "{error}");
}

#[test]
fn what_is_no_store_is_refused() {
    for (arguments, words) in [
        (&["cluster", "status", "--cluster", "zk://a:1"][..], "etcd://HOST:PORT"),
        (&["cluster", "status", "--cluster", "etcd://a"], "HOST:PORT"),
        (&["cluster", "status", "--cluster", "etcd://127.0.0.1:1"], "metadata store"),
        (&["serve", "--cluster", "etcd://127.0.0.1:1"], "--node"),
        (&["serve", "--node", "a"], "--cluster"),
    ] {
        let output = scaledb().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
