//! A whole cluster in one process: members joined by queues.

use super::durable::{OnDisk, Owner};
use super::member::{Member, StartError};
use super::membership::first_view;
use super::network::{Network, Packet};
use super::open::Waiting;
use super::settings::Settings;
use super::state::Entrance;
use super::store::{ClusterView, InMemory, MetadataStore};
use scaledb_log::disk::Disk;
use scaledb_scar::NodeId;
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::{JoinHandle, try_spawn};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Packets that wait for a member; one that is this far behind counts as dead.
const MAX_WAITING: usize = 1 << 18;

/// The queues between the members of a process.
#[derive(Default)]
pub struct Channels {
    inboxes: Mutex<BTreeMap<NodeId, Arc<Inbox>>>,
    cuts: Mutex<BTreeSet<(NodeId, NodeId)>>,
}

#[derive(Default)]
struct Inbox {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<(NodeId, Packet)>,
    closed: bool,
}

impl Channels {
    /// Without members.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The end of a member. What was sent to an earlier life of the node is gone.
    pub fn join(self: &Arc<Self>, me: NodeId) -> Arc<dyn Network> {
        let inbox = Arc::new(Inbox::default());
        if let Some(old) = self.inboxes.lock().insert(me, inbox.clone()) {
            old.close();
        }
        Arc::new(End { channels: self.clone(), me, inbox, thread: Mutex::new(None) })
    }

    /// Drops whatever goes from one node to another, from now on.
    pub fn cut(&self, from: NodeId, to: NodeId) {
        self.cuts.lock().insert((from, to));
    }

    /// No more.
    pub fn mend(&self, from: NodeId, to: NodeId) {
        self.cuts.lock().remove(&(from, to));
    }
}

impl Inbox {
    fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        queue.packets = VecDeque::new();
        self.arrived.notify_all();
    }

    /// The next packet; none when it is closed.
    fn next(&self) -> Option<(NodeId, Packet)> {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(next) = queue.packets.pop_front() {
                return Some(next);
            }
            queue = self.arrived.wait_timeout(queue, Duration::from_secs(1));
        }
    }
}

struct End {
    channels: Arc<Channels>,
    me: NodeId,
    inbox: Arc<Inbox>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Network for End {
    fn attach(&self, entrance: Entrance) -> std::io::Result<()> {
        let inbox = self.inbox.clone();
        let thread = try_spawn("scaledb-channel", move || {
            while let Some((from, packet)) = inbox.next() {
                entrance.deliver(from, packet);
            }
        })?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    fn follow(&self, _: &ClusterView) {}

    fn send(&self, to: NodeId, packet: Packet) {
        if self.channels.cuts.lock().contains(&(self.me, to)) {
            return;
        }
        let inbox = self.channels.inboxes.lock().get(&to).cloned();
        let Some(inbox) = inbox else { return };
        let mut queue = inbox.queue.lock();
        if queue.packets.len() >= MAX_WAITING {
            // it is told nothing more, and the others will notice that it does not answer
            queue.closed = true;
        }
        if !queue.closed {
            queue.packets.push_back((self.me, packet));
            inbox.arrived.notify_one();
        }
    }

    fn close(&self) {
        self.inbox.close();
        if let Some(thread) = self.thread.lock().take() {
            // one that has panicked has said so
            let _ = thread.join();
        }
    }
}

fn name(node: NodeId) -> String {
    format!("node-{}", node.0)
}

fn owner(node: NodeId) -> Owner {
    Owner { cluster: "local".to_owned(), name: name(node), node }
}

/// A cluster in this process.
pub struct LocalCluster {
    settings: Settings,
    channels: Arc<Channels>,
    store: Arc<InMemory>,
    members: BTreeMap<NodeId, Arc<Member>>,
}

impl LocalCluster {
    /// Starts nodes with so many partitions, of which so many may fail together.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        settings: Settings,
        nodes: u8,
        partitions: u16,
        failures: usize,
    ) -> Result<Self, StartError> {
        Self::start_on(settings, nodes, partitions, failures, &[])
    }

    /// Starts nodes that keep what they have on these disks, one for each; none: in memory.
    ///
    /// # Errors
    /// The system gives no thread; a disk cannot be used.
    pub fn start_on(
        settings: Settings,
        nodes: u8,
        partitions: u16,
        failures: usize,
        disks: &[Arc<dyn Disk>],
    ) -> Result<Self, StartError> {
        let (channels, store) = (Channels::new(), Arc::new(InMemory::new()));
        let mut cluster = Self { settings, channels, store, members: BTreeMap::new() };
        // all ends first: a member speaks as soon as it is there
        let mut ends = Vec::new();
        for number in 0..nodes {
            let (node, life) = cluster.store.register(&name(NodeId(number)), "")?;
            ends.push((node, life, cluster.channels.join(node)));
        }
        let mut view = first_view(nodes, partitions, failures);
        view.durable = !disks.is_empty();
        cluster.store.replace(None, &ClusterView::first(view, cluster.store.nodes()?))?;
        for (node, life, end) in ends {
            let disk = disks.get(usize::from(node.0)).cloned();
            let on_disk = disk.map(|disk| OnDisk::open(disk, owner(node), life)).transpose()?;
            let store = cluster.store.clone();
            let member = Member::start_on(settings, node, life, store, end, on_disk)?;
            cluster.members.insert(node, member);
        }
        Ok(cluster)
    }

    /// Starts a node that was killed, or one more: a new life, which has nothing and learns from the others. Returns
    /// when it is a member; it keeps no replicas then until it has learned them.
    ///
    /// # Errors
    /// The others do not let it join while `goes_on`, or the system gives no thread.
    pub fn restart(&mut self, node: NodeId, goes_on: impl Fn() -> bool) -> Result<(), StartError> {
        self.restart_on(node, None, goes_on)
    }

    /// Starts a node with a disk: that of its former life, or another.
    ///
    /// # Errors
    /// As [`LocalCluster::restart`]; the disk cannot be used.
    pub fn restart_on(
        &mut self,
        node: NodeId,
        disk: Option<Arc<dyn Disk>>,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), StartError> {
        let (me, life) = self.store.register(&name(node), "")?;
        let on_disk = disk.map(|disk| OnDisk::open(disk, owner(me), life)).transpose()?;
        let end = self.channels.join(me);
        let (settings, store, founding) = (&self.settings, &*self.store, None);
        Waiting { settings, store, me, life, founding, on_disk: on_disk.as_ref() }
            .until_named(|_| goes_on())?;
        let store = self.store.clone();
        let member = Member::start_on(self.settings, me, life, store, end, on_disk)?;
        self.members.insert(me, member);
        Ok(())
    }

    /// A member that has not been killed.
    pub fn member(&self, node: NodeId) -> Option<&Arc<Member>> {
        self.members.get(&node)
    }

    /// Those that have not been killed.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.members.values()
    }

    /// The queues.
    pub fn channels(&self) -> &Arc<Channels> {
        &self.channels
    }

    /// The metadata store.
    pub fn store(&self) -> &Arc<InMemory> {
        &self.store
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Ends a member without a word to the others.
    pub fn kill(&mut self, node: NodeId) {
        if let Some(member) = self.members.remove(&node) {
            member.stop();
        }
    }
}
