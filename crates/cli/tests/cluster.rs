//! `scaledb cluster`, and a cluster of real processes: etcd, three nodes, SQL at each; one is killed and comes back.

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Machines that run tests are slow.
const PATIENCE: Duration = Duration::from_secs(120);

fn scaledb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scaledb"))
}

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// An authority's certificate, and one for each node.
fn certificates(directory: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(directory.join("ca.crt"), authority.pem()).unwrap();
    for name in ["a", "b", "c", "d"] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        std::fs::write(directory.join(format!("{name}.crt")), certificate.pem()).unwrap();
        std::fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

struct Cluster {
    directory: tempfile::TempDir,
    _etcd: Process,
    url: String,
}

impl Cluster {
    /// None, with a message, if there is no etcd to test with.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        certificates(directory.path());
        let (client, peer) = (free_port(), free_port());
        let (at, peers) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let etcd = Command::new("etcd")
            .args(["--name", "test", "--data-dir"])
            .arg(directory.path().join("etcd"))
            .args(["--listen-client-urls", &at, "--advertise-client-urls", &at])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("test={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(etcd) = etcd else {
            eprintln!("etcd is not installed: a cluster of processes is not tested");
            return None;
        };
        let cluster = Self { directory, _etcd: Process(etcd), url: format!("etcd://127.0.0.1:{client}") };
        until("etcd", || cluster.status().status.code() == Some(1));
        Some(cluster)
    }

    fn status(&self) -> Output {
        scaledb().args(["cluster", "status", "--cluster", &self.url]).output().unwrap()
    }

    /// Tells the cluster to do something with a node, and waits until it is done.
    fn steer(&self, what: &[&str]) -> String {
        let patience = PATIENCE.as_secs().to_string();
        let arguments = ["--cluster", &self.url, "--timeout", &patience];
        let output = scaledb().arg("cluster").args(what).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{what:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
        text
    }

    fn is_well(&self) -> bool {
        self.status().status.success()
    }

    /// Starts a node; it says where it listens to clients when it is a member.
    fn node(&self, name: &str) -> Process {
        let file = |kind: &str| self.directory.path().join(format!("{name}.{kind}"));
        let peers = format!("127.0.0.1:{}", free_port());
        let mut command = scaledb();
        command
            .args(["serve", "--port", "0", "--metrics", "127.0.0.1:0", "--log", "error"])
            .args(["--cluster", &self.url, "--node", name])
            .args(["--peer-listen", &peers, "--peer-advertise", &peers, "--cluster-silence", "4000"])
            .args(["--cluster-partitions", "6", "--peer-ca"])
            .arg(self.directory.path().join("ca.crt"))
            .arg("--peer-certificate")
            .arg(file("crt"))
            .arg("--peer-key")
            .arg(file("key"));
        Process(command.stdout(Stdio::piped()).spawn().unwrap())
    }
}

/// Waits until the node serves clients: its port, and that of its metrics.
fn ports(node: &mut Process) -> (u16, u16) {
    let mut lines = BufReader::new(node.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut port = |words: &str| {
        let line = lines.next().unwrap_or_default();
        let rest = line.strip_prefix(words).unwrap_or_else(|| panic!("a node does not serve: {line:?}"));
        rest.trim_end_matches("/metrics").rsplit(':').next().unwrap().parse().unwrap()
    };
    (port("listening at "), port("metrics at "))
}

fn port(node: &mut Process) -> u16 {
    ports(node).0
}

/// The values of a metric of a node, by its labels.
fn metric(port: u16, name: &str) -> Vec<(String, u64)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    lines.map(|(labels, value)| (labels.to_owned(), value.parse().unwrap())).collect()
}

fn connect(port: u16) -> Client {
    Client::connect(&format!("host=127.0.0.1 port={port} user=scaledb"), NoTls).unwrap()
}

/// Runs it again as long as it conflicts with others, or the members change.
fn run(client: &mut Client, sql: &str) -> Result<(), postgres::Error> {
    loop {
        match client.batch_execute(sql) {
            Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {}
            done => return done,
        }
    }
}

fn count(client: &mut Client, table: &str) -> i64 {
    loop {
        match client.query_one(&format!("SELECT count(*) FROM {table}"), &[]) {
            Ok(row) => return row.get(0),
            Err(error) => assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error:?}"),
        }
    }
}

#[test]
fn a_node_is_killed_and_comes_back_and_nothing_that_was_answered_is_lost() {
    let Some(cluster) = Cluster::new() else { return };
    let mut nodes: Vec<Process> = ["a", "b", "c"].iter().map(|name| cluster.node(name)).collect();
    let ports: Vec<u16> = nodes.iter_mut().map(port).collect();
    until("three members", || cluster.is_well());
    let mut clients: Vec<Client> = ports.iter().map(|&port| connect(port)).collect();
    run(&mut clients[0], "CREATE TABLE moves (id int8 PRIMARY KEY, account int4, change int4)").unwrap();
    run(&mut clients[1], "CREATE TABLE accounts (id int4 PRIMARY KEY, balance int4)").unwrap();
    run(&mut clients[2], "INSERT INTO accounts SELECT i, 100 FROM generate_series(0, 9) i").unwrap();

    // transfers at each node, each with a record of it
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = (0..)
        .zip(clients)
        .map(|(node, mut client)| {
            let (stop, done) = (stop.clone(), done.clone());
            thread::spawn(move || {
                let mut answered = Vec::new();
                for n in 0.. {
                    let id = node * 1_000_000 + 2 * n;
                    let (from, to) = ((node + n) % 10, (node + 3 * n + 1) % 10);
                    let sql = format!(
                        "BEGIN; UPDATE accounts SET balance = balance - 1 WHERE id = {from}; \
                         UPDATE accounts SET balance = balance + 1 WHERE id = {to}; \
                         INSERT INTO moves VALUES ({id}, {from}, -1), ({}, {to}, 1); COMMIT",
                        id + 1
                    );
                    match client.batch_execute(&sql) {
                        Ok(()) => {
                            answered.push(id);
                            done.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {
                            // the transaction block has failed, too
                            if client.batch_execute("ROLLBACK").is_err() {
                                assert_eq!(node, 0);
                                return answered;
                            }
                        }
                        Err(error) => {
                            // the node that is killed
                            assert!(node == 0 && error.as_db_error().is_none(), "{error:?}");
                            return answered;
                        }
                    }
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
                answered
            })
        })
        .collect();
    let progress = |more: u64| {
        let before = done.load(Ordering::SeqCst);
        until("transfers", || done.load(Ordering::SeqCst) >= before + more);
    };
    progress(30);
    nodes[0].0.kill().unwrap();
    nodes[0].0.wait().unwrap();
    until("it is put out", || String::from_utf8_lossy(&cluster.status().stdout).contains("2 of 3 nodes"));
    progress(30);
    // a client that knows several nodes finds one that lives
    let hosts = format!("host=127.0.0.1,127.0.0.1 port={},{} user=scaledb", ports[0], ports[1]);
    let session = format!("{hosts} target_session_attrs=read-write");
    assert!(count(&mut Client::connect(&session, NoTls).unwrap(), "moves") > 0);
    match Command::new("psql")
        .args([&format!("{session} dbname=postgres"), "-Atc", "select 'one of two'"])
        .output()
    {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "one of two\n", "{output:?}"),
        Err(_) => eprintln!("psql is not installed: it is not tested"),
    }
    // it comes back with nothing, and learns from the others while they go on
    nodes[0] = cluster.node("a");
    let back = port(&mut nodes[0]);
    until("three members again", || cluster.is_well());
    progress(30);
    stop.store(true, Ordering::SeqCst);
    let answered: Vec<i64> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();

    let mut client = connect(ports[2]);
    let sum: i64 = client.query_one("SELECT sum(balance) FROM accounts", &[]).unwrap().get(0);
    assert_eq!(sum, 1000);
    for id in &answered {
        let found = count(&mut client, &format!("moves WHERE id IN ({id}, {id} + 1)"));
        assert_eq!(found, 2, "transfer {id} was answered");
    }
    let wrong = "SELECT a.id FROM accounts a WHERE balance <> 100 + \
                 (SELECT coalesce(sum(change), 0) FROM moves m WHERE m.account = a.id)";
    assert!(client.query(wrong, &[]).unwrap().is_empty());
    // at most the transfer whose answer was lost with the node
    let moves = count(&mut client, "moves");
    assert!((0..=2).contains(&(moves - 2 * answered.len() as i64)), "{moves} {}", answered.len());
    run(&mut client, "CREATE TABLE later (id int4 PRIMARY KEY)").unwrap();
    run(&mut client, "INSERT INTO later VALUES (1)").unwrap();
    assert_eq!(count(&mut connect(ports[1]), "later"), 1);
    let mut client = connect(back);
    assert_eq!(count(&mut client, "later"), 1);
    assert_eq!(count(&mut client, "moves"), moves);
    run(&mut client, "INSERT INTO later VALUES (2)").unwrap();
    assert_eq!(count(&mut connect(ports[1]), "later"), 2);
}

/// A fourth node comes, gets its part, and the first one goes, while a client writes at another.
#[test]
fn nodes_come_and_go_by_command() {
    let Some(cluster) = Cluster::new() else { return };
    let mut nodes: Vec<Process> = ["a", "b", "c"].iter().map(|name| cluster.node(name)).collect();
    let ports: Vec<u16> = nodes.iter_mut().map(port).collect();
    until("three members", || cluster.is_well());
    let mut client = connect(ports[1]);
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
    let (at_d, metrics) = self::ports(&mut d);
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
    assert!(String::from_utf8_lossy(&cluster.status().stdout).contains("drains"));
    assert_eq!(count(&mut connect(ports[0]), "t"), 500);
    let told = cluster.steer(&["remove", "a"]);
    assert!(told.contains("a is no member"), "{told}");
    // it ends by itself, and that is no failure
    assert!(nodes[0].0.wait().unwrap().success());
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
