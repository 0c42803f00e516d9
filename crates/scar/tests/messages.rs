//! What a transaction costs in messages.

use scaledb_scar::{
    Answer, Body, Data, Kind, Message, Node, NodeId, Ours, Out, PartitionId, SessionId, TxnId, View,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Numbers;

impl Data for Numbers {
    type Key = u64;
    type Value = u64;

    fn partition(key: &u64, partitions: usize) -> PartitionId {
        PartitionId((*key % partitions as u64) as u16)
    }
}

struct Cluster {
    nodes: Vec<Node<Ours, Numbers>>,
    flying: VecDeque<(NodeId, NodeId, Message<Numbers>)>,
    sent: BTreeMap<&'static str, usize>,
    ended: Vec<Answer<Numbers>>,
}

fn name(body: &Body<Numbers>) -> &'static str {
    match body {
        Body::Claim(..) => "claim",
        Body::ClaimReply(..) => "claim's reply",
        Body::Write(..) => "write",
        Body::WriteAck(..) => "acknowledgement",
        Body::Promised(..) => "promise",
        Body::Close | Body::Prepared(..) | Body::Whole(..) | Body::WholeAck | Body::Committed => "epoch",
        other => panic!("{other:?}"),
    }
}

impl Cluster {
    fn new(nodes: u8, failures: usize) -> Self {
        let view = Arc::new(View::first(nodes, 12, failures));
        let mut nodes: Vec<_> = (0..nodes).map(|i| Node::new(Ours, NodeId(i), view.clone())).collect();
        for node in &mut nodes {
            (0..120).for_each(|key| node.load(key, 0));
        }
        Self { nodes, flying: VecDeque::new(), sent: BTreeMap::new(), ended: Vec::new() }
    }

    fn call<T>(&mut self, at: u8, f: impl FnOnce(&mut Node<Ours, Numbers>, &mut Out<Numbers>) -> T) -> T {
        let mut out = Out::default();
        let result = f(&mut self.nodes[usize::from(at)], &mut out);
        self.take(NodeId(at), out);
        while let Some((from, to, message)) = self.flying.pop_front() {
            let mut out = Out::default();
            self.nodes[usize::from(to.0)].receive(from, message, &mut out);
            self.take(to, out);
        }
        result
    }

    fn take(&mut self, from: NodeId, out: Out<Numbers>) {
        for (to, message) in out.messages {
            *self.sent.entry(name(&message.body)).or_default() += 1;
            self.flying.push_back((from, to, message));
        }
        self.ended.extend(out.answers);
    }

    /// A transaction that reads some keys and writes some, and what it has sent.
    fn run(&mut self, at: u8, reads: &[u64], writes: &[u64]) -> BTreeMap<&'static str, usize> {
        self.sent.clear();
        let txn: TxnId = self.call(at, |node, _| node.begin(SessionId(1), Kind::Serializable)).unwrap();
        for &key in reads {
            self.call(at, |node, out| node.read(txn, key, out)).unwrap();
        }
        for &key in writes {
            self.call(at, |node, _| node.write(txn, key, Some(1))).unwrap();
        }
        self.call(at, |node, out| node.commit(txn, out)).unwrap();
        assert!(self.ended.iter().any(|a| matches!(a, Answer::Decided(other, ..) if *other == txn)));
        std::mem::take(&mut self.sent)
    }

    /// Ends an epoch, and what that has sent.
    fn end_epoch(&mut self) -> BTreeMap<&'static str, usize> {
        self.sent.clear();
        self.call(0, |node, out| node.tick(out));
        std::mem::take(&mut self.sent)
    }
}

fn counts(counts: &[(&'static str, usize)]) -> BTreeMap<&'static str, usize> {
    counts.iter().copied().collect()
}

#[test]
fn a_commit_sends_one_claim_to_a_primary_and_one_write_to_a_replica() {
    let mut cluster = Cluster::new(3, 2);
    // keys 0, 3 are the coordinator's, 1 and 4 the next node's, 2 the last one's
    let post = cluster.run(0, &[0, 1, 2], &[0, 1, 2, 3, 4]);
    assert_eq!(post, counts(&[("claim", 2), ("claim's reply", 2), ("write", 2)]));
    // writes are acknowledged at the barrier, those of many transactions at once
    cluster.run(0, &[0], &[0, 1]);
    let mut epoch = cluster.end_epoch();
    assert_eq!(epoch.remove("acknowledgement"), Some(2));
    assert_eq!(epoch, counts(&[("epoch", 10)]));
}

#[test]
fn reads_that_are_asked_for_with_the_locks_are_not_asked_for_again() {
    let mut cluster = Cluster::new(3, 2);
    cluster.run(0, &[], &[0]);
    // the time is after what was promised of 0, and the promise of 1 is not known to last so long
    let skew = cluster.run(0, &[1], &[0]);
    assert_eq!(skew, counts(&[("claim", 1), ("claim's reply", 1), ("write", 2)]));
}

#[test]
fn a_read_that_is_promised_costs_no_message() {
    let mut cluster = Cluster::new(3, 2);
    cluster.run(0, &[], &[0]);
    let keys: Vec<u64> = (0..8).collect();
    let first = cluster.run(1, &keys, &[]);
    // keys 1, 4 and 7 are its own
    assert_eq!(first, counts(&[("claim", 2), ("claim's reply", 2)]));
    // its own replicas know of the promises, those of others when it has had them extended before
    assert_eq!(cluster.run(1, &keys, &[]), counts(&[]));
    assert_eq!(cluster.end_epoch().get("promise"), None);
    cluster.run(0, &[], &[0]);
    assert_eq!(cluster.run(1, &keys, &[]), first);
    assert_eq!(cluster.end_epoch().get("promise"), Some(&2));
    assert_eq!(cluster.run(2, &keys, &[]), counts(&[]));
}

#[test]
fn a_session_lies_behind_its_commits_of_earlier_epochs_anyway() {
    let mut cluster = Cluster::new(3, 2);
    // keys 1 and 2 are others'; nothing is promised of them
    cluster.run(0, &[], &[0]);
    assert_eq!(cluster.run(0, &[1], &[]), counts(&[("claim", 1), ("claim's reply", 1)]), "in the same epoch");
    cluster.end_epoch();
    assert_eq!(cluster.run(0, &[2], &[]), counts(&[]));
}
