//! Locks of rows, of tables, and advisory ones: the shapes of PostgreSQL's isolation tests, a job queue, a hot row.

use crate::common::steps::Client;
use crate::common::{code, failure, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_sync::atomic::{AtomicU32, Ordering};
use scaledb_sync::thread;

fn table<E: Engine>(db: &Database<E>) {
    ok(
        &mut session(db),
        "create table t (id int primary key, n int not null, s text); create index t_n on t (n); \
         insert into t select g, 0, 'x' from generate_series(1, 10) g",
    );
}

fn no_lock_is_left<E: Engine>(db: &Database<E>) {
    assert_eq!(text(&mut session(db), "select count(*) from pg_locks"), "0");
}

fn for_update_waits_and_reads_what_is_there_then<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin");
    assert_eq!(a.ok("select n from t where id = 1 for update"), "0");
    a.ok("update t set n = n + 1 where id = 1");
    b.ok("begin");
    b.waits("select n from t where id = 1 for update");
    a.ok("commit");
    assert_eq!(b.done("select"), "1");
    b.ok("update t set n = n + 1 where id = 1");
    b.ok("commit");
    assert_eq!(text(&mut session(&db), "select n from t where id = 1"), "2");
    no_lock_is_left(&db);
}

fn a_later_statement_waits_without_a_conflict<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; update t set n = 5 where id = 9; select * from t where id = 1 for update");
    // it has read before, and that does not change
    b.ok("begin");
    assert_eq!(b.ok("select n from t where id = 2"), "0");
    b.waits("select n from t where id = 1 for update");
    a.ok("update t set n = 7 where id = 1; commit");
    assert_eq!(b.done("select"), "7");
    b.ok("update t set n = n + 1 where id = 1; commit");
    // an earlier read that has changed is a conflict still
    a.ok("begin; select * from t where id = 1 for update");
    b.ok("begin");
    assert_eq!(b.ok("select n from t where id = 2"), "0");
    b.waits("select n from t where id = 1 for update");
    a.ok("update t set n = 1 where id = 2; commit");
    assert_eq!(b.failed("select"), "40001");
    b.ok("rollback");
    no_lock_is_left(&db);
}

fn the_where_is_checked_again_after_the_wait<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; select * from t where n = 0 and id = 3 for update; update t set n = 1 where id = 3");
    b.ok("begin");
    b.waits("select id from t where n = 0 and id < 5 order by s, id for update");
    a.ok("commit");
    assert_eq!(b.done("select"), "1 2 4");
    b.ok("commit");
    a.ok("begin; select * from t where id = 3 for update; delete from t where id = 3");
    b.waits("update t set n = 9 where id = 3");
    a.ok("commit");
    assert_eq!(b.answer().expect("an update of nothing").tags, ["UPDATE 0"]);
    no_lock_is_left(&db);
}

fn nowait_and_skip_locked<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "begin");
    assert_eq!(text(a, "select id from t order by id limit 1 for update"), "1");
    ok(b, "begin");
    assert_eq!(text(b, "select id from t order by id limit 2 for update skip locked"), "2 3");
    assert_eq!(text(b, "select id from t order by s, id desc limit 1 for update skip locked"), "10");
    let error = failure(b, "select id from t where id = 1 for update nowait");
    assert_eq!(error.code().as_str(), "55P03");
    assert_eq!(error.to_string(), "could not obtain lock on row in relation \"t\"");
    ok(b, "rollback");
    assert_eq!(text(b, "select id from t for update skip locked limit 3"), "2 3 4");
    ok(b, "set lock_timeout = 20");
    assert_eq!(code(b, "select id from t where id = 1 for update"), "55P03");
    assert_eq!(code(b, "update t set n = 1 where id = 1"), "55P03");
    ok(b, "set lock_timeout = 0; set statement_timeout = 20");
    assert_eq!(code(b, "delete from t where id = 1"), "57014");
    ok(b, "set statement_timeout = 0");
    ok(a, "commit");
    ok(b, "update t set n = 1 where id = 1");
    no_lock_is_left(&db);
}

/// As the table in PostgreSQL's manual has it.
fn which_strengths_exclude_each_other<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (&mut session(&db), &mut session(&db));
    let strengths = ["key share", "share", "no key update", "update"];
    let excludes = [
        [false, false, false, true],
        [false, false, true, true],
        [false, true, true, true],
        [true, true, true, true],
    ];
    for (held, row) in strengths.iter().zip(excludes) {
        for (wanted, excluded) in strengths.iter().zip(row) {
            ok(a, &format!("begin; select * from t where id = 1 for {held}"));
            let found = text(b, &format!("select id from t where id = 1 for {wanted} skip locked"));
            assert_eq!(found.is_empty(), excluded, "{held} and {wanted}");
            ok(a, "commit");
        }
    }
    no_lock_is_left(&db);
}

fn plain_writes_wait_for_those_who_lock<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b, c) = (Client::new(&db), Client::new(&db), Client::new(&db));
    a.ok("begin; select * from t where id = 1 for update");
    b.waits("update t set n = n + 10 where id = 1");
    c.waits("insert into t values (1, 0, 'c') on conflict (id) do update set n = t.n + 100");
    a.ok("update t set n = n + 1 where id = 1; commit");
    b.done("update");
    c.done("insert");
    assert_eq!(text(&mut session(&db), "select n from t where id = 1"), "111");
    // a read does not wait
    a.ok("begin; select * from t where id = 1 for update");
    assert_eq!(b.ok("select n from t where id = 1"), "111");
    // in a transaction that has read something else
    b.ok("begin; select * from t where id = 5");
    b.waits("update t set n = n + 1000 where id in (1, 2)");
    a.ok("update t set n = 0 where id = 1; commit");
    b.done("update");
    b.ok("commit");
    assert_eq!(text(&mut session(&db), "select n from t where id < 3 order by id"), "1000 1000");
    no_lock_is_left(&db);
}

fn a_deadlock_is_found<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; select * from t where id = 1 for update");
    b.ok("begin; select * from t where id = 2 for update");
    a.waits("select id from t where id = 2 for update");
    let error = b.run("select id from t where id = 1 for update").expect_err("a deadlock");
    assert_eq!(error.code().as_str(), "40P01");
    assert_eq!(error.to_string(), "deadlock detected");
    let detail = error.fields().detail.clone().unwrap_or_default();
    assert!(detail.contains(&format!("blocked by process {}", a.pid())), "{detail}");
    // whose transaction has failed holds nobody up
    assert_eq!(a.done("select"), "2");
    b.ok("rollback");
    a.ok("commit");
    no_lock_is_left(&db);
}

/// PostgreSQL's deadlock-hard: a ring of sessions.
fn a_ring_of_sessions_is_a_deadlock<E: Engine>(db: Database<E>) {
    table(&db);
    let clients: Vec<Client<E>> = (0..5).map(|_| Client::new(&db)).collect();
    for (number, client) in clients.iter().enumerate() {
        client.ok(&format!("begin; select pg_advisory_xact_lock({number})"));
    }
    for (number, client) in clients.iter().enumerate().take(4) {
        client.waits(&format!("select pg_advisory_xact_lock({})", number + 1));
    }
    assert_eq!(clients[4].code("select pg_advisory_xact_lock(0)"), "40P01");
    for client in clients[..4].iter().rev() {
        client.done("lock");
        client.ok("commit");
    }
    clients[4].ok("rollback");
    no_lock_is_left(&db);
}

fn locks_end_with_savepoint_transaction_and_session<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), &mut session(&db));
    let free = "select id from t where id < 3 order by id for update skip locked";
    a.ok("begin; select * from t where id = 1 for update; savepoint s; select * from t where id = 2 for update");
    assert_eq!(text(b, free), "");
    a.ok("rollback to s");
    assert_eq!(text(b, free), "2");
    a.ok("select * from t where id = 2 for update");
    assert_eq!(a.code("select 1 / 0"), "22012");
    assert_eq!(text(b, free), "2");
    a.ok("rollback");
    assert_eq!(text(b, free), "1 2");
    a.ok("begin; select * from t for update; select pg_advisory_lock(7)");
    assert_eq!(text(b, "select pg_try_advisory_lock(7)"), "f");
    a.end();
    assert_eq!(text(b, free), "1 2");
    assert_eq!(text(b, "select pg_try_advisory_lock(7), pg_advisory_unlock(7)"), "t|t");
    no_lock_is_left(&db);
}

fn a_wait_can_be_cancelled<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; select * from t where id = 1 for update");
    b.ok("begin; update t set n = 3 where id = 4");
    b.waits("update t set n = 3 where id = 1");
    b.cancel();
    assert_eq!(b.failed("update"), "57014");
    b.ok("rollback");
    a.ok("commit");
    no_lock_is_left(&db);
}

/// A run that is given up in the middle of a transaction has handed out rows: they come once all the same.
fn no_row_comes_twice<E: Engine>(db: Database<E>) {
    table(&db);
    ok(&mut session(&db), "create table u (id int primary key, n int); insert into u values (1, 0)");
    let (a, b) = (Client::new(&db), Client::new(&db));
    // kept rows
    a.ok("begin; select * from t where id = 2 for update; update t set n = 5 where id = 2");
    b.ok("begin; select 1");
    b.waits("declare c cursor for select id, n from t where id < 4 for update");
    a.ok("commit");
    b.done("declare");
    assert_eq!(b.ok("fetch all from c"), "1|0 2|5 3|0");
    b.ok("commit");
    // rows that stand in the answer before a part that nobody reads waits
    a.ok("begin; select * from u where id = 1 for update; update u set n = 1");
    b.ok("begin; select 1");
    b.waits("with w as (update u set n = n + 10 where id = 1) select id from t where id < 4 order by id");
    a.ok("commit");
    assert_eq!(b.done("select"), "1 2 3");
    b.ok("commit");
    assert_eq!(text(&mut session(&db), "select n from u"), "11");
    // what copies out has handed on nothing before it has the locks
    a.ok("begin; select * from t where id = 1 for update");
    b.ok("begin; select 1");
    b.waits("copy (select id from t where id < 3 for update) to stdout");
    a.ok("commit");
    let copied = b.answer().expect("a copy").copied;
    assert_eq!(String::from_utf8_lossy(&copied), "1\n2\n");
    b.ok("commit");
    no_lock_is_left(&db);
}

fn advisory_locks<E: Engine>(db: Database<E>) {
    let (a, b) = (Client::new(&db), &mut session(&db));
    a.ok("select pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(1, 2)");
    assert_eq!(
        text(
            b,
            "select pg_try_advisory_lock(1), pg_try_advisory_lock(1, 2), pg_try_advisory_lock_shared(1, 2)"
        ),
        "f|f|t"
    );
    // as often as it was taken
    assert_eq!(a.ok("select pg_advisory_unlock(1)"), "t");
    assert_eq!(text(b, "select pg_try_advisory_xact_lock(1)"), "f");
    assert_eq!(a.ok("select pg_advisory_unlock(1), pg_advisory_unlock(1)"), "t|f");
    ok(b, "begin");
    assert_eq!(text(b, "select pg_try_advisory_xact_lock(1), pg_advisory_xact_lock(-5::int8)"), "t|");
    let locks = "select locktype, classid, objid, objsubid, mode, granted from pg_locks order by objsubid, objid, pid";
    let shown = "advisory|0|1|1|ExclusiveLock|t advisory|4294967295|4294967291|1|ExclusiveLock|t \
                 advisory|1|2|2|ShareLock|t advisory|1|2|2|ShareLock|t";
    assert_eq!(a.ok(locks), shown);
    a.waits("select pg_advisory_lock(1)");
    ok(b, "rollback");
    a.done("lock");
    // a rollback keeps those of the session
    a.ok("begin; select pg_advisory_lock(9); rollback");
    assert_eq!(text(b, "select pg_try_advisory_lock(9)"), "f");
    a.ok("select pg_advisory_unlock_all()");
    assert_eq!(text(b, "select pg_try_advisory_lock(9), pg_advisory_unlock_shared(1, 2)"), "t|t");
    ok(b, "discard all");
    no_lock_is_left(&db);
}

/// Statements are run again without anybody's knowledge: the session has in the end what one run takes.
fn session_locks_of_runs_that_are_repeated<E: Engine>(db: Database<E>) {
    ok(
        &mut session(&db),
        "create table u (id int primary key, n int not null); insert into u values (1, 0), (2, 0), (3, 0)",
    );
    let (a, b, c) = (Client::new(&db), Client::new(&db), &mut session(&db));
    for begin in ["", "begin; select 1; "] {
        // once, though the first row was locked by two runs
        a.ok("begin; select * from u where id = 2 for update");
        b.waits(&format!("{begin}select id, pg_try_advisory_lock(id + 100) from u where id < 3 for update"));
        a.ok("commit");
        b.done("select");
        b.ok("commit");
        assert_eq!(b.ok("select pg_advisory_unlock(101), pg_advisory_unlock(101)"), "t|f");
        // given back once, by the run before the one that answers
        a.ok("begin; select * from u where id = 2 for update");
        b.waits(&format!("{begin}select id, pg_advisory_unlock(102) from u where id < 3 for update"));
        a.ok("commit");
        let answer = b.answer().expect("two rows");
        let answer: Vec<_> = answer.rows.iter().rev().take(2).map(|row| row[1].as_deref()).collect();
        assert_eq!(answer, [Some("f"), Some("t")]);
        b.ok("commit");
        // another job than the one that was found at first
        a.ok("begin; select * from u where id = 1 for update; update u set n = 1 where id = 1");
        b.waits(&format!(
            "{begin}select id from u where n = 0 and pg_try_advisory_lock(id) order by id limit 1 for update"
        ));
        a.ok("commit");
        let answer = b.answer().expect("a job");
        assert_eq!(answer.rows.last().expect("a job")[0].as_deref(), Some("2"));
        assert_eq!(text(c, "select pg_try_advisory_lock(1), pg_try_advisory_lock(2)"), "t|f");
        b.ok("commit; select pg_advisory_unlock_all()");
        ok(c, "select pg_advisory_unlock(1); update u set n = 0");
    }
    // conflicts at the commit
    thread::scope(|scope| {
        for key in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                for _ in 0..25 {
                    let update =
                        format!("update u set n = n + 1 where id = 1 and pg_try_advisory_lock({key})");
                    assert_eq!(ok(s, &update).tags, ["UPDATE 1"]);
                    let counts = format!("select pg_advisory_unlock({key}), pg_advisory_unlock({key})");
                    assert_eq!(text(s, &counts), "t|f");
                }
            });
        }
    });
    assert_eq!(text(c, "select n from u where id = 1"), "100");
    no_lock_is_left(&db);
}

/// More sessions wait than the engine has workers.
fn who_waits_for_an_advisory_lock_holds_no_worker<E: Engine>(db: Database<E>) {
    const SESSIONS: usize = 120;
    let (a, s) = (Client::new(&db), &mut session(&db));
    a.ok("select pg_advisory_lock(1)");
    let waiters: Vec<_> = (0..SESSIONS).map(|_| Client::new(&db)).collect();
    for (number, waiter) in waiters.iter().enumerate() {
        waiter.waits(match number % 3 {
            0 => "select pg_advisory_lock(1), pg_advisory_unlock(1)",
            1 => "select pg_advisory_xact_lock(1)",
            _ => "begin; select pg_advisory_xact_lock(1); commit",
        });
    }
    assert_eq!(text(s, "select count(*) from pg_locks where not granted"), SESSIONS.to_string());
    assert_eq!(a.ok("select pg_advisory_unlock(1)"), "t");
    for (number, waiter) in waiters.iter().enumerate() {
        assert_eq!(waiter.done("lock"), if number % 3 == 0 { "|t" } else { "" });
    }
    // in a transaction that has begun they do hold one: not all of them may
    a.ok("select pg_advisory_lock(1)");
    let mut waiting = 0;
    for waiter in &waiters[..96] {
        waiter.ok("begin; select 1");
        waiter.waits("select pg_advisory_xact_lock(1)");
        waiting += 1;
    }
    waiters[96].ok("begin; select 1");
    assert_eq!(waiters[96].code("select pg_advisory_xact_lock(1)"), "53300");
    waiters[96].ok("rollback");
    assert_eq!(text(s, "select count(*) from pg_locks where not granted"), waiting.to_string());
    a.ok("select pg_advisory_unlock(1)");
    // in the order that they have come
    for waiter in &waiters[..waiting] {
        waiter.done("lock");
        waiter.ok("commit");
    }
    no_lock_is_left(&db);
}

/// Two locks in one statement, in either order: a deadlock is found, and what was had stays with the session.
fn locks_of_a_session_in_a_deadlock<E: Engine>(db: Database<E>) {
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("select pg_advisory_lock(1)");
    b.ok("select pg_advisory_lock(2)");
    a.waits("select pg_advisory_lock(3), pg_advisory_lock(2)");
    assert_eq!(b.code("select pg_advisory_lock(4), pg_advisory_lock(1)"), "40P01");
    assert_eq!(b.ok("select pg_advisory_unlock(4), pg_advisory_unlock(4)"), "t|f");
    b.ok("select pg_advisory_unlock(2)");
    a.done("lock");
    assert_eq!(a.ok("select pg_advisory_unlock(3), pg_advisory_unlock(3), pg_advisory_unlock(2)"), "t|f|t");
    a.ok("select pg_advisory_unlock(1)");
    // many, all of which are held: it does not begin anew for each of them
    let all = "select count(pg_advisory_lock(g)) from generate_series(1, 60) g";
    a.ok(all);
    b.waits(all);
    a.ok("select pg_advisory_unlock_all()");
    assert_eq!(b.done("locks"), "60");
    assert_eq!(a.ok("select count(*) from pg_locks"), "60");
    b.ok("select pg_advisory_unlock_all()");
    no_lock_is_left(&db);
}

fn the_memory_of_locks_is_bounded_and_given_back<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    db.set_max_query_memory(4 << 20);
    for lock in ["pg_advisory_lock", "pg_try_advisory_lock_shared"] {
        let sql = format!("select count({lock}(g)) from generate_series(1, 100000) g");
        assert_eq!(code(a, &sql), "53200");
        ok(a, "select pg_advisory_unlock_all()");
        assert_eq!(db.query_memory(), 0, "{lock}");
    }
    // one by one
    ok(a, "select count(pg_advisory_lock(g)) from generate_series(1, 5000) g");
    assert!(db.query_memory() > 0);
    ok(a, "select count(pg_advisory_unlock(g)) from generate_series(1, 5000) g");
    assert_eq!(db.query_memory(), 0, "unlocked");
    // a block that has failed has no locks, and no memory of them
    let many = "select count(pg_advisory_xact_lock(g)) from generate_series(1, 10000) g";
    ok(a, "begin");
    ok(a, many);
    assert_eq!(code(a, "select 1 / 0"), "22012");
    assert_eq!(db.query_memory(), 0, "failed");
    ok(b, "begin");
    ok(b, many);
    ok(a, "rollback");
    ok(b, "savepoint s");
    ok(b, "rollback to s; rollback");
    ok(a, "begin; savepoint s");
    ok(a, many);
    ok(a, "rollback to s; commit");
    assert_eq!(db.query_memory(), 0, "rolled back to a savepoint");
    no_lock_is_left(&db);
}

/// What reads behind the wait sees what the holder has done.
fn an_advisory_lock_orders_transactions<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; select pg_advisory_xact_lock(3); update t set n = n + 1 where id = 1");
    b.ok("begin");
    b.waits("select pg_advisory_xact_lock(3)");
    a.ok("commit");
    b.done("lock");
    assert_eq!(b.ok("select n from t where id = 1"), "1");
    b.ok("update t set n = n + 1 where id = 1");
    b.ok("commit");
    no_lock_is_left(&db);
}

fn lock_table<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b, c) = (Client::new(&db), Client::new(&db), &mut session(&db));
    assert_eq!(code(c, "lock table t"), "25P01");
    a.ok("begin; lock table t in share mode");
    assert_eq!(text(c, "select count(*) from t"), "10");
    assert_eq!(text(c, "select mode from pg_locks where relation = 't'::regclass::oid"), "ShareLock");
    b.waits("update t set n = n + 1 where id = 1");
    ok(c, "begin");
    let error = failure(c, "lock t in row exclusive mode nowait");
    assert_eq!(
        (error.code().as_str(), error.to_string().as_str()),
        ("55P03", "could not obtain lock on relation \"t\"")
    );
    ok(c, "rollback");
    a.ok("commit");
    b.done("update");
    a.ok("begin; lock public.t, only t in access exclusive mode");
    b.waits("select n from t where id = 1");
    a.ok("update t set n = 5 where id = 1; commit");
    assert_eq!(b.done("select"), "5");
    // who has it excludes those of the same mode
    a.ok("begin; lock table t in share row exclusive mode; update t set n = n + 1 where id = 1");
    b.ok("begin");
    b.waits("lock table t in share row exclusive mode");
    a.ok("commit");
    b.done("lock");
    assert_eq!(b.ok("select n from t where id = 1"), "6");
    b.ok("update t set n = n + 1 where id = 1; commit");
    assert_eq!(code(c, "begin read only; lock table t in share mode"), "25006");
    ok(c, "rollback");
    assert_eq!(code(c, "begin; lock table nothing"), "42P01");
    ok(c, "rollback");
    assert_eq!(code(c, "begin; lock table t in big mode"), "42601");
    ok(c, "rollback");
    no_lock_is_left(&db);
}

fn what_cannot_be_locked<E: Engine>(db: Database<E>) {
    table(&db);
    let s = &mut session(&db);
    ok(
        s,
        "create table u (id int primary key, t int); insert into u values (1, 1), (2, 2), (3, null); \
           create view v as select id as k from t where n = 0",
    );
    for (sql, wanted) in [
        ("select distinct n from t for update", "FOR UPDATE is not allowed with DISTINCT clause"),
        ("select n from t group by n for share", "FOR SHARE is not allowed with GROUP BY clause"),
        ("select count(*) from t for key share", "FOR KEY SHARE is not allowed with aggregate functions"),
        ("select row_number() over () from t for update", "FOR UPDATE is not allowed with window functions"),
        (
            "select generate_series(1, 2) from t for update",
            "FOR UPDATE is not allowed with set-returning functions in the target list",
        ),
        (
            "select 1 from t union select 2 from u for update",
            "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT",
        ),
        (
            "select * from u left join t on u.t = t.id for no key update",
            "FOR NO KEY UPDATE cannot be applied to the nullable side of an outer join",
        ),
    ] {
        let error = failure(s, sql);
        assert_eq!((error.code().as_str(), error.to_string().as_str()), ("0A000", wanted), "{sql}");
    }
    let error = failure(s, "select * from t for update of x");
    assert_eq!(error.code().as_str(), "42P01");
    assert_eq!(error.to_string(), "relation \"x\" in FOR UPDATE clause not found in FROM clause");
    assert_eq!(code(s, "select * from t for update of public.t"), "42601");
    let error = failure(s, "begin read only; select * from t for update");
    assert_eq!(error.code().as_str(), "25006");
    assert_eq!(error.to_string(), "cannot execute SELECT FOR UPDATE in a read-only transaction");
    ok(s, "rollback");
    no_lock_is_left(&db);
}

fn which_tables_a_clause_locks<E: Engine>(db: Database<E>) {
    table(&db);
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(
        a,
        "create table u (id int primary key, t int); insert into u values (1, 1), (2, 2), (3, null); \
           create view v as select id as k, n from t where n = 0",
    );
    let locked = |s: &mut scaledb_sql::Session<E>| {
        let query =
            "select relation::regclass::text, mode, count(*) from pg_locks group by 1, 2 order by 1, 2";
        text(s, query)
    };
    for (sql, rows, locks) in [
        ("select t.id from t, u where t.id = u.t for update of u", "1 2", "u|AccessExclusiveLock|2"),
        (
            "select t.id from t join u on t.id = u.t order by 1 desc for update of t for share of u",
            "2 1",
            "t|AccessExclusiveLock|2 u|RowShareLock|2",
        ),
        (
            "select u.id from u left join t on u.t = t.id where u.id > 1 order by 1 for update of u",
            "2 3",
            "u|AccessExclusiveLock|2",
        ),
        ("select k from v where k < 3 order by k for share", "1 2", "t|RowShareLock|2"),
        (
            "select k from (select id + 1 as k from t where id < 3) q order by k for update",
            "2 3",
            "t|AccessExclusiveLock|2",
        ),
        (
            "with w as (select id from t where id = 4 for update) select id from w",
            "4",
            "t|AccessExclusiveLock|1",
        ),
        ("select (select id from t where id = 5 for key share)", "5", "t|AccessShareLock|1"),
        ("select id from t x order by id offset 2 limit 1 for no key update of x", "3", "t|ExclusiveLock|3"),
    ] {
        ok(a, "begin");
        assert_eq!(text(a, sql), rows, "{sql}");
        assert_eq!(locked(b), locks, "{sql}");
        ok(a, "rollback");
    }
    no_lock_is_left(&db);
}

/// Every job is done once, whoever takes it.
fn a_job_queue<E: Engine>(db: Database<E>) {
    const JOBS: u32 = 60;
    ok(&mut session(&db), "create table jobs (id int primary key, state text not null, worker int)");
    ok(&mut session(&db), "create index by_state on jobs (state, id)");
    ok(
        &mut session(&db),
        &format!("insert into jobs select g, 'new', null from generate_series(1, {JOBS}) g"),
    );
    let (done, conflicts) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for worker in 0..4 {
            let (db, done, conflicts) = (&db, &done, &conflicts);
            scope.spawn(move || {
                let s = &mut session(db);
                let take = "select id from jobs where state = 'new' order by id limit 1 for update skip locked";
                loop {
                    let took = if worker % 2 == 0 {
                        // in three statements
                        let work = |s: &mut scaledb_sql::Session<E>| {
                            ok(s, "begin");
                            let rows = crate::common::run(s, take)?.rows;
                            let Some(id) = rows.first().and_then(|row| row[0].clone()) else {
                                crate::common::run(s, "commit")?;
                                return Ok(0);
                            };
                            crate::common::run(s, &format!("update jobs set state = 'done', worker = {worker} where id = {id}"))?;
                            crate::common::run(s, "commit").map(|_| 1)
                        };
                        work(s)
                    } else {
                        let sql = format!("update jobs set state = 'done', worker = {worker} where id = ({take}) returning id");
                        crate::common::run(s, &sql).map(|rows| rows.rows.len() as u32)
                    };
                    match took {
                        Ok(0) if text(s, "select count(*) from jobs where state = 'new'") == "0" => break,
                        Ok(took) => {
                            done.fetch_add(took, Ordering::SeqCst);
                        }
                        Err(error) => {
                            assert_eq!(error.code().as_str(), "40001", "{error:?}");
                            conflicts.fetch_add(1, Ordering::SeqCst);
                            let _ = crate::common::run(s, "rollback");
                        }
                    }
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::SeqCst), JOBS, "jobs done");
    assert!(conflicts.load(Ordering::SeqCst) <= JOBS / 4, "{} conflicts", conflicts.load(Ordering::SeqCst));
    no_lock_is_left(&db);
}

/// Six sessions increment one row: none of them hears of a conflict, and no increment is lost.
fn a_hot_row<E: Engine>(db: Database<E>) {
    table(&db);
    let scripts: [&[&str]; 2] = [
        &["update t set n = n + 1 where id = 1"],
        &[
            "begin",
            "select n from t where id = 1 for update",
            "update t set n = n + 1 where id = 1",
            "commit",
        ],
    ];
    for (number, script) in scripts.iter().enumerate() {
        thread::scope(|scope| {
            for _ in 0..6 {
                let db = &db;
                scope.spawn(move || {
                    let s = &mut session(db);
                    for _ in 0..50 {
                        script.iter().for_each(|sql| drop(ok(s, sql)));
                    }
                });
            }
        });
        let wanted = ((number + 1) * 300).to_string();
        assert_eq!(text(&mut session(&db), "select n from t where id = 1"), wanted);
    }
    no_lock_is_left(&db);
}

on_each_engine!(
    for_update_waits_and_reads_what_is_there_then,
    a_later_statement_waits_without_a_conflict,
    the_where_is_checked_again_after_the_wait,
    nowait_and_skip_locked,
    which_strengths_exclude_each_other,
    plain_writes_wait_for_those_who_lock,
    a_deadlock_is_found,
    a_ring_of_sessions_is_a_deadlock,
    locks_end_with_savepoint_transaction_and_session,
    a_wait_can_be_cancelled,
    no_row_comes_twice,
    session_locks_of_runs_that_are_repeated,
    who_waits_for_an_advisory_lock_holds_no_worker,
    locks_of_a_session_in_a_deadlock,
    the_memory_of_locks_is_bounded_and_given_back,
    advisory_locks,
    an_advisory_lock_orders_transactions,
    lock_table,
    what_cannot_be_locked,
    which_tables_a_clause_locks,
    a_job_queue,
    a_hot_row,
);
