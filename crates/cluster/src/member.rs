//! A member: a node of the protocol, and what it takes to run.
//!
//! ```text
//!   sessions ── call ──┐                           ┌─► packets to other members (Network)
//!   network ─ deliver ─┼─► lock { Node } ─► Out ───┼─► answers: into the mailboxes of their sessions
//!   beat, watch ───────┘                           └─► the last epoch whose results may leave
//! ```
//!
//! Whoever calls does the work: an answer that needs no other member is there when the call returns. Two threads
//! belong to the member. `beat` ends epochs and says that the member is there; `watch` talks with the metadata store,
//! which may be slow, and makes or follows views.

use super::backup::{BackupState, MakeTarget, keep_backups};
use super::durable::{self, DirectoryError, Journal, OnDisk, Owner};
use super::membership::Halt;
use super::network::{Network, Packet};
use super::numbers::{Counters, Numbers};
use super::rows::Rows;
use super::session::Session;
use super::settings::Settings;
use super::store::{ClusterView, MetadataStore, NodeReport, StoreError};
use super::{beat, watch};
use scaledb_log::disk::Disk;
use scaledb_scar::link::Incarnation;
use scaledb_scar::{
    Answer, Body, Epoch, Message, Node, NodeId, Ours, Out, Outcome, SessionId, Stage, TxnId, ViewNumber, Why,
};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use scaledb_sync::thread::{JoinHandle, try_spawn};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// The number of a first view.
const FIRST: ViewNumber = ViewNumber(1);

/// Why a member does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The metadata store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no view yet.
    #[error("the cluster has no view yet: nobody has founded it")]
    NoView,
    /// The view does not name this life of the node.
    #[error("the cluster's view does not name this life of node {}", .0.0)]
    NotNamed(NodeId),
    /// The cluster keeps what it has on disk, and this node has no directory.
    #[error("the nodes of this cluster keep their rows on disk: name a data directory")]
    NeedsDirectory,
    /// The cluster keeps nothing on disk, and this node has a directory.
    #[error("the nodes of this cluster keep their rows in memory: leave out the data directory")]
    NoDirectory,
    /// The directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The system gives no thread.
    #[error("no thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Why an answer does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Lost {
    /// The epoch was undone as members failed: nothing of it has happened.
    #[error("the members of the cluster have changed, and the transaction was undone")]
    Undone,
    /// The member is no longer one: its node was put out of the view, or ends. What has become of a commit, the others
    /// know.
    #[error("this node is no longer a member of its cluster")]
    Left,
    /// Nothing was heard for as long as the settings allow. What has become of a commit is not known.
    #[error("the cluster has not answered in time")]
    Silent,
}

/// A node of a running cluster.
pub struct Member {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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
    journal: Option<Arc<Journal>>,
    /// It has come back with its disk.
    resumed: bool,
    /// A view has begun since it started.
    begun: AtomicBool,
    /// Why it cannot go on.
    failure: Mutex<Option<String>>,
    state: Mutex<Protocol>,
    /// The last epoch whose results may leave has grown, or the member has left.
    epochs: Condvar,
    /// There is something to commit, or to do with views.
    pub(crate) wake_beat: Condvar,
    pub(crate) wake_watch: Condvar,
    pub(crate) views: Mutex<Views>,
    pub(crate) stop: AtomicBool,
    /// An operator wants it to be no member.
    pub(crate) removed: AtomicBool,
}

/// What the lock of the protocol guards.
pub(crate) struct Protocol {
    pub(crate) node: Node<Ours, Rows>,
    out: Out<Rows>,
    mailboxes: BTreeMap<SessionId, Mailbox>,
    owners: BTreeMap<TxnId, SessionId>,
    next_session: u32,
    /// The last epoch whose results have left: who waits for it has been woken.
    answered: Epoch,
    /// When the epoch in which commits may begin began.
    pub(crate) epoch_began: Instant,
    /// There is something to commit in this epoch; the leader has been told.
    pub(crate) busy: bool,
    view: ViewNumber,
    stage: Stage,
    pub(crate) left: bool,
}

/// What waits for a session.
struct Mailbox {
    answers: VecDeque<Answer<Rows>>,
    wake: Arc<Condvar>,
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
    /// Those that the network has given up.
    pub(crate) failed: BTreeMap<NodeId, Incarnation>,
    /// The store should be asked at once.
    pub(crate) ask: bool,
    /// Why there is no next view, though members are silent.
    pub(crate) halt: Option<Halt>,
    /// How far this member is with the last backup that it was asked for.
    pub(crate) backup: Option<BackupState>,
}

/// The transaction of an answer.
fn transaction_of(answer: &Answer<Rows>) -> TxnId {
    match answer {
        Answer::Read(txn, ..)
        | Answer::Scan(txn, ..)
        | Answer::Fetched(txn)
        | Answer::Checked(txn, _)
        | Answer::Confirmed(txn, _)
        | Answer::Decided(txn, ..)
        | Answer::Committed(txn)
        | Answer::Aborted(txn, ..) => *txn,
    }
}

impl Protocol {
    fn new(node: Node<Ours, Rows>) -> Self {
        Self {
            out: Out::default(),
            mailboxes: BTreeMap::new(),
            owners: BTreeMap::new(),
            next_session: 1,
            answered: node.committed(),
            epoch_began: Instant::now(),
            busy: false,
            view: node.view().number,
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
        self.write_down(state);
        // first: what is decided or checked now belongs to the epoch that has begun
        if state.node.epoch() != epoch {
            self.epoch_changed(state, epoch);
        }
        self.answers(state);
        for (to, message) in state.out.messages.drain(..) {
            self.counters.sent.fetch_add(1, Ordering::Relaxed); // a statistic
            self.network.send(to, Packet::Message(message));
        }
        self.release(state);
        result
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
        for mailbox in state.mailboxes.values() {
            mailbox.wake.notify_all();
        }
        self.epochs.notify_all();
        // it says no more that it is there
        self.stop.store(true, Ordering::SeqCst);
        self.wake_beat.notify_all();
        self.wake_watch.notify_all();
    }

    /// Why it cannot go on.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Whether it waits for others that may come back as it has.
    pub(crate) fn waits_for_restart(&self) -> bool {
        self.resumed && !self.begun.load(Ordering::SeqCst)
    }

    /// Hands answers to their sessions.
    fn answers(&self, state: &mut Protocol) {
        let mut decided = state.node.has_checks();
        for answer in state.out.answers.drain(..) {
            let txn = transaction_of(&answer);
            let done = self.counters.count(&answer);
            decided |= matches!(answer, Answer::Decided(..));
            let owner = if done { state.owners.remove(&txn) } else { state.owners.get(&txn).copied() };
            if let Some(mailbox) = owner.and_then(|session| state.mailboxes.get_mut(&session)) {
                mailbox.answers.push_back(answer);
                mailbox.wake.notify_all();
            }
        }
        if decided {
            self.note_busy(state);
        }
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
    }

    /// Takes what came from another member.
    pub(crate) fn deliver(&self, from: NodeId, packet: Packet) {
        self.views.lock().heard.insert(from, Instant::now());
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
        for mailbox in state.mailboxes.values() {
            mailbox.wake.notify_all();
        }
        self.epochs.notify_all();
    }

    /// Notes in the store how far the member is.
    pub(crate) fn report(&self) -> Result<(), StoreError> {
        let (view, committed) = {
            let state = self.lock();
            (state.node.view().number, state.node.committed())
        };
        let backup = self.views.lock().backup.clone();
        self.store.report(self.me, &NodeReport { life: self.life, view, committed, backup })
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub(crate) fn open_session(&self) -> (SessionId, Arc<Condvar>) {
        let mut state = self.lock();
        let mut number = state.next_session;
        while state.mailboxes.contains_key(&SessionId(number)) {
            number = number.wrapping_add(1);
        }
        state.next_session = number.wrapping_add(1);
        let wake = Arc::new(Condvar::new());
        state.mailboxes.insert(SessionId(number), Mailbox { answers: VecDeque::new(), wake: wake.clone() });
        (SessionId(number), wake)
    }

    pub(crate) fn close_session(&self, session: SessionId) {
        let mut state = self.lock();
        state.mailboxes.remove(&session);
        let open: Vec<TxnId> =
            state.owners.iter().filter(|(_, owner)| **owner == session).map(|(&txn, _)| txn).collect();
        for txn in open {
            state.owners.remove(&txn);
            // one that commits goes on, and nobody hears of it
            let _ = self.run(&mut state, |node, out| node.rollback(txn, out));
        }
        state.node.end_session(session);
    }

    pub(crate) fn own(&self, state: &mut Protocol, txn: TxnId, session: SessionId) {
        state.owners.insert(txn, session);
    }

    pub(crate) fn disown(&self, txn: TxnId) {
        self.lock().owners.remove(&txn);
    }

    /// Waits for the next answer of a session.
    pub(crate) fn next_answer(
        &self,
        mut state: MutexGuard<'_, Protocol>,
        session: SessionId,
        wake: &Condvar,
        patience: Duration,
    ) -> Result<Answer<Rows>, Lost> {
        let mut begin = None;
        loop {
            let Some(mailbox) = state.mailboxes.get_mut(&session) else { return Err(Lost::Left) };
            if let Some(answer) = mailbox.answers.pop_front() {
                return Ok(answer);
            }
            if state.left {
                return Err(Lost::Left);
            }
            if begin.is_none() {
                self.counters.waits.fetch_add(1, Ordering::Relaxed); // a statistic
            }
            let waited = begin.get_or_insert_with(Instant::now).elapsed();
            let Some(rest) = patience.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                return Err(Lost::Silent);
            };
            state = wake.wait_timeout(state, rest);
        }
    }

    /// Drops what waits for a session: answers of transactions that it has done with.
    pub(crate) fn empty_mailbox(&self, state: &mut Protocol, session: SessionId) {
        if let Some(mailbox) = state.mailboxes.get_mut(&session) {
            mailbox.answers.clear();
        }
    }

    pub(crate) fn wait_committed(&self, epoch: Epoch) -> Result<(), Lost> {
        let mut state = self.lock();
        let begin = Instant::now();
        loop {
            match state.node.outcome(epoch) {
                Outcome::Committed => return Ok(()),
                Outcome::Undone => return Err(Lost::Undone),
                // of a former life of this node
                Outcome::Unknown => return Err(Lost::Left),
                Outcome::Open => {}
            }
            if state.left {
                return Err(Lost::Left);
            }
            let waited = begin.elapsed();
            let Some(rest) = self.settings.patience.checked_sub(waited).filter(|rest| !rest.is_zero()) else {
                return Err(Lost::Silent);
            };
            state = self.epochs.wait_timeout(state, rest);
        }
    }
}

impl Member {
    /// Starts a member: this life of the node, which the store's view names.
    ///
    /// # Errors
    /// The view is not there or does not name it, the store does not answer, or there is no thread.
    pub fn start(
        settings: Settings,
        me: NodeId,
        life: Incarnation,
        store: Arc<dyn MetadataStore>,
        network: Arc<dyn Network>,
    ) -> Result<Arc<Self>, StartError> {
        Self::start_on(settings, me, life, store, network, None)
    }

    /// Starts a member of a cluster that keeps what it has on disk.
    ///
    /// # Errors
    /// As [`Member::start`]; the directory cannot be written.
    pub fn start_on(
        settings: Settings,
        me: NodeId,
        life: Incarnation,
        store: Arc<dyn MetadataStore>,
        network: Arc<dyn Network>,
        on_disk: Option<OnDisk>,
    ) -> Result<Arc<Self>, StartError> {
        let newest = store.view()?.ok_or(StartError::NoView)?;
        Self::start_in(settings, me, life, (store, newest), network, on_disk)
    }

    /// Starts a member of a view that the store has answered.
    pub(crate) fn start_in(
        settings: Settings,
        me: NodeId,
        life: Incarnation,
        (store, newest): (Arc<dyn MetadataStore>, ClusterView),
        network: Arc<dyn Network>,
        on_disk: Option<OnDisk>,
    ) -> Result<Arc<Self>, StartError> {
        let first = newest.clone();
        if !newest.names(me, life) {
            return Err(StartError::NotNamed(me));
        }
        // the lease matters only to others, and is renewed again and again
        let _ = store.renew(me, life, settings.lease);
        let begun = begin(me, life, &newest, on_disk)?;
        let Begun { mut node, journal, resumed } = begun;
        let mut out = Out::default();
        node.begin_log(&mut out);
        if let Some(journal) = &journal {
            journal.append(out.journal.drain(..)).map_err(DirectoryError::from)?;
        }
        let now = Instant::now();
        let heard = newest.view.members.iter().map(|node| (node, now)).collect();
        let core = Arc::new(Core {
            me,
            life,
            settings,
            store,
            network,
            counters: Counters::default(),
            journal,
            resumed,
            begun: AtomicBool::new(false),
            failure: Mutex::new(None),
            state: Mutex::new(Protocol::new(node)),
            epochs: Condvar::new(),
            wake_beat: Condvar::new(),
            wake_watch: Condvar::new(),
            views: Mutex::new(Views {
                newest,
                followed: ViewNumber(0),
                early: None,
                heard,
                failed: BTreeMap::new(),
                ask: false,
                halt: None,
                backup: None,
            }),
            stop: AtomicBool::new(false),
            removed: AtomicBool::new(false),
        });
        let member = Arc::new(Self { core, threads: Mutex::new(Vec::new()) });
        member.core.network.attach(Entrance(member.core.clone()))?;
        member.core.network.follow(&first);
        let (beats, watches) = (member.core.clone(), member.core.clone());
        let beat = try_spawn("scaledb-beat", move || beat::run(&beats))?;
        member.threads.lock().push(beat);
        let watch = try_spawn("scaledb-watch", move || watch::run(&watches))?;
        member.threads.lock().push(watch);
        if let Some(journal) = &member.core.journal {
            let (core, log) = (member.core.clone(), journal.clone());
            let syncs = try_spawn("scaledb-journal", move || durable::sync_journal(&core, &log))?;
            member.threads.lock().push(syncs);
            let (core, log) = (member.core.clone(), journal.clone());
            let checkpoints = try_spawn("scaledb-check", move || durable::make_checkpoints(&core, &log))?;
            member.threads.lock().push(checkpoints);
        }
        Ok(member)
    }

    /// Which node it is.
    pub fn node(&self) -> NodeId {
        self.core.me
    }

    /// Copies its directory when it is told to ([`super::backup::backup`]). `target` makes the directory of a
    /// copy by the name of the backup; none: the member says that it has no place for copies.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn keep_backups(
        &self,
        owner: Owner,
        from: Arc<dyn Disk>,
        target: Option<Box<MakeTarget>>,
    ) -> std::io::Result<()> {
        let core = self.core.clone();
        let thread = try_spawn("scaledb-backup", move || {
            keep_backups(&core, &owner, &from, target.as_deref());
        })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    /// Runs `f` on the state machine, then sends what it put out and hands answers to their sessions.
    pub fn call<T>(&self, f: impl FnOnce(&mut Node<Ours, Rows>, &mut Out<Rows>) -> T) -> T {
        self.core.run(&mut self.core.lock(), f)
    }

    /// A new session.
    pub fn session(&self) -> Session {
        Session::open(self.core.clone())
    }

    /// The last epoch whose results may leave.
    pub fn committed(&self) -> Epoch {
        self.core.lock().node.committed()
    }

    /// Waits until the results of an epoch may leave.
    ///
    /// # Errors
    /// They never will, or it is not known.
    pub fn wait_committed(&self, epoch: Epoch) -> Result<(), Lost> {
        self.core.wait_committed(epoch)
    }

    /// The newest view that it knows of.
    pub fn view(&self) -> ClusterView {
        self.core.views.lock().newest.clone()
    }

    /// Why the cluster stands still, if it does as too many members are silent.
    pub fn halt(&self) -> Option<Halt> {
        self.core.views.lock().halt
    }

    /// Whether it is no member any more.
    pub fn has_left(&self) -> bool {
        self.core.lock().left
    }

    /// Why it ended by itself: its disk has failed.
    pub fn failure(&self) -> Option<String> {
        self.core.failure()
    }

    /// Whether that is what an operator has asked for.
    pub fn was_removed(&self) -> bool {
        self.has_left() && self.core.removed.load(Ordering::SeqCst)
    }

    /// What it has counted.
    pub fn numbers(&self) -> Numbers {
        let state = self.core.lock();
        self.core.counters.read(&state.node, self.core.network.written())
    }

    /// Ends it without a word to the others, as a crash would. Its sessions get [`Lost::Left`].
    pub fn stop(&self) {
        self.core.stop.store(true, Ordering::SeqCst);
        self.core.network.close();
        self.core.leave();
        self.core.wake_beat.notify_all();
        {
            let _between_check_and_wait = self.core.views.lock();
            self.core.wake_watch.notify_all();
        }
        if let Some(journal) = &self.core.journal {
            journal.wake();
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // one that has panicked has said so
            let _ = thread.join();
        }
        if let Some(journal) = &self.core.journal {
            journal.close();
        }
    }
}

/// What a member begins with.
struct Begun {
    node: Node<Ours, Rows>,
    journal: Option<Arc<Journal>>,
    resumed: bool,
}

fn begin(
    me: NodeId,
    life: Incarnation,
    newest: &ClusterView,
    on_disk: Option<OnDisk>,
) -> Result<Begun, StartError> {
    let view = &newest.view;
    let keeps = view.partitions.iter().any(|place| place.replicas().has(me));
    // whoever is of the first view begins with nothing, as all do; later ones have to learn
    let founder = view.number == FIRST;
    let Some(mut on_disk) = on_disk else {
        if view.durable {
            return Err(StartError::NeedsDirectory);
        }
        if !founder && keeps {
            return Err(StartError::NotNamed(me));
        }
        let node =
            if founder { Node::new(Ours, me, Arc::new(view.clone())) } else { Node::joining(Ours, me, view) };
        return Ok(Begun { node, journal: None, resumed: false });
    };
    if !view.durable {
        return Err(StartError::NoDirectory);
    }
    if founder && on_disk.is_new() {
        let node = Node::new(Ours, me, Arc::new(view.clone()));
        return Ok(Begun { node, journal: Some(on_disk.into_parts().0), resumed: false });
    }
    // a founder that was slow finds a later view, in which it keeps what it has not: nothing has committed
    if on_disk.stands_for(newest) && (keeps || !on_disk.is_new()) {
        let (journal, recovered) = on_disk.into_parts();
        let node = Node::resuming(Ours, view, recovered);
        return Ok(Begun { node, journal: Some(journal), resumed: true });
    }
    on_disk.begin_anew(life).map_err(DirectoryError::from)?;
    let node = Node::joining(Ours, me, view);
    Ok(Begun { node, journal: Some(on_disk.into_parts().0), resumed: false })
}

/// Where a network delivers what arrives for a member.
#[derive(Clone)]
pub struct Entrance(Arc<Core>);

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

impl Drop for Member {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "member {:?}", self.core.me)
    }
}

/// Whether running the transaction again may help: which it may whenever nothing of it has happened.
pub fn may_retry(why: Why) -> bool {
    matches!(why, Why::Locked(_) | Why::Changed | Why::View | Why::SnapshotTooOld)
}
