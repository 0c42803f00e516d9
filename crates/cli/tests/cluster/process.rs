//! Real processes: etcd, nodes with certificates, and what is asked of them.

use postgres::{Client, NoTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Machines that run tests are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// When silence counts as death, in milliseconds: on a busy machine nodes are silent without being dead.
pub(crate) const SILENCE: &str = "4000";

pub(crate) fn scaledb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scaledb"))
}

/// A process that ends with the test.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Sends a signal by its name, without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success(), "kill -{name}");
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits until it has ended by itself: whether it calls that a success.
    pub(crate) fn ends(&mut self) -> bool {
        let mut status = None;
        until("a process ends", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().success()
    }

    /// Waits until the node serves clients: where, and where its metrics are.
    pub(crate) fn addresses(&mut self) -> (SocketAddr, SocketAddr) {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut address = |words: &str| {
            let line = lines.next().unwrap_or_default();
            let rest = line.strip_prefix(words).unwrap_or_else(|| panic!("a node does not serve: {line:?}"));
            rest.trim_end_matches("/metrics").parse().unwrap()
        };
        (address("listening at "), address("metrics at http://"))
    }

    /// Waits until the node serves clients.
    pub(crate) fn address(&mut self) -> SocketAddr {
        self.addresses().0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port below those that the system gives to whoever asks for any, so that it stays free until it is used.
pub(crate) fn free_port(at: IpAddr) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() % 200) as u16 * 100;
    loop {
        let port = 10_000 + first.wrapping_add(NEXT.fetch_add(1, Ordering::SeqCst)) % 20_000;
        if TcpListener::bind((at, port)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
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

/// An etcd with a directory of its own, and what nodes of a cluster in it need.
pub(crate) struct Cluster {
    pub(crate) directory: tempfile::TempDir,
    at: IpAddr,
    etcd: Option<Process>,
    client: String,
    peers: String,
    pub(crate) url: String,
    /// What nodes log.
    pub(crate) log: &'static str,
    /// After how long nodes take each other for dead, in milliseconds.
    pub(crate) silence: &'static str,
}

impl Cluster {
    /// None, with a message, if there is no etcd to test with.
    pub(crate) fn new() -> Option<Self> {
        Self::at(Ipv4Addr::LOCALHOST.into())
    }

    /// With etcd at this address.
    pub(crate) fn at(at: IpAddr) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        certificates(directory.path());
        let (client, peers) = (format!("{at}:{}", free_port(at)), format!("http://{at}:{}", free_port(at)));
        let url = format!("etcd://{client}");
        let mut cluster = Self {
            directory,
            at,
            etcd: None,
            client: format!("http://{client}"),
            peers,
            url,
            log: "error",
            silence: SILENCE,
        };
        if !cluster.begin_etcd() {
            eprintln!("SKIPPED: etcd is not installed: a cluster of processes is not tested");
            return None;
        }
        until("etcd", || cluster.status().status.code() == Some(1));
        Some(cluster)
    }

    /// Starts etcd, with what it had. Whether it is installed.
    pub(crate) fn begin_etcd(&mut self) -> bool {
        let etcd = Command::new("etcd")
            .args(["--name", "test", "--data-dir"])
            .arg(self.directory.path().join("etcd"))
            .args(["--listen-client-urls", &self.client, "--advertise-client-urls", &self.client])
            .args(["--listen-peer-urls", &self.peers, "--initial-advertise-peer-urls", &self.peers])
            .args(["--initial-cluster", &format!("test={}", self.peers)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.etcd = etcd.ok().map(Process);
        self.etcd.is_some()
    }

    /// Ends etcd without a warning.
    pub(crate) fn end_etcd(&mut self) {
        self.etcd.take().unwrap().kill();
    }

    /// The process.
    pub(crate) fn etcd(&self) -> &Process {
        self.etcd.as_ref().unwrap()
    }

    pub(crate) fn status(&self) -> Output {
        scaledb().args(["cluster", "status", "--cluster", &self.url]).output().unwrap()
    }

    /// What `scaledb cluster status` prints.
    pub(crate) fn says(&self) -> String {
        String::from_utf8_lossy(&self.status().stdout).into_owned()
    }

    pub(crate) fn is_well(&self) -> bool {
        self.status().status.success()
    }

    /// Tells the cluster to do something, and waits until it is done.
    pub(crate) fn steer(&self, what: &[&str]) -> String {
        let patience = PATIENCE.as_secs().to_string();
        self.command(&[what, &["--timeout", &patience]].concat())
    }

    /// What a command of the cluster prints.
    pub(crate) fn command(&self, what: &[&str]) -> String {
        let output = scaledb().arg("cluster").args(what).args(["--cluster", &self.url]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{what:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// Where a node keeps its rows.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.data"))
    }

    /// Where backups go.
    pub(crate) fn backups(&self) -> PathBuf {
        self.directory.path().join("backups")
    }

    /// The arguments of a node that keeps its rows in a directory.
    pub(crate) fn on_disk(&self, name: &str) -> [String; 4] {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        ["--data".to_owned(), text(self.data(name)), "--cluster-backups".to_owned(), text(self.backups())]
    }

    /// Starts a node that keeps its rows in a directory.
    pub(crate) fn durable_node(&self, name: &str) -> Process {
        self.start(scaledb(), name, self.at, &self.on_disk(name).each_ref().map(String::as_str))
    }

    /// Where etcd and nodes are.
    pub(crate) fn address(&self) -> IpAddr {
        self.at
    }

    /// Starts a node that keeps its rows in a directory, and serves clients at this port.
    pub(crate) fn durable_node_at(&self, command: Command, name: &str, port: u16) -> Process {
        let on_disk = self.on_disk(name);
        self.start_at(command, name, (self.at, port), &on_disk.each_ref().map(String::as_str))
    }

    /// Starts a node that keeps its rows in memory.
    pub(crate) fn node(&self, name: &str) -> Process {
        self.start(scaledb(), name, self.at, &[])
    }

    /// Starts a node at an address; it says where it listens to clients when it is a member.
    pub(crate) fn start(&self, command: Command, name: &str, at: IpAddr, more: &[&str]) -> Process {
        self.start_at(command, name, (at, 0), more)
    }

    fn start_at(
        &self,
        mut command: Command,
        name: &str,
        (at, port): (IpAddr, u16),
        more: &[&str],
    ) -> Process {
        let file = |kind: &str| self.directory.path().join(format!("{name}.{kind}"));
        // in another network namespace, the port is as good as any other
        let peers = format!("{at}:{}", free_port(self.at));
        let here = at.to_string();
        command
            .args(["serve", "--listen", &here, "--port", &port.to_string(), "--metrics", &format!("{at}:0")])
            .args(["--log", self.log, "--cluster", &self.url, "--node", name])
            .args(["--peer-listen", &peers, "--peer-advertise", &peers, "--cluster-silence", self.silence])
            .args(["--cluster-partitions", "6", "--peer-ca"])
            .arg(self.directory.path().join("ca.crt"))
            .arg("--peer-certificate")
            .arg(file("crt"))
            .arg("--peer-key")
            .arg(file("key"))
            .args(more);
        if !at.is_loopback() {
            // a server that others can reach does not start without
            let config = self.directory.path().join("scaledb.toml");
            // nodes before it may be about to read it
            if !config.exists() {
                std::fs::write(&config, "[[rule]]\nover = 'any'\nmethod = 'trust'\n").unwrap();
            }
            command.arg("--config").arg(config);
        }
        Process(command.stdout(Stdio::piped()).spawn().unwrap())
    }
}

/// The values of a metric of a node, by its labels.
pub(crate) fn metric(at: SocketAddr, name: &str) -> Vec<(String, u64)> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    lines.map(|(labels, value)| (labels.to_owned(), value.parse().unwrap())).collect()
}

pub(crate) fn try_connect(at: SocketAddr) -> Result<Client, postgres::Error> {
    let (host, port) = (at.ip(), at.port());
    Client::connect(&format!("host={host} port={port} user=scaledb connect_timeout=10"), NoTls)
}

pub(crate) fn connect(at: SocketAddr) -> Client {
    try_connect(at).unwrap()
}
