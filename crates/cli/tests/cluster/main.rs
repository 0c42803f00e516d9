//! `scaledb cluster`, and clusters of real processes: etcd, three nodes, SQL at each. One file for each kind
//! of failure;
//! in each, transfers keep their sum, lists that were appended to have an order, and nothing that was answered is lost.
//!
//! `make test-cluster` runs each of them for longer, and TPC-C beside: its conditions hold after each failure.

mod backup;
mod commands;
mod cut;
mod demo;
mod full_disk;
mod kills;
mod load;
mod moves;
mod notifications;
mod paused;
mod process;
mod rolling;
mod store_away;
mod tpcc;

use load::{History, Load, Nodes, client_of};
use postgres::error::SqlState;
use process::{Cluster, Process, until};
use std::sync::{Arc, Mutex};
use tpcc::Tables;

const ROUNDS: &str = "SCALEDB_CLUSTER_ROUNDS";

/// How often a failure is repeated: `SCALEDB_CLUSTER_ROUNDS`.
fn rounds(short: usize) -> usize {
    std::env::var(ROUNDS).map_or(short, |rounds| rounds.parse().expect("a number"))
}

/// Whether failures are repeated. Tests that wait for leases to end, or need a network or a file system of their own,
/// run in `make test-cluster` only: they take minutes beside other tests.
fn is_long() -> bool {
    let long = std::env::var(ROUNDS).is_ok();
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
    /// TPC-C's, where failures are repeated.
    tables: Option<Tables>,
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
        let first = at.lock().unwrap()[0];
        let tables = std::env::var(ROUNDS).is_ok().then(|| Tables::fill(first));
        Self { cluster, durable, nodes, at, history: History::default(), tables, allowed: &[] }
    }

    fn load(&self) -> Load {
        Load::begin(&self.at, self.allowed, self.tables.is_some())
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
            self.check_at(node);
        }
    }

    /// What the clients know is so at a node.
    fn check_at(&self, node: usize) {
        self.history.check(&mut client_of(&self.at, node));
        if let Some(tables) = &self.tables {
            tables.check(self.at.lock().unwrap()[node], self.history.business);
        }
    }
}
