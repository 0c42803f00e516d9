//! Who is a member: cut off, too few, not named.

use super::bank::settings;
use super::client::{Failed, Txn, key, number, value};
use scaledb_cluster::membership::Halt;
use scaledb_cluster::{
    ClusterView, Entrance, InMemory, Life, LocalCluster, Lost, Member, MetadataStore, Network, Packet,
    Session, Settings, StartError,
};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Answer, Body, Epoch, Kind, Message, NodeId, View, ViewNumber, Why};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// Tries again what a change of view has ended, and of which nothing has happened.
fn over_views<T>(mut once: impl FnMut() -> Result<T, Failed>) -> Result<T, Failed> {
    loop {
        match once() {
            Err(Failed::Aborted(Why::View) | Failed::Unknown(Lost::Undone)) => {}
            ended => return ended,
        }
    }
}

fn put(session: &mut Session, n: u64) -> Result<(), Failed> {
    over_views(|| {
        let mut txn = Txn::begin(session)?;
        txn.put(key(n, 3, 1, n.to_be_bytes()), value(n))?;
        txn.commit()
    })
}

fn get(session: &mut Session, n: u64) -> Option<u64> {
    let read = over_views(|| {
        let mut txn = Txn::begin(session)?;
        let value = txn.get(&key(n, 3, 1, n.to_be_bytes()))?;
        txn.commit().map(|()| value)
    });
    read.unwrap().as_ref().map(number)
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_member_that_is_cut_off_answers_nothing_and_the_others_go_on() {
    let cluster = LocalCluster::start(settings(), 3, 3, 1).unwrap();
    let members: Vec<Arc<Member>> = cluster.members().cloned().collect();
    put(&mut members[0].session(), 1).unwrap();
    for other in [1, 2] {
        cluster.channels().cut(NodeId(0), NodeId(other));
        cluster.channels().cut(NodeId(other), NodeId(0));
    }
    // the leader's own partition, so that only the epoch needs the others
    let alone = put(&mut members[0].session(), 3);
    assert_eq!(alone, Err(Failed::Unknown(Lost::Left)));
    assert!(members[0].has_left() && members[0].halt().is_none_or(|halt| halt != Halt::NoReplica));
    let mut session = members[2].session();
    until("another leads", || members[1].view().view.leader == NodeId(1));
    assert_eq!(get(&mut session, 1), Some(1));
    assert_eq!(get(&mut session, 3), None);
    put(&mut session, 3).unwrap();
    assert_eq!(get(&mut members[1].session(), 3), Some(3));
}

/// Whether members that are busy for twice as long as one may be silent stay, and put nobody out, and one that is stuck
/// does not.
fn busy_and_stuck(silence: Duration) -> Result<(), String> {
    let settings = Settings { suspect_after: silence, heartbeat: silence / 10, ..settings() };
    let cluster = LocalCluster::start(settings, 3, 3, 1).unwrap();
    let members: Vec<Arc<Member>> = cluster.members().cloned().collect();
    put(&mut members[0].session(), 1).unwrap();
    for busy in &members {
        busy.call(|_, _| thread::sleep(2 * silence));
        thread::sleep(silence);
    }
    let first = |member: &Arc<Member>| member.view().view.number == ViewNumber(1) && !member.has_left();
    if !members.iter().all(first) {
        return Err("a member that is busy is put out".to_owned());
    }
    assert_eq!(get(&mut members[2].session(), 1), Some(1));
    let stuck = members[2].clone();
    let held = thread::spawn(move || stuck.call(|_, _| thread::sleep(14 * silence)));
    until("it is put out", || members[0].view().view.members.count() == 2);
    let why = [&members[0], &members[1]].map(|member| member.take_put_out().join("")).join("");
    held.join().unwrap();
    if why.contains("node-2: silent for") { Ok(()) } else { Err(format!("one is put out for: {why}")) }
}

/// One that is busy with something large is not dead, and does not take the others for dead that it does not listen to.
#[test]
fn a_member_that_is_busy_for_long_is_not_put_out_and_puts_nobody_out() {
    // a busy machine keeps all threads of a member from its processors for as long as a short silence
    let mut silence = Duration::from_millis(500);
    while let Err(why) = busy_and_stuck(silence) {
        silence *= 3;
        assert!(silence < Duration::from_secs(5), "{why}");
    }
}

#[test]
fn more_failures_than_f_halt_the_cluster_and_do_not_lose_what_was_answered() {
    let mut cluster = LocalCluster::start(settings(), 3, 3, 1).unwrap();
    put(&mut cluster.member(NodeId(0)).unwrap().session(), 1).unwrap();
    cluster.kill(NodeId(1));
    cluster.kill(NodeId(2));
    let left = cluster.member(NodeId(0)).unwrap().clone();
    until("a halt", || left.halt() == Some(Halt::TooMany));
    // the one that is noticed first may be put out
    assert!(left.view().view.members.count() >= 2);
}

#[test]
fn a_life_that_the_view_does_not_name_does_not_start() {
    let cluster = LocalCluster::start(settings(), 2, 2, 1).unwrap();
    for (node, life) in [(0, 2), (5, 1)] {
        let end = cluster.channels().join(NodeId(9));
        let started =
            Member::start(settings(), NodeId(node), Incarnation(life), cluster.store().clone(), end);
        assert!(matches!(started, Err(StartError::NotNamed(_))));
    }
}

#[test]
fn members_leave_no_threads_and_a_call_that_waits_ends() {
    let cluster = LocalCluster::start(settings(), 2, 2, 1).unwrap();
    let store = cluster.store().clone();
    assert!(store.alive().unwrap().len() == 2);
    let members: Vec<Arc<Member>> = cluster.members().cloned().collect();
    cluster.channels().cut(NodeId(1), NodeId(0));
    let waits = {
        let mut session = members[0].session();
        thread::spawn(move || put(&mut session, 1))
    };
    until("the commit waits", || members[0].numbers().transactions == 1);
    members.iter().for_each(|member| member.stop());
    assert_eq!(waits.join().unwrap(), Err(Failed::Unknown(Lost::Left)));
    drop((members, cluster));
    assert_eq!(Arc::strong_count(&store), 1);
}

/// The leader is gone between a transaction's place and its epoch's commit.
#[test]
fn who_waits_for_an_epoch_that_is_undone_is_told() {
    let mut cluster = LocalCluster::start(settings(), 3, 3, 1).unwrap();
    let member = cluster.member(NodeId(1)).unwrap().clone();
    let mut session = member.session();
    put(&mut session, 1).unwrap();
    let answered = member.committed();
    cluster.kill(NodeId(0));
    let txn = session.begin(Kind::Serializable).unwrap();
    // the partition's replicas are at those that are left
    session.call(|node, _| node.write(txn, key(1, 3, 1, "undone"), Some(value(7)))).unwrap();
    let Ok(Answer::Decided(_, epoch, _)) = session.ask(|node, out| node.commit(txn, out)) else {
        panic!("no place");
    };
    session.forget(txn);
    assert_eq!(member.wait_committed(epoch), Err(Lost::Undone));
    assert_eq!(member.wait_committed(answered), Ok(()));
    assert_eq!(get(&mut session, 1), Some(1));
    put(&mut session, 4).unwrap();
    assert!(member.committed() > epoch);
    assert_eq!(member.wait_committed(epoch), Err(Lost::Undone));
}

/// A network that notes, in their order, the views that it follows and the reports on views that it sends.
#[derive(Default)]
struct Noted {
    entrance: Mutex<Option<Entrance>>,
    order: Mutex<Vec<&'static str>>,
}

impl Network for Noted {
    fn attach(&self, entrance: Entrance) -> std::io::Result<()> {
        *self.entrance.lock() = Some(entrance);
        Ok(())
    }

    fn follow(&self, view: &ClusterView) {
        if view.view.number > ViewNumber(1) {
            self.order.lock().push("follows");
        }
    }

    fn send(&self, _: NodeId, packet: Packet) {
        if let Packet::Message(Message { body: Body::Report(..), .. }) = packet {
            self.order.lock().push("reports");
        }
    }

    fn close(&self) {
        *self.entrance.lock() = None;
    }
}

#[test]
fn a_view_is_begun_when_the_network_speaks_with_its_members_and_not_before() {
    let store = Arc::new(InMemory::new());
    let lives = ["a", "b", "c"].map(|name| {
        let (node, incarnation) = store.register(name, name).unwrap();
        (node, Life { incarnation, name: name.to_owned(), address: name.to_owned() })
    });
    let first = ClusterView::first(View::first(3, 3, 1), lives.clone().into());
    assert!(store.replace(None, &first).unwrap());
    // the others never speak, and nobody minds
    let settings = Settings { suspect_after: Duration::from_secs(3600), ..settings() };
    let network = Arc::new(Noted::default());
    let (me, life) = (lives[1].0, lives[1].1.incarnation);
    let member = Member::start(settings, me, life, store.clone(), network.clone()).unwrap();

    // another life of c; the leader's message is faster than what the member learns from the store
    let mut next = ClusterView { view: first.view.resumed(), ..first.clone() };
    next.lives.get_mut(&lives[2].0).unwrap().incarnation = Incarnation(100);
    let number = next.view.number;
    let fence =
        Message { view: number, epoch: Epoch(1), body: Body::Fence(std::sync::Arc::new(next.view.clone())) };
    let entrance = network.entrance.lock().clone().unwrap();
    entrance.deliver(first.view.leader, Packet::Message(fence));
    assert!(store.replace(Some(&first), &next).unwrap());
    until("the view is not begun", || network.order.lock().contains(&"reports"));
    assert_eq!(network.order.lock()[0], "follows");
    drop(entrance);
    member.stop();
}
