//! A member that is taken out on purpose waits until the metadata store knows that the others have gone on without it:
//! it may be needed again before that, and has missed nothing then.

use super::bank::{Running, until};
use super::tcp::TcpCluster;
use scaledb_cluster::backup::BackupWish;
use scaledb_cluster::tcp::Tcp;
use scaledb_cluster::{
    ClusterView, Entrance, InMemory, Life, MetadataStore, Network, NodeReport, Packet, StoreError,
};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Body, Message, NodeId, NodeSet};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use std::collections::BTreeMap;
use std::time::Duration;

const LEADER: NodeId = NodeId(0);
const DIES: NodeId = NodeId(1);
const GOES: NodeId = NodeId(2);

/// A way to the others, on which the member that dies does not hear of the view without the one that goes.
struct Deaf(Arc<Tcp>);

impl Network for Deaf {
    fn attach(&self, entrance: Entrance) -> std::io::Result<()> {
        self.0.attach(entrance)
    }

    fn follow(&self, view: &ClusterView) {
        self.0.follow(view);
    }

    fn send(&self, to: NodeId, packet: Packet) {
        let missed = match &packet {
            Packet::Message(Message { body: Body::Fence(view), .. }) => !view.members.has(GOES),
            _ => false,
        };
        if to != DIES || !missed {
            self.0.send(to, packet);
        }
    }

    fn close(&self) {
        self.0.close();
    }
}

fn change(store: &dyn MetadataStore, with: impl Fn(&mut ClusterView)) {
    loop {
        let last = store.view().unwrap().unwrap();
        let mut next = last.clone();
        with(&mut next);
        if store.replace(Some(&last), &next).unwrap() {
            return;
        }
    }
}

#[test]
fn a_member_that_was_taken_out_and_is_needed_again_is_spoken_with() {
    let store = Arc::new(InMemory::new());
    let mut cluster = TcpCluster::start_through(3, |_| store.clone(), |tcp| Arc::new(Deaf(tcp)));
    cluster.works();
    change(&*store, |next| next.removed = next.removed.with(GOES));
    until("it waits", || !store.view().unwrap().unwrap().leaving.is_empty());
    let at_leader = cluster.first().clone();
    until("the leader follows", || !at_leader.view().view.members.has(GOES));
    // what is asked for is taken back, or it would be taken out again
    change(&*store, |next| next.removed = next.removed.without(GOES));
    cluster.kill(DIES);
    let left: NodeSet = [LEADER, GOES].into_iter().collect();
    let member = cluster.running().pop().unwrap();
    until("it is a member again", || member.call(|node, _| node.view().members == left && node.may_begin()));
    cluster.works();
    assert!(cluster.running().iter().all(|member| !member.has_left()));
}

/// A store that does not answer who notes that a view without a member is installed.
#[derive(Default)]
struct Away {
    store: InMemory,
    away: AtomicBool,
}

impl MetadataStore for Away {
    fn register(&self, name: &str, address: &str) -> Result<(NodeId, Incarnation), StoreError> {
        self.store.register(name, address)
    }

    fn nodes(&self) -> Result<BTreeMap<NodeId, Life>, StoreError> {
        self.store.nodes()
    }

    fn view(&self) -> Result<Option<ClusterView>, StoreError> {
        self.store.view()
    }

    fn replace(&self, last: Option<&ClusterView>, next: &ClusterView) -> Result<bool, StoreError> {
        let notes = last.is_some_and(|last| !last.leaving.is_empty()) && next.is_settled();
        if notes && self.away.load(Ordering::SeqCst) {
            return Err(StoreError::Away("it is away".to_owned()));
        }
        self.store.replace(last, next)
    }

    fn renew(&self, node: NodeId, life: Incarnation, lease: Duration) -> Result<(), StoreError> {
        self.store.renew(node, life, lease)
    }

    fn alive(&self) -> Result<BTreeMap<NodeId, Incarnation>, StoreError> {
        self.store.alive()
    }

    fn report(&self, node: NodeId, report: &NodeReport) -> Result<(), StoreError> {
        self.store.report(node, report)
    }

    fn reports(&self) -> Result<BTreeMap<NodeId, NodeReport>, StoreError> {
        self.store.reports()
    }

    fn backup(&self) -> Result<Option<BackupWish>, StoreError> {
        self.store.backup()
    }

    fn replace_backup(
        &self,
        last: Option<&BackupWish>,
        next: Option<&BackupWish>,
    ) -> Result<bool, StoreError> {
        self.store.replace_backup(last, next)
    }
}

#[test]
fn nothing_commits_without_a_member_that_the_store_may_take_back() {
    let store = Arc::new(Away::default());
    let mut cluster = TcpCluster::start_with(3, |_| store.clone());
    cluster.works();
    let [leader, _, goes] = &cluster.running()[..] else { panic!("three members") };
    let (leader, goes) = (leader.clone(), goes.clone());
    store.away.store(true, Ordering::SeqCst);
    change(&*store, |next| next.removed = next.removed.with(GOES));
    until("all have installed the view without it", || leader.call(|node, _| node.wants_note()));
    let committed = leader.committed();
    // epochs of a view that has begun end by themselves within this
    thread::sleep(3 * leader.settings().idle_epoch);
    assert!(leader.call(|node, _| node.wants_note() && !node.may_begin()));
    assert_eq!((leader.committed(), goes.has_left()), (committed, false));
    // one more is lost: the store has to know of the view before it makes one without that
    cluster.kill(DIES);
    thread::sleep(leader.settings().suspect_after + leader.settings().lease);
    assert_eq!((leader.committed(), goes.has_left()), (committed, false));
    store.away.store(false, Ordering::SeqCst);
    until("it has left", || goes.was_removed());
    let alone = NodeSet::default().with(LEADER);
    until("the other is put out", || leader.call(|node, _| node.view().members == alone && node.may_begin()));
    cluster.kill(GOES);
    cluster.works();
}
