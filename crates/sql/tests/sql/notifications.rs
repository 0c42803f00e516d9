//! LISTEN and NOTIFY between sessions: who hears what, when, and in which order.

use crate::common::{code, failure, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Bell, Database, Session};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::{Arc, thread};
use std::time::{Duration, Instant};

/// Counts how often it was rung.
#[derive(Default)]
pub(crate) struct Counted(AtomicUsize);

impl Bell for Counted {
    fn arm(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn ring(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counted {
    pub(crate) fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A session that listens to these channels.
pub(crate) fn listener<E: Engine>(db: &Database<E>, channels: &[&str]) -> (Session<E>, Arc<Counted>) {
    let mut s = session(db);
    let bell = Arc::<Counted>::default();
    s.set_bell(bell.clone());
    for channel in channels {
        ok(&mut s, &format!("listen {channel}"));
    }
    (s, bell)
}

/// What a session has heard: `channel:payload`.
pub(crate) fn heard<E: Engine>(s: &mut Session<E>) -> String {
    let all = s.take_notifications();
    all.iter().map(|heard| format!("{}:{}", heard.channel, heard.payload)).collect::<Vec<_>>().join(" ")
}

fn what_commits_is_heard_and_nothing_else<E: Engine>(db: Database<E>) {
    let (mut a, bell) = listener(&db, &["news", "\"Big\""]);
    let s = &mut session(&db);
    ok(s, "notify news");
    ok(s, "notify news, 'one'; notify other, 'x'; select pg_notify('Big', 'two')");
    assert_eq!(heard(&mut a), "news: news:one Big:two");
    ok(s, "begin; notify news, 'never'; rollback");
    assert_eq!(code(s, "notify news, 'never'; select 1 / 0"), "22012");
    ok(s, "begin; notify news, '1'; savepoint x; notify news, '2'; rollback to x; notify news, '3'");
    assert_eq!((heard(&mut a), bell.rung()), (String::new(), 1));
    ok(s, "notify news, '1'; notify news, '3'; notify news, '2'; commit");
    assert_eq!((heard(&mut a), bell.rung()), ("news:1 news:3 news:2".to_owned(), 2));
    // a block undoes what it has said
    ok(
        s,
        "do $$ begin notify news, 'a'; begin perform pg_notify('news', 'b'); raise exception 'x'; \
         exception when others then perform pg_notify('news', 'c'); end; end $$",
    );
    assert_eq!(heard(&mut a), "news:a news:c");
    assert_eq!(text(&mut a, "select * from pg_listening_channels()"), "news Big");
    assert_eq!(text(s, "select count(*) from pg_listening_channels()"), "0");
}

fn a_session_hears_itself_and_nothing_in_a_transaction<E: Engine>(db: Database<E>) {
    let (mut a, _) = listener(&db, &["c"]);
    let s = &mut session(&db);
    ok(&mut a, "notify c, 'mine'");
    assert_eq!(heard(&mut a), "c:mine");
    ok(&mut a, "begin; select 1");
    ok(s, "notify c, 'later'");
    assert_eq!(heard(&mut a), "");
    ok(&mut a, "listen d; notify d, 'too'; commit");
    assert_eq!(heard(&mut a), "c:later d:too");
    // what came before an UNLISTEN is heard
    ok(s, "notify c, 'before'");
    ok(&mut a, "unlisten c");
    ok(s, "notify c, 'after'; notify d, 'd'");
    assert_eq!(heard(&mut a), "c:before d:d");
    ok(&mut a, "begin; unlisten *; listen e; rollback");
    ok(s, "notify d, 'still'; notify e, 'never'");
    assert_eq!(heard(&mut a), "d:still");
    ok(&mut a, "listen f; discard all");
    ok(s, "notify d; notify f");
    assert_eq!(heard(&mut a), "");
    ok(&mut a, "listen d");
    ok(s, "notify d, 'again'");
    assert_eq!(heard(&mut a), "d:again");
    drop(a);
    ok(s, "notify d, 'nobody'");
    assert_eq!(text(s, "select pg_notification_queue_usage()"), "0");
}

/// Has no event to ring with.
struct Broken;

impl Bell for Broken {
    fn arm(&self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Other.into())
    }

    fn ring(&self) {
        panic!("it was never armed");
    }
}

/// A LISTEN that fails leaves nothing behind, neither channels nor what its transaction has written.
fn a_listen_that_fails_has_done_nothing<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    s.set_bell(Arc::new(Broken));
    assert_eq!(code(s, "begin; insert into t values (1); listen c; notify c; commit"), "53000");
    assert_eq!(text(s, "select count(*) from pg_listening_channels()"), "0");
    assert_eq!(text(s, "select count(*) from t"), "0");
    let (mut a, _) = listener(&db, &["c"]);
    let many = "do $$ begin for i in 1..11000 loop execute 'listen c' || i; end loop; end $$";
    assert_eq!(code(&mut a, many), "54000");
    ok(&mut a, &many.replace("11000", "9999"));
    assert_eq!(code(&mut a, "listen more"), "54000");
    assert_eq!(text(&mut a, "select count(*) from pg_listening_channels()"), "10000");
    ok(&mut a, "notify c9999, 'heard'");
    assert_eq!(heard(&mut a), "c9999:heard");
    assert_eq!(text(s, "select pg_notification_queue_usage()"), "0");
}

fn what_is_no_channel_or_payload_is_refused<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for (sql, wanted) in [
        ("select pg_notify('', 'x')", "22023"),
        ("select pg_notify(null, 'x')", "22023"),
        ("select pg_notify(repeat('x', 64), 'x')", "22023"),
        ("select pg_notify('a', repeat('x', 8000))", "22023"),
        ("notify a, 5", "42601"),
        ("notify", "42601"),
        ("listen", "42601"),
        ("listen a, b", "42601"),
        ("unlisten", "42601"),
        // nobody asks this session what it has heard
        ("listen a", "0A000"),
    ] {
        assert_eq!(code(s, sql), wanted, "{sql}");
    }
    ok(
        s,
        "select pg_notify(repeat('x', 63), repeat('x', 7999)), pg_notify('a', null); unlisten a; unlisten *",
    );
    ok(s, "begin read only; notify a; commit");
    assert_eq!(code(s, "begin; select 1 / 0"), "22012");
    assert_eq!(code(s, "notify a"), "25P02");
}

/// Each transaction tells what it has made of a counter: whoever listens hears the numbers one after the other, though
/// statements conflict and are run again.
fn notifications_come_in_the_order_of_commits<E: Engine>(db: Database<E>) {
    const THREADS: usize = 4;
    const TIMES: usize = 150;
    let s = &mut session(&db);
    ok(s, "create table c (id int primary key, n int); insert into c values (1, 0), (2, 0)");
    ok(
        s,
        "create function tell() returns trigger language plpgsql as $$ begin \
         if new.id = 1 then notify loud; end if; perform pg_notify('c' || new.id, new.n::text); return null; end $$",
    );
    ok(s, "create trigger t after update on c for each row execute function tell()");
    let (mut a, _) = listener(&db, &["c1", "c2"]);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                for _ in 0..TIMES {
                    let update = format!("update c set n = n + 1 where id = {}", 1 + number % 2);
                    while let Err(error) = run(s, &update) {
                        assert_eq!(error.code().as_str(), "40001", "{error:?}");
                    }
                }
            });
        }
        let (mut next, until) = ([1, 1], Instant::now() + Duration::from_secs(60));
        while next != [TIMES * THREADS / 2 + 1; 2] {
            for heard in a.take_notifications() {
                let which = usize::from(&*heard.channel == "c2");
                assert_eq!(&*heard.payload, next[which].to_string(), "{}", heard.channel);
                next[which] += 1;
            }
            assert!(Instant::now() < until, "heard up to {next:?}");
            thread::yield_now();
        }
    });
    assert_eq!(text(s, "select pg_notification_queue_usage()"), "0");
}

/// Who listens, and looks at a table then, misses nothing that commits later.
fn whoever_listens_hears_all_that_it_does_not_see<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table c (id int primary key, n int); insert into c values (1, 0)");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (db, done) = (&db, &done);
        scope.spawn(move || {
            let s = &mut session(db);
            let say =
                "begin; update c set n = n + 1 where id = 1; select pg_notify('c', n::text) from c; commit";
            while !done.load(Ordering::SeqCst) {
                if let Err(error) = run(s, say) {
                    assert_eq!(error.code().as_str(), "40001");
                    ok(s, "rollback");
                }
            }
        });
        for _ in 0..200 {
            let (mut a, _) = listener(db, &["c"]);
            let seen: usize = text(&mut a, "select n from c").parse().unwrap();
            let (mut next, until) = (None, Instant::now() + Duration::from_secs(60));
            while next.is_none_or(|next| next <= seen + 3) {
                for heard in a.take_notifications() {
                    let number: usize = heard.payload.parse().unwrap();
                    // what is heard first may have been seen, too
                    assert!(
                        next.map_or(number <= seen + 1, |next| number == next),
                        "{number}, {next:?}, {seen}"
                    );
                    next = Some(number + 1);
                }
                assert!(Instant::now() < until, "heard up to {next:?}");
            }
        }
        done.store(true, Ordering::SeqCst);
    });
}

/// A session that does not take what it hears stops those who say more, and nobody else; when it ends there is room
/// again.
fn what_waits_is_bounded<E: Engine>(db: Database<E>) {
    let (a, _) = listener(&db, &["c"]);
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    let say = "select count(pg_notify('c', repeat('x', 7900) || i)::text) from generate_series(1, 1000) i";
    let refused = (0..20).find_map(|_| run(s, say).err()).expect("it is too much");
    assert_eq!(refused.code().as_str(), "54000");
    let usage: f64 = text(s, "select pg_notification_queue_usage()").parse().unwrap();
    assert!((0.8..=1.0).contains(&usage), "{usage}");
    assert_eq!(failure(s, &format!("begin; insert into t values (1); {say}")).code().as_str(), "54000");
    ok(s, "rollback; insert into t values (2); notify other, 'there is room for less'");
    drop(a);
    assert_eq!(text(s, "select pg_notification_queue_usage()"), "0");
    // one transaction alone
    let much = say.replace("1000", "20000");
    assert_eq!(code(s, &much), "54000");
    ok(s, say);
    assert_eq!(text(s, "select id from t"), "2");
}

on_each_engine!(
    what_commits_is_heard_and_nothing_else,
    a_session_hears_itself_and_nothing_in_a_transaction,
    what_is_no_channel_or_payload_is_refused,
    a_listen_that_fails_has_done_nothing,
    notifications_come_in_the_order_of_commits,
    whoever_listens_hears_all_that_it_does_not_see,
    what_waits_is_bounded,
);
