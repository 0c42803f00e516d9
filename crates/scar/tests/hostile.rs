//! Whatever peers send, a node neither panics nor grows: messages of any content and order, repeated, from anybody.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_scar::{
    Body, Brought, Claim, Conflict, Copied, Data, Ends, Epoch, Granted, Item, Kind, Lacks, Message, Node,
    NodeId, Ours, Out, PartitionId, Range, Report, Seen, SessionId, Time, TxnId, Version, View, ViewNumber,
    Wanted,
};
use std::ops::Bound;
use std::sync::Arc;

type Key = u64;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Numbers;

impl Data for Numbers {
    type Key = Key;
    type Value = u64;

    fn partition(key: &Key, partitions: usize) -> PartitionId {
        // a key may belong to a partition that is not there
        PartitionId((key % (partitions as u64 + 1)) as u16)
    }
}

fn number(random: &mut SmallRng) -> u64 {
    match random.random_range(0..20) {
        0 => u64::MAX,
        1 => u64::MAX - 1,
        2 => random.random(),
        _ => random.random_range(0..4),
    }
}

fn key(random: &mut SmallRng) -> Key {
    random.random_range(0..6)
}

fn item(random: &mut SmallRng) -> Item<Key> {
    let ends: Ends<Key> =
        (random.random::<bool>().then(|| key(random)), random.random::<bool>().then(|| key(random)));
    if random.random() { Item::Record(key(random)) } else { Item::Gap(partition(random), ends.0, ends.1) }
}

fn range(random: &mut SmallRng) -> Range<Key> {
    let bound = |random: &mut SmallRng| match random.random_range(0..3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(random)),
        _ => Bound::Excluded(key(random)),
    };
    let (low, high) = (bound(random), bound(random));
    Range { low, high, backward: random.random(), limit: random.random_range(0..4) }
}

fn partition(random: &mut SmallRng) -> PartitionId {
    PartitionId(random.random_range(0..4))
}

fn view(random: &mut SmallRng) -> View {
    let mut view =
        View::first(random.random_range(1..5), random.random_range(0..4), random.random_range(0..3));
    if random.random() {
        view = view.joining(NodeId(random.random_range(0..4)));
    }
    view.number = ViewNumber(number(random));
    view.leader = NodeId(random.random_range(0..70));
    view.durable = random.random();
    view
}

fn claim(random: &mut SmallRng) -> Claim<Key> {
    let locks = (0..random.random_range(0..3)).map(|_| {
        let key = key(random);
        (key, random.random::<bool>().then(|| Time(number(random))))
    });
    let locks = locks.collect();
    Claim { reads: vec![(item(random), Time(number(random)))], until: Time(number(random)), locks }
}

fn body(random: &mut SmallRng) -> Body<Numbers> {
    let txn = TxnId { node: NodeId(random.random_range(0..4)), number: number(random) };
    let value = random.random::<bool>().then_some(1);
    let (a, b) = (Time(number(random)), Time(number(random)));
    let epoch = Epoch(number(random));
    let seen: Seen<Key> = Seen { item: item(random), wts: a, rts: b, epoch };
    let at = random.random::<bool>().then_some(epoch);
    match random.random_range(0..28) {
        27 => Body::TooOld(txn),
        0 => Body::Read(txn, key(random), at),
        1 => Body::ReadReply(txn, key(random), value, seen),
        2 => Body::Scan(txn, partition(random), range(random), at),
        3 => {
            let rows = vec![(key(random), 2); 3];
            Body::ScanReply(txn, partition(random), range(random), rows, vec![seen; 3])
        }
        4 | 7 => Body::Claim(txn, random.random_range(0..3), claim(random)),
        5 | 8 => {
            let split = random.random::<bool>().then(|| (Some(key(random)), None));
            let granted = vec![Granted { wts: b, rts: a, split }; random.random_range(0..3)];
            Body::ClaimReply(txn, random.random_range(0..3), Ok(granted))
        }
        6 => {
            let refused =
                (item(random), if random.random() { Conflict::Locked(txn) } else { Conflict::Changed });
            Body::ClaimReply(txn, random.random_range(0..3), Err(refused))
        }
        9 => Body::Promised(vec![(item(random), a, b); random.random_range(0..3)]),
        10 | 11 => {
            let writes = vec![(key(random), value); random.random_range(0..3)];
            Body::Write(txn, random.random_range(0..3), writes, a)
        }
        12 => Body::WriteAck(vec![(txn, random.random_range(0..3)); random.random_range(0..3)]),
        13 => Body::Unlock(txn, vec![key(random); random.random_range(0..3)]),
        25 => {
            let keys = vec![key(random); random.random_range(0..3)];
            Body::Fetch(txn, 1, Wanted { keys, ranges: vec![(partition(random), range(random))] }, at)
        }
        26 => {
            let keys = vec![(key(random), value, seen); random.random_range(0..3)];
            let ranges = vec![(partition(random), range(random), vec![(key(random), 2); 3], vec![seen; 2])];
            Body::FetchReply(txn, random.random_range(0..3), Brought { keys, ranges })
        }
        23 => Body::Copy(partition(random), random.random::<bool>().then(|| key(random))),
        24 => {
            let after = random.random::<bool>().then(|| key(random));
            let now = Version { value, wts: a, epoch };
            let before = random.random::<bool>().then(|| now.clone());
            let copied = Copied { key: key(random), now, rts: b, before, gap: (a, b) };
            let end = random.random::<bool>().then_some((a, b));
            Body::Chunk(partition(random), after, vec![copied; random.random_range(0..2)], end)
        }
        14 => Body::Close,
        15 => Body::Prepared(a, Lacks { records: random.random(), announcements: random.random() }, at),
        16 => Body::Whole(a, (0..random.random_range(0..4)).map(NodeId).collect(), random.random(), at),
        17 => Body::WholeAck,
        18 => Body::Committed,
        19 => Body::Fence(Arc::new(view(random))),
        20 => Body::Report(Report {
            committed: epoch,
            whole: Epoch(number(random)),
            epoch,
            floor: a,
            holds: random.random::<bool>().then(|| Epoch(number(random))),
        }),
        21 => Body::Install(epoch, Epoch(number(random)), a),
        _ => {
            if random.random() {
                Body::Installed
            } else {
                Body::Go
            }
        }
    }
}

#[test]
fn any_message_is_handled_or_ignored() {
    for seed in 0..400 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let id = NodeId(random.random_range(0..3));
        let first = View::first(3, 2, 1);
        let mut node = match random.random() {
            true => Node::new(Ours, id, Arc::new(first)),
            false => Node::joining(Ours, id, &first),
        };
        for _ in 0..500 {
            let mut out: Out<Numbers> = Out::default();
            if random.random_range(0..4) == 0 {
                let kind = if random.random() { Kind::Serializable } else { Kind::Snapshot };
                if let Ok(txn) = node.begin(SessionId(random.random_range(0..3)), kind) {
                    // whether the node is in a state for each call does not matter here
                    let _ = node.read(txn, key(random), &mut out);
                    let _ = node.scan(txn, partition(random), range(random), &mut out);
                    let keys = vec![key(random), key(random)];
                    let wanted = Wanted { keys, ranges: vec![(partition(random), range(random))] };
                    let _ = node.fetch(txn, wanted, &mut out);
                    let _ = node.check(txn, &mut out);
                    let _ = node.write(txn, key(random), Some(3));
                    let _ = node.commit(txn, &mut out);
                    node.tick(&mut out);
                }
            } else {
                // mostly of the node's own view and epoch, or all would be dropped at once
                let own = random.random_range(0..4) != 0;
                let view = if own { node.view().number } else { ViewNumber(number(random)) };
                let epoch = if own { node.epoch() } else { Epoch(number(random)) };
                let from = NodeId(random.random_range(0..4));
                node.receive(from, Message { view, epoch, body: body(random) }, &mut out);
            }
            assert!(out.messages.len() < 1_000, "seed {seed}");
        }
        assert!(node.transactions() <= 500, "seed {seed}");
    }
}

#[test]
fn a_node_that_is_no_member_is_not_heard() {
    let mut node = Node::new(Ours, NodeId(0), Arc::new(View::first(3, 1, 1)));
    let mut out: Out<Numbers> = Out::default();
    node.tick(&mut out);
    for from in [NodeId(1), NodeId(7)] {
        let message = Message {
            view: ViewNumber(1),
            epoch: Epoch(1),
            body: Body::Prepared(Time(0), Lacks::default(), None),
        };
        node.receive(from, message, &mut out);
    }
    assert!(!out.messages.iter().any(|(_, message)| matches!(message.body, Body::Whole(..))));
    let message = Message {
        view: ViewNumber(1),
        epoch: Epoch(1),
        body: Body::Prepared(Time(0), Lacks::default(), None),
    };
    node.receive(NodeId(2), message, &mut out);
    assert!(out.messages.iter().any(|(_, message)| matches!(message.body, Body::Whole(..))));
}
