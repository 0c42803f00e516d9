//! A cluster: masters in both datacenters, each with a replica in the other.

use crate::{Link, Node, Ports, Weather};
use scaledb_sync::atomic::{AtomicU32, Ordering};
use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The slots of a Redis cluster.
pub const SLOTS: u16 = 16_384;

/// How long the cluster may take to come to agreement.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what is waited for.
const LOOK: Duration = Duration::from_millis(25);
/// Ports are looked for from here to the end of the range; what the system gives to outgoing connections lies above.
const PORTS: std::ops::Range<u16> = 11_000..31_000;

/// How large a cluster is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Masters; they stand in the two datacenters by turns.
    pub masters: u16,
    /// Whether each has a replica in the other datacenter; they are 0 and 1.
    pub replicas: bool,
}

/// What a cluster is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its size.
    pub shape: Shape,
    /// The module, if one is to be loaded.
    pub module: Option<PathBuf>,
    /// More settings of the module, besides its datacenter.
    pub settings: String,
    /// What the links do at first.
    pub weather: Weather,
    /// Lines for the configuration of each server: persistence, for instance.
    pub lines: Vec<String>,
    /// How long a server may be silent before the others hold it for dead.
    pub node_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shape: Shape { masters: 3, replicas: true },
            module: crate::module(),
            settings: String::new(),
            weather: Weather::default(),
            lines: vec!["save \"\"".to_owned(), "appendonly no".to_owned()],
            node_timeout: Duration::from_secs(5),
        }
    }
}

/// A running cluster. It ends, and its files go, when this is dropped.
#[derive(Debug)]
pub struct Lab {
    nodes: Vec<Node>,
    /// Of each node: the link in front of its port for clients, and that of its port for servers.
    links: Vec<(Link, Link)>,
    shape: Shape,
    // after the nodes, which write into it
    _directory: TempDir,
    runtime: tokio::runtime::Runtime,
}

/// A port that nobody listens at. No two of a process get the same one; labs of several processes begin at
/// different ones. It is asked for by a connection, and not tried by listening there: a server that another thread
/// starts at that moment would inherit the socket and hold the port until its program runs.
///
/// # Errors
/// All are taken.
pub fn free_port() -> Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    let begin = std::process::id().wrapping_mul(97);
    for _ in 0..count {
        // a number for each who asks: nothing else is read by it
        let next = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % count;
        let port = PORTS.start + u16::try_from(next).unwrap_or(0);
        if TcpStream::connect(at(port)).is_err() {
            return Ok(port);
        }
    }
    Err(Error::other("no port is free"))
}

fn other(error: impl std::fmt::Display) -> Error {
    Error::other(error.to_string())
}

impl Lab {
    /// Starts the servers and joins them to a cluster.
    ///
    /// # Errors
    /// There is no `redis-server`, a server does not start, or they do not find together.
    pub fn start(options: &Options) -> Result<Self> {
        let program = crate::server().ok_or_else(|| Error::other("there is no redis-server on the path"))?;
        let directory = tempfile::Builder::new().prefix("occult-").tempdir()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let shape = options.shape;
        let count = if shape.replicas { 2 * shape.masters } else { shape.masters };
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for i in 0..count {
            let (port, bus) = (free_port()?, free_port()?);
            // a link listens from here to the end: any port will do
            let link = runtime.block_on(Link::start(at(port), options.weather))?;
            let bus_link = runtime.block_on(Link::start(at(bus), options.weather))?;
            let place =
                Ports { port, bus, announced: link.address.port(), announced_bus: bus_link.address.port() };
            // masters take turns; the replica of master i is node `masters + i`, and stands across
            let datacenter = u8::from((i % shape.masters + i / shape.masters) % 2 == 1);
            let mut lines = options.lines.clone();
            lines.push(format!("cluster-node-timeout {}", options.node_timeout.as_millis()));
            // a replica without its master says so by a failover, and not because it was slow before
            lines.push("cluster-replica-validity-factor 0".to_owned());
            if let Some(module) = &options.module {
                let (module, settings) = (module.display(), &options.settings);
                lines.push(format!("loadmodule {module} datacenter {datacenter} {settings}"));
            }
            let home = directory.path().join(format!("node-{i}"));
            nodes.push(Node::start(&program, home, place, datacenter, &lines)?);
            links.push((link, bus_link));
        }
        let lab = Self { nodes, links, shape, _directory: directory, runtime };
        lab.join()?;
        Ok(lab)
    }

    /// Makes one cluster of the servers.
    fn join(&self) -> Result<()> {
        let masters = usize::from(self.shape.masters);
        for (i, node) in self.nodes.iter().enumerate() {
            let epoch = (i + 1).to_string();
            node.ask::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).map_err(other)?;
            let to = self.nodes[0].place;
            let (port, bus) = (to.announced.to_string(), to.announced_bus.to_string());
            if i > 0 {
                node.ask::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).map_err(other)?;
            }
        }
        for (i, node) in self.nodes[..masters].iter().enumerate() {
            let bound = |i: usize| i * usize::from(SLOTS) / masters;
            let (first, last) = (bound(i).to_string(), (bound(i + 1) - 1).to_string());
            node.ask::<()>(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).map_err(other)?;
        }
        let known = self.nodes.len().to_string();
        self.wait("all know each other", |lab| {
            lab.nodes.iter().all(|node| field(node, "cluster_known_nodes").as_ref() == Some(&known))
        })?;
        if self.shape.replicas {
            for i in 0..masters {
                let id: String = self.nodes[i].ask(&["CLUSTER", "MYID"]).map_err(other)?;
                // it may know the master by its address only yet
                self.wait("each replica has found its master", |lab| {
                    lab.nodes[masters + i].ask::<()>(&["CLUSTER", "REPLICATE", &id]).is_ok()
                })?;
            }
        }
        self.wait_until_whole()
    }

    /// Waits until every server that runs says that the cluster is whole, each replica is connected, and all know who
    /// replicates whom.
    ///
    /// # Errors
    /// It took too long.
    pub fn wait_until_whole(&self) -> Result<()> {
        let replicas = self.shape.replicas;
        self.wait("the cluster is whole", |lab| {
            let mut running = lab.nodes.iter().filter(|node| node.runs());
            running.all(|node| {
                let linked = node.info("role").as_deref() != Some("slave")
                    || node.info("master_link_status").as_deref() == Some("up");
                let seen = !replicas || roles(node).iter().any(|role| role == "slave");
                linked && seen && field(node, "cluster_state").as_deref() == Some("ok")
            })
        })
    }

    /// Waits for something, looking again and again.
    ///
    /// # Errors
    /// It took too long; the error names it.
    pub fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            if Instant::now() > end {
                return Err(Error::other(format!("waited {PATIENCE:?} for this: {what}")));
            }
            scaledb_sync::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The servers: the masters first, then their replicas in the same order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A server, to kill and start again.
    pub fn node(&mut self, i: usize) -> &mut Node {
        &mut self.nodes[i]
    }

    /// The node that was started as replica of a master.
    pub fn replica_of(&self, master: usize) -> usize {
        master + usize::from(self.shape.masters)
    }

    /// Changes the links of one server, both those for clients and for servers.
    pub fn set_weather(&self, node: usize, weather: Weather) {
        self.links[node].0.set(weather);
        self.links[node].1.set(weather);
    }

    /// Delays or cuts what passes to a server's port for clients: with a master, the stream to its replica and
    /// clients from the other datacenter, while the servers still see each other.
    pub fn set_stream(&self, node: usize, weather: Weather) {
        self.links[node].0.set(weather);
    }

    /// Where clients in a datacenter reach the servers: announced address to address, of those beside them.
    pub fn addresses(&self, datacenter: u8) -> Vec<(SocketAddr, SocketAddr)> {
        let here = self.nodes.iter().filter(|node| node.datacenter == datacenter);
        here.map(|node| (node.announced(), node.address())).collect()
    }

    /// Where all servers are reached, whoever asks.
    pub fn seeds(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::announced).collect()
    }

    /// The runtime of the links.
    pub fn runtime(&self) -> &tokio::runtime::Runtime {
        &self.runtime
    }
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A field of `CLUSTER INFO`.
fn field(node: &Node, name: &str) -> Option<String> {
    let text: String = node.ask(&["CLUSTER", "INFO"]).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim().to_owned())
}

/// The roles that a server sees, one for each node.
fn roles(node: &Node) -> Vec<String> {
    let text: String = node.ask(&["CLUSTER", "NODES"]).unwrap_or_default();
    let flags = text.lines().filter_map(|line| line.split(' ').nth(2));
    flags
        .filter_map(|flags| flags.split(',').find(|flag| matches!(*flag, "master" | "slave")))
        .map(str::to_owned)
        .collect()
}
