//! A checkpoint of a node that still learns a partition: after a crash it claims no more than what is on disk.

use scaledb_scar::{
    Checkpointing, Data, Entry, Kind, Message, Node, NodeId, Ours, Out, PartitionId, Recovered, SessionId,
    View,
};
use std::collections::VecDeque;
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

const PARTITION: PartitionId = PartitionId(0);
const ROWS: u64 = 6;

/// A primary, and a learner whose log is kept.
struct Pair {
    nodes: [Node<Ours, Numbers>; 2],
    log: Vec<Entry<Numbers>>,
    queue: VecDeque<(usize, NodeId, Message<Numbers>)>,
}

impl Pair {
    fn call(&mut self, at: usize, act: impl FnOnce(&mut Node<Ours, Numbers>, &mut Out<Numbers>)) {
        let mut out = Out::default();
        let node = &mut self.nodes[at];
        act(node, &mut out);
        node.persisted(node.written(), &mut out);
        if at == 1 {
            self.log.append(&mut out.journal);
        }
        self.queue.extend(out.messages.into_iter().map(|(to, message)| (at, to, message)));
    }

    /// Delivers all messages, except those that are to be held back, which are returned.
    fn deliver(&mut self, held: fn(&Message<Numbers>) -> bool) -> Vec<Message<Numbers>> {
        let mut back = Vec::new();
        while let Some((from, to, message)) = self.queue.pop_front() {
            if held(&message) {
                back.push(message);
            } else {
                self.call(to.0.into(), |node, out| node.receive(NodeId(from as u8), message, out));
            }
        }
        back
    }

    fn deliver_all(&mut self) {
        self.deliver(|_| false);
    }

    fn lead(&mut self, view: View) {
        self.call(0, |node, out| node.lead(Arc::new(view), out));
    }
}

fn is_chunk(message: &Message<Numbers>) -> bool {
    matches!(message.body, scaledb_scar::Body::Chunk(..))
}

#[test]
fn what_is_learned_while_a_checkpoint_is_made_is_learned_again_if_its_log_was_lost() {
    let first = View::first(2, 1, 1).on_disk();
    let alone = first.without([NodeId(1)].into_iter().collect()).unwrap();
    let learning = alone.joining(NodeId(1));
    let mut primary = Node::new(Ours, NodeId(0), Arc::new(alone));
    for key in 1..=ROWS {
        primary.load(key, key);
    }
    primary.set_chunk(1);
    let mut learner = Node::joining(Ours, NodeId(1), &learning);
    learner.set_chunk(1);
    let mut pair = Pair { nodes: [primary, learner], log: Vec::new(), queue: VecDeque::new() };
    pair.lead(learning.clone());
    let chunk = pair.deliver(is_chunk);
    assert_eq!(chunk.len(), 1);

    // the checkpoint begins while nothing is learned
    pair.call(1, |node, out| node.begin_checkpoint(out));
    pair.call(0, |node, out| node.tick(out));
    pair.deliver(is_chunk);
    assert_eq!(pair.nodes[1].checkpointing(), Checkpointing::Walking);
    // writes come to the learner before the records that they change, and the walk meets one
    pair.call(0, |node, out| {
        let txn = node.begin(SessionId(1), Kind::Serializable).unwrap();
        node.write(txn, 3, Some(33)).unwrap();
        node.write(txn, 5, Some(55)).unwrap();
        node.commit(txn, out).unwrap();
    });
    pair.deliver_all();
    let mut pieces = vec![pair.nodes[1].checkpoint_piece().unwrap()];
    assert_eq!(pieces[0].records.iter().map(|record| record.key).collect::<Vec<_>>(), [3]);
    // then all is learned, and the walk ends
    for message in chunk {
        pair.call(1, |node, out| node.receive(NodeId(0), message, out));
    }
    pair.deliver_all();
    assert!(pair.log.iter().filter(|entry| matches!(entry, Entry::Chunk(..))).count() >= ROWS as usize);
    while let Some(piece) = pair.nodes[1].checkpoint_piece() {
        pieces.push(piece);
    }

    // the checkpoint is in force, and the learner is lost before the epoch is whole
    let begin = pair.log.iter().position(|entry| matches!(entry, Entry::Checkpoint(..))).unwrap();
    let log = pair.log.split_off(begin);
    assert!(!log[1..].iter().any(Entry::is_mark));
    let mut recovered = Recovered::new(NodeId(1));
    let mut log = log.into_iter();
    recovered.replay(log.next().unwrap());
    pieces.into_iter().for_each(|piece| recovered.load(piece));
    log.for_each(|entry| recovered.replay(entry));
    recovered.cut();
    let resumed = learning.resumed();
    pair.nodes[1] = Node::resuming(Ours, &resumed, recovered);
    pair.lead(resumed.clone());
    pair.deliver_all();
    // what is learned counts when a later epoch does
    for _ in 0..2 {
        pair.call(0, |node, out| node.tick(out));
        pair.deliver_all();
    }
    assert!(pair.nodes[1].has_copied());
    pair.lead(resumed.promoted(NodeId(1)));
    pair.deliver_all();
    let rows: Vec<_> = (1..=ROWS).map(|key| (key, key)).collect();
    for node in &pair.nodes {
        assert_eq!(node.rows(PARTITION), Some(rows.clone()), "{:?}", node.id());
    }
}
