//! Answers that come when nobody waits for them any more: they are of a transaction that was given up, and no other may
//! take them for its own.

use super::bank::settings;
use super::client::{Txn, key, number, value};
use scaledb_cluster::{Key, LocalCluster, Lost, Member, NoAnswer, Rows, Settings};
use scaledb_scar::{Answer, Kind, Node, Ours, Out, PartitionId, Range, Refused, TxnId, Wanted};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use std::ops::Bound;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(300);

/// Of three partitions node 0 does not keep this one; its primary is node 1.
fn far(name: &str) -> Key {
    key(1, 3, 1, name)
}

/// A member does nothing for longer than anyone waits for it, but is not put out.
fn hold(member: &Arc<Member>) -> thread::JoinHandle<()> {
    let (member, begun) = (member.clone(), Arc::new(AtomicBool::new(false)));
    let tells = begun.clone();
    let held = thread::spawn(move || {
        member.call(|_, _| {
            tells.store(true, Ordering::SeqCst);
            thread::sleep(PATIENCE + PATIENCE / 2);
        });
    });
    while !begun.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
    held
}

type Question = fn(TxnId, &mut Node<Ours, Rows>, &mut Out<Rows>) -> Result<(), Refused>;

/// What a transaction waits for. The first of each pair is asked before the other node is silent.
const QUESTIONS: [(&str, Option<Question>, Question); 6] = [
    ("read", None, |txn, node, out| node.read(txn, far("other"), out)),
    ("scan", None, |txn, node, out| {
        let ends = (Bound::Included(far("a")), Bound::Excluded(far("z")));
        node.scan(txn, PartitionId(1), Range::new(ends.0, ends.1), out)
    }),
    ("fetch", None, |txn, node, out| {
        node.fetch(txn, Wanted { keys: vec![far("one"), far("other")], ranges: Vec::new() }, out)
    }),
    ("check", Some(|txn, node, out| node.read(txn, far("one"), out)), |txn, node, out| node.check(txn, out)),
    ("confirm", Some(|txn, node, out| node.read(txn, far("one"), out)), |txn, node, out| {
        node.confirm(txn, out)
    }),
    ("commit", None, |txn, node, out| {
        node.write(txn, far("other"), Some(value(3)))?;
        node.commit(txn, out)
    }),
];

#[test]
fn a_late_answer_is_not_taken_for_that_of_the_next_transaction() {
    let settings = Settings {
        patience: PATIENCE,
        suspect_after: Duration::from_secs(60),
        idle_epoch: Duration::from_millis(10),
        ..settings()
    };
    let cluster = LocalCluster::start(settings, 3, 3, 1).unwrap();
    let members: Vec<Arc<Member>> = cluster.members().cloned().collect();
    let mut session = members[0].session();
    let mut txn = Txn::begin(&mut session).unwrap();
    txn.put(far("one"), value(1)).unwrap();
    txn.put(far("other"), value(2)).unwrap();
    txn.commit().unwrap();
    for (name, before, question) in QUESTIONS {
        let first = session.begin(Kind::Serializable).unwrap();
        if let Some(before) = before {
            session.ask(|node, out| before(first, node, out)).unwrap();
            // another epoch, in which the primary has to be asked
            let epoch = members[0].committed();
            while members[0].committed().0 < epoch.0 + 2 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let held = hold(&members[1]);
        let silent = session.ask(|node, out| question(first, node, out));
        assert_eq!(silent, Err(NoAnswer::Lost(Lost::Silent)), "{name}");
        // nothing more is to be had of it
        let again = session.ask(|node, out| node.read(first, far("one"), out));
        assert_eq!(again, Err(NoAnswer::Refused(Refused::NoTransaction)), "{name}");
        let second = session.begin(Kind::Serializable).unwrap();
        let answer = session.ask(|node, out| node.read(second, far("one"), out)).unwrap();
        let Answer::Read(of, key, Some(read)) = &answer else { panic!("{name}: {answer:?}") };
        assert_eq!((*of, key, number(read)), (second, &far("one"), 1), "{name}");
        session.call(|node, out| node.rollback(second, out)).unwrap();
        held.join().unwrap();
        // and it does not stay
        let since = Instant::now();
        while members[0].numbers().transactions > 0 {
            assert!(since.elapsed() < Duration::from_secs(10), "{name}: {:?}", members[0].numbers());
            thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(members.iter().all(|member| !member.has_left()));
}
