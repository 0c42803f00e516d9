//! etcd goes away, and comes back: transactions go on while the view stands, and what needs a new view waits.

use crate::process::{free_port, try_connect, until};
use crate::{NAMES, Trial, rounds};
use postgres::error::SqlState;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Longer than the lease of a node in etcd.
const AWAY: Duration = Duration::from_secs(4);

#[test]
fn transactions_go_on_without_etcd_and_views_change_when_it_is_back() {
    if !crate::is_long() {
        return;
    }
    let Some(mut trial) = Trial::begin(true) else { return };
    for round in 0..rounds(1) {
        let load = trial.load();
        load.progress(10);
        trial.cluster.end_etcd();
        let since = Instant::now();
        while since.elapsed() < AWAY {
            load.progress(10);
        }
        trial.cluster.begin_etcd();
        trial.settle();
        // one that takes requests and does not answer
        trial.cluster.etcd().signal("STOP");
        load.progress(10);
        // nobody is put out meanwhile, so the others wait for it
        let killed = round % 3;
        trial.nodes[killed].kill();
        trial.cluster.etcd().signal("CONT");
        trial.is_put_out();
        load.progress(10);
        trial.restart(killed);
        trial.settle();
        load.progress(10);
        trial.check(load);
    }
}

/// A node that starts while etcd is away waits for it: its log says so, its clients are told 57P03 and why, and it is a
/// member when etcd is back.
#[test]
fn a_node_that_starts_without_etcd_waits_for_it_and_says_so() {
    let Some(mut trial) = Trial::begin(true) else { return };
    let load = trial.load();
    load.progress(10);
    trial.cluster.end_etcd();
    trial.nodes[1].kill();
    let here = trial.cluster.address();
    let at = SocketAddr::new(here, free_port(here));
    let log = trial.cluster.directory.path().join("waits.log");
    let stderr = std::fs::File::create(&log).unwrap();
    let mut command = crate::process::scaledb();
    command.stderr(stderr);
    trial.nodes[1] = trial.cluster.durable_node_at(command, NAMES[1], at.port());
    let told = |error: &postgres::Error| {
        let report = error.as_db_error();
        report.is_some_and(|report| {
            *report.code() == SqlState::CANNOT_CONNECT_NOW
                && report.detail().is_some_and(|why| why.contains("metadata store"))
        })
    };
    until("a client is told why it has to wait", || try_connect(at).is_err_and(|error| told(&error)));
    assert!(
        std::fs::read_to_string(&log).unwrap().contains("this node waits until the metadata store answers")
    );
    assert!(trial.nodes[1].0.try_wait().unwrap().is_none());
    trial.cluster.begin_etcd();
    trial.is_back(1);
    assert_eq!(trial.at.lock().unwrap()[1], at);
    trial.settle();
    load.progress(10);
    trial.check(load);
}

/// A node that was told to take any free port tells its clients to wait there, and serves them there when it is a
/// member.
#[test]
fn a_node_at_a_free_port_stays_there() {
    let Some(mut cluster) = crate::Cluster::new() else { return };
    cluster.log = "info";
    let log = cluster.directory.path().join("port.log");
    let mut command = crate::process::scaledb();
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut first = cluster.start(command, NAMES[0], cluster.address(), &[]);
    let mut at = None;
    until("it says where clients are told to wait", || {
        let text = std::fs::read_to_string(&log).unwrap();
        let line = text.lines().find(|line| line.contains("clients are told to wait"));
        at = line.and_then(|line| line.rsplit_once("address=")?.1.trim().parse::<SocketAddr>().ok());
        at.is_some()
    });
    let at = at.unwrap();
    let error = try_connect(at).err().expect("it is alone, and no member");
    assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW), "{error}");
    cluster.log = "error";
    let _others = [cluster.node(NAMES[1]), cluster.node(NAMES[2])];
    assert_eq!(first.address(), at);
    let mut client = try_connect(at).unwrap();
    assert_eq!(client.query_one("SELECT 1", &[]).unwrap().get::<_, i32>(0), 1);
}
