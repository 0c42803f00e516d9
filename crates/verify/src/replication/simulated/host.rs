//! A host: a node, its links, its own clock, and whom it takes for dead.

use super::super::data::Numbers;
use super::cluster::{Cluster, Event, Packet};
use super::metadata::{Entry, Request};
use super::plan::Plan;
use super::queue::Micros;
use scaledb_scar::link::{Incarnation, Limits, Link};
use scaledb_scar::{Message, Node, NodeId, NodeSet, Stage, Switched, ViewNumber};

/// Ticks from one look at the others to the next.
const LOOK: u64 = 4;

const LIMITS: Limits = Limits { messages: 1 << 14, bytes: usize::MAX, patience: Some(2) };

pub(super) struct Host {
    /// None: it is gone.
    pub node: Option<Node<Switched, Numbers>>,
    pub life: Incarnation,
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
    /// The last view that it has installed.
    pub installed: ViewNumber,
    /// The record of each transaction, by its number.
    pub records: Vec<u32>,
}

impl Host {
    pub(super) fn new(node: Node<Switched, Numbers>, plan: &Plan, rate: u64, known: Entry) -> Self {
        let life = Incarnation(1);
        let links = (0..plan.nodes).map(|_| Link::new(life, None, LIMITS)).collect();
        Self {
            installed: node.view().number,
            node: Some(node),
            life,
            links,
            heard: vec![0; usize::from(plan.nodes)],
            failed: NodeSet::default(),
            rate,
            paused_until: 0,
            known,
            ticks: 0,
            records: Vec::new(),
        }
    }

    /// What its clock makes of a time.
    pub(super) fn by_own_clock(&self, time: Micros) -> Micros {
        (time * 100 / self.rate).max(1)
    }
}

impl Cluster {
    /// Sends a message over the link to a host.
    pub(super) fn post(&mut self, from: usize, to: NodeId, message: Message<Numbers>) {
        let to = usize::from(to.0);
        let host = &mut self.hosts[from];
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
        let host = &mut self.hosts[to];
        if host.node.is_none() {
            return;
        }
        let frame = match packet {
            Packet::Beat(life) => {
                let peer = host.links[from].peer();
                if peer.is_none_or(|peer| peer == life) {
                    host.heard[from] = now;
                } else if peer.is_some_and(|peer| peer < life) {
                    host.failed = host.failed.with(NodeId(from as u8));
                }
                return;
            }
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
        if host.ticks.is_multiple_of(LOOK) {
            let life = host.life;
            for &peer in &peers {
                self.transmit(at, peer, Packet::Beat(life));
            }
            self.ask(at, Request::Renew);
            self.look(at);
        }
    }

    /// Takes for dead who is silent, and asks for a view without.
    fn look(&mut self, at: usize) {
        let now = self.queue.now();
        let host = &self.hosts[at];
        let Some(node) = &host.node else { return };
        let (id, view) = (node.id(), &host.known.view);
        let opened = !matches!(node.stage(), Stage::Fenced | Stage::Installed);
        if opened && node.view().number == view.number && host.known.base.number != view.number {
            let number = view.number;
            self.ask(at, Request::Installed(number));
            return;
        }
        let patience = host.by_own_clock(self.plan.silence);
        let silent = |peer: NodeId| now - host.heard[usize::from(peer.0)] > patience;
        let others = view.members.iter().filter(|&peer| peer != id);
        let suspects: NodeSet = others
            .filter(|&peer| silent(peer) || host.failed.has(peer) || host.known.silent.has(peer))
            .collect();
        if suspects.count() == 0 {
            return;
        }
        // all of them, or one that may go
        let alone = suspects.iter().find_map(|one| host.known.without(NodeSet::default().with(one)));
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
        let host = &mut self.hosts[at];
        let Some(node) = &host.node else { return };
        let newness = |entry: &Entry| (entry.view.number, entry.base.number);
        if newness(&entry) < newness(&host.known) {
            return;
        }
        let (id, number) = (node.id(), node.view().number);
        host.known = entry.clone();
        if !entry.view.members.has(id) {
            // the others go on without it
            self.lose(at);
        } else if entry.view.leader == id && entry.view.number > number {
            self.call(at, |node, out| node.lead(entry.view, out));
        }
    }
}
