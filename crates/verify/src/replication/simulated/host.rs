//! A host: a node, its links, its own clock, and whom it takes for dead.

use super::super::data::{Key, Numbers};
use super::super::disk::Disk;
use super::cluster::{Cluster, Event, Packet};
use super::metadata::{Entry, Request};
use super::plan::{BEAT, Plan};
use super::queue::Micros;
use rand::Rng;
use scaledb_scar::link::{Incarnation, Limits, Link};
use scaledb_scar::{
    Body, Checkpointing, Entry as Line, Epoch, Message, Node, NodeId, NodeSet, PartitionId, Rule, Rules,
    Stage, Switched, Time, TxnId, ViewNumber,
};

/// The place of an announcement: all are handed out in the order of these.
pub(super) type Handed = (Epoch, Time, Key);

const LIMITS: Limits = Limits { messages: 1 << 14, bytes: usize::MAX, patience: Some(2) };

pub(super) struct Host {
    /// None: it is gone, or has not joined.
    pub node: Option<Node<Switched, Numbers>>,
    /// It runs, with a node or not.
    pub up: bool,
    /// What it had sent before it was lost does not arrive.
    pub muted: bool,
    pub life: Incarnation,
    pub disk: Disk,
    /// Lives whose disk this is: what they have said to be on disk is.
    pub claims: Vec<Incarnation>,
    /// It has nothing, and joins.
    pub fresh: bool,
    /// A sync is on its way.
    syncing: bool,
    /// To each host, itself too.
    pub links: Vec<Link<Message<Numbers>>>,
    /// When each was heard.
    heard: Vec<Micros>,
    /// Whose link has failed.
    pub failed: NodeSet,
    /// Its clock, in percent of the true one.
    pub rate: u64,
    pub paused_until: Micros,
    /// What it has last heard of the metadata store.
    pub known: Entry,
    ticks: u64,
    /// What its node has handed out of what transactions have announced, and what those of earlier lives have.
    pub announced: Vec<Handed>,
    pub announced_before: Vec<Vec<Handed>>,
    /// How full it was when its last epoch ended.
    pub fullness: Fullness,
    /// Messages of a view of which it does not know yet which lives it means.
    held: Vec<(NodeId, Message<Numbers>)>,
    /// The record of each transaction, by its number, from the first of this life.
    records: Vec<u32>,
    first: u64,
}

/// For how many epochs of a view a node has been without memory, and how many records it had at the last one's end:
/// tombstones count, as who deletes a row and inserts it again adds none.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fullness {
    at: (ViewNumber, Epoch),
    epochs: u32,
    records: usize,
}

/// When a node has been without memory for so many epochs, all know of it. Usually two are enough: a primary misses
/// what the leader says of an epoch, if it goes on to the next one by the message of another node.
const KNOWN: u32 = 6;

impl Fullness {
    /// Notes how full a node is when an epoch has ended. Whether records have come that nobody should have added.
    pub(super) fn note(&mut self, node: &Node<Switched, Numbers>) -> bool {
        let at = (node.view().number, node.epoch());
        if at == self.at {
            return false;
        }
        let next = at == (self.at.0, self.at.1.next()) && !node.view().is_learner(node.id());
        let partitions = (0..node.view().partitions.len()).map(|partition| PartitionId(partition as u16));
        let sizes = partitions.filter_map(|partition| node.size(partition));
        let records = sizes.map(|size| size.records).sum();
        // at the end of a run all have memory again
        let broken = next && node.is_full() && self.epochs >= KNOWN && records > self.records;
        let epochs = if next && node.is_full() { self.epochs + 1 } else { 0 };
        *self = Self { at, epochs, records };
        broken
    }
}

impl Host {
    pub(super) fn new(
        node: Node<Switched, Numbers>,
        disk: Disk,
        plan: &Plan,
        rate: u64,
        known: Entry,
    ) -> Self {
        let life = Incarnation(1);
        let links = (0..plan.nodes).map(|_| Link::new(life, Some(life), LIMITS)).collect();
        Self {
            announced: Vec::new(),
            announced_before: Vec::new(),
            fullness: Fullness::default(),
            node: Some(node),
            up: true,
            muted: false,
            life,
            disk,
            claims: vec![life],
            fresh: false,
            syncing: false,
            links,
            heard: vec![0; usize::from(plan.nodes)],
            failed: NodeSet::default(),
            rate,
            paused_until: 0,
            known,
            ticks: 0,
            held: Vec::new(),
            records: Vec::new(),
            first: 1,
        }
    }

    /// It runs again, and has forgotten all but what is on disk.
    pub(super) fn returns(&mut self, known: Entry) {
        (self.up, self.muted) = (true, false);
        self.life = Incarnation(self.life.0 + 1);
        (self.fresh, self.syncing) = (self.claims.is_empty(), false);
        self.claims.push(self.life);
        let links = known.lives.iter().map(|&life| Link::new(self.life, Some(life), LIMITS));
        self.links = links.collect();
        self.failed = NodeSet::default();
        self.known = known;
        self.held = Vec::new();
        self.announced_before.push(std::mem::take(&mut self.announced));
        (self.records, self.first) = (Vec::new(), 0);
    }

    /// A transaction begins.
    pub(super) fn note_transaction(&mut self, txn: TxnId, record: u32) {
        if self.first == 0 {
            self.first = txn.number;
        }
        let index = txn.number.saturating_sub(self.first) as usize;
        self.records.resize(index + 1, u32::MAX);
        self.records[index] = record;
    }

    /// The record of a transaction of this life; one that is not there, if there is none.
    pub(super) fn record_of(&self, txn: TxnId) -> usize {
        let index = txn.number.checked_sub(self.first).unwrap_or(u64::MAX);
        self.records.get(index as usize).map_or(usize::MAX, |&record| record as usize)
    }

    /// What its clock makes of a time.
    pub(super) fn by_own_clock(&self, time: Micros) -> Micros {
        (time * 100 / self.rate).max(1)
    }
}

impl Cluster {
    /// Sends a message over the link to a host.
    pub(super) fn post(&mut self, from: usize, to: NodeId, message: Message<Numbers>) {
        if self.ambush.is_some() && matches!(message.body, Body::Whole(..)) {
            self.ambush(from);
        }
        let host = &mut self.hosts[from];
        if message.view > host.known.view.number {
            host.held.push((to, message));
            return self.ask(from, Request::Renew);
        }
        let to = usize::from(to.0);
        let Some(link) = host.links.get_mut(to) else { return };
        if link.send(message, 1, &mut self.frames).is_err() {
            host.failed = host.failed.with(NodeId(to as u8));
        }
        self.transmit_frames(from, to);
    }

    fn transmit_frames(&mut self, from: usize, to: usize) {
        let mut frames = std::mem::take(&mut self.frames);
        for frame in frames.drain(..) {
            self.transmit(from, to, Packet::Frame(frame));
        }
        self.frames = frames;
    }

    fn transmit(&mut self, from: usize, to: usize, packet: Packet) {
        let [first, again] = self.network.carry(&mut self.random, from, to);
        let (from, to) = (from as u8, to as u8);
        if let Some(delay) = again {
            self.queue.after(delay, Event::Packet { from, to, packet: packet.clone() });
        }
        if let Some(delay) = first {
            self.queue.after(delay, Event::Packet { from, to, packet });
        }
    }

    pub(super) fn packet(&mut self, from: usize, to: usize, packet: Packet) {
        let now = self.queue.now();
        if self.hosts[from].muted {
            return;
        }
        let host = &mut self.hosts[to];
        let frame = match packet {
            Packet::Beat(life) => {
                let known = host.known.lives[from];
                if known == life {
                    host.heard[from] = now;
                } else if known < life {
                    host.failed = host.failed.with(NodeId(from as u8));
                }
                return;
            }
            // what would come is not lost: it is not acknowledged
            Packet::Frame(_) if host.node.is_none() => return,
            Packet::Frame(frame) => frame,
        };
        let taken = host.links[from].receive(frame, &mut self.frames);
        match taken {
            Ok(_) => host.heard[from] = now,
            Err(_) => host.failed = host.failed.with(NodeId(from as u8)),
        }
        self.transmit_frames(to, from);
        if let Ok(Some(message)) = taken {
            self.call(to, |node, out| node.receive(NodeId(from as u8), message, out));
        }
    }

    /// A host's own tick: links, heartbeats, the metadata store, who is silent.
    pub(super) fn host_tick(&mut self, at: usize) {
        let peers: Vec<usize> = (0..self.hosts.len()).filter(|&peer| peer != at).collect();
        for &peer in &peers {
            self.hosts[at].links[peer].tick(&mut self.frames);
            self.transmit_frames(at, peer);
        }
        let host = &mut self.hosts[at];
        host.ticks += 1;
        if self.plan.durable {
            self.go_on_with_checkpoint(at);
        }
        let host = &self.hosts[at];
        if host.ticks.is_multiple_of(BEAT) {
            let life = host.life;
            for &peer in &peers {
                self.transmit(at, peer, Packet::Beat(life));
            }
            if self.hosts[at].node.is_some() {
                self.ask(at, Request::Renew);
                self.look(at);
            } else {
                self.join_or_resume(at);
            }
        }
    }

    /// A host without a node asks to be a member: in the place of its former life, if that is one and the disk is
    /// there.
    fn join_or_resume(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        let (id, life, known) = (NodeId(at as u8), host.life, &host.known);
        if self.plan.durable && !host.fresh && host.claims.contains(&known.lives[at]) {
            if known.view.members.has(id) {
                let former = host.claims.clone();
                return self.ask(at, Request::Resume { former, life });
            }
            // it was taken out, and what it has may be needed again
            if known.leaving.has(id) {
                return self.ask(at, Request::Renew);
            }
        }
        if !host.fresh {
            // what it has is not what the others have agreed on since
            host.disk.forget();
            (host.claims, host.fresh) = (vec![life], true);
        }
        self.ask(at, Request::Join(life));
    }

    /// A node has written something down.
    pub(super) fn write_down(&mut self, at: usize, entries: impl Iterator<Item = Line<Numbers>>) {
        let host = &mut self.hosts[at];
        host.disk.append(entries);
        let awaits = host.node.as_ref().is_some_and(Node::awaits_disk);
        if awaits && !host.syncing {
            host.syncing = true;
            let (life, written) = (host.life, host.disk.written());
            let delay = self.random.random_range(1..=self.plan.sync);
            self.queue.after(delay, Event::Synced { host: at as u8, life, written });
        }
    }

    pub(super) fn synced(&mut self, at: usize, life: Incarnation, written: u64) {
        let host = &mut self.hosts[at];
        if host.life == life && host.node.is_some() {
            host.syncing = false;
            host.disk.synced_to(written);
            self.call(at, |node, out| node.persisted(written, out));
        }
    }

    /// Begins a checkpoint now and then, and goes on with one.
    fn go_on_with_checkpoint(&mut self, at: usize) {
        let begins = self.random.random_range(0..8) == 0;
        let pieces = self.random.random_range(1..4);
        let Some(state) = self.call(at, |node, _| node.checkpointing()) else { return };
        match state {
            Checkpointing::None if begins => drop(self.call(at, |node, out| node.begin_checkpoint(out))),
            Checkpointing::Walking => {
                for _ in 0..pieces {
                    if let Some(Some(piece)) = self.call(at, |node, _| node.checkpoint_piece()) {
                        self.hosts[at].disk.add(piece);
                    }
                }
            }
            Checkpointing::Ready => {
                self.report.checkpoints += 1;
                self.hosts[at].disk.finish();
                self.call(at, |node, _| node.end_checkpoint());
            }
            Checkpointing::None | Checkpointing::Waiting => {}
        }
    }

    /// Takes for dead who is silent, and asks for a view without.
    fn look(&mut self, at: usize) {
        let now = self.queue.now();
        let host = &self.hosts[at];
        let Some(node) = &host.node else { return };
        let (id, view) = (node.id(), &host.known.view);
        if host.known.waits(id, host.life) {
            return self.wake(at);
        }
        let opened = !matches!(node.stage(), Stage::Fenced | Stage::Installed);
        if (opened || node.wants_note()) && node.view().number == view.number {
            let number = view.number;
            if !host.known.is_settled() && (view.leader == id || self.rules.on(Rule::NoteOpened)) {
                return self.ask(at, Request::Installed(number));
            }
            if node.has_copied() {
                let promoted = view.promoted(id);
                return self.ask(at, Request::Change(promoted.into()));
            }
        }
        let patience = host.by_own_clock(self.plan.silence);
        let silent = |peer: NodeId| now - host.heard[usize::from(peer.0)] > patience;
        let others = view.members.iter().filter(|&peer| peer != id);
        let suspects: NodeSet = others
            .filter(|&peer| silent(peer) || host.failed.has(peer) || host.known.silent.has(peer))
            // who has lost what was on its disk is as good as lost
            .chain(node.incomplete().iter())
            .collect();
        if suspects.count() == 0 {
            return;
        }
        // all of them, or one that may go
        // one that is lost may come back with its disk, and then it must not be the one that was put out
        let alone = suspects
            .iter()
            .filter(|_| !self.plan.durable)
            .find_map(|one| host.known.without(NodeSet::default().with(one)));
        if let Some(view) = host.known.without(suspects).or(alone) {
            self.ask(at, Request::Change(view.into()));
        }
    }

    /// It was not running: nobody was heard, and nobody is to blame.
    pub(super) fn wake(&mut self, at: usize) {
        let now = self.queue.now();
        self.hosts[at].heard.fill(now);
    }

    /// The metadata store has answered, or says that the view has changed.
    pub(super) fn told(&mut self, at: usize, entry: Entry) {
        let (id, now) = (NodeId(at as u8), self.queue.now());
        let host = &mut self.hosts[at];
        let newness = |entry: &Entry| (entry.view.number, entry.base.number);
        if !host.up || newness(&entry) < newness(&host.known) {
            return;
        }
        for (peer, &life) in entry.lives.iter().enumerate() {
            if host.known.lives[peer] < life {
                // another life: nothing is left of what was said to the one before
                host.links[peer] = Link::new(host.life, Some(life), LIMITS);
                host.failed = host.failed.without(NodeId(peer as u8));
                host.heard[peer] = now;
            }
        }
        host.known = entry.clone();
        let named = entry.names(id, host.life);
        match &host.node {
            None if named => {
                let resumes = self.plan.durable && !host.fresh;
                let mut node = if resumes {
                    Node::resuming(self.rules, &entry.view, host.disk.recover(id))
                } else {
                    Node::joining(self.rules, id, &entry.view)
                };
                node.set_chunk(self.plan.chunk);
                node.limit_memory(if self.draining { usize::MAX } else { self.plan.memory_of(id.0) });
                host.node = Some(node);
                host.heard.fill(now);
                *if resumes { &mut self.report.resumed } else { &mut self.report.joins } += 1;
                self.call(at, |node, out| node.begin_log(out));
            }
            None => return,
            // as it was, until all others have installed a view without it; they do not speak to it
            Some(_) if entry.waits(id, host.life) && entry.readmits => return self.wake(at),
            // the others go on without it
            Some(_) if !named => return self.lose(at),
            Some(_) => {}
        }
        for (to, message) in std::mem::take(&mut self.hosts[at].held) {
            self.post(at, to, message);
        }
        let number = self.hosts[at].node.as_ref().map(|node| node.view().number);
        if entry.view.leader == id && number.is_some_and(|number| entry.view.number > number) {
            self.call(at, |node, out| {
                if entry.leaving.count() > 0 {
                    node.begin_when_noted(entry.view.number);
                }
                node.lead(entry.view, out);
            });
        } else if entry.is_settled() {
            self.call(at, |node, out| node.noted(entry.view.number, out));
        }
    }
}
