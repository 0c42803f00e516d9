//! Nodes, messages in flight, clients and the metadata store; and every move that can be made.

mod operator;

use super::data::{Key, Numbers, Value};
use super::disk::Disk;
use super::history::{Property, Record, Rows, Scanned, Truth, check, check_epochs};
use crate::model::cached::hash_of;
use scaledb_scar::{
    Answer, Checkpointing, Epoch, Kind, Message, Node, NodeId, NodeSet, Out, Outcome, PartitionId, Range,
    Refused, Rule, SessionId, Stage, Switched, Time, TxnId, View, ViewNumber, Wanted,
};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::rc::Rc;
use std::sync::Arc;

/// What a client does, one after the other; then it commits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Reads a key.
    Read(u64),
    /// Writes a key without reading it.
    Put(u64),
    /// Reads a key and writes it.
    Add(u64),
    /// Reads a key, and writes it if it is absent.
    Insert(u64),
    /// Reads a key, and deletes it if it is there.
    Delete(u64),
    /// Reads a range of a partition, both ends included.
    Scan(u16, u64, u64),
    /// Reads up to so many rows behind a key.
    Next(u16, u64, u32),
    /// Reads up to so many rows before a key, downwards.
    Last(u16, u64, u32),
    /// Fetches what its later operations will read.
    Fetch,
    /// Asks whether what it has read is of one state.
    Check,
    /// Asks the same, and that it be confirmed: its client is told.
    Confirm,
    /// Rolls back, if not done by itself.
    Rollback,
    /// Thinks, while nothing else happens.
    Pause,
    /// Thinks until its node's epoch is another.
    NextEpoch,
}

impl Op {
    /// The partition and the range of a scan.
    fn scan(self) -> Option<(u16, Range<Key>)> {
        match self {
            Self::Scan(partition, low, high) => {
                Some((partition, Range::new(Included(Key(low)), Included(Key(high)))))
            }
            Self::Next(partition, low, limit) => {
                Some((partition, Range { limit, ..Range::new(Excluded(Key(low)), Unbounded) }))
            }
            Self::Last(partition, high, limit) => {
                let range = Range::new(Unbounded, Excluded(Key(high)));
                Some((partition, Range { limit, backward: true, ..range }))
            }
            _ => None,
        }
    }
}

/// A client: one transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The coordinator.
    pub node: u8,
    /// Its session.
    pub session: u32,
    /// What kind of transaction.
    pub kind: Kind,
    /// Begins in the view of this number, or a later one.
    pub since: u64,
    /// Begins when this client has its answer.
    pub after: Option<usize>,
    /// Begins when this client, of the same session, has called for its commit.
    pub piped: Option<usize>,
    /// What it does.
    pub ops: Vec<Op>,
}

/// A cluster, what runs on it, and how much may go wrong.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Short name, unique.
    pub name: &'static str,
    /// Nodes.
    pub nodes: u8,
    /// Partitions: key modulo their number; partition i has its primary at node i.
    pub partitions: u16,
    /// f.
    pub failures: usize,
    /// Keys that are there at the start.
    pub rows: Vec<u64>,
    /// Who does what.
    pub clients: Vec<Client>,
    /// Nodes that may crash.
    pub crashes: u8,
    /// Live nodes that the metadata store may take for dead.
    pub cuts: u8,
    /// A node that is no member at first.
    pub spare: Option<u8>,
    /// Nodes that join: the spare one, those that have crashed or were taken for dead.
    pub joins: u8,
    /// Epochs that may end at any time, besides those that end when all wait for it.
    pub ticks: u8,
    /// Messages that may arrive twice.
    pub repeats: u8,
    /// Partitions whose primary may become another, though nobody is lost.
    pub hand_overs: u8,
    /// Replicas that may be added to a partition, or dropped where there are more than f + 1.
    pub moves: u8,
    /// Nodes that keep nothing, and may be taken out on purpose.
    pub removals: u8,
    /// Extensions are told to the backups.
    pub sync: bool,
    /// Nodes keep what they have on disk.
    pub durable: bool,
    /// Nodes that may be lost and come back at once with what is on their disk.
    pub restarts: u8,
    /// How often all nodes may be lost together, and come back.
    pub power_cuts: u8,
    /// Checkpoints that may be made.
    pub checkpoints: u8,
}

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

/// Something that can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// A client goes on.
    Client(usize),
    /// The message at this index arrives.
    Deliver(usize),
    /// It is late: it arrives when nothing else happens.
    Hold(usize),
    /// It arrives twice: a copy is made that is late.
    Repeat(usize),
    /// The leader ends the epoch.
    Tick,
    /// A node is gone.
    Crash(u8),
    /// The metadata store takes a live node for dead.
    Cut(u8),
    /// The metadata store makes a view without the dead.
    NewView,
    /// It makes a view with one more, which has nothing.
    Join(u8),
    /// It makes a view in which one that has copied all is a backup.
    Promote(u8),
    /// It makes a view with the last of a partition's backups as primary.
    HandOver(u16),
    /// It makes a view in which a node learns a partition.
    Learn(u16, u8),
    /// It makes a view without a replica that is too many.
    Drop(u16, u8),
    /// It makes a view without a node that keeps nothing.
    Remove(u8),
    /// What a node has written is on disk.
    Sync(u8),
    /// A node is lost and comes back with its disk; whether what was not sure to be there is.
    Restart(u8, bool),
    /// All are; for which of them it is.
    PowerCut(u8),
    /// A node begins a checkpoint.
    Checkpoint(u8),
    /// It writes the next piece, or puts it in force.
    Piece(u8),
}

/// A state of everything.
#[derive(Clone)]
pub struct World {
    setup: Rc<Setup>,
    nodes: Vec<Option<Kept>>,
    disks: Vec<Rc<Disk>>,
    /// The last view that each has installed.
    installed: Vec<ViewNumber>,
    flights: Vec<Flight>,
    clients: Vec<Progress>,
    records: Rc<Vec<Record>>,
    truth: Truth,
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
}

/// A call that is refused leaves its client without an answer, and that shows in the end.
fn shows(_: Result<(), Refused>) {}

const LAST_EPOCH: u64 = 40;

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
        let view = Arc::new(view);
        let rules = if setup.sync { rules } else { rules.without(Rule::TellExtensions) };
        let mut disks: Vec<_> = (0..setup.nodes).map(|_| Rc::new(Disk::default())).collect();
        let mut node = |i: u8| {
            if setup.spare == Some(i) {
                return None;
            }
            let mut node = Node::new(rules, NodeId(i), view.clone());
            node.set_chunk(1);
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
            installed: vec![view.number; disks.len()],
            disks,
            flights: Vec::new(),
            clients: vec![idle; setup.clients.len()],
            records: Rc::new(vec![Record::default(); setup.clients.len()]),
            truth: Truth::default(),
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
        let budget = (self.crashes, self.cuts, self.ticks, self.repeats, self.joins, self.hand_overs);
        let store = (&*self.view, self.suspected, self.settled, self.leaving, self.moved, self.removals);
        let disks = (&self.disks, &self.installed, self.restarts, self.power_cuts, self.checkpoints);
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

    fn client_can_move(&self, client: usize, resting: bool) -> bool {
        let Turn::Next(at) = self.clients[client].turn else { return false };
        let plan = &self.setup.clients[client];
        let Some(node) = self.node(NodeId(plan.node)) else { return false };
        if at == 0 && self.clients[client].txn.is_none() {
            let answered = plan.after.is_none_or(|other| self.clients[other].turn == Turn::Done);
            let called = plan
                .piped
                .is_none_or(|other| matches!(self.clients[other].turn, Turn::Committing | Turn::Done));
            if !answered || !called || !node.may_begin() || node.view().number.0 < plan.since {
                return false;
            }
        }
        match plan.ops.get(at) {
            Some(Op::Pause) => resting,
            Some(Op::NextEpoch) => node.epoch() != self.clients[client].epoch,
            _ => true,
        }
    }

    fn waits_for_epoch(&self, client: usize) -> bool {
        let plan = &self.setup.clients[client];
        self.is_member(NodeId(plan.node))
            && match self.clients[client].turn {
                Turn::Committing => true,
                Turn::Asked(at) => plan.ops.get(at) == Some(&Op::Confirm),
                Turn::Next(at) => {
                    self.clients[client].txn.is_some() && plan.ops.get(at) == Some(&Op::NextEpoch)
                }
                _ => false,
            }
    }

    fn can_tick(&self) -> bool {
        self.node(self.view.leader).is_some_and(|leader| {
            leader.view().number == self.view.number
                && leader.stage() == Stage::Open
                && leader.epoch() < Epoch(LAST_EPOCH)
        })
    }

    /// What happens if nothing unusual does; none in the end.
    pub fn usual(&self) -> Option<Move> {
        let clients = 0..self.clients.len();
        clients
            .clone()
            .find(|&c| self.client_can_move(c, false))
            .map(Move::Client)
            .or_else(|| self.syncs().next())
            .or_else(|| self.flights.iter().position(|f| !f.held).map(Move::Deliver))
            .or_else(|| (self.dead_members().count() > 0).then_some(Move::NewView))
            .or_else(|| self.promotions().next())
            .or_else(|| self.joins().next())
            .or_else(|| self.pieces().next())
            .or_else(|| clients.clone().find(|&c| self.client_can_move(c, true)).map(Move::Client))
            .or_else(|| {
                (self.can_tick() && clients.clone().any(|c| self.waits_for_epoch(c))).then_some(Move::Tick)
            })
            .or_else(|| (!self.flights.is_empty()).then_some(Move::Deliver(0)))
            .or_else(|| (self.learns() && self.can_tick()).then_some(Move::Tick))
            .or_else(|| (self.has_locks() && self.can_tick()).then_some(Move::Tick))
    }

    /// On disk, what has been learned counts with the next epoch.
    fn learns(&self) -> bool {
        self.view.durable && self.view.members.iter().any(|id| self.view.is_learner(id))
    }

    /// A lock that nobody gives back ends with its epoch.
    fn has_locks(&self) -> bool {
        self.view.members.iter().filter_map(|id| self.node(id)).any(Node::has_locks)
    }

    /// All that can happen.
    pub fn moves(&self, hold: bool) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        moves.extend((0..self.clients.len()).filter(|&c| self.client_can_move(c, true)).map(Move::Client));
        let mut seen = Vec::new();
        for (i, flight) in self.flights.iter().enumerate() {
            if !seen.contains(&flight.hash) {
                seen.push(flight.hash);
                moves.push(Move::Deliver(i));
                moves.extend((self.repeats > 0).then_some(Move::Repeat(i)));
            }
        }
        if hold {
            moves.extend(self.flights.iter().position(|f| !f.held).map(Move::Hold));
        }
        if self.can_tick() && self.ticks > 0 {
            moves.push(Move::Tick);
        }
        let live: Vec<NodeId> = self.view.members.iter().filter(|&n| self.node(n).is_some()).collect();
        if self.crashes > 0 && live.len() > 1 {
            moves.extend(live.iter().filter(|&&n| self.survives(n)).map(|n| Move::Crash(n.0)));
        }
        if self.cuts > 0 && live.len() > 1 {
            moves.extend(live.iter().filter(|&&n| self.survives(n)).map(|n| Move::Cut(n.0)));
        }
        if self.dead_members().count() > 0 {
            moves.push(Move::NewView);
        }
        moves.extend(self.promotions());
        moves.extend(self.joins());
        if self.hand_overs > 0 && self.is_settled() {
            moves.extend((0..self.setup.partitions).map(Move::HandOver));
        }
        moves.extend(self.placements());
        moves.extend(self.syncs());
        moves.extend(self.pieces());
        let there = |n: &NodeId| self.node(*n).is_some_and(|node| node.view().number.0 > 0);
        for &node in live.iter().filter(|n| self.restarts > 0 && there(n)) {
            moves.push(Move::Restart(node.0, false));
            moves.extend(
                (!self.disks[usize::from(node.0)].is_synced()).then_some(Move::Restart(node.0, true)),
            );
        }
        if self.power_cuts > 0 {
            let unsure = |n: &&NodeId| !self.disks[usize::from(n.0)].is_synced();
            let unsure = live.iter().filter(unsure).fold(0, |set, n| set | 1 << n.0);
            moves.extend((0..1 << self.setup.nodes).filter(|set| set & !unsure == 0).map(Move::PowerCut));
        }
        if self.checkpoints > 0 {
            let none =
                |n: &&NodeId| self.node(**n).is_some_and(|node| node.checkpointing() == Checkpointing::None);
            moves.extend(live.iter().filter(none).map(|n| Move::Checkpoint(n.0)));
        }
        moves
    }

    /// Disks that a node waits for.
    fn syncs(&self) -> impl Iterator<Item = Move> {
        let kept = self.nodes.iter().zip(0..).filter_map(|(kept, i)| Some((kept.as_ref()?, i)));
        kept.filter(|(kept, _)| kept.node.awaits_disk()).map(|(_, i)| Move::Sync(i))
    }

    /// Checkpoints that can go on.
    fn pieces(&self) -> impl Iterator<Item = Move> {
        let goes_on =
            |kept: &Kept| matches!(kept.node.checkpointing(), Checkpointing::Walking | Checkpointing::Ready);
        let kept = self.nodes.iter().zip(0..).filter_map(|(kept, i)| Some((kept.as_ref()?, i)));
        kept.filter(move |(kept, _)| goes_on(kept)).map(|(_, i)| Move::Piece(i))
    }

    /// A node comes back with its disk.
    fn resume(&mut self, id: NodeId, kept: bool, view: &View) {
        let disk = Rc::make_mut(&mut self.disks[usize::from(id.0)]);
        disk.crash(if kept { disk.unsynced() } else { 0 });
        let recovered = disk.recover(id);
        self.installed[usize::from(id.0)] = recovered.view();
        let mut state = Node::resuming(self.rules, view, recovered);
        state.set_chunk(1);
        self.suspected = self.suspected.without(id);
        self.lose_clients(id.0);
        self.nodes[usize::from(id.0)] = Some(Kept { hash: hash_of(&state), node: Rc::new(state) });
        self.flights.retain(|flight| flight.to != id && flight.from != id);
    }

    /// What only those have installed that are lost or put out has never been.
    fn forget_installs(&mut self) {
        let has = |id: NodeId, view| self.is_member(id) && self.installed[usize::from(id.0)] >= view;
        let have = |view| (0..self.setup.nodes).any(|i| has(NodeId(i), view));
        let mut truth = self.truth.clone();
        truth.forget(self.settled.0, have);
        self.truth = truth;
    }

    /// Whoever was a client of a node's former life has lost it, and may never know.
    fn lose_clients(&mut self, node: u8) {
        for (client, plan) in self.clients.iter_mut().zip(&self.setup.clients) {
            if plan.node == node && client.txn.is_some() {
                client.turn = Turn::Done;
            }
        }
    }

    /// Whether all members have installed the newest view, and none is lost.
    fn is_settled(&self) -> bool {
        self.settled.0 == self.view.number && self.dead_members().count() == 0
    }

    /// Who can join: one at a time.
    fn joins(&self) -> impl Iterator<Item = Move> {
        let can = self.joins > 0 && self.is_settled();
        let outside = (0..self.setup.nodes).filter(move |&i| can && !self.view.members.has(NodeId(i)));
        outside.map(Move::Join)
    }

    /// Who has copied all, and can be a backup.
    fn promotions(&self) -> impl Iterator<Item = Move> {
        let learners = self.view.members.iter().filter(|&id| self.is_settled() && self.view.is_learner(id));
        let done = learners.filter(|&id| {
            self.node(id).is_some_and(|n| n.has_copied() && n.view().number == self.view.number)
        });
        done.map(|id| Move::Promote(id.0))
    }

    /// Whether one more may be lost: not more than f of those that had installed a view together, and no partition's
    /// last replica.
    fn survives(&self, node: NodeId) -> bool {
        let lost = self.settled.1.iter().chain(self.dead_members().iter()).collect::<NodeSet>().with(node);
        lost.count() <= self.setup.failures && self.view.without(self.dead_members().with(node)).is_some()
    }

    /// A line about a move that can be made.
    pub fn describe(&self, of: Move) -> String {
        match of {
            Move::Client(c) => {
                let op = match self.clients[c].turn {
                    Turn::Next(at) => self.setup.clients[c].ops.get(at).map(|op| format!("{op:?}")),
                    _ => None,
                };
                format!("client {c}: {}", op.unwrap_or_else(|| "commit".to_string()))
            }
            Move::Deliver(i) | Move::Hold(i) | Move::Repeat(i) => {
                let flight = &self.flights[i];
                let verb = match of {
                    Move::Hold(_) => "is late:",
                    Move::Repeat(_) => "will come twice:",
                    _ => "arrives:",
                };
                let Message { view, epoch, body } = &*flight.message;
                format!("{:?} to {:?} {verb} ({view:?}, {epoch:?}) {body:?}", flight.from, flight.to)
            }
            other => format!("{other:?}"),
        }
    }

    /// Lines about the state.
    pub fn show(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for kept in self.nodes.iter().flatten() {
            let node = &kept.node;
            let rows: Vec<_> = (0..self.setup.partitions).filter_map(|p| node.rows(PartitionId(p))).collect();
            lines.push(format!(
                "     {:?}: {:?} {:?} {:?} {rows:?}",
                node.id(),
                node.view().number,
                node.epoch(),
                node.stage()
            ));
        }
        lines.extend(
            self.records.iter().enumerate().map(|(i, record)| format!("     client {i}: {record:?}")),
        );
        lines
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
        // who was put out may install a view that the others have given up
        let named = self.view.members.has(id) && !self.suspected.has(id);
        if named && (node.stage() == Stage::Installed || (node.stage() == Stage::Open && view.0 > 1)) {
            let install = (view, node.installed());
            self.installed[usize::from(id.0)] = view;
            if !self.truth.installs.iter().any(|&(known, _)| known == view) {
                self.truth.installs.push(install);
            }
        }
        let opened = !matches!(node.stage(), Stage::Fenced | Stage::Installed);
        if opened && view == self.view.number && self.settled.0 < view {
            let dead = self.view.members.iter().filter(|&n| self.nodes[usize::from(n.0)].is_none());
            self.settled = (view, dead.collect());
            self.put_out(self.leaving);
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

    fn answer(&mut self, node: NodeId, answer: Answer<Numbers>) {
        let (view, epoch) = self.node(node).map(|n| (n.view().number, n.epoch())).unwrap_or_default();
        let txn = match &answer {
            Answer::Read(txn, ..) | Answer::Scan(txn, ..) => *txn,
            Answer::Checked(txn, _) | Answer::Confirmed(txn, _) => *txn,
            Answer::Decided(txn, ..) | Answer::Fetched(txn) => *txn,
            Answer::Committed(txn) | Answer::Aborted(txn, ..) => *txn,
        };
        let Some(client) = self.clients.iter().position(|progress| progress.txn == Some(txn)) else { return };
        let op = match self.clients[client].turn {
            Turn::Asked(at) => Some((at, self.setup.clients[client].ops[at])),
            _ => None,
        };
        let record = &mut Rc::make_mut(&mut self.records)[client];
        match answer {
            Answer::Read(_, key, value) => {
                let Some((at, op)) = op else { return };
                if !record.writes.contains_key(&key) {
                    record.reads.push((key, value));
                }
                let mine = Some(Value(100 * (client as u64 + 1) + at as u64));
                let write = match op {
                    Op::Add(_) => Some(mine),
                    Op::Insert(_) if value.is_none() => Some(mine),
                    Op::Delete(_) if value.is_some() => Some(None),
                    _ => None,
                };
                self.clients[client].turn = Turn::Next(at + 1);
                if let Some(value) = write {
                    record.writes.insert(key, value);
                    // the client's next call, made at once
                    self.with_node(txn.node, |node, _| shows(node.write(txn, key, value)));
                }
            }
            Answer::Scan(_, rows) => {
                let Some((at, (partition, range))) = op.and_then(|(at, op)| Some((at, op.scan()?))) else {
                    return;
                };
                let partition = (partition, self.setup.partitions);
                record.scans.push(Scanned { partition, range, rows });
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Fetched(_) => {
                let Some((at, Op::Fetch)) = op else { return };
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Checked(_, valid) => {
                let Some((at, Op::Check | Op::Confirm)) = op else { return };
                // a node that is cut off says what was so in its epoch, and that may be long ago
                let after = if self.view.members.has(node) { record.after } else { 0 };
                if valid {
                    self.note_check(client, (view, epoch), after, false);
                }
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Confirmed(_, epoch) => {
                let Some((at, Op::Confirm)) = op else { return };
                let after = record.after;
                self.note_check(client, (view, epoch), after, true);
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Answer::Decided(_, epoch, cts) => record.place = Some((view, epoch, cts)),
            Answer::Committed(_) => {
                record.answered = true;
                self.clients[client].turn = Turn::Done;
            }
            Answer::Aborted(..) => {
                record.aborted = true;
                self.clients[client].turn = Turn::Done;
            }
        }
    }

    /// What a client has read by now was so at some time of an epoch; it knows, if it was told so.
    fn note_check(&mut self, client: usize, (view, epoch): (ViewNumber, Epoch), after: u32, told: bool) {
        let records = Rc::make_mut(&mut self.records);
        let check = Record {
            after,
            place: Some((view, epoch, Time(0))),
            check: true,
            answered: told,
            isolated: false,
            writes: BTreeMap::new(),
            session: 0,
            ..records[client].clone()
        };
        // of nothing read there is nothing to say
        if !(check.reads.is_empty() && check.scans.is_empty()) {
            records.push(check);
        }
    }

    fn client_moves(&mut self, client: usize) {
        let Turn::Next(at) = self.clients[client].turn else { return };
        let setup = self.setup.clone();
        let plan = &setup.clients[client];
        let home = NodeId(plan.node);
        if self.clients[client].txn.is_none() {
            let answered = |&i: &usize| self.records[i].answered;
            let after = (0..self.records.len()).filter(answered).fold(0, |set, i| set | 1 << i);
            let earlier = |&i: &usize| {
                let other = &setup.clients[i];
                let called = matches!(self.clients[i].turn, Turn::Committing | Turn::Done);
                i != client && (other.node, other.session) == (plan.node, plan.session) && called
            };
            let session = (0..self.clients.len()).filter(earlier).fold(0, |set, i| set | 1 << i);
            let record = &mut Rc::make_mut(&mut self.records)[client];
            (record.after, record.session) = (after, session);
            record.isolated = plan.kind == Kind::SnapshotIsolation;
            let mut begun = None;
            self.with_node(home, |node, _| {
                begun = node.begin(SessionId(plan.session), plan.kind).ok().map(|txn| (txn, node.epoch()));
            });
            let Some((txn, epoch)) = begun else { return };
            (self.clients[client].txn, self.clients[client].epoch) = (Some(txn), epoch);
        }
        let Some(txn) = self.clients[client].txn else { return };
        let Some(&op) = plan.ops.get(at) else {
            self.clients[client].turn = Turn::Committing;
            return self.with_node(home, |node, out| shows(node.commit(txn, out)));
        };
        self.clients[client].turn = Turn::Asked(at);
        match op {
            Op::Read(key) | Op::Add(key) | Op::Insert(key) | Op::Delete(key) => {
                self.with_node(home, |node, out| shows(node.read(txn, Key(key), out)));
            }
            Op::Put(key) => {
                let value = Some(Value(100 * (client as u64 + 1) + at as u64));
                Rc::make_mut(&mut self.records)[client].writes.insert(Key(key), value);
                self.with_node(home, |node, _| shows(node.write(txn, Key(key), value)));
                self.clients[client].turn = Turn::Next(at + 1);
            }
            Op::Scan(..) | Op::Next(..) | Op::Last(..) => {
                let Some((partition, range)) = op.scan() else { return };
                self.with_node(home, |node, out| {
                    shows(node.scan(txn, PartitionId(partition), range, out));
                });
            }
            Op::Fetch => {
                let mut wanted = Wanted::default();
                for op in &plan.ops[at..] {
                    if let Op::Read(key) | Op::Add(key) | Op::Insert(key) | Op::Delete(key) = *op {
                        wanted.keys.push(Key(key));
                    }
                    wanted.ranges.extend(op.scan().map(|(partition, range)| (PartitionId(partition), range)));
                }
                self.with_node(home, |node, out| shows(node.fetch(txn, wanted, out)));
            }
            Op::Check => self.with_node(home, |node, out| shows(node.check(txn, out))),
            Op::Confirm => self.with_node(home, |node, out| shows(node.confirm(txn, out))),
            Op::Rollback => self.with_node(home, |node, out| shows(node.rollback(txn, out))),
            Op::Pause | Op::NextEpoch => self.clients[client].turn = Turn::Next(at + 1),
        }
    }

    /// Makes a move.
    ///
    /// # Errors
    /// It has broken something.
    pub fn make(&mut self, of: Move) -> Result<(), (Property, String)> {
        let answered = self.commits();
        let installs = self.truth.installs.len();
        match of {
            // an operation that is answered at once is followed by the next
            Move::Client(client) => loop {
                self.client_moves(client);
                if !self.client_can_move(client, false) {
                    break;
                }
            },
            Move::Deliver(i) => {
                let flight = self.flights.remove(i);
                let message = (*flight.message).clone();
                self.with_node(flight.to, |node, out| node.receive(flight.from, message, out));
            }
            Move::Hold(i) => {
                let flight = self.flights.remove(i);
                self.flights.push(Flight { held: true, ..flight });
            }
            Move::Repeat(i) => {
                self.repeats -= 1;
                let flight = self.flights[i].clone();
                self.flights.push(Flight { held: true, ..flight });
            }
            Move::Tick => {
                if self.usual() != Some(of) {
                    self.ticks = self.ticks.saturating_sub(1);
                }
                self.with_node(self.view.leader, |node, out| node.tick(out));
            }
            Move::Crash(node) => {
                self.crashes -= 1;
                self.nodes[usize::from(node)] = None;
                self.settled.1 = self.settled.1.with(NodeId(node));
                self.flights.retain(|flight| flight.to != NodeId(node));
            }
            Move::Cut(node) => {
                self.cuts -= 1;
                self.suspected = self.suspected.with(NodeId(node));
                self.settled.1 = self.settled.1.with(NodeId(node));
                self.remove_dead();
            }
            Move::NewView => self.remove_dead(),
            Move::Join(node) => {
                self.joins -= 1;
                let id = NodeId(node);
                let view = self.view.joining(id);
                let mut state = Node::joining(self.rules, id, &view);
                state.set_chunk(1);
                self.suspected = self.suspected.without(id);
                self.lose_clients(node);
                let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
                disk.forget();
                let mut out = Out::default();
                state.begin_log(&mut out);
                disk.append(out.journal.into_iter());
                self.nodes[usize::from(node)] = Some(Kept { hash: hash_of(&state), node: Rc::new(state) });
                self.new_view(view);
            }
            Move::Sync(node) => {
                let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
                disk.sync();
                let written = disk.written();
                self.with_node(NodeId(node), |node, out| node.persisted(written, out));
            }
            Move::Restart(node, kept) => {
                self.restarts -= 1;
                let view = self.view.resumed();
                self.resume(NodeId(node), kept, &view);
                self.forget_installs();
                self.new_view(view);
            }
            Move::PowerCut(kept) => {
                self.power_cuts -= 1;
                let view = self.view.resumed();
                for id in (0..self.setup.nodes).map(NodeId) {
                    if self.is_member(id) {
                        self.resume(id, kept & (1 << id.0) != 0, &view);
                    } else {
                        self.nodes[usize::from(id.0)] = None;
                    }
                }
                self.flights.clear();
                self.forget_installs();
                self.new_view(view);
            }
            Move::Checkpoint(node) => {
                self.checkpoints -= 1;
                self.with_node(NodeId(node), |node, out| node.begin_checkpoint(out));
            }
            Move::Piece(node) => {
                let mut piece = None;
                let mut ready = false;
                self.with_node(NodeId(node), |node, _| {
                    ready = node.checkpointing() == Checkpointing::Ready;
                    piece = node.checkpoint_piece();
                    if ready {
                        node.end_checkpoint();
                    }
                });
                let disk = Rc::make_mut(&mut self.disks[usize::from(node)]);
                match piece {
                    Some(piece) => disk.add(piece),
                    None if ready => disk.finish(),
                    None => {}
                }
            }
            Move::Promote(node) => self.new_view(self.view.promoted(NodeId(node))),
            Move::Learn(partition, node) => self.learn(partition, NodeId(node)),
            Move::Drop(partition, node) => self.drop_replica(partition, NodeId(node)),
            Move::Remove(node) => self.remove(NodeId(node)),
            Move::HandOver(partition) => {
                self.hand_overs -= 1;
                let place = self.view.placement(PartitionId(partition));
                let backup = place.and_then(|place| place.backups.iter().last());
                let view = backup.and_then(|node| self.view.handed_over(PartitionId(partition), node));
                if let Some(view) = view {
                    self.new_view(view);
                }
            }
        }
        for kept in self.nodes.iter().flatten() {
            let (view, stage) = (kept.node.view().number, kept.node.stage());
            let other = self.truth.installs.iter().find(|&&(known, _)| known == view);
            if let Some(&(_, last)) = other
                && stage == Stage::Installed
                && kept.node.installed() != last
            {
                return Err((Property::Split, format!("{view:?} goes back to {last:?} and to another")));
            }
        }
        if self.commits() != answered || self.truth.installs.len() != installs {
            let until = self.records.iter().filter(|record| record.answered);
            let until = until.filter_map(|record| record.place).map(|place| place.1).max();
            check(&self.records, &self.truth, &self.start(), until.unwrap_or_default())?;
        }
        Ok(())
    }

    fn new_view(&mut self, view: View) {
        self.view = Arc::new(view);
        let view = self.view.clone();
        self.with_node(view.leader, |node, out| node.lead(view.clone(), out));
    }

    fn start(&self) -> Rows {
        self.setup.rows.iter().map(|&key| (Key(key), Value(key))).collect()
    }

    /// Checks a state in which nothing happens any more.
    ///
    /// # Errors
    /// Something is broken.
    pub fn check_end(&self) -> Result<(), (Property, String)> {
        for (client, progress) in self.clients.iter().enumerate() {
            let waits_forever = match progress.turn {
                Turn::Done => false,
                Turn::Next(_) => progress.txn.is_some(),
                _ => true,
            };
            if waits_forever && self.is_member(NodeId(self.setup.clients[client].node)) {
                return Err((Property::Stuck, format!("client {client} waits for ever")));
            }
        }
        if let Some(learner) = self.view.members.iter().find(|&id| self.view.is_learner(id)) {
            return Err((Property::Stuck, format!("{learner:?} learns for ever")));
        }
        let rows = check(&self.records, &self.truth, &self.start(), Epoch(u64::MAX))?;
        for node in self.view.members.iter().filter_map(|id| self.node(id)) {
            if node.has_locks() {
                return Err((Property::Diverged, format!("{:?} has locks", node.id())));
            }
            for partition in (0..self.setup.partitions).map(PartitionId) {
                let Some(found) = node.rows(partition) else { continue };
                let expected = rows.iter().map(|(&key, &value)| (key, value));
                let expected: Vec<_> =
                    expected.filter(|&(key, _)| self.view.partition::<Numbers>(&key) == partition).collect();
                if found != expected {
                    let what = format!("{:?} has {found:?} in {partition:?}, not {expected:?}", node.id());
                    return Err((Property::Diverged, what));
                }
            }
        }
        for partition in (0..self.setup.partitions).map(PartitionId) {
            let members = self.view.members.iter().filter_map(|id| self.node(id));
            let mut gaps = members.filter_map(|node| node.gaps(partition));
            let first = gaps.next();
            if gaps.any(|other| first.as_ref() != Some(&other)) {
                return Err((Property::Diverged, format!("gaps of {partition:?} differ")));
            }
        }
        for node in self.nodes.iter().flatten().map(|kept| &kept.node) {
            for place in self.records.iter().filter_map(|record| record.place) {
                let outcome = node.outcome(place.1);
                let undone = self.truth.undone(place);
                if (outcome == Outcome::Committed && undone) || (outcome == Outcome::Undone && !undone) {
                    let what = format!("{:?} takes {:?} for {outcome:?}", node.id(), place.1);
                    return Err((Property::Reused, what));
                }
            }
        }
        check_epochs(&self.records)
    }
}
