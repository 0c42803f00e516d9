//! A member: a node of the protocol, and what it takes to run.
//!
//! Three threads belong to it. Those of `beat` end epochs, and say that the member is there; `watch` talks
//! with the metadata store,
//! which may be slow, and makes or follows views. What they share with sessions is in `state`.

use super::asking::{Asking, Knows};
use super::backup::{MakeTarget, keep_backups};
use super::durable::{self, DirectoryError, Journal, OnDisk, Owner};
use super::locks::{ClusterLocks, LockService};
use super::mailboxes::Lost;
use super::membership::Halt;
use super::network::Network;
use super::numbers::{Counters, Numbers};
use super::rows::{Key, Rows};
use super::session::Session;
use super::settings::Settings;
use super::state::{Core, Ear, Entrance, Protocol, Views};
use super::store::{ClusterView, MetadataStore, StoreError};
use super::{beat, watch};
use scaledb_log::disk::Disk;
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Epoch, Item, Node, NodeId, Ours, Out, TxnId, ViewNumber, Why};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::{JoinHandle, try_spawn};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

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

/// A node of a running cluster.
pub struct Member {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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
        let locks = Arc::new(LockService::new(me, network.clone(), settings.patience));
        let core = Arc::new(Core {
            locks,
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
            wake_alive: Condvar::new(),
            views: Mutex::new(Views {
                newest,
                followed: ViewNumber(0),
                early: None,
                heard,
                turn: now,
                unheard: first.view.members.without(me),
                put_out: Vec::new(),
                failed: BTreeMap::new(),
                ask: false,
                halt: None,
                backup: None,
            }),
            asking: Asking::default(),
            ear: OnceLock::new(),
            stop: AtomicBool::new(false),
            removed: AtomicBool::new(false),
        });
        let member = Arc::new(Self { core, threads: Mutex::new(Vec::new()) });
        member.core.network.attach(Entrance(member.core.clone()))?;
        member.core.network.follow(&first);
        // the view that it is in from the beginning
        member.call(|_, _| ());
        let (beats, watches, tells) = (member.core.clone(), member.core.clone(), member.core.clone());
        let alive = try_spawn("scaledb-alive", move || beat::say_so(&tells))?;
        member.threads.lock().push(alive);
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

    /// From here on, hands what transactions announce at any member to this. Of several the first is taken.
    pub fn hear(&self, ear: Box<dyn Ear>) {
        // one that comes second is dropped
        let _ = self.core.ear.set(ear);
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

    /// Whom this member has put out since it was last asked, and why.
    pub fn take_put_out(&self) -> Vec<String> {
        std::mem::take(&mut self.core.views.lock().put_out)
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

    /// From here on this is asked what transactions of the node have run.
    pub(crate) fn answer_with(&self, knows: Arc<Knows>) {
        self.core.asking.answer_with(knows);
    }

    /// What the other transaction of a conflict has run last, or one of these: the members are asked.
    pub(crate) fn statements_behind(&self, own: TxnId, why: Why, item: &Item<Key>) -> Vec<String> {
        self.core.statements_behind(own, why, item)
    }

    /// The locks that sessions at all members wait for.
    pub(crate) fn locks(&self) -> ClusterLocks {
        ClusterLocks(self.core.locks.clone())
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
            self.core.wake_alive.notify_all();
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
