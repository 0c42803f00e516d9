//! `scaledb cluster`, and clusters of real processes: etcd, three nodes, SQL at each. One file for each kind
//! of failure;
//! in each, transfers keep their sum, lists that were appended to have an order, and nothing that was answered is lost.
//!
//! `make test-cluster` runs each of them for longer.

mod backup;
mod commands;
mod cut;
mod demo;
mod full_disk;
mod kills;
mod load;
mod paused;
mod process;
mod rolling;
mod store_away;

use load::{History, Load, Nodes, client_of};
use postgres::error::SqlState;
use process::{Cluster, Process, until};
use std::sync::{Arc, Mutex};

/// How often a failure is repeated: `SCALEDB_CLUSTER_ROUNDS`.
fn rounds(short: usize) -> usize {
    std::env::var("SCALEDB_CLUSTER_ROUNDS").map_or(short, |rounds| rounds.parse().expect("a number"))
}

/// Whether failures are repeated. Tests that wait for leases to end, or need a network or a file system of their own,
/// run in `make test-cluster` only: they take minutes beside other tests.
fn is_long() -> bool {
    let long = std::env::var("SCALEDB_CLUSTER_ROUNDS").is_ok();
    if !long {
        eprintln!("SKIPPED: make test-cluster runs it");
    }
    long
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Three nodes under load.
struct Trial {
    cluster: Cluster,
    durable: bool,
    nodes: Vec<Process>,
    at: Nodes,
    history: History,
    /// What clients of a node may be told as it goes, besides that it goes.
    allowed: &'static [SqlState],
}

/// The answer of a commit may be lost with its node, while the connection stands.
static UNKNOWN: [SqlState; 1] = [SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN];

impl Trial {
    /// None, with a message, where it cannot run.
    fn begin(durable: bool) -> Option<Self> {
        let cluster = Cluster::new()?;
        let start = |name| if durable { cluster.durable_node(name) } else { cluster.node(name) };
        let nodes = NAMES.iter().copied().map(start).collect();
        Some(Self::of(cluster, durable, nodes))
    }

    /// Nodes that have just been started.
    fn of(cluster: Cluster, durable: bool, mut nodes: Vec<Process>) -> Self {
        let at = nodes.iter_mut().map(Process::address).collect();
        until("three members", || cluster.is_well());
        let at = Arc::new(Mutex::new(at));
        load::fill(&mut client_of(&at, 0));
        Self { cluster, durable, nodes, at, history: History::default(), allowed: &[] }
    }

    fn load(&self) -> Load {
        Load::begin(&self.at, self.allowed)
    }

    /// Starts a node that has ended, and waits until it serves clients.
    fn restart(&mut self, node: usize) {
        let name = NAMES[node];
        self.nodes[node] =
            if self.durable { self.cluster.durable_node(name) } else { self.cluster.node(name) };
        self.is_back(node);
    }

    /// Waits until a node that was started serves clients.
    fn is_back(&mut self, node: usize) {
        let address = self.nodes[node].address();
        self.at.lock().unwrap()[node] = address;
    }

    /// Waits until all nodes are members, and have what they should.
    fn settle(&self) {
        until("all is well", || self.cluster.is_well());
    }

    /// Waits until the others have put a node out.
    fn is_put_out(&self) {
        until("it is put out", || self.cluster.says().contains("2 of 3 nodes"));
    }

    /// Takes what the clients know, and asks each node.
    fn check(&mut self, load: Load) {
        self.history.extend(load.end());
        for node in 0..self.nodes.len() {
            self.history.check(&mut client_of(&self.at, node));
        }
    }
}
