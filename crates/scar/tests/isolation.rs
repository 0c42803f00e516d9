//! Snapshot isolation at one node: what it must let pass, and what not. `crates/verify` runs it in clusters.

use scaledb_scar::{Answer, Data, Kind, Node, NodeId, Ours, Out, PartitionId, SessionId, TxnId, View, Why};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Numbers;

impl Data for Numbers {
    type Key = u64;
    type Value = u64;

    fn partition(_: &u64, _: usize) -> PartitionId {
        PartitionId(0)
    }
}

type One = Node<Ours, Numbers>;

fn begin(node: &mut One, session: u32, kind: Kind) -> TxnId {
    node.begin(SessionId(session), kind).unwrap()
}

fn read(node: &mut One, txn: TxnId, key: u64) -> Option<u64> {
    let mut out = Out::default();
    node.read(txn, key, &mut out).unwrap();
    match out.answers.pop() {
        Some(Answer::Read(_, _, value)) => value,
        other => panic!("{other:?}"),
    }
}

fn commit(node: &mut One, txn: TxnId) -> Result<(), Why> {
    let mut out = Out::default();
    node.commit(txn, &mut out).unwrap();
    node.tick(&mut out);
    match out.answers.last() {
        Some(Answer::Committed(_)) => Ok(()),
        Some(Answer::Aborted(_, why, _)) => Err(*why),
        other => panic!("{other:?}"),
    }
}

/// A node on which keys 0 and 1 were each written three times.
fn node() -> One {
    let mut node = Node::new(Ours, NodeId(0), Arc::new(View::first(1, 1, 0)));
    for value in 1..=3 {
        let txn = begin(&mut node, 1, Kind::Serializable);
        node.write(txn, 0, Some(value)).unwrap();
        node.write(txn, 1, Some(value)).unwrap();
        commit(&mut node, txn).unwrap();
    }
    node
}

#[test]
fn a_write_without_a_look_does_not_conflict_with_what_was_there_before() {
    let mut node = node();
    // of a session that has seen nothing yet
    let txn = begin(&mut node, 2, Kind::SnapshotIsolation);
    node.write(txn, 0, Some(9)).unwrap();
    assert_eq!(commit(&mut node, txn), Ok(()));
    let txn = begin(&mut node, 3, Kind::SnapshotIsolation);
    node.write(txn, 5, Some(9)).unwrap();
    assert_eq!(commit(&mut node, txn), Ok(()), "nor with a gap");
}

#[test]
fn what_was_read_before_another_wrote_what_is_overwritten_does_not_pass() {
    let mut node = node();
    let first = begin(&mut node, 2, Kind::SnapshotIsolation);
    assert_eq!(read(&mut node, first, 0), Some(3));
    let second = begin(&mut node, 3, Kind::Serializable);
    node.write(second, 0, Some(4)).unwrap();
    node.write(second, 1, Some(4)).unwrap();
    commit(&mut node, second).unwrap();
    node.write(first, 1, Some(5)).unwrap();
    assert_eq!(commit(&mut node, first), Err(Why::Changed));
}
