//! What transactions announce: all nodes hand it out when the epoch has committed, in one order, and nothing is left.

use scaledb_scar::{Answer, Data, Kind, Message, Node, NodeId, Ours, Out, PartitionId, SessionId, View, Why};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Texts;

impl Data for Texts {
    type Key = u64;
    type Value = String;

    fn partition(_: &u64, _: usize) -> PartitionId {
        PartitionId(0)
    }

    fn is_announcement(key: &u64) -> bool {
        *key >= 1_000
    }
}

const PARTITION: PartitionId = PartitionId(0);

/// Three nodes whose messages are delivered by hand, and what each has handed out.
struct Three {
    nodes: Vec<Node<Ours, Texts>>,
    heard: Vec<Vec<u64>>,
    answers: Vec<Answer<Texts>>,
    mail: VecDeque<(NodeId, NodeId, Message<Texts>)>,
}

impl Three {
    fn start() -> Self {
        let view = Arc::new(View::first(3, 1, 1).everywhere(PARTITION));
        let nodes = (0..3).map(|node| Node::new(Ours, NodeId(node), view.clone())).collect();
        Self { nodes, heard: vec![Vec::new(); 3], answers: Vec::new(), mail: VecDeque::new() }
    }

    fn call<T>(&mut self, at: usize, f: impl FnOnce(&mut Node<Ours, Texts>, &mut Out<Texts>) -> T) -> T {
        let mut out = Out::default();
        let result = f(&mut self.nodes[at], &mut out);
        let from = NodeId(at as u8);
        self.mail.extend(out.messages.into_iter().map(|(to, message)| (from, to, message)));
        self.heard[at].extend(out.announced.into_iter().map(|announced| announced.key));
        self.answers.extend(out.answers);
        result
    }

    /// Delivers until nothing is on its way, but to nobody who is gone.
    fn deliver(&mut self, gone: Option<u8>) {
        while let Some((from, to, message)) = self.mail.pop_front() {
            if gone != Some(to.0) && gone != Some(from.0) {
                self.call(usize::from(to.0), |node, out| node.receive(from, message, out));
            }
        }
    }

    /// Begins to commit a transaction that reads some keys, and writes others.
    fn commit(&mut self, at: usize, session: u64, reads: &[u64], writes: &[(u64, &str)]) {
        let txn = self.call(at, |node, _| node.begin(SessionId(session as u32), Kind::Serializable)).unwrap();
        for key in reads {
            self.call(at, |node, out| node.read(txn, *key, out)).unwrap();
            self.deliver(None);
        }
        for (key, value) in writes {
            self.call(at, |node, _| node.write(txn, *key, Some((*value).to_owned()))).unwrap();
        }
        self.call(at, |node, out| node.commit(txn, out)).unwrap();
    }

    fn end_epoch(&mut self) {
        self.call(0, |node, out| node.tick(out));
        self.deliver(None);
    }

    fn aborted(&mut self) -> Option<Why> {
        let answers = std::mem::take(&mut self.answers);
        answers
            .iter()
            .find_map(|answer| if let Answer::Aborted(_, why, _) = answer { Some(*why) } else { None })
    }
}

#[test]
fn nothing_is_handed_out_before_the_epoch_has_committed_and_then_to_all_in_the_order_of_commits() {
    let mut three = Three::start();
    three.commit(2, 1, &[], &[(1, "a"), (2_000, "has written")]);
    three.deliver(None);
    // by keys it would come first: it has read what the other has written, at no other place
    three.commit(1, 2, &[1], &[(1_000, "has read")]);
    three.deliver(None);
    assert!(three.heard.iter().all(Vec::is_empty), "{:?}", three.heard);
    three.end_epoch();
    assert!(three.heard.iter().all(|heard| *heard == [2_000, 1_000]), "{:?}", three.heard);
    three.end_epoch();
    assert!(three.heard.iter().all(|heard| heard.len() == 2), "once");
    for node in &three.nodes {
        assert_eq!(node.rows(PARTITION).unwrap(), [(1, "a".to_owned())]);
        assert_eq!(node.size(PARTITION).unwrap().records, 1);
        assert!(!node.has_locks());
    }
}

#[test]
fn what_is_announced_conflicts_with_nothing() {
    let mut three = Three::start();
    three.commit(0, 1, &[1, 2, 3], &[(1_000, "x")]);
    three.commit(1, 2, &[1, 2, 3], &[(1_001, "y")]);
    three.commit(2, 3, &[1, 2, 3], &[(1_002, "z")]);
    three.deliver(None);
    three.end_epoch();
    assert_eq!(three.aborted(), None);
    assert!(three.heard.iter().all(|heard| *heard == [1_000, 1_001, 1_002]), "{:?}", three.heard);
}

/// A view without a node that has died: what was announced in the epoch that it undoes is heard by nobody, what was in
/// one that was whole by all, also by those who did not know yet that it had committed.
#[test]
fn a_change_of_view_undoes_or_commits_for_all() {
    for is_whole in [false, true] {
        let mut three = Three::start();
        three.commit(1, 1, &[], &[(1_000, "x")]);
        if is_whole {
            three.deliver(None);
            three.call(0, |node, out| node.tick(out));
            // all but the news that it has committed
            while three.heard[0].is_empty() {
                let (from, to, message) = three.mail.pop_front().expect("more to come");
                three.call(usize::from(to.0), |node, out| node.receive(from, message, out));
            }
        } else {
            three.deliver(None);
        }
        assert!(three.heard[1].is_empty() && three.heard[2].is_empty());
        let gone = if is_whole { 0 } else { 1 };
        let view = Arc::new(three.nodes[2].view().without([NodeId(gone)].into_iter().collect()).unwrap());
        let leader = usize::from(view.leader.0);
        three.mail.clear();
        three.call(leader, |node, out| node.lead(view, out));
        three.deliver(Some(gone));
        let expected: &[u64] = if is_whole { &[1_000] } else { &[] };
        for at in (0..3).filter(|&at| at != usize::from(gone)) {
            assert_eq!(three.heard[at], expected, "node {at}, whole: {is_whole}");
        }
    }
}

#[test]
fn a_node_without_room_stops_announcements_at_all_and_nothing_else() {
    let mut three = Three::start();
    three.nodes[2].set_deaf(true);
    // nobody knows it before the epoch in which it says so has ended
    three.commit(0, 1, &[], &[(1_000, "x")]);
    three.deliver(None);
    three.end_epoch();
    for at in 0..3 {
        three.answers.clear();
        three.commit(at, 2, &[], &[(5, "y"), (1_001, "y")]);
        three.deliver(None);
        assert_eq!(three.aborted(), Some(Why::Deaf), "at {at}");
        three.commit(at, 3, &[], &[(7, "z")]);
        three.deliver(None);
        three.end_epoch();
        assert_eq!(three.aborted(), None);
    }
    assert_eq!(three.nodes[0].rows(PARTITION).unwrap(), [(7, "z".to_owned())]);
    three.nodes[2].set_deaf(false);
    three.end_epoch();
    three.commit(1, 4, &[], &[(1_002, "x")]);
    three.deliver(None);
    three.end_epoch();
    assert!(three.heard.iter().all(|heard| *heard == [1_000, 1_002]), "{:?}", three.heard);
}
