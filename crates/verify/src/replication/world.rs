//! Nodes, messages in flight, clients and the metadata store.

mod clients;
mod end;
mod make;
mod moves;
mod operator;
mod setup;
mod show;

pub use moves::Move;
pub use setup::{Client, Op, Setup};

use super::data::{Key, Numbers, Value};
use super::disk::Disk;
use super::history::{Record, Truth};
use crate::model::cached::hash_of;
use scaledb_scar::{
    Epoch, Message, Node, NodeId, NodeSet, Out, PartitionId, Rule, Stage, Switched, TxnId, View, ViewNumber,
};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Turn {
    /// Before its operation of this number.
    Next(usize),
    /// Waits for the answer of this operation.
    Asked(usize),
    /// Its commit was called.
    Committing,
    /// It has its answer.
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Progress {
    turn: Turn,
    txn: Option<TxnId>,
    paused: bool,
    epoch: Epoch,
}

#[derive(Clone)]
struct Flight {
    from: NodeId,
    to: NodeId,
    message: Rc<Message<Numbers>>,
    hash: u64,
    held: bool,
}

#[derive(Clone)]
struct Kept {
    node: Rc<Node<Switched, Numbers>>,
    hash: u64,
}

/// A state of everything.
#[derive(Clone)]
pub struct World {
    setup: Rc<Setup>,
    nodes: Vec<Option<Kept>>,
    disks: Vec<Rc<Disk>>,
    flights: Vec<Flight>,
    clients: Vec<Progress>,
    records: Rc<Vec<Record>>,
    truth: Truth,
    /// Two nodes have gone back to different epochs.
    split: Option<String>,
    view: Arc<View>,
    rules: Switched,
    suspected: NodeSet,
    /// The last view that all its members have installed, and who of them was lost since.
    settled: (ViewNumber, NodeSet),
    /// Who was taken out on purpose since, and waits.
    leaving: NodeSet,
    crashes: u8,
    cuts: u8,
    joins: u8,
    hand_overs: u8,
    moved: u8,
    removals: u8,
    ticks: u8,
    repeats: u8,
    restarts: u8,
    power_cuts: u8,
    checkpoints: u8,
    give_ups: u8,
}

impl World {
    /// The state before the first move.
    pub fn new(setup: Setup, rules: Switched) -> Self {
        let mut view = View::first(setup.nodes, setup.partitions, setup.failures);
        if let Some(spare) = setup.spare.map(NodeId) {
            let number = view.number;
            let left = view.without(NodeSet::default().with(spare));
            view = View { number, ..left.unwrap_or_else(|| view.clone()) };
        }
        view.durable = setup.durable;
        if setup.everywhere {
            view = view.everywhere(PartitionId(0));
        }
        let view = Arc::new(view);
        let rules = if setup.sync { rules } else { rules.without(Rule::TellExtensions) };
        let mut disks: Vec<_> = (0..setup.nodes).map(|_| Rc::new(Disk::default())).collect();
        let mut node = |i: u8| {
            if setup.spare == Some(i) {
                return None;
            }
            let mut node = Node::new(rules, NodeId(i), view.clone());
            node.set_chunk(1);
            if let Some((_, bytes, _)) = setup.memory.filter(|&(of, ..)| of == i) {
                node.limit_memory(bytes);
            }
            for &key in &setup.rows {
                node.load(Key(key), Value(key));
            }
            if setup.durable {
                disks[usize::from(i)] = Rc::new(Disk::of_founder(&mut node));
            }
            Some(Kept { hash: hash_of(&node), node: Rc::new(node) })
        };
        let idle = Progress { turn: Turn::Next(0), txn: None, paused: false, epoch: Epoch(0) };
        Self {
            nodes: (0..setup.nodes).map(&mut node).collect(),
            disks,
            flights: Vec::new(),
            clients: vec![idle; setup.clients.len()],
            records: Rc::new(vec![Record::default(); setup.clients.len()]),
            truth: Truth::default(),
            split: None,
            suspected: NodeSet::default(),
            settled: (view.number, NodeSet::default()),
            leaving: NodeSet::default(),
            joins: setup.joins,
            hand_overs: setup.hand_overs,
            moved: setup.moves,
            removals: setup.removals,
            rules,
            crashes: setup.crashes,
            cuts: setup.cuts,
            ticks: setup.ticks,
            repeats: setup.repeats,
            restarts: setup.restarts,
            power_cuts: setup.power_cuts,
            checkpoints: setup.checkpoints,
            give_ups: setup.give_ups,
            view,
            setup: Rc::new(setup),
        }
    }

    /// How many transactions have been answered as committed, or what they have read as confirmed.
    pub fn commits(&self) -> usize {
        self.records.iter().filter(|record| record.answered).count()
    }

    /// A hash of all that matters for what can happen; with messages in flight in order, or as a set.
    pub fn hash(&self, ordered: bool) -> u64 {
        let nodes: Vec<u64> = self.nodes.iter().map(|kept| kept.as_ref().map_or(0, |k| k.hash)).collect();
        let flights: Vec<u64> = if ordered {
            self.flights.iter().map(|f| f.hash.wrapping_add(u64::from(f.held))).collect()
        } else {
            vec![self.flights.iter().fold(0, |sum, f| sum.wrapping_add(f.hash))]
        };
        let clients = (self.ticks, self.repeats, self.give_ups);
        let budget = (self.crashes, self.cuts, clients, self.joins, self.hand_overs);
        let store = (&*self.view, self.suspected, self.settled, self.leaving, self.moved, self.removals);
        let disks = (&self.disks, self.restarts, self.power_cuts, self.checkpoints);
        hash_of(&(nodes, flights, &self.clients, &*self.records, &self.truth, store, budget, disks))
    }

    fn node(&self, id: NodeId) -> Option<&Node<Switched, Numbers>> {
        self.nodes.get(usize::from(id.0))?.as_ref().map(|kept| &*kept.node)
    }

    fn is_member(&self, id: NodeId) -> bool {
        self.node(id).is_some() && self.view.members.has(id)
    }

    fn dead_members(&self) -> NodeSet {
        self.view
            .members
            .iter()
            .filter(|&node| self.node(node).is_none() || self.suspected.has(node))
            .collect()
    }

    /// The metadata store notes that all members have installed the view.
    fn settle(&mut self) {
        let dead = self.view.members.iter().filter(|&n| self.nodes[usize::from(n.0)].is_none());
        self.settled = (self.view.number, dead.collect());
        self.put_out(self.leaving);
    }

    fn with_node(&mut self, id: NodeId, act: impl FnOnce(&mut Node<Switched, Numbers>, &mut Out<Numbers>)) {
        let Some(kept) = self.nodes.get_mut(usize::from(id.0)).and_then(Option::as_mut) else { return };
        let mut out: Out<Numbers> = Out::default();
        let node = Rc::make_mut(&mut kept.node);
        act(node, &mut out);
        kept.hash = hash_of(node);
        if !out.journal.is_empty() {
            Rc::make_mut(&mut self.disks[usize::from(id.0)]).append(out.journal.drain(..));
        }
        let view = node.view().number;
        if let Err(split) = self.truth.note(node) {
            self.split = Some(split);
        }
        let opened = !matches!(node.stage(), Stage::Fenced | Stage::Installed);
        // where somebody was taken out, the store is told: a move of its own
        let is_told = self.leaving.count() > 0;
        if opened && view == self.view.number && self.settled.0 < view && !is_told {
            self.settle();
        }
        for (to, message) in out.messages {
            if self.nodes[usize::from(to.0)].is_some() {
                let hash = hash_of(&(id, to, &message));
                self.flights.push(Flight { from: id, to, message: Rc::new(message), hash, held: false });
            }
        }
        for answer in out.answers {
            self.answer(id, answer);
        }
    }
}
