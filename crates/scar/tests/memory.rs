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

/// Three nodes whose messages are delivered by hand.
struct Three {
    nodes: Vec<Node<Ours, Texts>>,
    out: Out<Texts>,
    mail: std::collections::VecDeque<(NodeId, NodeId, scaledb_scar::Message<Texts>)>,
}

impl Three {
    /// The partition is at nodes 0, the primary, and 1.
    fn start() -> Self {
        let view = Arc::new(View::first(3, 1, 1));
        let nodes = (0..3).map(|node| Node::new(Ours, NodeId(node), view.clone())).collect();
        Self { nodes, out: Out::default(), mail: std::collections::VecDeque::new() }
    }

    fn call<T>(&mut self, at: usize, f: impl FnOnce(&mut Node<Ours, Texts>, &mut Out<Texts>) -> T) -> T {
        let result = f(&mut self.nodes[at], &mut self.out);
        for (to, message) in self.out.messages.drain(..) {
            self.mail.push_back((NodeId(at as u8), to, message));
        }
        result
    }

    /// Delivers until nothing is on its way; what the clients are told meanwhile.
    fn deliver(&mut self) -> Vec<Answer<Texts>> {
        while let Some((from, to, message)) = self.mail.pop_front() {
            self.call(usize::from(to.0), |node, out| node.receive(from, message, out));
        }
        std::mem::take(&mut self.out.answers)
    }

    fn end_epoch(&mut self) -> Vec<Answer<Texts>> {
        self.call(0, |node, out| node.tick(out));
        self.deliver()
    }

    /// Writes at a node, and lets the epoch end.
    fn write(&mut self, at: usize, key: u64, value: Option<&str>) -> Result<(), Why> {
        let txn = self.call(at, |node, _| node.begin(SessionId(1), Kind::Serializable)).unwrap();
        self.call(at, |node, _| node.write(txn, key, value.map(str::to_owned))).unwrap();
        self.call(at, |node, out| node.commit(txn, out)).unwrap();
        let mut answers = self.deliver();
        answers.extend(self.end_epoch());
        match answers.last() {
            Some(Answer::Committed(_)) => Ok(()),
            Some(Answer::Aborted(_, why, _)) => Err(*why),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_full_backup_stops_inserts_and_nothing_else() {
    let mut three = Three::start();
    three.write(2, 1, Some("a")).unwrap();
    three.nodes[1].limit_memory(1);
    // nobody knows it before the epoch in which it says so has ended, and a backup takes what comes
    three.write(2, 2, Some("b")).unwrap();
    for at in 0..3 {
        assert_eq!(three.write(at, 3, Some("c")), Err(Why::Full), "at {at}");
        three.write(at, 1, Some("changed")).unwrap();
        three.write(at, 2, None).unwrap();
        // the record of what is deleted goes with the epoch, and may not come back
        assert_eq!(three.write(at, 2, Some("b")), Err(Why::Full), "at {at}");
        three.nodes[1].limit_memory(usize::MAX);
        three.end_epoch();
        three.write(at, 2, Some("b")).unwrap();
        three.nodes[1].limit_memory(1);
        three.end_epoch();
    }
    assert_eq!(three.nodes[0].rows(PARTITION), three.nodes[1].rows(PARTITION));
    // one that keeps nothing of the partition may be as full as it likes
    three.nodes[1].limit_memory(usize::MAX);
    three.nodes[2].limit_memory(0);
    three.end_epoch();
    three.write(2, 4, Some("d")).unwrap();
    assert_eq!(three.nodes[0].rows(PARTITION), three.nodes[1].rows(PARTITION));
}

/// A confirmation takes no memory, and is not lost with it.
#[test]
fn memory_that_runs_out_while_an_answer_is_confirmed_does_not_matter_to_it() {
    let mut three = Three::start();
    three.write(2, 1, Some("a")).unwrap();
    let txn = three.call(2, |node, _| node.begin(SessionId(1), Kind::Serializable)).unwrap();
    three.call(2, |node, out| node.read(txn, 1, out)).unwrap();
    three.deliver();
    three.call(2, |node, out| node.confirm(txn, out)).unwrap();
    assert_eq!(three.deliver(), Vec::new(), "it waits for its epoch");
    three.nodes.iter_mut().for_each(|node| node.limit_memory(0));
    assert!(matches!(three.end_epoch()[..], [Answer::Confirmed(of, _)] if of == txn));
    // the transaction goes on, and its insert is refused
    three.call(2, |node, _| node.write(txn, 9, Some("x".to_owned()))).unwrap();
    three.call(2, |node, out| node.commit(txn, out)).unwrap();
    let answers = three.deliver();
    assert!(matches!(answers[..], [Answer::Aborted(of, Why::Full, _)] if of == txn), "{answers:?}");
    assert!(three.nodes.iter().all(|node| node.transactions() == 0));
    three.end_epoch();
    assert!(!three.nodes.iter().any(Node::has_locks));
}

/// A learner without memory copies no more, and goes on when there is some. Others go on all the while.
#[test]
fn a_learner_that_is_full_waits_for_memory() {
    let mut three = Three::start();
    for key in 0..40 {
        three.write(0, key, Some("a row")).unwrap();
    }
    let mut view = (**three.nodes[0].view()).clone();
    view.number.0 += 1;
    view.partitions[0].learners = view.partitions[0].learners.with(NodeId(2));
    three.nodes.iter_mut().for_each(|node| node.set_chunk(4));
    three.nodes[2].limit_memory(300);
    let view = Arc::new(view);
    three.call(0, |node, out| node.lead(view, out));
    three.deliver();
    for key in 40..45 {
        three.write(1, key, Some("another")).unwrap();
    }
    assert!(!three.nodes[2].has_copied());
    let copied = three.nodes[2].size(PARTITION).unwrap().records;
    assert!((10..30).contains(&copied), "{copied}");
    three.nodes[2].limit_memory(usize::MAX);
    three.end_epoch();
    three.end_epoch();
    assert!(three.nodes[2].has_copied());
    let mut promoted = (**three.nodes[0].view()).clone();
    promoted.number.0 += 1;
    (promoted.partitions[0].learners, promoted.partitions[0].backups) =
        (Default::default(), promoted.partitions[0].backups.with(NodeId(2)));
    three.call(0, |node, out| node.lead(Arc::new(promoted), out));
    three.deliver();
    three.write(2, 50, Some("last")).unwrap();
    assert_eq!(three.nodes[2].rows(PARTITION), three.nodes[0].rows(PARTITION));
}
