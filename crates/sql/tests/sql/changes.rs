//! Changes of definitions beside other transactions, and read-only transactions beside writers.

use crate::common::{code, hears_of_conflicts, ok, run, session, text};
use scaledb_engine::{Engine, SerializationPoint};
use scaledb_sql::Database;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whatever a statement was compiled from belongs to what its commit compares: a change that the transaction has not
/// seen, followed by a row that it has, has no place in any order.
fn what_statements_are_compiled_from_is_validated<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table u (id int primary key, n int default 1); create table log (id serial primary key)");
    ok(
        a,
        "create table p (id int primary key); create table c (p int references p on delete cascade, id int unique)",
    );
    ok(a, "create table d (c int references c (id) on delete cascade)");
    ok(a, "create sequence s");
    // each: what the transaction does first, the change beside it, and what it does behind that
    let cases = [
        ("select 1", "create or replace view v as select 2 as n", "select n from v"),
        ("select 1", "create or replace view v as select 2 as n", "select n from w"),
        ("select 1", "alter table u alter n set default 2", "insert into u (id) values (1)"),
        ("select 1", "drop sequence s; create sequence s", "select nextval('s')"),
        ("select 1", "alter sequence s increment 10", "select nextval('s')"),
        ("select 1", "alter table u rename n to m; alter table u rename m to n", "select n from u"),
        ("select count(*) from pg_class", "create table e (id int primary key); drop table e", "select 1"),
        (
            "select to_regclass('nothing') is null",
            "create table e (id int primary key); drop table e",
            "select 1",
        ),
        // rows that go along lead to a table that the statement does not name
        ("select 1", "create index i on d (c); drop index i", "delete from p where id = 1"),
    ];
    for (before, change, after) in cases {
        ok(a, "create or replace view v as select 1 as n");
        ok(a, "create or replace view w as select n from v");
        ok(
            a,
            "truncate u, log, p, c, d; insert into p values (1); insert into c values (1, 1); insert into d values (1)",
        );
        ok(b, "begin");
        ok(b, before);
        ok(b, "insert into log default values");
        if run(a, change).is_err_and(|error| error.code().as_str() == "0A000") {
            ok(b, "rollback");
            continue;
        }
        let heard = run(b, after).and_then(|_| run(b, "commit"));
        let heard = heard.map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned());
        assert_eq!(heard, "40001", "{change} beside {after}");
        ok(b, "rollback");
        // and without the change it commits
        ok(b, &format!("begin; {before}; {after}; commit"));
    }
    // a view of a view depends on it
    assert_eq!(code(a, "drop view v"), "2BP01");
    ok(a, "create view v2 as select 1 as n; create view w2 as select n from v2");
    ok(a, "create or replace view v2 as select n from w2; drop view v2 cascade");
    assert_eq!(code(a, "select n from w2"), "42P01");
    // what it has not used is changed freely
    ok(b, "begin; select n from v; insert into log default values");
    ok(a, "create table e (id int primary key); create view x as select 1; alter table u add column o int");
    ok(b, "commit");
}

/// Stops the writers, however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Transactions of several statements that only read end without a conflict, however many write.
fn read_only_transactions_do_not_starve<E: Engine>(db: Database<E>) {
    const ROWS: i64 = 50;
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, n bigint); create table acknowledged (writer int primary key, n bigint)",
    );
    ok(s, &format!("insert into t select i, 100 from generate_series(1, {ROWS}) i"));
    ok(s, "insert into acknowledged select i, 0 from generate_series(0, 2) i");
    let stop = AtomicBool::new(false);
    let acknowledged = [const { AtomicU64::new(0) }; 3];
    scaledb_sync::thread::scope(|scope| {
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let s = &mut session(db);
                let mut number = 0u64;
                while !stop.load(Ordering::SeqCst) {
                    number += 1;
                    let (from, to) = (number % ROWS as u64 + 1, (number * 7 + writer as u64) % ROWS as u64 + 1);
                    let transfer = format!(
                        "begin; update t set n = n - 1 where id = {from}; update t set n = n + 1 where id = {to}; \
                         update acknowledged set n = {number} where writer = {writer}; commit"
                    );
                    if run(s, &transfer).is_ok() {
                        acknowledged.store(number, Ordering::SeqCst);
                    } else {
                        ok(s, "rollback");
                    }
                }
            });
        }
        let _stop = Stop(&stop);
        for round in 0..30 {
            let known: Vec<u64> = acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).collect();
            ok(s, if round % 2 == 0 { "begin read only" } else { "begin; set transaction read only" });
            for _ in 0..3 {
                assert_eq!(text(s, "select sum(n) from t"), (ROWS * 100).to_string());
                assert_eq!(text(s, "select count(*) from t where id < 10"), "9");
            }
            // strict: what was answered before the begin is there
            let seen = text(s, "select n from acknowledged order by writer");
            for (seen, known) in seen.split(' ').zip(&known) {
                assert!(seen.parse::<u64>().expect("a number") >= *known, "{seen} of {known}");
            }
            assert_eq!(code(s, "update t set n = 0"), "25006");
            ok(s, "rollback");
            ok(s, "begin read only; select sum(n) from t; select count(*) from t; commit");
            ok(s, "set default_transaction_read_only = on; begin");
            assert_eq!(text(s, "select sum(n) from t"), text(s, "select sum(n) from t"));
            ok(s, "commit; set default_transaction_read_only = off");
        }
    });
}

/// A snapshot goes on with the definitions of its begin.
fn a_read_only_transaction_is_not_ended_by_changes<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1), (2, 2)");
    ok(b, "begin read only");
    assert_eq!(text(b, "select count(*) from t"), "2");
    ok(a, "alter table t add column x int default 7; insert into t values (3, 3, 3); create index on t (n)");
    ok(
        a,
        "create table other (id int primary key, n int); insert into other values (8, 8); drop table other",
    );
    ok(a, "create table again (id int primary key, n int); insert into again values (9, 9)");
    assert_eq!(text(b, "select * from t order by id"), "1|1 2|2");
    ok(b, "commit");
    assert_eq!(text(b, "select * from t order by id"), "1|1|7 2|2|7 3|3|3");
}

/// A snapshot that has the rows of a change has its definitions, too: the table that the change has made, not the one
/// that it has replaced.
fn a_snapshot_has_the_definitions_of_its_rows<E: Engine>(db: Database<E>) {
    const CHANGES: i64 = 150;
    let s = &mut session(&db);
    ok(s, "create table counter (id int primary key, n int); insert into counter values (1, 0)");
    ok(s, "create table noted (id int primary key)");
    let stop = AtomicBool::new(false);
    let read = AtomicU64::new(0);
    scaledb_sync::thread::scope(|scope| {
        for _ in 0..3 {
            let (db, stop, read) = (&db, &stop, &read);
            scope.spawn(move || {
                let s = &mut session(db);
                while !stop.load(Ordering::SeqCst) {
                    // always a snapshot, however long the change takes
                    ok(s, "begin read only deferrable");
                    let (noted, counted) = (
                        text(s, "select count(*) from noted"),
                        text(s, "select n from counter where id = 1"),
                    );
                    assert_eq!(noted, counted);
                    // on Cicada, commits beside it would make the change fail
                    ok(s, "rollback");
                    read.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let _stop = Stop(&stop);
        for number in 1..=CHANGES {
            let change = if number % 2 == 1 { "add column x int default 1" } else { "drop column x" };
            ok(
                s,
                &format!(
                    "begin; alter table counter {change}; update counter set n = n + 1 where id = 1; \
                     insert into noted values ({number}); commit"
                ),
            );
        }
        while read.load(Ordering::SeqCst) < 10 {
            assert_eq!(text(s, "select n from counter"), CHANGES.to_string());
            scaledb_sync::thread::yield_now();
        }
    });
}

/// Counts that hold whatever is moved between rows.
const SUM: i64 = 100;

/// Writers that move amounts between the rows of a table, in blocks and in single statements, until the guard is
/// dropped. Returns how many transactions each has committed, and the most failures in a row of one.
fn beside_writers<E: Engine, R>(
    db: &Database<E>,
    rows: i64,
    change: impl FnOnce() -> R,
) -> (R, Vec<u64>, u64) {
    let stop = AtomicBool::new(false);
    let worst = AtomicU64::new(0);
    let committed = [const { AtomicU64::new(0) }; 4];
    let result = scaledb_sync::thread::scope(|scope| {
        for (writer, committed) in committed.iter().enumerate() {
            let (stop, worst) = (&stop, &worst);
            scope.spawn(move || {
                let s = &mut session(db);
                let (mut number, mut failures, mut counted) = (writer as i64 * 1_000_000, 0, 0i64);
                while !stop.load(Ordering::SeqCst) {
                    number += 1;
                    let (from, to) = (number % rows + 1, (number * 7 + 3) % rows + 1);
                    let sql = match number % 4 {
0 => format!("update t set k = k + 1 where id = {}", writer + 1),
                        1 => format!("insert into t (id, n) values ({}, 0)", number + 1_000),
                        2 => format!("delete from t where id = {}", number - 1 + 1_000),
                        _ => format!(
                            "begin; update t set n = n - 1 where id = {from}; update t set n = n + 1 where id = {to}; commit"
                        ),
                    };
                    match run(s, &sql) {
                        Ok(_) => {
                            failures = 0;
                            committed.fetch_add(1, Ordering::SeqCst);
                            counted += i64::from(number % 4 == 0);
                        }
                        Err(error) => {
                            // two updates of one transaction may wait for those of another one
                            assert!(["40001", "40P01"].contains(&error.code().as_str()), "{sql}: {error:?}");
                            failures += 1;
                            worst.fetch_max(failures, Ordering::SeqCst);
                            ok(s, "rollback");
                        }
                    }
                }
                // what was answered is there, whatever the table was changed to meanwhile
                let row = format!("select k from t where id = {}", writer + 1);
                assert_eq!(text(s, &row), counted.to_string());
            });
        }
        let _stop = Stop(&stop);
        // until all of them write
        while committed.iter().any(|n| n.load(Ordering::SeqCst) < 5) {
            scaledb_sync::thread::yield_now();
        }
        change()
    });
    let committed = committed.iter().map(|n| n.load(Ordering::SeqCst)).collect();
    (result, committed, worst.load(Ordering::SeqCst))
}

/// Each change of a table gets through beside writers, at its first try; nothing is lost, and indexes agree with the
/// table.
fn changes_get_through_beside_writers<E: Engine>(db: Database<E>) {
    const ROWS: i64 = 200;
    let s = &mut session(&db);
    ok(s, "create table p (id int primary key); insert into p select i from generate_series(0, 5000) i");
    ok(s, "create table t (id int primary key, n bigint not null, k bigint, note text)");
    ok(s, &format!("insert into t select i, {SUM}, 0, 'note ' || i from generate_series(1, {ROWS}) i"));
    let changes = [
        "create index t_n on t (n)",
        "create unique index concurrently t_id on t (id desc)",
        "alter table t add column a int",
        "alter table t add column b text default 'constant' not null",
        "alter table t alter a type bigint",
        "alter table t alter note type varchar(40)",
        "alter table t add constraint positive check (id > 0)",
        "alter table t add column p int default 7 references p",
        "alter table t drop column a",
        "alter table t alter b drop not null",
        "alter table t alter b set not null",
        "alter table t rename note to remark",
        "begin; alter table t add column c int default 5; create index t_c on t (c, n); commit",
        "create view v as select id, n from t",
        "drop index t_n",
        "alter table t drop column b, drop column c",
        "create index on t (n, id)",
    ];
    let (_, committed, worst) = beside_writers(&db, ROWS, || {
        for change in changes {
            ok(s, change);
            assert_eq!(text(s, &format!("select sum(n) = {} from t", ROWS * SUM)), "t", "{change}");
        }
    });
    // a change costs a transaction that runs one conflict; the others are with the rows of other writers
    assert!(worst < 20, "{worst} conflicts in a row");
    assert!(committed.iter().all(|&n| n > 5), "{committed:?}");
    agrees(s, "t");
    assert_eq!(
        text(s, "select column_name from information_schema.columns where table_name = 't'"),
        "id n k remark p"
    );
    assert_eq!(text(s, "select count(*) from t where p is distinct from 7"), "0");
}

/// An index is made, and a column added and dropped, at the first try, every time; only the index makes a table.
fn no_change_fails_beside_writers<E: Engine>(db: Database<E>) {
    const ROWS: i64 = 100;
    const TIMES: i64 = 20;
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n bigint not null, k bigint, note text)");
    ok(s, &format!("insert into t select i, {SUM}, 0, 'note ' || i from generate_series(1, {ROWS}) i"));
    ok(s, "create index t_n on t (n); drop index t_n");
    let tables = || db.engine().stats().tables.len();
    let (_, committed, worst) = beside_writers(&db, ROWS, || {
        for time in 0..TIMES {
            ok(s, "create index concurrently t_n on t (n)");
            let before = tables();
            ok(s, &format!("alter table t add column c int default {time} not null"));
            assert_eq!(text(s, &format!("select count(*) from t where c <> {time}")), "0");
            assert_eq!(
                text(s, &format!("select sum(n) from t where n > {}", -SUM * ROWS)),
                (ROWS * SUM).to_string()
            );
            ok(s, "alter table t drop column c");
            assert_eq!(tables(), before);
            ok(s, "drop index t_n");
        }
    });
    assert!(worst < 20, "{worst} conflicts in a row");
    assert!(committed.iter().all(|&n| n > 5), "{committed:?}");
    agrees(s, "t");
}

/// The table and its indexes have the same rows.
fn agrees<E: Engine>(s: &mut scaledb_sql::Session<E>, table: &str) {
    let whole = text(s, &format!("select count(*), sum(n), sum(id) from {table}"));
    for order in ["n, id", "id desc", "id"] {
        let by_index = format!(
            "select count(*), sum(n), sum(id) from (select n, id from {table} where n > -1000000 and id > 0 order by {order}) x"
        );
        assert_eq!(text(s, &by_index), whole, "{order}");
    }
}

/// Changes in a block, before and behind its own writes, and back to a savepoint.
fn a_block_sees_its_own_changes_and_takes_them_back<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, n int); insert into t select i, i from generate_series(1, 2500) i",
    );
    ok(s, "begin; alter table t add column x int default 1");
    assert_eq!(text(s, "select count(*), sum(x) from t"), "2500|2500");
    ok(s, "insert into t values (0, 0, 0); create index t_x on t (x)");
    assert_eq!(text(s, "select id from t where x = 0"), "0");
    ok(s, "savepoint one; alter table t drop column n; update t set x = 9 where id = 1");
    assert_eq!(text(s, "select * from t where x = 9"), "1|9");
    ok(s, "rollback to one");
    assert_eq!(text(s, "select count(*), sum(x), sum(n) from t"), "2501|2500|3126250");
    assert_eq!(code(s, "alter table t add constraint few check (n < 5)"), "23514");
    ok(s, "rollback to one; commit");
    assert_eq!(text(s, "select count(*), sum(x), sum(n) from t where x >= 0"), "2501|2500|3126250");
    ok(s, "begin; alter table t drop column x; rollback");
    assert_eq!(text(s, "select count(*), sum(x) from t"), "2501|2500");
    // what fails leaves nothing behind: the engine's table is used again, and is empty
    assert_eq!(code(s, "create unique index on t (x)"), "23505");
    ok(s, "update t set x = id; create unique index on t (x)");
    assert_eq!(text(s, "select count(*), sum(x) from t where x >= 0"), "2501|3126250");
    // a read before the change
    ok(s, "begin; select count(*) from t; alter table t add column y int default 2; select sum(y) from t");
    assert_eq!(text(s, "select sum(y) from t"), "5002");
    ok(s, "commit");
}

/// A change that ROLLBACK TO has taken back holds up neither its own session nor others, whether it had failed or not.
fn a_change_that_is_taken_back_leaves_no_bar<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1); set lock_timeout = '2s'");
    ok(b, "set lock_timeout = '2s'");
    let changes = [
        ("alter table t add check (n < 0)", "23514"),
        ("alter table t add check (n > 0)", "ok"),
        ("alter table t add column x int default 1", "ok"),
        ("create unique index on t (n)", "23505"),
    ];
    for (number, (change, answer)) in changes.into_iter().enumerate() {
        let id = 10 * number + 10;
        // the session itself commits, its writes before and behind the change included
        ok(a, &format!("begin; insert into t values ({id}, 1); savepoint s"));
        let heard = run(a, change).map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned());
        assert_eq!(heard, answer, "{change}");
        ok(a, &format!("rollback to s; insert into t values ({}, 1); commit", id + 1));
        // and others do beside it, once it has gone back
        ok(a, "begin; savepoint s");
        let _ = run(a, change);
        ok(a, "rollback to s");
        ok(b, &format!("insert into t values ({}, 1)", id + 2));
        // a second try is as good as the first
        let second = run(a, change).and_then(|_| run(a, "commit"));
        ok(a, "rollback");
        ok(b, &format!("insert into t (id, n) values ({}, 1)", id + 3));
        if second.is_ok() {
            assert_eq!(text(a, &format!("select count(*) from t where id between {id} and {id} + 3")), "4");
        }
    }
    // a change before the savepoint keeps its bar, and what comes behind it goes
    ok(a, "begin; alter table t add column y int default 5; savepoint s");
    assert_eq!(code(a, "alter table t add check (y < 0)"), "23514");
    ok(a, "rollback to s");
    ok(b, "set lock_timeout = '50ms'");
    assert_eq!(code(b, "insert into t (id, n) values (100, 1)"), "55P03");
    ok(a, "insert into t (id, n) values (101, 1); commit");
    ok(b, "insert into t (id, n) values (102, 1)");
    assert_eq!(text(b, "select y from t where id > 100 order by id"), "5 5");
}

/// A row that was committed between a savepoint and a check of all rows is checked, or the change fails.
fn a_check_behind_a_savepoint_sees_all_rows<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1)");
    ok(a, "begin; savepoint s");
    ok(b, "insert into t values (2, -1)");
    let heard = run(a, "alter table t add check (n > 0)").and_then(|_| run(a, "commit"));
    let heard = heard.map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned());
    assert!(heard == "23514" || heard == "40001", "{heard}");
    ok(a, "rollback; delete from t where n < 0; begin; savepoint s; alter table t add check (n > 0); commit");
    assert_eq!(code(b, "insert into t values (2, -1)"), "23514");
}

/// Changes of several sessions at once all get through.
fn changes_beside_changes_get_through<E: Engine>(db: Database<E>) {
    ok(
        &mut session(&db),
        "create table t (id int primary key, n bigint); insert into t select i, i from generate_series(1, 300) i",
    );
    scaledb_sync::thread::scope(|scope| {
        for number in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                for round in 0..5 {
                    ok(s, &format!("create index t_{number}_{round} on t (n)"));
                    ok(s, &format!("alter table t add column c_{number}_{round} int default {round}"));
                    ok(s, &format!("create table u_{number}_{round} (id int primary key)"));
                    ok(s, &format!("insert into t (id, n) values ({}, 0)", 1_000 + number * 10 + round));
                }
            });
        }
    });
    let s = &mut session(&db);
    assert_eq!(text(s, "select count(*) from pg_indexes where tablename = 't'"), "21");
    assert_eq!(text(s, "select count(*), sum(n), count(c_3_4), sum(c_3_4) from t"), "320|45150|320|1280");
}

/// A change of indexes alone makes no copy: the engine's table stays what it is, and no transaction writes rows.
fn indexes_come_and_go_without_a_copy<E: Engine>(db: Database<E>) {
    const ROWS: i64 = 3_000;
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, a int, b text, c int, n numeric)");
    ok(s, &format!("insert into t select i, i % 100, 'b' || i, i, i from generate_series(1, {ROWS}) i"));
    let tables = || {
        let stats = db.engine().stats().tables;
        stats
            .into_iter()
            .filter(|t| t.name.bytes().skip(1).all(|b| b.is_ascii_digit()))
            .map(|t| t.id)
            .collect::<Vec<_>>()
    };
    let commits = || db.engine().stats().commits;
    let before = tables();
    let changes = [
        "create index t_a on t (a desc nulls last, c)",
        "create unique index concurrently t_c on t (c)",
        "alter table t add constraint t_b unique (b)",
        "alter table t add column x int default 4",
        "create index t_ab on t (a, b)",
        "alter table t drop constraint t_b",
        "drop index t_c",
        "drop index t_ab",
        "alter table t alter c set not null",
        "alter table t alter c drop not null",
        "create unique index t_c on t (c)",
        "begin; create index t_1 on t (a); create index t_2 on t (b); drop index t_1; insert into t values (0, 0, 'b0', 0, 0); commit",
        "begin; create index t_5 on t (a); drop index t_a; insert into t values (-2, 0, 'b', -2, 0); rollback",
    ];
    for change in changes {
        let committed = commits();
        ok(s, change);
        // emptying what was dropped takes a few, a copy of the rows as many again
        assert!(commits() - committed < 40, "{change}: {}", commits() - committed);
        assert_eq!(tables(), before, "{change}");
        let by_index = "select count(*), sum(id), sum(c) from t where a >= 0 and b >= '' and c > -100";
        assert_eq!(text(s, by_index), text(s, "select count(*), sum(id), sum(c) from t"), "{change}");
    }
    assert_eq!(
        text(s, "select indexname from pg_indexes where tablename = 't' order by 1"),
        "t_2 t_a t_c t_pkey"
    );
    assert_eq!(text(s, "select count(*), sum(x) from t"), format!("{}|{}", ROWS + 1, 4 * (ROWS + 1)));
    // what a new index does not take
    let refused = run(s, "create unique index on t (b, a)").err();
    assert!(refused.is_none());
    let error = run(s, "create unique index again on t (a)").unwrap_err();
    assert_eq!(error.code().as_str(), "23505");
    assert!(
        format!("{error:?}").contains("Key (a)=(") && format!("{error:?}").contains("is duplicated."),
        "{error:?}"
    );
    assert_eq!(code(s, "insert into t values (5000, 1, 'x', 1, 1)"), "23505");
    ok(s, "update t set a = null where id = 1");
    assert_eq!(code(s, "alter table t alter a set not null"), "23502");
    ok(s, "insert into t values (5001, null, 'y', 5001, 1); delete from t where id = 5001");
    assert_eq!(tables(), before);
    // behind a savepoint, where Cicada copies: its transaction may not see what was committed since its begin
    let behind = "begin; create index t_3 on t (a); savepoint s; create index t_4 on t (a); rollback to s";
    ok(s, &format!("{behind}; insert into t values (-1, 0, 'b', -1, 0); commit"));
    assert_eq!(text(s, "select count(*), count(c), min(id) from t where a = 0"), "32|32|-1");
    // a key that is kept beside its column: the rows are written anew, and all is as it should be
    ok(s, "create index t_n on t (n); create index t_nc on t (n, c); drop index t_n");
    assert_eq!(text(s, "select id from t where n = 17 order by n, c"), "17");
    ok(s, "drop index t_nc; update t set n = 18 where id = 17; create index t_n on t (n desc)");
    assert_eq!(text(s, "select id from t where n = 18 order by id"), "17 18");
    // a table that is gone lends its indexes to none that has others
    ok(s, "drop table t; create table t (id int primary key, a int, b text, c int, n numeric)");
    ok(s, "insert into t select i, 1, '1', 1, 1 from generate_series(1, 100) i");
    assert_eq!(text(s, "select count(*) from t"), "100");
}

/// What a transaction has written before an index came or went goes with it, or not at all; a snapshot goes on.
fn transactions_beside_a_change_of_indexes<E: Engine>(db: Database<E>) {
    let (a, b, c) = (&mut session(&db), &mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    hears_of_conflicts(c);
    ok(
        a,
        "create table t (id int primary key, a int); insert into t select i, i from generate_series(1, 3000) i",
    );
    ok(a, "create table u (id int primary key); create index t_old on t (a)");
    for (change, index) in
        [("create index t_a on t (a)", "a"), ("drop index t_a", "a"), ("drop index t_old", "a")]
    {
        // before anybody else is in a transaction, so that it reads a snapshot
        ok(c, "begin read only");
        let before = text(c, "select count(*) from u");
        ok(b, "begin; update t set a = -a where id = 7");
        ok(a, change);
        let heard =
            run(b, "commit").map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned());
        assert_eq!(heard, "40001", "{change}");
        ok(b, "rollback; update t set a = -a where id = 7");
        assert_eq!(
            text(c, &format!("select count(*), max(id) from t where {index} > 0")),
            "3000|3000",
            "{change}"
        );
        assert_eq!(text(c, "select count(*) from u"), before);
        ok(c, "commit");
        assert_eq!(text(b, "select id from t where a < 0"), "7");
        ok(b, "update t set a = -a where id = 7");
        // beside one that is not committed yet others read, and write when it is gone
        ok(a, "begin; create index t_x on t (a, id)");
        assert_eq!(text(c, "select count(*) from t where a > 0"), "3000");
        ok(a, "rollback");
        ok(c, "delete from t where id = 8; insert into t values (8, 8)");
    }
    agrees_on(a);
    // a unique index that a transaction does not know yet; and one that is taken back holds nobody up
    ok(b, "begin; select count(*) from t");
    ok(a, "create unique index t_one on t (a)");
    assert_eq!(code(b, "insert into t values (9000, 5)"), "40001");
    ok(b, "rollback");
    assert_eq!(code(b, "insert into t values (9000, 5)"), "23505");
    ok(a, "drop index t_one");
    ok(a, "begin; savepoint s; create unique index t_one on t (a); rollback to s");
    ok(b, "insert into t values (9000, 5); delete from t where id = 9000");
    ok(a, "commit; begin; create unique index t_one on t (a)");
    assert_eq!(code(a, "select 1 / 0"), "22012");
    ok(b, "insert into t values (9000, 5); delete from t where id = 9000");
    ok(a, "rollback");
    agrees_on(a);
}

/// An index that is being made stops at a timeout, and is made by the next who asks.
fn the_making_of_an_index_is_cancelled<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, a int)");
    ok(s, "insert into t select i, i % 100 from generate_series(1, 30000) i");
    for _ in 0..5 {
        ok(s, "set statement_timeout = 2");
        let error = run(s, "create index t_a on t (a)").unwrap_err();
        assert_eq!(error.code().as_str(), "57014");
        assert!(format!("{error:?}").contains("statement timeout"), "{error:?}");
        ok(s, "set statement_timeout = 0");
        ok(s, "insert into t values (0, 0); delete from t where id = 0");
        assert_eq!(text(s, "select count(*) from pg_indexes where tablename = 't'"), "1");
    }
    ok(s, "create index t_a on t (a)");
    assert_eq!(text(s, "select count(*) from t where a = 7"), "300");
}

/// A deferrable transaction of Cicada waits for all that are open, for as long as they are: not beyond its statement.
fn a_wait_for_a_snapshot_ends_with_its_statement<E: Engine>(db: Database<E>) {
    let (writer, reader) = (&mut session(&db), &mut session(&db));
    ok(writer, "create table t (id int primary key)");
    ok(writer, "begin; insert into t values (1)");
    for _ in 0..3 {
        ok(reader, "set statement_timeout = 20; begin isolation level serializable read only deferrable");
        let answer = run(reader, "select count(*) from t");
        if db.engine().name() == "cicada" {
            let error = answer.unwrap_err();
            assert_eq!(error.code().as_str(), "57014");
            assert!(format!("{error:?}").contains("statement timeout"), "{error:?}");
        }
        ok(reader, "rollback; set statement_timeout = 0");
    }
    ok(writer, "commit");
    ok(reader, "begin isolation level serializable read only deferrable");
    assert_eq!(text(reader, "select count(*) from t"), "1");
    ok(reader, "commit");
}

fn agrees_on<E: Engine>(s: &mut scaledb_sql::Session<E>) {
    assert_eq!(
        text(s, "select count(*), sum(a) from t where a > 0"),
        text(s, "select count(*), sum(a) from t")
    );
}

/// A transaction that has begun before a table was emptied for others finds none of its rows in a table of its own.
fn new_tables_are_empty<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table other (id int primary key); insert into other values (1)");
    // few rows are deleted at once, many in the background
    for rows in [50, 1_000] {
        for _ in 0..5 {
            ok(a, "create table x (id int primary key, n int)");
            ok(a, &format!("insert into x select i, i from generate_series(1, {rows}) i"));
            ok(b, "begin; select * from other");
            ok(a, "drop table x");
            scaledb_sync::thread::sleep(std::time::Duration::from_millis(20));
            ok(b, "create table y (id int primary key, n int)");
            assert_eq!(text(b, "select count(*) from y"), "0");
            ok(b, "insert into y values (1, 1), (101, 1)");
            assert_eq!(text(b, "select count(*) from y"), "2");
            ok(b, "rollback");
        }
    }
}

/// What other sessions do to their temporary tables, and to the list of databases, is no conflict of changes.
fn changes_go_on_beside_temporary_tables_and_databases<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1)");
    ok(a, "create type mood as enum ('ok', 'bad'); create sequence s");
    // each: what one session does in a block, and what another does meanwhile
    let cases = [
        ("create table u (id int primary key)", "create temp table mine (id serial, n int)", "drop table u"),
        ("alter table t add m int default 3", "drop table mine", "alter table t drop m"),
        ("create temp table own (n int)", "create temp table mine (n int)", "drop table own"),
        ("drop sequence s", "create database other", "create sequence s"),
        ("create unique index i on t (n)", "drop database other", "drop index i"),
        ("create table u (t int references t)", "alter table mine add m mood", "drop table u"),
    ];
    for (change, beside, back) in cases {
        ok(a, "begin");
        ok(a, change);
        ok(a, "insert into t values (2, 2)");
        ok(b, beside);
        if let Err(error) = run(a, "commit") {
            // an engine whose transactions have their place at their begin finds the version of the catalog changed
            assert_eq!(error.code().as_str(), "40001", "{change} beside {beside}");
            assert_eq!(
                db.engine().serialization_point(),
                SerializationPoint::Begin,
                "{change} beside {beside}"
            );
            ok(a, change);
        }
        ok(a, back);
        ok(a, "delete from t where id = 2");
    }
    assert_eq!(text(b, "insert into mine (n) values (7) returning n, m"), "7|NULL");
    // a temporary table may name what goes, and a query of the catalog sees all of them
    for (before, change, beside) in [
        ("select 1", "drop type face", "create temp table looks (f face)"),
        ("select 1", "drop table t", "create temp table kept (n int default nextval('s'))"),
        ("select 1", "create table u (n int)", "create temp view seen as select n from t"),
        ("select 1", "create table u (n int)", "create table v (n int)"),
        ("select count(*) from pg_class", "create table u (n int)", "create temp table counted (n int)"),
    ] {
        ok(a, "drop table if exists u, v; drop type if exists face; create type face as enum ('ok')");
        ok(a, &format!("begin; {before}"));
        ok(a, change);
        ok(b, beside);
        assert_eq!(code(a, "commit"), "40001", "{change} beside {beside}");
        ok(b, "discard temp");
    }
}

on_each_engine!(
    new_tables_are_empty,
    indexes_come_and_go_without_a_copy,
    transactions_beside_a_change_of_indexes,
    the_making_of_an_index_is_cancelled,
    a_wait_for_a_snapshot_ends_with_its_statement,
    what_statements_are_compiled_from_is_validated,
    read_only_transactions_do_not_starve,
    a_read_only_transaction_is_not_ended_by_changes,
    a_snapshot_has_the_definitions_of_its_rows,
    changes_get_through_beside_writers,
    no_change_fails_beside_writers,
    a_block_sees_its_own_changes_and_takes_them_back,
    a_change_that_is_taken_back_leaves_no_bar,
    a_check_behind_a_savepoint_sees_all_rows,
    changes_beside_changes_get_through,
    changes_go_on_beside_temporary_tables_and_databases,
);
