//! What the threads and the sessions of a member share: the protocol's state behind a lock, and what is known of views.
//!
//! ```text
//!   sessions ── call ──┐                           ┌─► packets to other members (Network)
//!   network ─ deliver ─┼─► lock { Node } ─► Out ───┼─► answers: into the mailboxes of their sessions
//!   beat, watch ───────┘                           └─► the last epoch whose results may leave
//! ```
//!
//! Whoever calls does the work: an answer that needs no other member is there when the call returns.

use super::asking::Asking;
use super::backup::BackupState;
use super::durable::Journal;
use super::locks::LockService;
use super::mailboxes::Mailboxes;
use super::membership::Halt;
use super::network::{Network, Packet};
use super::numbers::Counters;
use super::rows::Rows;
use super::settings::Settings;
use super::store::{ClusterView, MetadataStore, NodeReport, StoreError};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Announced, Body, Epoch, Message, Node, NodeId, NodeSet, Ours, Out, Stage, ViewNumber};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

/// Hears what transactions announce that have committed, at whichever member. It is called under the lock of the
/// protocol: it may neither wait nor call the member.
pub trait Ear: Send + Sync {
    /// In the order of commits, each once: when the epoch has committed, and before whoever waits for that is woken.
    fn hear(&self, announced: &Announced<Rows>);

    /// Whether it has no room for more.
    fn is_full(&self) -> bool;
}

/// What the member's threads and sessions share.
pub(crate) struct Core {
    pub(crate) me: NodeId,
    pub(crate) life: Incarnation,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn MetadataStore>,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) counters: Counters,
    /// What it keeps on disk.
    pub(crate) journal: Option<Arc<Journal>>,
    /// It has come back with its disk.
    pub(crate) resumed: bool,
    /// A view has begun since it started.
    pub(crate) begun: AtomicBool,
    /// Why it cannot go on.
    pub(crate) failure: Mutex<Option<String>>,
    pub(crate) state: Mutex<Protocol>,
    /// The last epoch whose results may leave has grown, or the member has left.
    pub(crate) epochs: Condvar,
    /// There is something to commit, or to do with views.
    pub(crate) wake_beat: Condvar,
    pub(crate) wake_watch: Condvar,
    pub(crate) wake_alive: Condvar,
    pub(crate) views: Mutex<Views>,
    pub(crate) asking: Asking,
    pub(crate) locks: Arc<LockService>,
    /// Hears what transactions announce.
    pub(crate) ear: OnceLock<Box<dyn Ear>>,
    pub(crate) stop: AtomicBool,
    /// An operator wants it to be no member.
    pub(crate) removed: AtomicBool,
}

/// What the lock of the protocol guards.
pub(crate) struct Protocol {
    pub(crate) node: Node<Ours, Rows>,
    pub(crate) out: Out<Rows>,
    pub(crate) mailboxes: Mailboxes,
    /// The last epoch whose results have left: who waits for it has been woken.
    answered: Epoch,
    /// When the epoch in which commits may begin began.
    pub(crate) epoch_began: Instant,
    /// There is something to commit in this epoch; the leader has been told.
    pub(crate) busy: bool,
    view: ViewNumber,
    /// The view that the locks of SQL are of.
    locks_in: ViewNumber,
    stage: Stage,
    pub(crate) left: bool,
}

/// What is known of the views, and of who is alive. Never locked before [`Core::state`] by the same thread.
pub(crate) struct Views {
    /// The newest view that this member knows of; its node may not have installed it yet.
    pub(crate) newest: ClusterView,
    /// The newest view whose members the network speaks with.
    pub(crate) followed: ViewNumber,
    /// The beginning of a view that the network does not follow yet: at most one, of the newest such view.
    pub(crate) early: Option<(NodeId, Message<Rows>)>,
    pub(crate) heard: BTreeMap<NodeId, Instant>,
    /// When the thread that keeps time last had its turn.
    pub(crate) turn: Instant,
    /// Of whom nothing was heard yet, since the view names this life of it: it may still be starting.
    pub(crate) unheard: NodeSet,
    /// Who was put out by this member, and why; what nobody has asked for yet.
    pub(crate) put_out: Vec<String>,
    /// Those that the network has given up.
    pub(crate) failed: BTreeMap<NodeId, Incarnation>,
    /// The store should be asked at once.
    pub(crate) ask: bool,
    /// Why there is no next view, though members are silent.
    pub(crate) halt: Option<Halt>,
    /// How far this member is with the last backup that it was asked for.
    pub(crate) backup: Option<BackupState>,
}

impl Protocol {
    pub(crate) fn new(node: Node<Ours, Rows>) -> Self {
        Self {
            out: Out::default(),
            mailboxes: Mailboxes::default(),
            answered: node.committed(),
            epoch_began: Instant::now(),
            busy: false,
            view: node.view().number,
            locks_in: ViewNumber(0),
            stage: node.stage(),
            left: false,
            node,
        }
    }
}

impl Core {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Protocol> {
        self.state.lock()
    }

    /// Runs `f`, and does what it has put out.
    pub(crate) fn run<T>(
        &self,
        state: &mut Protocol,
        f: impl FnOnce(&mut Node<Ours, Rows>, &mut Out<Rows>) -> T,
    ) -> T {
        let epoch = state.node.epoch();
        let result = f(&mut state.node, &mut state.out);
        // before anybody begins a transaction in it
        if state.node.view().number != state.locks_in {
            state.locks_in = state.node.view().number;
            self.locks.begin_view(state.node.view());
        }
        self.write_down(state);
        // first: what is decided or checked now belongs to the epoch that has begun
        if state.node.epoch() != epoch {
            self.epoch_changed(state, epoch);
        }
        // before the answers: whoever is told of an epoch finds what was announced in it
        if !state.out.announced.is_empty() {
            self.hand_out(state);
        }
        self.answers(state);
        for (to, message) in state.out.messages.drain(..) {
            self.counters.sent.fetch_add(1, Ordering::Relaxed); // a statistic
            self.network.send(to, Packet::Message(message));
        }
        self.release(state);
        result
    }

    /// Hands out what transactions have announced.
    #[cold]
    fn hand_out(&self, state: &mut Protocol) {
        let announced = state.out.announced.drain(..);
        if let Some(ear) = self.ear.get() {
            announced.for_each(|announced| ear.hear(&announced));
            state.node.set_deaf(ear.is_full());
        }
    }

    /// Writes what the node wants to be on disk.
    fn write_down(&self, state: &mut Protocol) {
        let Some(journal) = &self.journal else { return state.out.journal.clear() };
        if !state.out.journal.is_empty()
            && let Err(error) = journal.append(state.out.journal.drain(..))
        {
            self.end_for(state, &error.to_string());
        }
        if state.node.awaits_disk() {
            journal.ask(state.node.written());
        }
    }

    /// The member cannot go on: it ends, and the others go on without it.
    pub(crate) fn fail(&self, why: &str) {
        self.end_for(&mut self.lock(), why);
    }

    fn end_for(&self, state: &mut Protocol, why: &str) {
        self.failure.lock().get_or_insert_with(|| why.to_owned());
        state.left = true;
        state.mailboxes.wake_all();
        self.locks.leave();
        self.epochs.notify_all();
        // it says no more that it is there
        self.stop.store(true, Ordering::SeqCst);
        self.wake_beat.notify_all();
        self.wake_watch.notify_all();
        self.wake_alive.notify_all();
    }

    /// Why it cannot go on.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Whether it waits for others that may come back as it has.
    pub(crate) fn waits_for_restart(&self) -> bool {
        self.resumed && !self.begun.load(Ordering::SeqCst)
    }

    /// There is something to commit: whoever ends epochs should know.
    pub(crate) fn note_busy(&self, state: &mut Protocol) {
        if std::mem::replace(&mut state.busy, true) {
            return;
        }
        if state.node.leads() {
            self.wake_beat.notify_all();
        } else {
            self.network.send(state.node.view().leader, Packet::Busy);
        }
    }

    fn epoch_changed(&self, state: &mut Protocol, before: Epoch) {
        let now = state.node.epoch();
        if state.node.view().number != state.view {
            state.view = state.node.view().number;
            self.counters.views.fetch_add(1, Ordering::Relaxed); // a statistic
        } else {
            self.counters.epochs.fetch_add(now.0.saturating_sub(before.0), Ordering::Relaxed); // a statistic
        }
        state.busy = false;
        state.epoch_began = Instant::now();
        if state.node.is_deaf() {
            state.node.set_deaf(self.ear.get().is_some_and(|ear| ear.is_full()));
        }
    }

    /// Wakes those who wait for an epoch.
    fn release(&self, state: &mut Protocol) {
        let committed = state.node.committed();
        if self.resumed && !matches!(state.node.stage(), Stage::Fenced | Stage::Installed) {
            self.begun.store(true, Ordering::SeqCst);
        }
        let opened = std::mem::replace(&mut state.stage, state.node.stage()) == Stage::Installed;
        if committed > state.answered || (opened && state.stage != Stage::Installed) {
            state.answered = committed;
            self.epochs.notify_all();
        }
        if state.node.wants_note() {
            self.wake_watch.notify_all();
        }
    }

    /// Takes what came from another member.
    pub(crate) fn deliver(&self, from: NodeId, packet: Packet) {
        {
            let mut views = self.views.lock();
            views.heard.insert(from, Instant::now());
            views.unheard = views.unheard.without(from);
        }
        match packet {
            Packet::Message(message) => {
                self.counters.received.fetch_add(1, Ordering::Relaxed); // a statistic
                let Some(message) = self.unless_early(from, message) else { return };
                let mut state = self.lock();
                if !state.left {
                    self.run(&mut state, |node, out| node.receive(from, message, out));
                }
            }
            Packet::Heartbeat => {}
            Packet::Busy => {
                let mut state = self.lock();
                if state.node.leads() {
                    self.note_busy(&mut state);
                }
            }
            Packet::NewView => self.ask_store(),
            Packet::Ask(number, asked) => {
                let told = self.tell(&asked);
                self.network.send(from, Packet::Told(number, told));
            }
            Packet::Told(number, told) => self.asking.hear(from, number, told),
            Packet::Lock(letter) => self.locks.receive(from, letter),
        }
    }

    /// The message, unless it begins a view that the network does not follow yet. That is set aside until the network
    /// does: the node would answer, and then speak, to lives of members that have ended, and what is sent to those is
    /// lost.
    fn unless_early(&self, from: NodeId, message: Message<Rows>) -> Option<Message<Rows>> {
        let Body::Fence(view) = &message.body else { return Some(message) };
        let mut views = self.views.lock();
        if view.number <= views.followed {
            return Some(message);
        }
        let later = |(_, early): &(NodeId, Message<Rows>)| match &early.body {
            Body::Fence(early) => early.number > view.number,
            _ => false,
        };
        if !views.early.as_ref().is_some_and(later) {
            views.early = Some((from, message));
        }
        views.ask = true;
        self.wake_watch.notify_all();
        None
    }

    /// The network follows a view: what has come of it earlier is due.
    pub(crate) fn followed(&self, view: ViewNumber) {
        let early = {
            let mut views = self.views.lock();
            views.followed = views.followed.max(view);
            views.early.take()
        };
        // of a view that is later still it is set aside again
        let message = early.and_then(|(from, message)| Some((from, self.unless_early(from, message)?)));
        if let Some((from, message)) = message {
            let mut state = self.lock();
            if !state.left {
                self.run(&mut state, |node, out| node.receive(from, message, out));
            }
        }
    }

    /// The store should be asked for the view at once.
    pub(crate) fn ask_store(&self) {
        self.views.lock().ask = true;
        self.wake_watch.notify_all();
    }

    /// The node is no longer a member: all who wait are told.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.left = true;
        state.mailboxes.wake_all();
        self.locks.leave();
        self.epochs.notify_all();
    }

    /// Notes in the store how far the member is.
    pub(crate) fn report(&self) -> Result<(), StoreError> {
        let (view, committed, full) = {
            let state = self.lock();
            (state.node.view().number, state.node.committed(), state.node.is_full())
        };
        let backup = self.views.lock().backup.clone();
        self.store.report(self.me, &NodeReport { life: self.life, view, committed, full, backup })
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Where a network delivers what arrives for a member.
#[derive(Clone)]
pub struct Entrance(pub(crate) Arc<Core>);

impl Entrance {
    /// A packet of another member, of the life that the newest view names. The network has made sure of both.
    pub fn deliver(&self, from: NodeId, packet: Packet) {
        self.0.deliver(from, packet);
    }

    /// A life of another member cannot be reached any more: it counts as dead.
    pub fn failed(&self, node: NodeId, life: Incarnation) {
        self.0.views.lock().failed.insert(node, life);
        self.0.ask_store();
    }
}
