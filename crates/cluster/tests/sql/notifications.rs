//! LISTEN and NOTIFY: sessions at all nodes hear what commits at any, all in one order, each once, and nothing else.

use super::{Rows, Three, code, ok, run, text};
use scaledb_cluster::engine::{Answers, Cluster};
use scaledb_cluster::{MetadataStore, Settings};
use scaledb_scar::{NodeId, PartitionId};
use scaledb_sql::{Bell, Database, Session};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::thread;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Counts how often it was rung.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Bell for Counted {
    fn arm(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn ring(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A session that listens, and what it has heard: channel, payload, and who has said it.
struct Listener {
    session: Session<Cluster>,
    bell: Arc<Counted>,
    heard: Vec<(String, String, u32)>,
}

impl Listener {
    fn of(mut session: Session<Cluster>, channels: &[&str]) -> Self {
        let bell = Arc::<Counted>::default();
        session.set_bell(bell.clone());
        for channel in channels {
            ok(&mut session, &format!("listen {channel}"));
        }
        Self { session, bell, heard: Vec::new() }
    }

    fn at(database: &Database<Cluster>, channels: &[&str]) -> Self {
        Self::of(database.session("postgres", "postgres"), channels)
    }

    fn take(&mut self) {
        let taken = self.session.take_notifications();
        self.heard.extend(taken.iter().map(|n| (n.channel.to_string(), n.payload.to_string(), n.sender)));
    }

    /// What it has heard by the time when it hears this: `channel:payload`, without the last.
    fn until(&mut self, last: &str) -> String {
        let since = Instant::now();
        let told = |(channel, payload, _): &(String, String, u32)| format!("{channel}:{payload}");
        loop {
            self.take();
            if self.heard.last().is_some_and(|heard| told(heard) == last) {
                self.heard.pop();
                let heard = std::mem::take(&mut self.heard);
                return heard.iter().map(told).collect::<Vec<_>>().join(" ");
            }
            assert!(since.elapsed() < Duration::from_secs(30), "{last} does not come: {:?}", self.heard);
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn payloads(&self) -> Vec<String> {
        self.heard.iter().map(|(_, payload, _)| payload.clone()).collect()
    }
}

fn settings() -> Settings {
    Settings {
        epoch: Duration::from_millis(2),
        idle_epoch: Duration::from_millis(20),
        suspect_after: Duration::from_secs(5),
        ..Settings::default()
    }
}

/// Of both kinds of answers.
fn both() -> [Three; 2] {
    [Answers::WithTheEpoch, Answers::WhenDecided].map(|answers| Three::start_answering(settings(), answers))
}

#[test]
fn what_commits_at_any_node_is_heard_at_all_and_nothing_else() {
    for three in both() {
        let mut all = [0, 1, 2].map(|node| Listener::at(&three.databases[node], &["news", "\"Big\""]));
        let [mut a, mut b, mut c] = three.sessions();
        ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 0)");
        ok(&mut b, "notify news");
        ok(&mut a, "notify news, 'one'; notify other, 'x'; select pg_notify('Big', 'two')");
        ok(&mut c, "begin; notify news, 'never'; rollback");
        assert_eq!(code(&mut b, "notify news, 'never'; select 1 / 0"), "22012");
        ok(&mut b, "begin; notify news, '1'; savepoint x; notify news, '2'; rollback to x; notify news, '3'");
        ok(&mut b, "notify news, '1'; notify news, '3'; notify news, '2'; commit");
        // one of two that exclude each other
        ok(&mut b, "set repeat_blocks = off");
        ok(&mut a, "begin; update t set n = n + 1 where id = 1; notify news, 'first'");
        ok(&mut b, "begin; update t set n = n + 1 where id = 1; notify news, 'second'");
        ok(&mut a, "commit");
        assert_eq!(code(&mut b, "commit"), "40001");
        ok(
            &mut c,
            "do $$ begin notify news, 'a'; begin perform pg_notify('news', 'b'); raise exception 'x'; \
             exception when others then perform pg_notify('news', 'c'); end; end $$",
        );
        // said by a trigger, and in a transaction that only reads
        ok(
            &mut a,
            "create function say() returns trigger language plpgsql as $$ begin \
             perform pg_notify('news', new.n::text); return new; end $$",
        );
        ok(&mut a, "create trigger say after insert on t for each row execute function say()");
        ok(&mut b, "insert into t values (2, 22)");
        ok(&mut c, "begin read only; select count(*) from t; notify news, 'read'; commit");
        ok(&mut a, "notify news, 'end'");
        for listener in &mut all {
            let heard = listener.until("news:end");
            let expected =
                "news: news:one Big:two news:1 news:3 news:2 news:first news:a news:c news:22 news:read";
            assert_eq!(heard, expected);
            assert!((1..=10).contains(&listener.bell.0.load(Ordering::SeqCst)));
            assert_eq!(text(&mut listener.session, "select * from pg_listening_channels()"), "news Big");
        }
        assert_eq!(text(&mut a, "select count(*) from pg_listening_channels()"), "0");
        // who has said it is known, and is nobody else of any node
        let mut pids = HashSet::new();
        for session in [&mut a, &mut b, &mut c] {
            ok(session, "notify news, 'mine'");
            ok(session, "notify news, 'end'");
            let pid: u32 = text(session, "select pg_backend_pid()").parse().expect("a number");
            for listener in &mut all {
                let own = text(&mut listener.session, "select pg_backend_pid()").parse().expect("a number");
                while listener.heard.len() < 2 {
                    listener.take();
                }
                assert!(listener.heard.iter().all(|(_, _, sender)| *sender == pid), "{:?}", listener.heard);
                listener.heard.clear();
                pids.insert(own);
            }
            pids.insert(pid);
        }
        assert_eq!(pids.len(), 6);
    }
}

#[test]
fn a_session_hears_itself_and_nothing_in_a_transaction() {
    for three in both() {
        let mut a = Listener::at(&three.databases[0], &["c"]);
        let [_, mut b, _] = three.sessions();
        ok(&mut a.session, "notify c, 'mine'");
        a.take();
        assert_eq!(a.payloads(), ["mine"], "when its COMMIT is answered");
        a.heard.clear();
        ok(&mut a.session, "begin; select 1");
        ok(&mut b, "notify c, 'later'");
        thread::sleep(Duration::from_millis(50));
        a.take();
        assert_eq!(a.payloads(), [""; 0]);
        ok(&mut a.session, "listen d; notify d, 'too'; commit");
        ok(&mut a.session, "notify d, 'end'");
        assert_eq!(a.until("d:end"), "c:later d:too");
        ok(&mut a.session, "unlisten c");
        ok(&mut b, "notify c, 'after'; notify d, 'd'");
        ok(&mut a.session, "begin; unlisten *; listen e; rollback");
        ok(&mut b, "notify d, 'still'; notify e, 'never'; notify d, 'end'");
        assert_eq!(a.until("d:end"), "d:d d:still");
        ok(&mut a.session, "listen f; discard all");
        ok(&mut b, "notify d; notify f");
        ok(&mut a.session, "listen d");
        ok(&mut b, "notify d, 'end'");
        assert_eq!(a.until("d:end"), "");
        assert_eq!(text(&mut b, "select pg_notification_queue_usage()"), "0");
    }
}

/// What was answered at one node before a LISTEN at another began is not heard there, even if that node did not know
/// yet that it had committed; what begins when the LISTEN is answered is.
#[test]
fn a_listen_hears_what_commits_behind_it_and_nothing_from_before() {
    for three in both() {
        let mut a = Listener::at(&three.databases[1], &[]);
        let [_, mut b, mut c] = three.sessions();
        for i in 0..300 {
            let (says, listens) = if i % 2 == 0 { (&mut b, &mut c) } else { (&mut c, &mut b) };
            ok(says, &format!("notify c{i}, 'old'"));
            let listen =
                ["listen c{}", "begin; select 1; listen c{}; commit", "begin; listen c{}; commit"][i % 3];
            ok(&mut a.session, &listen.replace("{}", &i.to_string()));
            ok(listens, &format!("notify c{i}, 'new'"));
            assert_eq!(a.until(&format!("c{i}:new")), "", "{i}");
        }
    }
}

/// Sessions of a database hear each other, and no other database's.
#[test]
fn channels_belong_to_a_database() {
    let three = Three::start();
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create database shop");
    let enter = |node: usize| three.databases[node].session_in("root", "shop").expect("a session");
    let mut here = [0, 1, 2].map(|node| Listener::at(&three.databases[node], &["c"]));
    let mut there = [1, 2].map(|node| Listener::of(enter(node), &["c"]));
    ok(&mut a, "notify c, 'first database'");
    let mut shop = enter(0);
    ok(&mut shop, "notify c, 'shop'");
    ok(&mut a, "notify c, 'end'");
    ok(&mut shop, "notify c, 'end'");
    here.iter_mut().for_each(|listener| assert_eq!(listener.until("c:end"), "c:first database"));
    there.iter_mut().for_each(|listener| assert_eq!(listener.until("c:end"), "c:shop"));
    // it goes while somebody says something
    ok(&mut shop, "begin; notify c, 'too late'");
    drop(there);
    ok(&mut shop, "rollback");
    drop(shop);
    ok(&mut a, "drop database shop");
    ok(&mut a, "notify c, 'end'");
    here.iter_mut().for_each(|listener| assert_eq!(listener.until("c:end"), ""));
}

/// Nothing is left of what was said: no row, no relation, no memory.
#[test]
fn nothing_is_left_of_what_was_said() {
    let three = Three::start();
    let mut all = [0, 1, 2].map(|node| Listener::at(&three.databases[node], &["c"]));
    let [mut a, mut b, _] = three.sessions();
    ok(&mut a, "create table t (id int primary key)");
    let relations = text(&mut b, "select count(*) from pg_class");
    let sizes = || {
        let members = three.cluster.members();
        let size = |member: &scaledb_sync::Arc<scaledb_cluster::Member>| {
            member.call(|node, _| node.size(PartitionId(0)).expect("every node keeps it"))
        };
        members.map(size).collect::<Vec<_>>()
    };
    ok(&mut a, "notify c, 'end'");
    all.iter_mut().for_each(|listener| assert_eq!(listener.until("c:end"), ""));
    let before = sizes();
    for i in 0..50 {
        ok(&mut a, &format!("select pg_notify('c', {i} || ':' || j) from generate_series(1, 100) j"));
    }
    ok(&mut b, "notify c, 'end'");
    let heard = all.each_mut().map(|listener| listener.until("c:end"));
    assert_eq!(heard[0].split(' ').count(), 5_000);
    assert!(heard.iter().all(|other| *other == heard[0]));
    assert_eq!(sizes(), before);
    assert_eq!(text(&mut b, "select count(*) from pg_class"), relations);
    for session in [&mut a, &mut b] {
        assert_eq!(text(session, "select pg_notification_queue_usage()"), "0");
    }
}

/// Notifiers at all nodes, alone and over a row that they change or read: listeners at all nodes hear one sequence, in
/// the order in which these have committed.
#[test]
fn all_hear_the_same_in_the_order_of_commits() {
    const ROUNDS: usize = 60;
    for three in both() {
        let mut all: Vec<_> = (0..6).map(|i| Listener::at(&three.databases[i % 3], &["c"])).collect();
        let [mut a, ..] = three.sessions();
        ok(&mut a, "create table t (id int primary key, n int) with (partition_by = 'id')");
        ok(&mut a, "insert into t select i, 0 from generate_series(1, 8) i");
        let said: Vec<String> = thread::scope(|scope| {
            let threads: Vec<_> = (0..9)
                .map(|number| {
                    let mut session = three.databases[number % 3].session("postgres", "postgres");
                    scope.spawn(move || {
                        let mut said = Vec::new();
                        for round in 0..ROUNDS {
                            let row = 1 + (number + round) % 8;
                            let (sql, says) = match number / 3 {
                                0 => (format!("notify c, 'alone {number} {round}'"), None),
                                1 => (
                                    format!(
                                        "update t set n = n + 1 where id = {row} returning \
                                         pg_notify('c', 'write {row} ' || n), n"
                                    ),
                                    Some(format!("write {row}")),
                                ),
                                _ => (
                                    format!(
                                        "select pg_notify('c', 'read {row} ' || n || ' {number} {round}'), n \
                                         from t where id = {row}"
                                    ),
                                    Some(format!("read {row}")),
                                ),
                            };
                            // some take back what they have said
                            if round % 7 == 3 {
                                ok(
                                    &mut session,
                                    &format!("begin; notify c, 'never {number} {round}'; rollback"),
                                );
                            }
                            if let Ok(Rows(rows, _)) = run(&mut session, &sql) {
                                said.push(match says {
                                    None => format!("alone {number} {round}"),
                                    Some(what) if number / 3 == 1 => format!("{what} {}", rows[0][1]),
                                    Some(what) => format!("{what} {} {number} {round}", rows[0][1]),
                                });
                            }
                        }
                        said
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
        });
        ok(&mut a, "notify c, 'end'");
        for listener in &mut all {
            while listener.heard.last().is_none_or(|(_, payload, _)| payload != "end") {
                listener.take();
                thread::sleep(Duration::from_millis(1));
            }
            listener.heard.pop();
        }
        let heard = all[0].payloads();
        assert!(all.iter().all(|listener| listener.payloads() == heard), "one sequence");
        let (mut expected, mut sorted) = (said, heard.clone());
        expected.sort();
        sorted.sort();
        assert_eq!(sorted, expected, "what was answered, once");
        assert!(expected.len() > 6 * ROUNDS, "{}", expected.len());
        check_order(&heard);
    }
}

/// What was read comes behind the write that it is of, and before the next write; each speaker's in its order.
fn check_order(heard: &[String]) {
    let (mut last, mut written) = (HashMap::new(), HashMap::new());
    for (place, payload) in heard.iter().enumerate() {
        let words: Vec<&str> = payload.split(' ').collect();
        match words[..] {
            ["alone", speaker, round] | ["read", _, _, speaker, round] => {
                let round: usize = round.parse().expect("a number");
                let before = last.insert(speaker, round);
                assert!(before.is_none_or(|before| before < round), "{payload} after round {before:?}");
                if let ["read", row, n, ..] = words[..] {
                    let now = written.get(row).copied().unwrap_or(0);
                    let n: usize = n.parse().expect("a number");
                    assert_eq!(n, now, "{payload} at {place}: {:?}", &heard[place.saturating_sub(9)..=place]);
                }
            }
            ["write", row, n] => {
                let n: usize = n.parse().expect("a number");
                let before = written.insert(row, n).unwrap_or(0);
                assert_eq!(n, before + 1, "{payload} at {place}");
            }
            _ => panic!("{payload} was never said"),
        }
    }
}

/// What has become of something said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Answered,
    Undone,
    Unknown,
}

/// Sessions say something all the time, until a node has died and the others have gone on.
fn a_node_dies(killed: u8) {
    let settings = Settings { suspect_after: Duration::from_millis(700), ..settings() };
    for answers in [Answers::WithTheEpoch, Answers::WhenDecided] {
        let mut three = Three::start_answering(settings, answers);
        let lives: Vec<usize> = (0..3).filter(|&node| node != usize::from(killed)).collect();
        let mut all: Vec<_> =
            lives.iter().map(|&node| Listener::at(&three.databases[node], &["c"])).collect();
        {
            let [mut a, ..] = three.sessions();
            ok(&mut a, "create table t (id int primary key, n int)");
            ok(&mut a, "insert into t select i, 0 from generate_series(1, 30) i");
        }
        let (done, before, after) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let (gone, databases) = (AtomicBool::new(false), &three.databases);
        let cluster = &mut three.cluster;
        let fates: Vec<(String, Fate)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..9_usize)
                .map(|number| {
                    let mut session = databases[number % 3].session("postgres", "postgres");
                    let (done, before, after, gone) = (&done, &before, &after, &gone);
                    scope.spawn(move || {
                        let mut fates = Vec::new();
                        for round in 0.. {
                            if done.load(Ordering::SeqCst) {
                                break;
                            }
                            let said = format!("{number}.{round}");
                            let row = 1 + (number * 7 + round) % 30;
                            let sql = match round % 3 {
                                0 => format!("notify c, '{said}'"),
                                // of those that run again by themselves all say the same
                                1 => format!("update t set n = n + 1 where id = {row} returning pg_notify('c', '{said}')"),
                                _ => format!(
                                    "begin; update t set n = n + 1 where id = {row}; notify c, '{said}'; commit"
                                ),
                            };
                            let fate = match run(&mut session, &sql) {
                                Ok(_) => Fate::Answered,
                                Err(error) if error.code().as_str() == "40001" => Fate::Undone,
                                Err(_) => Fate::Unknown,
                            };
                            let _ = run(&mut session, "rollback");
                            fates.push((said, fate));
                            let counted = if gone.load(Ordering::SeqCst) { after } else { before };
                            counted.fetch_add(usize::from(fate == Fate::Answered), Ordering::SeqCst);
                            if fate == Fate::Unknown && number % 3 == usize::from(killed) {
                                break;
                            }
                        }
                        fates
                    })
                })
                .collect();
            let since = Instant::now();
            while before.load(Ordering::SeqCst) < 200 && since.elapsed() < Duration::from_secs(30) {
                thread::sleep(Duration::from_millis(1));
            }
            cluster.kill(NodeId(killed));
            gone.store(true, Ordering::SeqCst);
            while after.load(Ordering::SeqCst) < 200 && since.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(1));
            }
            done.store(true, Ordering::SeqCst);
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
        });
        assert!(after.load(Ordering::SeqCst) >= 200, "the others go on");
        let mut session = three.databases[lives[0]].session("postgres", "postgres");
        ok(&mut session, "notify c, 'end'");
        for listener in &mut all {
            while listener.heard.last().is_none_or(|(_, payload, _)| payload != "end") {
                listener.take();
                thread::sleep(Duration::from_millis(1));
            }
            listener.heard.pop();
        }
        let heard = all[0].payloads();
        assert_eq!(heard, all[1].payloads(), "one sequence");
        let mut times: HashMap<&str, usize> = HashMap::new();
        heard.iter().for_each(|payload| *times.entry(payload).or_default() += 1);
        for (said, fate) in &fates {
            let times = times.get(&**said).copied().unwrap_or(0);
            let right = match fate {
                Fate::Answered => times == 1,
                Fate::Undone => times == 0,
                Fate::Unknown => times <= 1,
            };
            assert!(right, "{said} was {fate:?}, and is heard {times} times");
        }
        let said: HashSet<&str> = fates.iter().map(|(said, _)| &**said).collect();
        assert!(heard.iter().all(|payload| said.contains(&**payload)));
        // those who listened before the node died hear of it when it is back, and it hears nothing from before
        all.iter_mut().for_each(|listener| listener.heard.clear());
        comes_back(&mut three, NodeId(killed), &mut all, answers);
    }
}

/// Until it is answered: a change of view ends what has not been.
fn say(session: &mut Session<Cluster>, sql: &str) {
    while let Err(error) = run(session, sql) {
        assert_eq!(error.code().as_str(), "40001", "{sql}: {error:?}");
    }
}

fn comes_back(three: &mut Three, node: NodeId, all: &mut [Listener], answers: Answers) {
    let other = all.len() - 1;
    three.cluster.restart(node, || true).expect("a member");
    let member = three.cluster.member(node).expect("a member").clone();
    let database = Database::open(Cluster::new(member, answers)).expect("a database");
    // at once: it may still be learning
    let mut back = Listener::at(&database, &["c"]);
    for i in 0..50 {
        say(&mut all[other].session, &format!("notify c, 'there {i}'"));
        say(&mut back.session, &format!("notify c, 'back {i}'"));
    }
    let view = || three.cluster.store().view().expect("a store").expect("a view");
    let since = Instant::now();
    while !view().is_settled() || view().view.is_learner(node) {
        assert!(since.elapsed() < Duration::from_secs(30), "it learns");
        thread::sleep(Duration::from_millis(5));
    }
    say(&mut back.session, "notify c, 'end'");
    let expected: Vec<_> = (0..50).map(|i| format!("c:there {i} c:back {i}")).collect();
    for listener in all.iter_mut().chain([&mut back]) {
        assert_eq!(listener.until("c:end"), expected.join(" "));
    }
}

#[test]
fn a_node_dies_and_the_others_hear_each_commit_once() {
    a_node_dies(2);
}

#[test]
fn the_leader_dies_and_the_others_hear_each_commit_once() {
    a_node_dies(0);
}

/// A session that does not read takes memory of its node only up to a limit: then nobody says anything more, at any
/// node, until it has read. All else goes on.
#[test]
fn a_node_without_room_makes_notify_fail_at_all_and_nothing_else() {
    let three = Three::start();
    let mut lazy = Listener::at(&three.databases[2], &["c"]);
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key); insert into t values (1), (2)");
    let says = "select pg_notify('c', repeat('x', 7900) || i) from generate_series(1, 1000) i";
    let mut said = 0;
    let refused = loop {
        match run(&mut a, says) {
            Ok(_) => said += 1_000,
            Err(error) => break error,
        }
        assert!(said <= 12_000);
    };
    assert_eq!(refused.code().as_str(), "54000", "{refused:?}");
    assert!(said >= 8_000);
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(code(session, "notify c, 'more'"), "54000");
    }
    assert_eq!(code(&mut b, "begin; delete from t where id = 1; notify other; commit"), "54000");
    ok(&mut b, "delete from t where id = 1");
    ok(&mut a, "insert into t values (3)");
    assert_eq!(text(&mut c, "select * from t order by id"), "2 3");
    lazy.take();
    assert_eq!(lazy.heard.len(), said);
    // all know it when an epoch has ended
    let since = Instant::now();
    while run(&mut b, "notify c, 'again'").is_err() {
        assert!(since.elapsed() < Duration::from_secs(10));
    }
    lazy.heard.clear();
    ok(&mut a, "notify c, 'end'");
    assert_eq!(lazy.until("c:end"), "c:again");
    assert_eq!(text(&mut lazy.session, "select pg_notification_queue_usage()"), "0");
}
