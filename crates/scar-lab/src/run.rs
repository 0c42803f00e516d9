//! A run: a cluster of some protocol under some workload, for some time.

use super::data::{Key, Row, Value};
use super::history::History;
use super::locking::Locking;
use super::machine::{Common, Competitor, Machine};
use super::node::{Counted, MEASURE, NodeOf, STOP, WARM_UP};
use super::optimistic::Optimistic;
use super::ping::{Ping, To};
use super::socket::{self, Inbox};
use super::workload::Workload;
use scaledb_scar::{Kind, NodeId, PartitionId, View};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU32, Ordering};
use scaledb_sync::thread;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// What is run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which protocol.
    pub competitor: Competitor,
    /// What transactions do.
    pub workload: Arc<dyn Workload>,
    /// Nodes, at most 64.
    pub nodes: u8,
    /// Partitions, spread over the nodes.
    pub partitions: u16,
    /// Replicas of each, the primary included; not more than nodes.
    pub replicas: u8,
    /// Clients of each node, which have a transaction each at any time.
    pub clients: usize,
    /// How long a message takes from one node to another, in addition to what the machine takes.
    pub delays: Vec<Vec<Duration>>,
    /// How long an epoch lasts.
    pub epoch: Duration,
    /// Before it is measured.
    pub warm_up: Duration,
    /// While it is.
    pub measured: Duration,
    /// Decides what transactions do.
    pub seed: u64,
    /// What they have read and written is kept, for [`check`](super::check).
    pub keep_history: bool,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Transactions that have got their place, in a second.
    pub throughput: f64,
    /// How many of all attempts were aborted.
    pub aborts: f64,
    /// Messages between nodes for each transaction, those of epochs included.
    pub messages: f64,
    /// And their bytes.
    pub bytes: f64,
    /// Processor time of all threads for each transaction, in microseconds, where the system tells.
    pub processor: Option<f64>,
    /// From a transaction's first attempt to its place, in ascending order.
    pub latencies: Vec<Duration>,
    /// Of the transactions under snapshot isolation, how many were serializable.
    pub serializable: f64,
    /// What was done, if it was kept.
    pub history: History,
}

impl Measured {
    /// A quantile of the latencies; zero if there are none.
    pub fn latency(&self, quantile: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last as f64 * quantile) as usize).copied().unwrap_or_default()
    }
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Sockets or threads.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A node.
    #[error("a node has panicked")]
    Panicked,
}

/// Runs a cluster.
///
/// # Errors
/// The system gives no thread or no socket.
pub fn run(setup: &Setup) -> Result<Measured, Failed> {
    match setup.competitor {
        Competitor::Optimistic(protocol) => {
            of(setup, |common| Optimistic::new(protocol, Kind::Serializable, common))
        }
        Competitor::SnapshotIsolation(protocol) => {
            of(setup, |common| Optimistic::new(protocol, Kind::SnapshotIsolation, common))
        }
        Competitor::Locking => of(setup, Locking::new),
    }
}

/// How long a question to a node takes until it is answered: rows ask, columns answer.
///
/// # Errors
/// The system gives no thread or no socket.
pub fn round_trips(
    delays: &[Vec<Duration>],
    measured: Duration,
) -> Result<Vec<Vec<Option<Duration>>>, Failed> {
    let nodes = delays.len();
    let mut table = vec![vec![None; nodes]; nodes];
    for (from, row) in table.iter_mut().enumerate() {
        for (to, time) in row.iter_mut().enumerate().filter(|&(to, _)| to != from) {
            let two = |i: usize| if i == 0 { from } else { to };
            let delays = (0..2).map(|i| (0..2).map(|j| delays[two(i)][two(j)]).collect()).collect();
            let setup = Setup {
                competitor: Competitor::Locking,
                workload: Arc::new(To(1)),
                nodes: 2,
                partitions: 1,
                replicas: 1,
                clients: 1,
                delays,
                epoch: Duration::from_secs(1),
                warm_up: Duration::ZERO,
                measured,
                seed: 1,
                keep_history: false,
            };
            *time = Some(of(&setup, |_| Ping)?.latency(0.5));
        }
    }
    Ok(table)
}

fn view(setup: &Setup) -> View {
    let failures = usize::from(setup.replicas.clamp(1, setup.nodes)) - 1;
    let mut view = View::first(setup.nodes, setup.partitions, failures);
    for partition in (0..setup.partitions).filter(|&partition| setup.workload.everywhere(partition)) {
        view = view.everywhere(PartitionId(partition));
    }
    view
}

/// The machines of all nodes, with their keys: each is loaded by a thread of its own.
fn loaded<M: Machine>(
    setup: &Setup,
    view: &std::sync::Arc<View>,
    make: &(impl Fn(Common) -> M + Sync),
) -> Result<Vec<M>, Failed> {
    let row = Row(vec![7; setup.workload.row()].into());
    let load = |me: NodeId| {
        let mut machine = make(Common {
            me,
            view: view.clone(),
            clients: setup.clients,
            row: setup.workload.row(),
            keep_history: setup.keep_history,
        });
        for partition in (0..setup.partitions).filter(|&p| view.keeps(me, PartitionId(p))) {
            for number in 0..setup.workload.keys(partition) {
                machine.load(Key { partition, number }, Value { writer: 0, row: row.clone() });
            }
        }
        machine
    };
    thread::scope(|scope| {
        let load = &load;
        let threads: Vec<_> =
            (0..setup.nodes).map(|number| scope.spawn(move || load(NodeId(number)))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| Failed::Panicked)).collect()
    })
}

fn of<M: Machine>(setup: &Setup, make: impl Fn(Common) -> M + Sync) -> Result<Measured, Failed> {
    let view = std::sync::Arc::new(view(setup));
    let machines = loaded(setup, &view, &make)?;
    let stage = Arc::new(AtomicU32::new(WARM_UP));
    let since = Instant::now();
    let delay = |from: u8, to: u8| setup.delays[usize::from(from)][usize::from(to)];
    let inboxes: Vec<_> = (0..setup.nodes).map(|_| Inbox::new()).collect();
    let mut links: Vec<BTreeMap<NodeId, _>> = (0..setup.nodes).map(|_| BTreeMap::new()).collect();
    let mut readers = Vec::new();
    for from in 0..setup.nodes {
        for to in (0..setup.nodes).filter(|&to| to != from) {
            let (link, stream) = socket::pair()?;
            links[usize::from(from)].insert(NodeId(to), link);
            let (inbox, delay) = (inboxes[usize::from(to)].clone(), delay(from, to));
            readers.push(thread::try_spawn("scar-lab-reader", move || {
                socket::read(stream, NodeId(from), since, delay, &inbox)
            })?);
        }
    }
    let mut nodes = Vec::new();
    for (number, (links, machine)) in links.into_iter().zip(machines).enumerate() {
        let me = NodeId(number as u8);
        let homes = (0..setup.partitions).filter(|&partition| {
            view.partitions[usize::from(partition)].primary == me && !setup.workload.everywhere(partition)
        });
        let homes: Vec<u16> = homes.collect();
        let slowest = setup.delays[number].iter().max().copied().unwrap_or_default();
        let clients = if homes.is_empty() && setup.workload.row() > 0 { 0 } else { setup.clients };
        nodes.push(NodeOf {
            me,
            machine,
            inbox: inboxes[number].clone(),
            links,
            workload: setup.workload.clone(),
            homes: if homes.is_empty() { vec![0] } else { homes },
            // whoever pings asks from the first node
            clients: if setup.workload.row() == 0 && number > 0 { 0 } else { clients },
            epoch: setup.epoch,
            patience: slowest / 4,
            since,
            stage: stage.clone(),
            seed: setup.seed,
        });
    }
    let threads: Result<Vec<_>, _> =
        nodes.into_iter().map(|node| thread::try_spawn("scar-lab-node", move || node.run())).collect();
    thread::sleep(setup.warm_up);
    stage.store(MEASURE, Ordering::Relaxed); // nodes look at it in passing
    let (began, worked) = (Instant::now(), processor_time());
    thread::sleep(setup.measured);
    let took = began.elapsed();
    let worked = processor_time().zip(worked).map(|(after, before)| after.saturating_sub(before));
    stage.store(STOP, Ordering::Relaxed); // likewise
    let mut all = Vec::new();
    for thread in threads? {
        all.push(thread.join().map_err(|_| Failed::Panicked)?);
    }
    // the nodes have dropped their ends: readers find them closed
    for reader in readers {
        let _ = reader.join().map_err(|_| Failed::Panicked)?;
    }
    Ok(sum(all.into_iter().collect::<io::Result<Vec<_>>>()?, took, worked))
}

/// What all threads of this process have got of the processors, where the system tells (Linux).
fn processor_time() -> Option<Duration> {
    let mut sum = Duration::ZERO;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let stat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        sum += Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?);
    }
    Some(sum)
}

fn sum(nodes: Vec<Counted>, took: Duration, worked: Option<Duration>) -> Measured {
    let total = |f: fn(&Counted) -> u64| nodes.iter().map(f).sum::<u64>() as f64;
    let (decided, aborted) = (total(|n| n.decided), total(|n| n.aborted));
    let each = |what: f64| what / decided.max(1.0);
    let mut latencies: Vec<u32> = nodes.iter().flat_map(|node| node.latencies.iter().copied()).collect();
    latencies.sort_unstable();
    let isolated = total(|n| n.isolation.0);
    Measured {
        throughput: decided / took.as_secs_f64(),
        aborts: aborted / (decided + aborted).max(1.0),
        messages: each(total(|n| n.messages)),
        bytes: each(total(|n| n.bytes)),
        processor: worked.map(|worked| each(worked.as_secs_f64() * 1e6)),
        latencies: latencies.into_iter().map(|us| Duration::from_micros(us.into())).collect(),
        serializable: total(|n| n.isolation.1) / isolated.max(1.0),
        history: History(nodes.into_iter().flat_map(|node| node.history).collect()),
    }
}
