//! Histories of sessions at real servers, recorded while slots move and masters are killed, and checked afterwards for
//! everything that Occult excludes (`scaledb_occult_sim::history`): single operations for their causal order, and
//! transactions for aborted and intermediate reads, circular flow, missed effects and lost updates.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

mod support;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_occult::slot_of;
use scaledb_occult_client::{Client, Error, Micros, OperationError, Session};
use scaledb_occult_lab::{Lab, Node, Options, Shape, Weather};
use scaledb_occult_sim::history::{Fate, History, Id, Key, Op};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::{client_with, lab, move_slot, run};
use tokio::sync::watch;

const SESSIONS: usize = 6;

/// Each session has keys that only it writes, and there are some that all transactions change.
const OWN: usize = 3;
const SHARED: usize = 4;

fn name(key: Key) -> String {
    format!("key-{key}")
}

fn shared(nth: usize) -> Key {
    SESSIONS * OWN + nth
}

fn id(value: Option<scaledb_occult_client::Bytes>) -> Option<Id> {
    value.map(|value| std::str::from_utf8(&value).unwrap().parse().unwrap())
}

/// The numbers of writes.
type Ids = Rc<Cell<Id>>;

fn next(ids: &Ids) -> Id {
    ids.set(ids.get() + 1);
    ids.get()
}

/// What an error says of the end of an operation.
fn fate(ops: &mut Vec<Op>, error: &Error) -> Fate {
    match error {
        Error::Operation(OperationError::LostWrite { slot }) => {
            let keys = (0..shared(SHARED)).filter(|key| slot_of(name(*key).as_bytes()) == *slot).collect();
            ops.push(Op::Told { keys });
            Fate::Aborted
        }
        error if error.is_unknown() => Fate::Unknown,
        error if error.is_conflict() => Fate::Aborted,
        error => panic!("{error:?}"),
    }
}

/// One session, which now and then goes on in the other datacenter.
async fn work(clients: [Client; 2], nth: usize, ids: Ids, stop: watch::Receiver<bool>) -> Vec<Op> {
    let mut random = SmallRng::seed_from_u64(nth as u64);
    let mut session = clients[nth % 2].session();
    let mut ops = Vec::new();
    while !*stop.borrow() {
        match random.random_range(0..100) {
            0..3 => session.move_to(&clients[random.random_range(0..2)]),
            3..50 => {
                let key = random.random_range(0..shared(SHARED));
                match session.get(name(key)).await {
                    Ok(value) => ops.push(Op::Read { key, saw: id(value) }),
                    Err(error) => {
                        fate(&mut ops, &error);
                    }
                }
            }
            50..75 => {
                let (key, id) = (nth * OWN + random.random_range(0..OWN), next(&ids));
                let done = session.set(name(key), id.to_string()).await;
                let fate = done.map_or_else(|error| fate(&mut ops, &error), |()| Fate::Done);
                ops.push(Op::Write { key, id, fate });
            }
            _ => transact(&mut session, &mut random, nth, &ids, &mut ops).await,
        }
        // the servers' processes need the machine, too
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    ops
}

/// What one attempt of a transaction has read and written.
type Attempt = (Vec<(Key, Option<Id>)>, Vec<(Key, Id)>);

/// Reads two shared keys and some others, and changes the shared ones, one of them twice.
async fn transact(session: &mut Session, random: &mut SmallRng, nth: usize, ids: &Ids, ops: &mut Vec<Op>) {
    let a = random.random_range(0..SHARED);
    let b = (a + random.random_range(1..SHARED)) % SHARED;
    let other = random.random_range(0..SESSIONS * OWN);
    let own = nth * OWN + random.random_range(0..OWN);
    let keys = [other, shared(a), shared(b)];
    let attempts: Rc<RefCell<Vec<Attempt>>> = Rc::default();
    let done = session
        .transaction(|transaction| {
            let (attempts, ids) = (attempts.clone(), ids.clone());
            async move {
                attempts.borrow_mut().push((Vec::new(), Vec::new()));
                let note = |read: Option<(Key, Option<Id>)>, write: Option<(Key, Id)>| {
                    if let Some(attempt) = attempts.borrow_mut().last_mut() {
                        attempt.0.extend(read);
                        attempt.1.extend(write);
                    }
                };
                for key in keys {
                    note(Some((key, id(transaction.get(name(key)).await?))), None);
                }
                for key in [shared(a), shared(a), shared(b), own] {
                    let id = next(&ids);
                    transaction.set(name(key), id.to_string()).await?;
                    note(None, Some((key, id)));
                }
                Ok(())
            }
        })
        .await;
    let fate = done.map_or_else(|error| fate(ops, &error), |()| Fate::Done);
    let mut attempts = attempts.take();
    let last = attempts.pop();
    let op = |(reads, writes), fate| Op::Transaction { reads, writes, fate };
    ops.extend(attempts.into_iter().map(|attempt| op(attempt, Fate::Aborted)));
    ops.extend(last.map(|attempt| op(attempt, fate)));
}

/// Runs the sessions while something happens to the servers; their history.
async fn record(lab: &mut Lab, what: impl AsyncFnOnce(&mut Lab, &Ids)) -> History {
    let mut clients = Vec::new();
    for datacenter in 0..2 {
        let client = client_with(lab, datacenter, |options| {
            options.config.report_hearsay = true;
            options.config.lease = Micros(500_000);
            options.config.patience = Micros(30_000_000);
        });
        clients.push(client.await);
    }
    let (stop, stopped) = watch::channel(false);
    let (local, ids) = (tokio::task::LocalSet::new(), Ids::default());
    let tasks: Vec<_> = (0..SESSIONS)
        .map(|nth| {
            let both = [clients[0].clone(), clients[1].clone()];
            local.spawn_local(work(both, nth, ids.clone(), stopped.clone()))
        })
        .collect();
    local
        .run_until(async {
            what(lab, &ids).await;
            stop.send_replace(true);
            let mut history = History::default();
            for task in tasks {
                history.sessions.push(task.await.unwrap());
            }
            history
        })
        .await
}

/// Waits until the sessions have written so many times more.
async fn more_writes(ids: &Ids, count: Id) {
    let (from, end) = (ids.get(), Instant::now() + Duration::from_secs(60));
    while ids.get() < from + count {
        assert!(Instant::now() < end, "the sessions do not get on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn check(history: &History) {
    let all = || history.sessions.iter().flatten();
    let reads = all().filter(|op| matches!(op, Op::Read { saw: Some(_), .. })).count();
    let done = all().filter(|op| matches!(op, Op::Transaction { fate: Fate::Done, .. })).count();
    println!("{} operations, {reads} reads of values, {done} transactions", all().count());
    assert!(reads > 10 && done > 10, "{reads} reads and {done} transactions");
    let found = history.check();
    assert!(found.is_empty(), "{} anomalies, first {:?}", found.len(), found[0]);
}

fn options() -> Options {
    Options {
        shape: Shape { masters: 3, replicas: true },
        weather: Weather { one_way: Duration::from_millis(2), cut: false },
        node_timeout: Duration::from_millis(1_500),
        settings: "shape exact".to_owned(),
        ..Options::default()
    }
}

/// Slots move to the next master and back, with SETSLOT and MIGRATE, while all of their keys are used.
#[test]
fn slots_that_move_there_and_back_leave_no_anomaly() {
    // no master is taken for dead because the machine is busy: a failover may lose something
    let Some(mut lab) = lab(&Options { node_timeout: Duration::from_secs(60), ..options() }) else { return };
    run(async {
        let history = record(&mut lab, async |lab, ids| {
            for back in [false, true, false] {
                more_writes(ids, 150).await;
                for key in (0..shared(SHARED)).step_by(3).chain((0..SHARED).map(shared)) {
                    move_slot(lab, slot_of(name(key).as_bytes()), back).await;
                    more_writes(ids, 10).await;
                }
            }
        })
        .await;
        check(&history);
        assert!(
            !history.sessions.iter().flatten().any(|op| matches!(op, Op::Told { .. })),
            "a move loses nothing"
        );
    });
}

/// A master is killed under load, its replica is elected, and the killed one comes back.
#[test]
fn a_killed_master_leaves_no_anomaly() {
    let Some(mut lab) = lab(&options()) else { return };
    let is_master = |node: &Node| node.info("role").as_deref() == Some("master");
    run(async {
        let history = record(&mut lab, async |lab, ids| {
            more_writes(ids, 300).await;
            let replica = lab.replica_of(1);
            lab.node(1).kill();
            let end = Instant::now() + Duration::from_secs(60);
            while !is_master(&lab.nodes()[replica]) {
                assert!(Instant::now() < end, "no replica is elected");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            lab.node(1).restart().unwrap();
            more_writes(ids, 300).await;
        })
        .await;
        check(&history);
    });
}
