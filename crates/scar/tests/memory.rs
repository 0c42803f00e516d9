//! What a node counts of its records, and its limit: without memory for more, a primary adds no record.

use scaledb_scar::{Answer, Data, Kind, Node, NodeId, Ours, Out, PartitionId, SessionId, View, Why};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Texts;

impl Data for Texts {
    type Key = u64;
    type Value = String;

    fn partition(_: &u64, _: usize) -> PartitionId {
        PartitionId(0)
    }

    fn bytes(_: &u64, value: Option<&String>) -> usize {
        10 + value.map_or(0, String::len)
    }
}

const PARTITION: PartitionId = PartitionId(0);

/// Writes at the only node, and lets the epoch end.
fn write(node: &mut Node<Ours, Texts>, key: u64, value: Option<&str>) -> Result<(), Why> {
    let mut out = Out::default();
    let txn = node.begin(SessionId(1), Kind::Serializable).unwrap();
    node.write(txn, key, value.map(str::to_owned)).unwrap();
    node.commit(txn, &mut out).unwrap();
    node.tick(&mut out);
    match out.answers.last() {
        Some(Answer::Committed(_)) => Ok(()),
        Some(Answer::Aborted(_, why, _)) => Err(*why),
        other => panic!("{other:?}"),
    }
}

/// Records, records without a value, bytes.
fn size(node: &Node<Ours, Texts>) -> (usize, usize, usize) {
    let size = node.size(PARTITION).unwrap();
    (size.records, size.bare, size.bytes)
}

#[test]
fn what_records_weigh_is_what_they_are() {
    let mut node = Node::new(Ours, NodeId(0), Arc::new(View::first(1, 1, 0)));
    assert_eq!(size(&node), (0, 0, 0));
    write(&mut node, 1, Some("four")).unwrap();
    // with the record before, which had no value
    assert_eq!(size(&node), (1, 0, 14 + 10));
    write(&mut node, 1, Some("seventy")).unwrap();
    assert_eq!(size(&node), (1, 0, 17 + 14));
    write(&mut node, 2, Some("")).unwrap();
    assert_eq!(size(&node), (2, 0, 17 + 14 + 10 + 10));
    write(&mut node, 1, None).unwrap();
    assert_eq!(size(&node), (1, 0, 10 + 10));
    // a lock makes a record, which goes with the epoch
    let mut out = Out::default();
    let txn = node.begin(SessionId(2), Kind::Serializable).unwrap();
    node.read(txn, 7, &mut out).unwrap();
    node.rollback(txn, &mut out).unwrap();
    assert_eq!(size(&node), (1, 0, 20));
    assert!(!node.has_locks());
    assert_eq!(node.memory(), (20, usize::MAX));
}

#[test]
fn a_full_node_adds_no_record_and_still_changes_and_deletes() {
    let mut node = Node::new(Ours, NodeId(0), Arc::new(View::first(1, 1, 0)));
    node.limit_memory(40);
    write(&mut node, 1, Some("a")).unwrap();
    write(&mut node, 2, Some("b")).unwrap();
    assert_eq!(write(&mut node, 3, Some("c")), Err(Why::Full));
    write(&mut node, 1, Some("another")).unwrap();
    write(&mut node, 1, None).unwrap();
    write(&mut node, 3, Some("c")).unwrap();
    assert_eq!(write(&mut node, 4, Some("d")), Err(Why::Full));
    assert_eq!(size(&node).0, 2);
}
