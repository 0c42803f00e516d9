//! What the demonstration runs beside itself: etcd, and nodes, each a process of its own with a certificate.

use crate::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use scaledb_base::timeouts::millis;
use scaledb_cluster::{ClusterView, Etcd, MetadataStore};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The names of the nodes.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Into how many partitions the keys are divided.
pub(super) const PARTITIONS: u16 = 12;

/// How long etcd, a node or a change of members may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(5);

/// How long etcd may take to answer.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

/// A process. Dropped, it is killed: without a word to it, that is the point.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// etcd, and the nodes that run.
pub(super) struct Cluster {
    nodes: [Option<Process>; NAMES.len()],
    /// Ends after the nodes.
    _etcd: Process,
    etcd_at: String,
    store: Etcd,
    silence: Duration,
    directory: tempfile::TempDir,
    /// A signal has come: it ends, and all processes with it.
    interrupted: Arc<AtomicBool>,
}

impl Cluster {
    /// Starts etcd; no node.
    pub(super) fn new(etcd: &Path, silence: Duration) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("scaledb-cluster-demo-").tempdir()?;
        certificates(directory.path())?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        let (etcd_at, peers) = (free()?, format!("http://{}", free()?));
        let clients = format!("http://{etcd_at}");
        let process = Command::new(etcd)
            .args(["--name", "demo", "--data-dir"])
            .arg(directory.path().join("etcd"))
            .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("demo={peers}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}. {ETCD}", etcd.display()))?;
        let mut cluster = Self {
            nodes: [const { None }; NAMES.len()],
            _etcd: Process(process),
            store: Etcd::new(&etcd_at, "scaledb", STORE_PATIENCE)?,
            etcd_at,
            silence,
            directory,
            interrupted,
        };
        cluster.wait("etcd does not answer", |cluster| cluster.store.nodes().is_ok())?;
        Ok(cluster)
    }

    /// Starts nodes, and waits until they serve clients: where.
    pub(super) fn start(&mut self, numbers: &[usize]) -> Result<Vec<SocketAddr>> {
        let mut started = Vec::new();
        for &number in numbers {
            let process = self.spawn(NAMES[number])?;
            started.push(self.nodes[number].insert(Process(process)).0.stdout.take());
        }
        let address = |(out, &number): (Option<_>, &usize)| {
            let mut line = String::new();
            out.map(BufReader::new).map(|mut out| out.read_line(&mut line)).transpose()?;
            let address = line.trim().strip_prefix("listening at ").and_then(|text| text.parse().ok());
            address.ok_or_else(|| self.failed(&format!("node {} did not start", NAMES[number])).into())
        };
        started.into_iter().zip(numbers).map(address).collect()
    }

    fn spawn(&self, name: &str) -> Result<Child> {
        let file = |kind: &str| self.directory.path().join(format!("{name}.{kind}"));
        let peers = free()?;
        Ok(Command::new(std::env::current_exe()?)
            .args(["serve", "--port", "0", "--log", "error", "--node", name])
            .args(["--cluster", &format!("etcd://{}", self.etcd_at), "--peer-listen", &peers])
            .args(["--peer-advertise", &peers, "--cluster-silence", &millis(self.silence).to_string()])
            .args(["--cluster-partitions", &PARTITIONS.to_string(), "--peer-ca"])
            .arg(self.directory.path().join("ca.crt"))
            .arg("--peer-certificate")
            .arg(file("crt"))
            .arg("--peer-key")
            .arg(file("key"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(file("log"))?)
            .spawn()?)
    }

    /// Ends a node without a warning.
    pub(super) fn kill(&mut self, number: usize) {
        self.nodes[number] = None;
    }

    /// The newest view.
    pub(super) fn view(&self) -> Option<ClusterView> {
        self.store.view().ok().flatten()
    }

    /// Waits until something holds of the newest view.
    pub(super) fn wait_for(&mut self, otherwise: &str, holds: impl Fn(&ClusterView) -> bool) -> Result<()> {
        self.wait(otherwise, |cluster| cluster.view().is_some_and(|view| holds(&view)))
    }

    fn wait(&mut self, otherwise: &str, done: impl Fn(&Self) -> bool) -> Result<()> {
        let begin = Instant::now();
        while !done(self) {
            self.goes_on()?;
            if begin.elapsed() > PATIENCE {
                return Err(self.failed(otherwise).into());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// An error if it should end: a signal has come, or a node has ended that was not killed.
    pub(super) fn goes_on(&mut self) -> Result<()> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err("ended by a signal".into());
        }
        for (node, name) in self.nodes.iter_mut().zip(NAMES) {
            let Some(process) = node else { continue };
            if let Some(status) = process.0.try_wait()? {
                return Err(self.failed(&format!("node {name} has ended by itself ({status})")).into());
            }
        }
        Ok(())
    }

    /// What is wrong, with the last words of the nodes.
    fn failed(&self, what: &str) -> String {
        let words = NAMES.iter().filter_map(|name| {
            let text = std::fs::read_to_string(self.directory.path().join(format!("{name}.log"))).ok()?;
            let last = text.lines().last()?;
            Some(format!("\n  node {name} says: {last}"))
        });
        what.to_owned() + &words.collect::<String>()
    }
}

/// What to do without it.
const ETCD: &str = "etcd keeps who is a member of a cluster. `make cluster-demo` installs it; on Debian or Ubuntu: \
                    sudo apt-get install etcd-server. `--etcd FILE` says where it is";

/// An address of this machine at which there is no listener.
fn free() -> io::Result<String> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.to_string())
}

/// An authority's certificate, and one for each node.
fn certificates(directory: &Path) -> Result<()> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    std::fs::write(directory.join("ca.crt"), authority.pem())?;
    for name in NAMES {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &authority)?;
        let path = |kind: &str| -> PathBuf { directory.join(format!("{name}.{kind}")) };
        std::fs::write(path("crt"), certificate.pem())?;
        std::fs::write(path("key"), key.serialize_pem())?;
    }
    Ok(())
}
