//! A member whose certificate is good, and whose messages come again: twice at once, and of old epochs and views.

use super::bank::transfers_survive;
use super::tcp::TcpCluster;
use scaledb_cluster::tcp::Tcp;
use scaledb_cluster::{ClusterView, Entrance, InMemory, Network, Packet};
use scaledb_scar::{NodeId, ViewNumber};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;

/// Messages that are kept to come again.
const KEPT: usize = 4_096;

/// A member's way to the others, over TCP. The link numbers each message anew, so that the other end takes all of them.
struct Replays {
    tcp: Arc<Tcp>,
    sent: Mutex<Vec<(NodeId, Packet)>>,
    number: AtomicU64,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    repeated: AtomicU64,
    of_old_views: AtomicU64,
}

fn view(packet: &Packet) -> Option<ViewNumber> {
    match packet {
        Packet::Message(message) => Some(message.view),
        Packet::Lock(letter) => Some(ViewNumber(letter.view)),
        _ => None,
    }
}

impl Network for Replays {
    fn attach(&self, entrance: Entrance) -> std::io::Result<()> {
        self.tcp.attach(entrance)
    }

    fn follow(&self, view: &ClusterView) {
        self.tcp.follow(view);
    }

    fn send(&self, to: NodeId, packet: Packet) {
        self.tcp.send(to, packet.clone());
        let Some(now) = view(&packet) else { return };
        self.tcp.send(to, packet.clone());
        let old = {
            let mut sent = self.sent.lock();
            let number = self.number.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let at = number as usize % KEPT;
            if sent.len() < KEPT {
                sent.push((to, packet));
                sent[at % sent.len()].clone()
            } else {
                // every second one stays for long
                let kept = std::mem::replace(&mut sent[at], (to, packet));
                if number.is_multiple_of(2) {
                    sent[at] = kept.clone();
                }
                kept
            }
        };
        self.counts.repeated.fetch_add(2, Ordering::SeqCst);
        if view(&old.1).is_some_and(|view| view < now) {
            self.counts.of_old_views.fetch_add(1, Ordering::SeqCst);
        }
        self.tcp.send(old.0, old.1);
    }

    fn close(&self) {
        self.tcp.close();
    }
}

fn survive_replays(killed: NodeId) {
    let (store, counts) = (Arc::new(InMemory::new()), Arc::new(Counts::default()));
    let mut cluster = TcpCluster::start_through(
        3,
        |_| store.clone(),
        |tcp| {
            let (sent, number) = (Mutex::new(Vec::new()), AtomicU64::new(0));
            Arc::new(Replays { tcp, sent, number, counts: counts.clone() })
        },
    );
    transfers_survive(&mut cluster, killed);
    assert!(counts.repeated.load(Ordering::SeqCst) > 1_000);
    assert!(counts.of_old_views.load(Ordering::SeqCst) > 100, "{:?}", counts.of_old_views);
}

/// Each message comes three times, also those of views and epochs that are over: nothing of it is done again.
#[test]
fn messages_that_come_again_and_those_of_old_views_change_nothing() {
    survive_replays(NodeId(2));
}

#[test]
fn messages_that_come_again_change_nothing_when_the_leader_fails() {
    survive_replays(NodeId(0));
}
