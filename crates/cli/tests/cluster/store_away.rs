//! etcd goes away, and comes back: transactions go on while the view stands, and what needs a new view waits.

use crate::process::{Cluster, free_port, scaledb, try_connect, until};
use crate::{NAMES, Process, Trial, UNKNOWN, rounds};
use postgres::error::SqlState;
use std::net::SocketAddr;
use std::process::Stdio;
use std::thread;
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

/// A node is to be taken out, and etcd goes away before the others have agreed on that: nobody goes on, one of them is
/// lost and comes back, and nothing that was answered is missing when etcd is there again.
#[test]
fn a_node_is_taken_out_and_another_restarts_while_etcd_does_not_answer() {
    let Some(mut cluster) = Cluster::new() else { return };
    // one is stopped, and is not to be taken for dead
    cluster.silence = "15000";
    let nodes = NAMES.iter().map(|name| cluster.durable_node(name)).collect();
    let mut trial = Trial::of(cluster, true, nodes);
    trial.allowed = &UNKNOWN;
    for round in 0..rounds(1) {
        let says = trial.cluster.says();
        let leads = |name: &&str| {
            says.lines()
                .map(str::split_whitespace)
                .any(|mut words| words.next() == Some(*name) && words.any(|word| word == "leader"))
        };
        let leader = NAMES.iter().position(leads).unwrap();
        let (other, leaver) = ((leader + 1) % 3, (leader + 2) % 3);
        let lost = if round % 2 == 0 { other } else { leader };
        let load = trial.load();
        load.progress(10);
        trial.cluster.steer(&["drain", NAMES[leaver]]);
        load.progress(10);
        // the leader waits for this one, and etcd does not answer any more when it goes on
        trial.nodes[other].signal("STOP");
        let mut remove = scaledb();
        remove.args(["cluster", "remove", NAMES[leaver], "--cluster", &trial.cluster.url, "--timeout", "1"]);
        let _remove = Process(remove.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        trial.is_put_out();
        trial.cluster.etcd().signal("STOP");
        trial.nodes[other].signal("CONT");
        thread::sleep(Duration::from_secs(1));
        let answered = load.answered();
        thread::sleep(Duration::from_secs(1));
        assert_eq!(load.answered(), answered, "some go on before all have agreed");
        trial.nodes[lost].kill();
        trial.nodes[lost] = trial.cluster.durable_node(NAMES[lost]);
        thread::sleep(Duration::from_secs(1));
        assert_eq!(load.answered(), answered, "some go on before all have agreed");
        trial.cluster.etcd().signal("CONT");
        trial.is_back(lost);
        load.progress(10);
        assert!(trial.nodes[leaver].ends(), "a node that was removed has failed");
        trial.settle();
        load.progress(10);
        trial.history.extend(load.end());
        trial.check_at(leader);
        trial.check_at(other);
        // it comes back, with nothing
        let mut add = scaledb();
        add.args(["cluster", "add", NAMES[leaver], "--cluster", &trial.cluster.url, "--timeout", "1"]);
        add.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        trial.restart(leaver);
        trial.cluster.steer(&["add", NAMES[leaver]]);
        trial.settle();
        trial.check_at(leaver);
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
