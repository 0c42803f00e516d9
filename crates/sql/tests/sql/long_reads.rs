//! Statements that read much beside others that change what they read.

use crate::common::{ok, run, session, text};
use scaledb_engine::{Engine, SerializationPoint};
use scaledb_sql::{Column, Database, Rows, Session};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_types::{Env, Result, Value};
use std::ops::ControlFlow;

/// Many more than the rows from which on a statement reads much.
const MANY: u64 = 5_000;

fn filled<E: Engine>(db: &Database<E>, rows: u64) -> Session<E> {
    let mut a = session(db);
    ok(&mut a, "create table t (id int primary key, n bigint, note text)");
    ok(&mut a, &format!("insert into t select i, 100, 'a note' from generate_series(1, {rows}) i"));
    a
}

/// Rows that are gone as soon as they are handed out; at the first one something else is done.
struct HandedOut<F> {
    rows: u64,
    sum: i64,
    at_first: Option<F>,
}

impl<F: FnOnce()> HandedOut<F> {
    fn new(at_first: F) -> Self {
        Self { rows: 0, sum: 0, at_first: Some(at_first) }
    }
}

impl<F: FnOnce()> Rows for HandedOut<F> {
    fn row(&mut self, _: &Env, _: &[Column], values: &[Value]) -> Result<ControlFlow<()>> {
        if let Some(at_first) = self.at_first.take() {
            at_first();
        }
        self.rows += 1;
        self.sum += values.iter().filter_map(Value::as_i64).sum::<i64>();
        Ok(ControlFlow::Continue(()))
    }

    fn rewind(&mut self) -> bool {
        self.rows == 0
    }
}

/// What a statement has read is changed while its rows are on their way.
fn rows_on_their_way_are_not_overtaken<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db, MANY), session(&db));
    for (round, sql) in
        ["select n from t", "select n from t order by n desc", "select t.n from t, t u where u.id = t.n"]
            .into_iter()
            .flat_map(|sql| [sql; 3])
            .enumerate()
    {
        let mut rows = HandedOut::new(|| {
            ok(&mut a, "update t set n = n + 1 where id = 1; update t set n = n - 1 where id = 5000");
        });
        b.run(sql, &[], &mut rows).unwrap_or_else(|error| panic!("{sql}, {round}: {error:?}"));
        assert_eq!((rows.rows, rows.sum), (MANY, 100 * MANY as i64), "{sql}, {round}");
        ok(&mut a, "update t set n = n - 1 where id = 1; update t set n = n + 1 where id = 5000");
    }
    assert_eq!(db.retries(), 0);
}

/// A statement that reads little is validated, and its rows are handed out when it has ended.
fn few_rows_are_handed_out_at_once<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db, 10), session(&db));
    let mut rows = HandedOut::new(|| {
        ok(&mut a, "insert into t values (11, 100)");
    });
    let told = b.run("select n from t", &[], &mut rows);
    // with the place of its begin it comes before the insert
    assert_eq!(told.is_ok(), db.engine().serialization_point() == SerializationPoint::Begin);
    assert_eq!(rows.rows, 10);
}

/// It sees all that was committed before it, and the transfers of others as a whole.
fn it_is_of_the_present<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db, MANY), session(&db));
    beside_writers(&db, MANY, || {
        let sum = "select sum(n) filter (where id <= 5000), count(*) from t";
        for round in 1..=20 {
            ok(&mut a, &format!("insert into t values ({}, 0)", MANY + round));
            assert_eq!(text(&mut b, sum), format!("{}|{}", MANY * 100, MANY + round));
            let rows = ok(&mut b, "select id, n from t").rows;
            assert_eq!(rows.len() as u64, MANY + round);
            let copied = ok(&mut b, "copy t (n) to stdout").copied;
            let sum: i64 = copied
                .split(|&b| b == b'\n')
                .filter_map(|l| std::str::from_utf8(l).ok()?.parse::<i64>().ok())
                .sum();
            assert_eq!(sum as u64, MANY * 100);
        }
    });
}

/// What a query in a block hands out is of one state, or it fails: its client may never commit.
fn a_query_in_a_block_shows_one_state<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db, 500), session(&db));
    let at_begin = db.engine().serialization_point() == SerializationPoint::Begin;
    for sql in [
        "select n from t",
        "select n from t where id in (1, 2, 499, 500)",
        "select n from t order by id desc",
    ] {
        // what is read first, and what is read last
        let (first, last) = if sql.ends_with("desc") { (500, 1) } else { (1, 500) };
        let transfer = |n: i64| {
            format!(
                "begin; update t set n = n + {n} where id = {first}; update t set n = n - {n} where id = {last}; commit"
            )
        };
        ok(&mut b, "begin; select count(*) from t where id < 3");
        let mut rows = HandedOut::new(|| {
            ok(&mut a, &transfer(1));
        });
        let told = b.run(sql, &[], &mut rows);
        assert_eq!(told.is_ok(), at_begin, "{sql}: {told:?}");
        if let Err(error) = told {
            assert_eq!(error.code().as_str(), "40001");
        } else {
            assert_eq!(rows.sum, 100 * rows.rows as i64);
        }
        ok(&mut b, "rollback");
        ok(&mut a, &transfer(-1));
    }
    // as it was run from the begin, and nothing was handed out, it is run again
    let mut rows = 0;
    beside_writers(&db, 500, || {
        for _ in 0..200 {
            ok(&mut b, "begin");
            match run(
                &mut b,
                "select sum(n) from t where id < 200 union all select sum(n) from t where id >= 200",
            ) {
                Ok(found) => {
                    let sums = found.rows.iter().map(|row| row[0].as_ref().unwrap().parse::<u64>().unwrap());
                    assert_eq!(sums.sum::<u64>(), 50_000);
                    rows += 1;
                }
                Err(error) => assert_eq!(error.code().as_str(), "40001"),
            }
            ok(&mut b, "rollback");
        }
    });
    assert!(rows > 0);
}

/// Runs `f` beside sessions that transfer from row to row.
fn beside_writers<E: Engine>(db: &Database<E>, most: u64, f: impl FnOnce()) {
    let done = AtomicBool::new(false);
    scaledb_sync::thread::scope(|scope| {
        for writer in 0..2_u64 {
            let done = &done;
            scope.spawn(move || {
                let mut session = session(db);
                for round in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    let (one, other) = (1 + (writer + round * 2) % most, 1 + (writer + round * 14) % most);
                    let transfer = format!(
                        "begin; update t set n = n - 1 where id = {one}; update t set n = n + 1 where id = {other}; commit"
                    );
                    if run(&mut session, &transfer).is_err() {
                        ok(&mut session, "rollback");
                    }
                }
            });
        }
        // a failure of `f` must not leave the writers at work
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}

/// What copies a table that others write to gets through, and has one state of it.
fn copies_get_through<E: Engine>(db: Database<E>) {
    let mut a = filled(&db, MANY);
    ok(&mut a, "create materialized view v as select sum(n) as n, count(*) as c from t");
    ok(&mut a, "create unique index on v (c); create table copy (id int, n bigint)");
    let sum = (MANY * 100).to_string();
    beside_writers(&db, MANY, || {
        for round in 1..=4 {
            ok(&mut a, "create table made as select id, n from t");
            assert_eq!(text(&mut a, "select sum(n) from made"), sum);
            ok(&mut a, "drop table made");
            ok(&mut a, "refresh materialized view v");
            assert_eq!(text(&mut a, "select n from v"), sum);
            ok(&mut a, "refresh materialized view concurrently v");
            assert_eq!(text(&mut a, "select n from v"), sum);
            ok(&mut a, "insert into copy select id, n from t");
            assert_eq!(text(&mut a, "select sum(n) from copy"), (MANY * 100 * round).to_string());
        }
    });
    assert_eq!(text(&mut a, "select sum(n) from t"), sum);
}

/// A change of all rows of a table that others write to gets through, and loses nothing of theirs.
fn changes_of_all_rows_get_through<E: Engine>(db: Database<E>) {
    let mut a = filled(&db, MANY);
    ok(&mut a, "create table other as select id, n from t where id <= 2000");
    beside_writers(&db, MANY, || {
        for round in 0..3 {
            ok(&mut a, &format!("update t set note = 'round {round}'"));
            assert_eq!(text(&mut a, "select count(distinct note) from t"), "1");
            ok(&mut a, "merge into t using other o on t.id = o.id when matched then update set n = t.n + 1");
            ok(&mut a, "update t set n = t.n - 1 from other o where t.id = o.id");
        }
        ok(&mut a, "delete from t where id > 4000 and n < -1000000");
    });
    assert_eq!(
        text(&mut a, "select count(*), sum(n), min(note) from t"),
        format!("{MANY}|{}|round 2", MANY * 100)
    );
    assert_eq!(text(&mut a, "select count(*) from pg_locks where mode = 'ShareRowExclusiveLock'"), "0");
}

/// Nothing of a snapshot is left to the statements behind it.
fn the_next_statement_writes<E: Engine>(db: Database<E>) {
    let mut a = filled(&db, MANY);
    for _ in 0..3 {
        assert_eq!(text(&mut a, "select count(*) from t"), MANY.to_string());
        ok(&mut a, "update t set n = 1 where id = 1");
        ok(&mut a, "begin");
        assert_eq!(text(&mut a, "select count(*) from t"), MANY.to_string());
        ok(&mut a, "update t set n = 2 where id = 1; commit");
    }
    // what it reads may be its own: it is part of a transaction
    ok(&mut a, "begin; delete from t where id > 4000");
    assert_eq!(text(&mut a, "select count(*) from t"), "4000");
    ok(&mut a, "rollback");
    // a table that is emptied at the commit
    ok(&mut a, "create temp table e (id int) on commit delete rows");
    ok(&mut a, "begin; insert into e select id from t");
    assert_eq!(text(&mut a, "select count(*) from e"), MANY.to_string());
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select count(*) from t"), MANY.to_string());
    assert_eq!(text(&mut a, "select count(*) from e, t"), "0");
}

/// Who leaves a transaction open keeps Cicada from a snapshot: the statement runs all the same.
fn an_open_transaction_is_not_waited_for<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db, MANY), session(&db));
    ok(&mut a, "begin; select count(*) from t where id < 10");
    for _ in 0..3 {
        assert_eq!(text(&mut b, "select count(*), sum(n) from t"), format!("{MANY}|{}", MANY * 100));
    }
    // what is read at a later place in the order is in the way of what is written at an earlier one
    let changed = run(&mut a, "update t set n = 0 where id = 1; commit").is_ok();
    assert!(changed || db.engine().serialization_point() == SerializationPoint::Begin);
    let sum = MANY * 100 - if changed { 100 } else { 0 };
    assert_eq!(text(&mut b, "select sum(n) from t"), sum.to_string());
}

/// EXPLAIN ANALYZE does not count the run that was given up among the conflicts.
fn a_snapshot_is_no_conflict<E: Engine>(db: Database<E>) {
    let mut a = filled(&db, MANY);
    for _ in 0..2 {
        let plan =
            text(&mut a, "explain (analyze, timing off, summary off) select count(*) from t where n > 5");
        assert!(plan.contains(&format!("rows={MANY} loops=1")), "{plan}");
        assert!(!plan.contains("Waits"), "{plan}");
    }
}

on_each_engine!(
    rows_on_their_way_are_not_overtaken,
    few_rows_are_handed_out_at_once,
    it_is_of_the_present,
    copies_get_through,
    a_query_in_a_block_shows_one_state,
    changes_of_all_rows_get_through,
    the_next_statement_writes,
    an_open_transaction_is_not_waited_for,
    a_snapshot_is_no_conflict,
);
