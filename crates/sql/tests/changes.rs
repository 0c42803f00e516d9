//! Changes of definitions beside other transactions, and read-only transactions beside writers.

mod common;

use common::{code, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whatever a statement was compiled from belongs to what its commit compares: a change that the transaction has not
/// seen, followed by a row that it has, has no place in any order.
fn what_statements_are_compiled_from_is_validated<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
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

on_each_engine!(
    what_statements_are_compiled_from_is_validated,
    read_only_transactions_do_not_starve,
    a_read_only_transaction_is_not_ended_by_changes,
);
