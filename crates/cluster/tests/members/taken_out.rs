//! A member that is taken out on purpose is needed again before the others have gone on without it: they speak with it
//! where they left off.

use super::bank::{Running, until};
use super::tcp::TcpCluster;
use scaledb_cluster::tcp::Tcp;
use scaledb_cluster::{ClusterView, Entrance, InMemory, MetadataStore, Network, Packet};
use scaledb_scar::{Body, Message, NodeId, NodeSet};
use scaledb_sync::Arc;

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

fn change(store: &InMemory, with: impl Fn(&mut ClusterView)) {
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
    change(&store, |next| next.removed = next.removed.with(GOES));
    until("it waits", || !store.view().unwrap().unwrap().leaving.is_empty());
    let at_leader = cluster.first().clone();
    until("the leader follows", || !at_leader.view().view.members.has(GOES));
    // what is asked for is taken back, or it would be taken out again
    change(&store, |next| next.removed = next.removed.without(GOES));
    cluster.kill(DIES);
    let left: NodeSet = [LEADER, GOES].into_iter().collect();
    let member = cluster.running().pop().unwrap();
    until("it is a member again", || member.call(|node, _| node.view().members == left && node.may_begin()));
    cluster.works();
    assert!(cluster.running().iter().all(|member| !member.has_left()));
}
