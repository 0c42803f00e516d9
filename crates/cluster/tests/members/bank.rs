//! Transfers between accounts at all members while one of them is killed: no sum changes, and what was answered is
//! there.

use super::client::{Failed, Txn, key, number, value};
use scaledb_cluster::{Key, LocalCluster, Member, Settings, Value};
use scaledb_scar::{NodeId, Why};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

pub(crate) const PARTITIONS: u64 = 6;
pub(crate) const ACCOUNTS: u64 = 12;
pub(crate) const INITIAL: u64 = 1_000;

/// No power is cut.
static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn settings() -> Settings {
    // test machines are busy: a member that only waits for a processor is not dead
    Settings {
        suspect_after: Duration::from_secs(4),
        heartbeat: Duration::from_millis(50),
        ..Settings::default()
    }
}

pub(crate) fn account(i: u64) -> Key {
    key(i, PARTITIONS, 1, i.to_be_bytes())
}

/// The record of a transfer: written with it.
fn entry(worker: u64, n: u64) -> Key {
    let bytes: Vec<u8> = worker.to_be_bytes().into_iter().chain(n.to_be_bytes()).collect();
    key(worker + n, PARTITIONS, 2, bytes)
}

fn entry_value(from: u64, to: u64, amount: u64) -> Value {
    let bytes: Vec<u8> = [from, to, amount].into_iter().flat_map(u64::to_le_bytes).collect();
    Value(bytes.as_slice().into())
}

/// What a worker knows of its transfers, by number.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Known {
    Committed,
    Undone,
    Unknown,
}

fn transfer(txn: &mut Txn<'_>, worker: u64, n: u64, from: u64, to: u64) -> Result<(), Failed> {
    let (a, b) = (txn.get(&account(from))?.unwrap(), txn.get(&account(to))?.unwrap());
    let amount = 1 + n % 7;
    let amount = amount.min(number(&a));
    txn.put(account(from), value(number(&a) - amount))?;
    txn.put(account(to), value(number(&b) + amount))?;
    txn.put(entry(worker, n), entry_value(from, to, amount))
}

pub(crate) fn worker(
    member: &Member,
    worker: u64,
    (stop, cut): (&AtomicBool, &AtomicBool),
    done: &AtomicU64,
) -> Vec<Known> {
    let mut session = member.session();
    let mut known = Vec::new();
    let mut random = worker * 7_919 + 1;
    while !stop.load(Ordering::SeqCst) {
        let n = known.len() as u64;
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let from = (random >> 33) % ACCOUNTS;
        let to = (from + 1 + (random >> 43) % (ACCOUNTS - 1)) % ACCOUNTS;
        let result = Txn::begin(&mut session).and_then(|mut txn| {
            transfer(&mut txn, worker, n, from, to)?;
            txn.commit()
        });
        known.push(match result {
            // the machine has lost power, and whoever waits for the answer does not get it
            Ok(()) if cut.load(Ordering::SeqCst) => Known::Unknown,
            Ok(()) => {
                done.fetch_add(1, Ordering::SeqCst);
                Known::Committed
            }
            Err(Failed::Aborted(why)) => {
                assert!(matches!(why, Why::Locked(_) | Why::Changed | Why::View), "{why:?}");
                Known::Undone
            }
            Err(Failed::Unknown(_)) => {
                known.push(Known::Unknown);
                return known;
            }
        });
    }
    known
}

/// Reads all accounts in one transaction, again and again: the sum is always the same.
fn watcher(member: &Member, stop: &AtomicBool) -> u64 {
    let mut session = member.session();
    let mut seen = 0;
    while !stop.load(Ordering::SeqCst) {
        let sum = Txn::begin(&mut session).and_then(|mut txn| {
            let mut sum = 0;
            for i in 0..ACCOUNTS {
                sum += number(&txn.get(&account(i))?.unwrap());
            }
            txn.commit().map(|()| sum)
        });
        match sum {
            Ok(sum) => {
                assert_eq!(sum, ACCOUNTS * INITIAL);
                seen += 1;
            }
            Err(Failed::Aborted(_)) => {}
            Err(Failed::Unknown(_)) => return seen,
        }
    }
    seen
}

pub(crate) fn read_all(
    member: &Member,
    workers: &[(u64, Vec<Known>)],
) -> (Vec<u64>, Vec<Vec<Option<Value>>>) {
    let mut session = member.session();
    loop {
        let result = Txn::begin(&mut session).and_then(|mut txn| {
            let mut accounts = Vec::new();
            for i in 0..ACCOUNTS {
                accounts.push(number(&txn.get(&account(i))?.unwrap()));
            }
            let mut entries = Vec::new();
            for (worker, known) in workers {
                let mut found = Vec::new();
                for n in 0..known.len() as u64 {
                    found.push(txn.get(&entry(*worker, n))?);
                }
                entries.push(found);
            }
            txn.commit().map(|()| (accounts, entries))
        });
        match result {
            Ok(read) => return read,
            Err(Failed::Aborted(_)) => {}
            Err(unknown) => panic!("{unknown:?}"),
        }
    }
}

/// The accounts are what the transfers make of them, and each transfer is there if it was answered, and is not if it
/// was undone.
pub(crate) fn check(member: &Member, workers: &[(u64, Vec<Known>)]) {
    let (accounts, entries) = read_all(member, workers);
    let mut expected = vec![INITIAL; ACCOUNTS as usize];
    for ((worker, known), found) in workers.iter().zip(&entries) {
        for (n, (known, found)) in known.iter().zip(found).enumerate() {
            match known {
                Known::Committed => {
                    assert!(found.is_some(), "{member:?}: {n} of worker {worker} was answered")
                }
                Known::Undone => assert!(found.is_none(), "{member:?}: {n} of worker {worker} was undone"),
                Known::Unknown => {}
            }
            if let Some(Value(bytes)) = found {
                let field = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap());
                expected[field(0) as usize] -= field(2);
                expected[field(1) as usize] += field(2);
            }
        }
    }
    assert_eq!(accounts, expected, "{member:?}");
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Members that run, however they are joined.
pub(crate) trait Running {
    fn running(&self) -> Vec<Arc<Member>>;
    fn kill(&mut self, node: NodeId);

    /// A new life of a node, if the cluster can.
    fn restart(&mut self, _: NodeId) -> Option<Arc<Member>> {
        None
    }
}

impl Running for LocalCluster {
    fn running(&self) -> Vec<Arc<Member>> {
        self.members().cloned().collect()
    }

    fn kill(&mut self, node: NodeId) {
        self.kill(node);
    }

    fn restart(&mut self, node: NodeId) -> Option<Arc<Member>> {
        self.restart(node, || true).unwrap();
        self.member(node).cloned()
    }
}

/// Three nodes with this many partitions, of which one may fail.
pub(crate) fn transfers_survive(cluster: &mut impl Running, killed: NodeId) {
    for member in cluster.running() {
        member.call(|node, _| (0..ACCOUNTS).for_each(|i| node.load(account(i), value(INITIAL))));
    }
    let (stop, mut threads, mut watchers) = (Arc::new(AtomicBool::new(false)), Vec::new(), Vec::new());
    let (at_killed, elsewhere) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for (i, member) in cluster.running().iter().enumerate() {
        for j in 0..2 {
            let (member, stop, id) = (member.clone(), stop.clone(), 10 * i as u64 + j);
            let done = if member.node() == killed { at_killed.clone() } else { elsewhere.clone() };
            threads.push(thread::spawn(move || (id, worker(&member, id, (&stop, &NEVER), &done))));
        }
        let (member, stop) = (member.clone(), stop.clone());
        watchers.push(thread::spawn(move || watcher(&member, &stop)));
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    until("transfers at all nodes", || count(&elsewhere) >= 60 && count(&at_killed) >= 20);
    cluster.kill(killed);
    let left = cluster.running();
    until("a new view", || left.iter().all(|member| !member.view().view.members.has(killed)));
    let before = count(&elsewhere);
    until("transfers in the new view", || count(&elsewhere) >= before + 60);
    until("the view is settled", || left.iter().all(|member| member.view().is_settled()));
    let back = cluster.restart(killed);
    if let Some(back) = &back {
        let place =
            |member: &Arc<Member>| member.view().view.partitions.iter().all(|p| p.replicas().count() > 1);
        until("it has learned", || left.iter().all(|member| place(member) && member.view().is_settled()));
        let before = count(&elsewhere);
        let (back, stop, done) = (back.clone(), stop.clone(), at_killed.clone());
        let at = count(&done);
        threads.push(thread::spawn(move || (77, worker(&back, 77, (&stop, &NEVER), &done))));
        until("transfers in the third view", || {
            count(&elsewhere) >= before + 60 && count(&at_killed) >= at + 20
        });
    }
    stop.store(true, Ordering::SeqCst);
    let workers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(watchers.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>() > 0);
    for member in &left {
        check(member, &workers);
        let numbers = member.numbers();
        assert!(numbers.committed > 0 && numbers.epochs > 0 && numbers.views > 0, "{numbers:?}");
    }
    let left: Vec<Arc<Member>> = left.into_iter().chain(back).collect();
    check(left.last().unwrap(), &workers);
    // replicas are equal once nothing is in flight
    for partition in 0..PARTITIONS as u16 {
        let partition = scaledb_scar::PartitionId(partition);
        let rows: Vec<_> =
            left.iter().filter_map(|member| member.call(|node, _| node.rows(partition))).collect();
        assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "{partition:?}");
    }
}

/// Transfers at all members, while `steps` changes the cluster; it is given what waits for some more of them. What was
/// answered is there at all members in the end.
pub(crate) fn transfers_during<C: Running>(cluster: &mut C, steps: impl FnOnce(&mut C, &dyn Fn())) {
    for member in cluster.running() {
        member.call(|node, _| (0..ACCOUNTS).for_each(|i| node.load(account(i), value(INITIAL))));
    }
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let start = |member: &Arc<Member>| {
        let (member, stop, done, id) =
            (member.clone(), stop.clone(), done.clone(), u64::from(member.node().0));
        thread::spawn(move || (id, worker(&member, id, (&stop, &NEVER), &done)))
    };
    let threads: Vec<_> = cluster.running().iter().map(start).collect();
    let go_on = || {
        let before = done.load(Ordering::SeqCst);
        until("transfers", || done.load(Ordering::SeqCst) >= before + 40);
    };
    steps(cluster, &go_on);
    stop.store(true, Ordering::SeqCst);
    let workers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let left: Vec<Arc<Member>> = cluster.running().into_iter().filter(|member| !member.has_left()).collect();
    left.iter().for_each(|member| check(member, &workers));
    for partition in 0..PARTITIONS as u16 {
        let partition = scaledb_scar::PartitionId(partition);
        let rows: Vec<_> =
            left.iter().filter_map(|member| member.call(|node, _| node.rows(partition))).collect();
        assert!(rows.len() > 1 && rows.windows(2).all(|pair| pair[0] == pair[1]), "{partition:?}");
    }
}

#[test]
fn transfers_survive_a_member() {
    let mut cluster = LocalCluster::start(settings(), 3, PARTITIONS as u16, 1).unwrap();
    transfers_survive(&mut cluster, NodeId(1));
}

#[test]
fn transfers_survive_the_leader() {
    let mut cluster = LocalCluster::start(settings(), 3, PARTITIONS as u16, 1).unwrap();
    transfers_survive(&mut cluster, NodeId(0));
}
