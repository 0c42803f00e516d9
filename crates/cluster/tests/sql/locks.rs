//! Locks that sessions at different nodes wait for. The first node keeps the table of locks until it dies.

use super::{Three, code, ok, run, text};
use scaledb_cluster::engine::Cluster;
use scaledb_scar::NodeId;
use scaledb_sql::{Cancel, Database, Session};
use scaledb_sync::atomic::{AtomicU32, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::{self, JoinHandle};
use scaledb_types::Result;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than any step takes.
const LONG: Duration = Duration::from_secs(60);

/// What one thread leaves for another.
struct Post<T>(Arc<(Mutex<VecDeque<T>>, Condvar)>);

impl<T> Clone for Post<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Post<T> {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(VecDeque::new()), Condvar::new())))
    }

    fn send(&self, item: T) {
        self.0.0.lock().push_back(item);
        self.0.1.notify_all();
    }

    fn next(&self) -> T {
        let until = Instant::now() + LONG;
        let mut items = self.0.0.lock();
        loop {
            if let Some(item) = items.pop_front() {
                return item;
            }
            let rest = until.saturating_duration_since(Instant::now());
            assert!(!rest.is_zero(), "nothing comes");
            items = self.0.1.wait_timeout(items, rest);
        }
    }
}

/// A session in a thread of its own.
struct Client {
    database: Database<Cluster>,
    pid: u32,
    cancel: Cancel,
    orders: Post<Option<String>>,
    answers: Post<Result<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Client {
    fn new(three: &Three, node: usize) -> Self {
        let database = three.databases[node].clone();
        let mut session = database.session("postgres", "postgres");
        let (pid, cancel) = (session.id(), session.cancel_handle());
        let (orders, answers) = (Post::<Option<String>>::new(), Post::new());
        let (todo, done) = (orders.clone(), answers.clone());
        let thread = thread::spawn(move || {
            while let Some(sql) = todo.next() {
                let rows = run(&mut session, &sql);
                done.send(
                    rows.map(|rows| rows.0.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" ")),
                );
            }
        });
        Self { database, pid, cancel, orders, answers, thread: Some(thread) }
    }

    fn send(&self, sql: &str) {
        self.orders.send(Some(sql.to_owned()));
    }

    fn done(&self) -> String {
        self.answers.next().unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn failed(&self) -> String {
        match self.answers.next() {
            Ok(rows) => panic!("succeeded with {rows}"),
            Err(error) => error.code().as_str().to_owned(),
        }
    }

    fn ok(&self, sql: &str) -> String {
        self.send(sql);
        self.answers.next().unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    fn code(&self, sql: &str) -> String {
        self.send(sql);
        self.failed()
    }

    /// Runs what waits for a lock, and returns when it does.
    fn waits(&self, sql: &str) {
        self.send(sql);
        let until = Instant::now() + LONG;
        let mut looks = self.database.session("postgres", "postgres");
        let waiting = format!("select count(*) from pg_locks where pid = {} and not granted", self.pid);
        while text(&mut looks, &waiting) == "0" {
            assert!(Instant::now() < until, "{sql}: it does not wait");
            if let Some(answer) = self.answers.0.0.lock().front() {
                panic!("{sql}: it has not waited: {answer:?}");
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.orders.send(None);
        if let Some(thread) = self.thread.take() {
            // one that has panicked has said so
            let _ = thread.join();
        }
    }
}

fn table(three: &Three) {
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int not null)");
    ok(&mut a, "insert into t select g, 0 from generate_series(1, 10) g");
}

/// Every node says so.
fn no_lock_is_left(three: &Three) {
    let until = Instant::now() + LONG;
    for mut session in three.sessions() {
        // the leader hears of sessions that have ended, and says so to nobody
        while text(&mut session, "select count(*) from pg_locks") != "0" {
            assert!(Instant::now() < until, "locks are left");
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Kills a node, and waits until the others are in a view without it.
fn kill(three: &mut Three, node: u8) {
    let others: Vec<NodeId> = (0..3).map(NodeId).filter(|other| other.0 != node).collect();
    let view = |three: &Three, at: NodeId| three.cluster.member(at).map(|member| member.view());
    let before = view(three, others[0]).expect("a member").view.number;
    three.cluster.kill(NodeId(node));
    let until = Instant::now() + LONG;
    let is_there = |three: &Three, at: NodeId| {
        view(three, at).is_none_or(|now| now.view.number > before && !now.view.members.has(NodeId(node)))
    };
    while !others.iter().all(|&at| is_there(three, at)) {
        assert!(Instant::now() < until, "no new view");
        thread::sleep(Duration::from_millis(5));
    }
}

fn patient(session: &mut Session<Cluster>, sql: &str) -> String {
    let until = Instant::now() + LONG;
    loop {
        match run(session, sql) {
            Ok(rows) => return rows.0.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" "),
            Err(error) if error.code().as_str() == "40001" && Instant::now() < until => {
                drop(run(session, "rollback"));
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{sql}: {error:?}"),
        }
    }
}

fn mortal() -> Three {
    Three::start_with(Duration::from_secs(2), Duration::from_millis(20))
}

#[test]
fn for_update_waits_for_another_node_and_reads_what_is_there_then() {
    let three = Three::start();
    table(&three);
    for (one, other) in [(0, 1), (1, 0), (1, 2)] {
        let (a, b) = (Client::new(&three, one), Client::new(&three, other));
        a.ok("update t set n = 0");
        a.ok("begin");
        assert_eq!(a.ok("select n from t where id = 1 for update"), "0");
        a.ok("update t set n = n + 1 where id = 1");
        b.ok("begin");
        b.waits("select n from t where id = 1 for update");
        a.ok("commit");
        assert_eq!(b.done(), "1", "{one} {other}");
        b.ok("update t set n = n + 1 where id = 1; commit");
        assert_eq!(a.ok("select n from t where id = 1"), "2");
        // a later statement of its transaction
        a.ok("begin; select * from t where id = 1 for no key update");
        b.ok("begin; select n from t where id = 2");
        b.waits("select n from t where id = 1 for share");
        a.ok("update t set n = 7 where id = 1; commit");
        assert_eq!(b.done(), "7");
        b.ok("update t set n = n + 1 where id = 1; commit");
        // what it has read before and has changed is a conflict
        a.ok("begin; select * from t where id = 1 for update");
        b.ok("begin; select n from t where id = 2");
        b.waits("select n from t where id = 1 for update");
        a.ok("update t set n = 1 where id = 2; commit");
        assert_eq!(b.failed(), "40001");
        b.ok("rollback");
    }
    no_lock_is_left(&three);
}

#[test]
fn a_write_at_another_node_waits_for_who_has_locked_the_row() {
    let three = Three::start();
    table(&three);
    let (a, b, c) = (Client::new(&three, 1), Client::new(&three, 2), Client::new(&three, 0));
    a.ok("begin; select * from t where id = 1 for update");
    b.waits("update t set n = n + 10 where id = 1");
    c.waits("insert into t values (1, 0) on conflict (id) do update set n = t.n + 100");
    a.ok("update t set n = n + 1 where id = 1; commit");
    b.done();
    c.done();
    assert_eq!(a.ok("select n from t where id = 1"), "111");
    // of many rows one is locked
    a.ok("begin; select * from t where id = 5 for update");
    assert_eq!(b.ok("select count(*) from t"), "10", "a read does not wait");
    b.waits("update t set n = 1");
    c.waits("delete from t where id = 5");
    a.ok("commit");
    b.done();
    c.done();
    // key share is what no update of other columns waits for
    a.ok("begin; select * from t where id = 1 for key share");
    b.ok("update t set n = 3 where id = 1");
    b.waits("delete from t where id = 1");
    // what it has read has changed
    assert_eq!(a.code("commit"), "40001");
    b.done();
    no_lock_is_left(&three);
}

#[test]
fn nowait_skip_locked_and_timeouts() {
    let three = Three::start();
    table(&three);
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "begin");
    assert_eq!(text(&mut a, "select id from t order by id limit 1 for update"), "1");
    ok(&mut b, "begin");
    assert_eq!(text(&mut b, "select id from t order by id limit 2 for update skip locked"), "2 3");
    assert_eq!(text(&mut c, "select id from t order by id limit 1 for update skip locked"), "4");
    assert_eq!(code(&mut c, "select id from t where id = 1 for update nowait"), "55P03");
    assert_eq!(code(&mut c, "begin; select id from t where id = 2 for share nowait"), "55P03");
    ok(&mut c, "rollback");
    ok(&mut c, "set lock_timeout = 50");
    assert_eq!(code(&mut c, "select id from t where id = 1 for update"), "55P03");
    assert_eq!(code(&mut c, "update t set n = 1 where id = 1"), "55P03");
    ok(&mut c, "set lock_timeout = 0; set statement_timeout = 300");
    assert_eq!(code(&mut c, "delete from t where id = 1"), "57014");
    ok(&mut c, "set statement_timeout = 0");
    // savepoints
    ok(&mut b, "savepoint s; select * from t where id = 7 for update; rollback to s");
    assert_eq!(text(&mut c, "select id from t where id in (3, 7) for update skip locked"), "7");
    ok(&mut a, "commit");
    ok(&mut b, "rollback");
    ok(&mut c, "update t set n = 1 where id = 1");
    let d = Client::new(&three, 2);
    ok(&mut a, "begin; select * from t where id = 1 for update");
    d.waits("select * from t where id = 1 for update");
    d.cancel.cancel();
    assert_eq!(d.failed(), "57014");
    ok(&mut a, "commit");
    no_lock_is_left(&three);
}

#[test]
fn a_deadlock_across_nodes_is_found() {
    let three = Three::start();
    table(&three);
    let (a, b, c) = (Client::new(&three, 0), Client::new(&three, 1), Client::new(&three, 2));
    for (number, client) in [&a, &b, &c].into_iter().enumerate() {
        client.ok(&format!("begin; select * from t where id = {} for update", number + 1));
    }
    a.waits("select * from t where id = 2 for update");
    b.waits("select * from t where id = 3 for update");
    assert_eq!(c.code("select * from t where id = 1 for update"), "40P01");
    c.ok("rollback");
    b.done();
    b.ok("commit");
    a.done();
    a.ok("commit");
    // of a row and an advisory lock
    b.ok("begin; select pg_advisory_xact_lock(1)");
    c.ok("begin; select * from t where id = 1 for update");
    b.waits("update t set n = 1 where id = 1");
    assert_eq!(c.code("select pg_advisory_xact_lock(1)"), "40P01");
    c.ok("rollback");
    b.done();
    b.ok("commit");
    no_lock_is_left(&three);
}

#[test]
fn advisory_locks_exclude_across_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    assert_eq!(text(&mut a, "select pg_try_advisory_lock(1)"), "t");
    assert_eq!(text(&mut a, "select pg_try_advisory_lock(1)"), "t");
    assert_eq!(text(&mut b, "select pg_try_advisory_lock(1)"), "f");
    assert_eq!(text(&mut c, "select pg_try_advisory_lock_shared(1)"), "f");
    assert_eq!(text(&mut b, "select pg_try_advisory_lock(0, 1)"), "t");
    assert_eq!(text(&mut b, "select pg_advisory_unlock(1)"), "f");
    assert_eq!(text(&mut a, "select pg_advisory_unlock(1)"), "t");
    assert_eq!(text(&mut b, "select pg_try_advisory_lock(1)"), "f", "it was taken twice");
    let waiter = Client::new(&three, 2);
    waiter.waits("select pg_advisory_lock(1)");
    // who waits for whom, at the node of the waiter: a session of another node has no number there
    assert_eq!(text(&mut c, &format!("select pg_blocking_pids({})", waiter.pid)), "{0}");
    assert_eq!(text(&mut c, "select count(*) from pg_locks where pid is null"), "2");
    assert_eq!(text(&mut a, "select pg_advisory_unlock(1)"), "t");
    waiter.done();
    assert_eq!(text(&mut b, "select pg_try_advisory_xact_lock(1)"), "f");
    waiter.ok("select pg_advisory_unlock_all()");
    ok(&mut b, "begin; select pg_advisory_xact_lock_shared(1)");
    assert_eq!(text(&mut c, "begin; select pg_try_advisory_xact_lock_shared(1); rollback"), "t");
    assert_eq!(text(&mut c, "select pg_try_advisory_lock(1)"), "f");
    ok(&mut b, "commit");
    assert_eq!(text(&mut c, "select pg_try_advisory_lock(1)"), "t");
    // databases have their own
    ok(&mut a, "create database other");
    let mut other = three.databases[1].session_in("postgres", "other").expect("it is there");
    assert_eq!(text(&mut other, "select pg_try_advisory_lock(1)"), "t");
    // a session that ends has none, as soon as the leader has heard of it
    drop(c);
    let until = Instant::now() + LONG;
    while text(&mut a, "select pg_try_advisory_lock(1)") == "f" {
        assert!(Instant::now() < until, "the lock of a session that has ended is not released");
        thread::sleep(Duration::from_millis(2));
    }
    ok(&mut a, "discard all");
    assert_eq!(text(&mut b, "select pg_try_advisory_lock(1)"), "t");
    drop((b, other));
    no_lock_is_left(&three);
}

#[test]
fn lock_table_excludes_statements_at_other_nodes() {
    let three = Three::start();
    table(&three);
    let (a, b, c) = (Client::new(&three, 1), Client::new(&three, 2), Client::new(&three, 0));
    a.ok("begin; lock table t in exclusive mode");
    assert_eq!(b.ok("select count(*) from t"), "10");
    b.waits("update t set n = 1 where id = 3");
    assert_eq!(c.code("begin; lock table t in share mode nowait"), "55P03");
    c.ok("rollback");
    a.ok("commit");
    b.done();
    a.ok("begin; lock table t");
    b.waits("select count(*) from t");
    c.ok("set lock_timeout = 50");
    assert_eq!(c.code("insert into t values (11, 0)"), "55P03");
    a.ok("delete from t where id > 5; commit");
    assert_eq!(b.done(), "5");
    a.ok("begin; lock table t in share row exclusive mode");
    b.waits("begin; lock table t in share row exclusive mode");
    a.ok("commit");
    b.done();
    b.ok("commit");
    no_lock_is_left(&three);
}

/// Locks of a session outlive a change of members, and no other lock does.
#[test]
fn locks_of_sessions_survive_the_death_of_another_node_and_of_the_keeper() {
    for dies in [2, 0] {
        let mut three = mortal();
        table(&three);
        let (kept, lost) = (Client::new(&three, 1), Client::new(&three, dies));
        kept.ok("select pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(2)");
        lost.ok("select pg_advisory_lock(3)");
        let other = usize::from(dies == 0) * 2;
        let mut looks = three.databases[other].session("postgres", "postgres");
        for (key, free) in [(1, "f"), (2, "f"), (3, "f")] {
            assert_eq!(text(&mut looks, &format!("select pg_try_advisory_lock({key})")), free);
        }
        let waits = Client::new(&three, other);
        waits.waits("select pg_advisory_lock(3)");
        kill(&mut three, dies as u8);
        // its session has gone with the node
        waits.done();
        for (key, free) in [(1, "f"), (2, "f"), (3, "f")] {
            assert_eq!(
                patient(&mut looks, &format!("select pg_try_advisory_lock({key})")),
                free,
                "{dies} {key}"
            );
        }
        assert_eq!(patient(&mut looks, "select pg_try_advisory_lock_shared(2)"), "t");
        kept.ok("select pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock_shared(2)");
        waits.ok("select pg_advisory_unlock(3)");
        for key in [1, 2, 3] {
            assert_eq!(text(&mut looks, &format!("select pg_try_advisory_lock({key})")), "t");
        }
        drop((kept, waits, looks));
        let mut last = three.databases[1].session("postgres", "postgres");
        assert_eq!(text(&mut last, "select count(*) from pg_locks"), "0");
    }
}

/// It was granted its lock in another view than the one in which it began to write.
#[test]
fn a_transaction_whose_locks_were_lost_does_not_commit() {
    let mut three = mortal();
    table(&three);
    let (a, b) = (Client::new(&three, 0), Client::new(&three, 1));
    a.ok("create table u (id int primary key)");
    a.ok("begin; lock table u in exclusive mode");
    b.ok("begin; select * from t where id = 2 for update");
    let waits = Client::new(&three, 0);
    waits.waits("select n from t where id = 2 for update");
    kill(&mut three, 2);
    // whoever waits by itself begins anew, and finds nothing locked
    assert_eq!(waits.done(), "0");
    let mut other = three.databases[1].session("postgres", "postgres");
    patient(&mut other, "insert into u values (1)");
    // LOCK TABLE begins no transaction of the engine: this statement does
    a.ok("insert into u values (2)");
    assert_eq!(a.code("commit"), "40001");
    assert_eq!(b.code("update t set n = 1 where id = 2"), "40001");
    b.ok("rollback");
    assert_eq!(a.ok("select * from u"), "1");
    a.ok("begin; lock table u in exclusive mode; insert into u values (2); commit");
    drop((a, b, waits));
    assert_eq!(text(&mut other, "select count(*) from pg_locks"), "0");
}

#[test]
fn locks_of_a_node_that_dies_are_released() {
    for dies in [2, 0] {
        let mut three = mortal();
        table(&three);
        let (dead, waits) = (Client::new(&three, dies), Client::new(&three, 1));
        dead.ok("begin; select * from t where id = 1 for update; select pg_advisory_lock(1)");
        waits.waits("update t set n = n + 1 where id = 1");
        kill(&mut three, dies as u8);
        waits.done();
        assert_eq!(waits.ok("select n, pg_try_advisory_lock(1) from t where id = 1"), "1|t");
        waits.ok("discard all");
        assert_eq!(waits.ok("select count(*) from pg_locks"), "0");
    }
}

/// Workers at all nodes take jobs until there are none: each is done once, and nobody hears of conflicts.
#[test]
fn a_job_queue_over_three_nodes() {
    const JOBS: u32 = 120;
    let three = Three::start();
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table job (id int primary key, state text not null, done int not null)");
    ok(&mut a, &format!("insert into job select g, 'open', 0 from generate_series(1, {JOBS}) g"));
    let conflicts = AtomicU32::new(0);
    thread::scope(|scope| {
        for worker in 0..6 {
            let mut session = three.databases[worker % 3].session("postgres", "postgres");
            let conflicts = &conflicts;
            scope.spawn(move || {
                let until = Instant::now() + LONG;
                loop {
                    assert!(Instant::now() < until, "the queue does not end");
                    let work = |session: &mut Session<Cluster>| -> Result<bool> {
                        run(session, "begin")?;
                        let job = run(
                            session,
                            "select id from job where state = 'open' order by id limit 1 for update skip locked",
                        )?;
                        if let Some(row) = job.0.first() {
                            run(session, &format!("update job set state = 'done', done = done + 1 where id = {}", row[0]))?;
                        }
                        run(session, "commit")?;
                        Ok(!job.0.is_empty())
                    };
                    match work(&mut session) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(error) => {
                            assert_eq!(error.code().as_str(), "40001", "{error:?}");
                            conflicts.fetch_add(1, Ordering::SeqCst);
                            drop(run(&mut session, "rollback"));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(text(&mut a, "select state, done, count(*) from job group by 1, 2"), format!("done|1|{JOBS}"));
    let conflicts = conflicts.into_inner();
    println!("{conflicts} conflicts for {JOBS} jobs");
    assert!(conflicts <= JOBS / 10, "{conflicts} conflicts for {JOBS} jobs");
    no_lock_is_left(&three);
}

/// With a lock around them, transactions that read and write the same row do not conflict.
#[test]
fn whoever_has_the_lock_reads_what_the_last_one_has_written() {
    const ROUNDS: u32 = 15;
    let three = Three::start();
    table(&three);
    let conflicts = AtomicU32::new(0);
    thread::scope(|scope| {
        for node in 0..3 {
            let mut session = three.databases[node].session("postgres", "postgres");
            let conflicts = &conflicts;
            scope.spawn(move || {
                let mut done = 0;
                while done < ROUNDS {
                    let step = run(&mut session, "begin; select n from t where id = 1 for update")
                        .and_then(|_| run(&mut session, "update t set n = n + 1 where id = 1; commit"));
                    match step {
                        Ok(_) => done += 1,
                        Err(error) => {
                            assert_eq!(error.code().as_str(), "40001", "{error:?}");
                            conflicts.fetch_add(1, Ordering::SeqCst);
                            drop(run(&mut session, "rollback"));
                        }
                    }
                }
            });
        }
    });
    let [mut a, ..] = three.sessions();
    assert_eq!(text(&mut a, "select n from t where id = 1"), (3 * ROUNDS).to_string());
    let conflicts = conflicts.into_inner();
    println!("{conflicts} conflicts in {} transactions", 3 * ROUNDS);
    assert!(conflicts <= 3, "{conflicts} conflicts");
    no_lock_is_left(&three);
}
