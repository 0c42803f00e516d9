//! The metadata store: in memory and in a real etcd, which may go away.

use super::bank::settings;
use super::tcp::TcpCluster;
use scaledb_cluster::membership::first_view;
use scaledb_cluster::{ClusterView, Etcd, InMemory, Life, MetadataStore, StoreError};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{NodeId, ViewNumber};
use scaledb_sync::{Arc, thread};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(5);

/// An etcd of one member. Ended when it is dropped.
struct Process {
    child: Child,
    directory: tempfile::TempDir,
    ports: [u16; 2],
}

/// Whether etcd is there to be tested with; says so if it is not.
fn is_installed() -> bool {
    let there = Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("etcd is not installed: the store in etcd is not tested");
    }
    there
}

impl Process {
    fn start() -> Self {
        let ports = [0, 0].map(|_| {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        });
        let directory = tempfile::tempdir().unwrap();
        let child = Self::spawn(&directory, ports);
        let process = Self { child, directory, ports };
        process.wait();
        process
    }

    fn spawn(directory: &tempfile::TempDir, [clients, peers]: [u16; 2]) -> Child {
        let client = format!("http://127.0.0.1:{clients}");
        let peer = format!("http://127.0.0.1:{peers}");
        Command::new("etcd")
            .args(["--name", "test", "--data-dir"])
            .arg(directory.path())
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("test={peer}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn store(&self, cluster: &str) -> Etcd {
        Etcd::new(&format!("127.0.0.1:{}", self.ports[0]), cluster, TIMEOUT).unwrap()
    }

    fn wait(&self) {
        let begin = Instant::now();
        while self.store("any").view().is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "etcd does not answer");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = Self::spawn(&self.directory, self.ports);
        self.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cluster_view(nodes: u8) -> ClusterView {
    let view = first_view(nodes, 100, 1);
    let life = |node: NodeId| Life {
        incarnation: Incarnation(u64::MAX),
        name: format!("node-{}", node.0),
        address: "[::1]:7000".to_owned(),
    };
    let lives = view.members.iter().map(|node| (node, life(node))).collect();
    ClusterView::first(view, lives)
}

/// What every store does.
fn conforms(store: &dyn MetadataStore) {
    // nodes keep their number, lives grow
    let (a, first) = store.register("a", "host:1").unwrap();
    let (b, second) = store.register("b", "host:2").unwrap();
    let (again, third) = store.register("a", "host:3").unwrap();
    assert!(a != b && a == again && first < second && second < third);
    let nodes = store.nodes().unwrap();
    assert_eq!(nodes.len(), 2);
    let life = Life { incarnation: third, name: "a".to_owned(), address: "host:3".to_owned() };
    assert_eq!(nodes[&a], life);

    // views are replaced only by who knows the last
    assert_eq!(store.view().unwrap(), None);
    let one = cluster_view(3);
    let mut two = one.clone();
    two.view.number = ViewNumber(2);
    assert!(!store.replace(Some(&one), &two).unwrap());
    assert!(store.replace(None, &one).unwrap());
    assert!(!store.replace(None, &two).unwrap());
    assert_eq!(store.view().unwrap(), Some(one.clone()));
    assert!(store.replace(Some(&one), &two).unwrap());
    assert!(!store.replace(Some(&one), &two).unwrap());
    assert_eq!(store.view().unwrap(), Some(two));

    // leases end if they are not renewed
    assert!(store.alive().unwrap().is_empty());
    store.renew(a, third, Duration::from_secs(1)).unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        store.renew(a, third, Duration::from_secs(1)).unwrap();
        assert_eq!(store.alive().unwrap().into_iter().collect::<Vec<_>>(), [(a, third)]);
        thread::sleep(Duration::from_millis(100));
    }
    let begin = Instant::now();
    while !store.alive().unwrap().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(30), "a lease does not end");
        thread::sleep(Duration::from_millis(50));
    }
    // and begin again
    store.renew(a, third, Duration::from_secs(5)).unwrap();
    assert_eq!(store.alive().unwrap().len(), 1);
}

#[test]
fn the_store_in_memory_conforms() {
    conforms(&InMemory::new());
}

#[test]
fn the_store_in_etcd_conforms() {
    if !is_installed() {
        return;
    }
    let etcd = Process::start();
    conforms(&etcd.store("one"));
    // clusters know nothing of each other
    let other = etcd.store("two");
    assert!(other.view().unwrap().is_none() && other.nodes().unwrap().is_empty());
    // numbers are taken once, whoever comes together
    let both = [other, etcd.store("two")];
    let taken: Vec<NodeId> = thread::scope(|scope| {
        let register = |i: usize| both[i % 2].register(&format!("n{i}"), "host:1").unwrap().0;
        let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || register(i))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut numbers: Vec<u8> = taken.iter().map(|node| node.0).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..8).collect::<Vec<u8>>());
}

#[test]
fn names_and_addresses_that_cannot_be_are_refused() {
    for (addresses, cluster) in [
        ("127.0.0.1", "a"),
        ("", "a"),
        (":1", "a"),
        ("a:1/..", "a"),
        ("a:1,b", "a"),
        ("a:1", ""),
        ("a:1", "a/b"),
    ] {
        assert!(Etcd::new(addresses, cluster, TIMEOUT).is_err(), "{addresses} {cluster}");
    }
    let store = Etcd::new("a:1,[::1]:2", "a-1_b.c", TIMEOUT).unwrap();
    assert!(store.register("a/b", "a:1").is_err());
}

/// What answers is not etcd, or not as it should be: an error, in time.
#[test]
fn a_store_that_answers_anything_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let body = |body: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let value = |bytes: &[u8]| {
        use base64::Engine as _;
        body(&format!(r#"{{"kvs":[{{"value":"{}"}}]}}"#, base64::prelude::BASE64_STANDARD.encode(bytes)))
    };
    let mut insane = cluster_view(2);
    insane.view.leader = NodeId(60);
    let insane = scaledb_cluster::codec::encode(&insane).unwrap();
    let answers = [
        "garbage\r\n\r\n".to_owned(),
        body("garbage"),
        body(r#"{"error":"no","code":5}"#),
        "HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{".to_owned(),
        body(&"[".repeat(100_000)),
        body(r#"{"kvs":[{"value":"!"}]}"#),
        value(&[]),
        value(&[9, 0, 0, 0, 1]),
        value(&[1, 0, 0, 0, 0xFF, 0xFF]),
        value(&[[1, 0, 0, 0].as_slice(), &insane].concat()),
    ];
    let count = answers.len();
    let server = thread::spawn(move || {
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request);
            let _ = socket.write_all(answer.as_bytes());
        }
        // and one that says nothing
        let _silent = listener.accept().unwrap();
        thread::sleep(Duration::from_secs(2));
    });
    for i in 0..count {
        let store = Etcd::new(&address, "a", TIMEOUT).unwrap();
        assert!(store.view().is_err(), "{i}");
    }
    let begin = Instant::now();
    let store = Etcd::new(&address, "a", Duration::from_millis(300)).unwrap();
    assert!(matches!(store.view(), Err(StoreError::Away(_))));
    assert!(begin.elapsed() < Duration::from_secs(2));
    server.join().unwrap();
}

/// While the view stands, nobody needs the store; when it is back, a member that is lost meanwhile is put out.
#[test]
fn transactions_go_on_while_etcd_is_away() {
    if !is_installed() {
        return;
    }
    let mut etcd = Process::start();
    let mut cluster = TcpCluster::start_with(3, |_| Arc::new(etcd.store("tests")));
    cluster.works();
    etcd.stop();
    cluster.works();
    thread::sleep(2 * settings().lease);
    cluster.works();
    cluster.end(NodeId(0));
    thread::sleep(2 * settings().suspect_after);
    assert_eq!(cluster.first().view().view.members.count(), 3);
    etcd.start_again();
    let begin = Instant::now();
    while cluster.first().view().view.members.count() > 2 || !cluster.first().view().is_settled() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no new view");
        thread::sleep(Duration::from_millis(20));
    }
    cluster.works();
    assert!(cluster.first().numbers().store_errors > 0);
}
