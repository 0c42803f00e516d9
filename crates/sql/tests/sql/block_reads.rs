//! Transaction blocks that query beside others that change what they read: they go on in a snapshot until they write.

use crate::common::{Rows, code, hears_of_conflicts, ok, run, session, text};
use scaledb_engine::{Engine, SerializationPoint};
use scaledb_sql::{Column, CopyInfo, Database, RowSink, Session, Tag};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_types::{Env, Result, Type, Value};
use std::ops::ControlFlow;

const ROWS: u64 = 3_000;

fn filled<E: Engine>(db: &Database<E>) -> Session<E> {
    let mut a = session(db);
    ok(&mut a, "create table t (id int primary key, n bigint)");
    ok(&mut a, &format!("insert into t select i, 100 from generate_series(1, {ROWS}) i"));
    ok(&mut a, "create table log (id int primary key, n bigint)");
    a
}

/// Rows, at whose first one something else is done. Of so many bytes it is full.
struct Beside<F> {
    rows: Rows,
    at_first: Option<F>,
    most: usize,
}

impl<F: FnOnce()> RowSink for Beside<F> {
    fn describe(&mut self, columns: &[Column]) -> Result<()> {
        self.rows.describe(columns)
    }
    fn begin_row(&mut self, columns: usize) {
        self.rows.begin_row(columns);
    }
    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        self.rows.value(env, ty, value)
    }
    fn end_row(&mut self) -> Result<()> {
        if let Some(at_first) = self.at_first.take() {
            at_first();
        }
        self.rows.end_row()
    }
    fn complete(&mut self, tag: &Tag) {
        self.rows.complete(tag);
    }
    fn empty(&mut self) {}
    fn copy_out(&mut self, info: CopyInfo) -> Result<()> {
        self.rows.copy_out(info)
    }
    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.rows.copy_data(data)
    }
    fn mark(&mut self) {
        self.rows.mark();
    }
    fn hold(&mut self, on: bool) -> bool {
        self.rows.hold(on)
    }
    fn is_full(&self) -> bool {
        self.rows.rows.len() > self.most
    }
    fn rewind(&mut self) -> bool {
        self.rows.rewind()
    }
}

/// Runs a query while something else is done; its rows.
fn beside<E: Engine>(
    session: &mut Session<E>,
    sql: &str,
    f: impl FnOnce(),
) -> Result<Vec<Vec<Option<String>>>> {
    let mut sink = Beside { rows: Rows::default(), at_first: Some(f), most: usize::MAX };
    session.simple(sql, &mut sink)?;
    Ok(sink.rows.rows)
}

const SUM: &str = "select sum(n) from t";

/// A block that has met a writer, and reads a snapshot where the engine needs one for that.
fn moved<E: Engine>(a: &mut Session<E>, b: &mut Session<E>) {
    ok(b, "begin");
    let sum = beside(b, SUM, || {
        ok(a, "update t set n = n + 5 where id = 1; update t set n = n - 5 where id = 3000");
    });
    assert_eq!(sum.unwrap(), [[Some("300000".to_owned())]]);
}

/// Whether transactions have their place at their commit: then one that reads what others change cannot keep it.
fn at_commit<E: Engine>(db: &Database<E>) -> bool {
    db.engine().serialization_point() == SerializationPoint::Commit
}

/// Queries go on in one state, beside what others commit, and the block commits.
fn a_block_of_queries_has_one_state<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    for round in 0..3 {
        moved(&mut a, &mut b);
        ok(&mut a, &format!("insert into t values ({}, 7)", 4000 + round));
        ok(
            &mut a,
            "update t set n = n + 1 where id <= 10; update t set n = n - 1 where id between 11 and 20",
        );
        assert_eq!(text(&mut b, SUM), "300000");
        assert_eq!(text(&mut b, "select n from t where id = 5"), (100 + round).to_string());
        assert_eq!(text(&mut b, "select 1"), "1");
        ok(&mut b, "savepoint s");
        assert_eq!(code(&mut b, "select 1 / (n - n) from t"), "22012");
        ok(&mut b, "rollback to s");
        assert_eq!(text(&mut b, "select n from t where id = 5"), (100 + round).to_string());
        ok(&mut b, "commit");
        assert_eq!(text(&mut b, "select n from t where id = 5"), (101 + round).to_string());
        ok(&mut a, "delete from t where id >= 4000");
    }
}

/// What a block has read in its snapshot is so when it writes, or it does not.
fn a_block_that_writes_has_read_what_is<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    // nothing has changed since
    moved(&mut a, &mut b);
    ok(&mut b, "savepoint s");
    ok(&mut b, "insert into log select 1, sum(n) from t");
    ok(&mut b, "rollback to s; insert into log values (1, 300000)");
    assert_eq!(text(&mut b, "select * from log"), "1|300000");
    ok(&mut b, "commit");
    assert_eq!(text(&mut a, "select * from log"), "1|300000");
    // behind a lock it reads what is there
    moved(&mut a, &mut b);
    ok(&mut a, "insert into log values (4, 4)");
    ok(&mut b, "lock table log");
    // or what was there at its begin
    assert_eq!(text(&mut b, "select sum(n) from log"), if at_commit(&db) { "300004" } else { "300000" });
    ok(&mut b, "rollback");
    ok(&mut a, "delete from log where id = 4");
    // something has, though not what it has read, or its queries have the same rows all the same
    moved(&mut a, &mut b);
    ok(
        &mut a,
        "insert into log values (2, 0); update t set n = n + 1 where id = 7; update t set n = n - 1 where id = 8",
    );
    ok(&mut b, "update log set n = n + 1 where id = 1; commit");
    // what it has read has, before it writes, and behind that
    for write in [
        "insert into log values (3, 0)",
        "select * from log for update",
        "copy log from stdin",
        "truncate log",
        "create table more (id int)",
        "lock table log",
        "select pg_advisory_xact_lock(1)",
        "select random() from t",
        "do $$ begin insert into log values (3, 0); end $$",
        "explain analyze select sum(n) from t",
    ] {
        for behind in [false, true] {
            moved(&mut a, &mut b);
            let change = "update t set n = n + 1 where id = 7";
            if !behind {
                ok(&mut a, change);
                let mut sink = Rows::default();
                let written = b.simple(write, &mut sink).map(|_| ());
                let written =
                    written.and_then(|()| run(&mut b, "insert into log values (3, 0); commit").map(|_| ()));
                if at_commit(&db) {
                    assert_eq!(written.unwrap_err().code().as_str(), "40001", "{write}");
                }
            } else if write.starts_with("insert") {
                ok(&mut b, write);
                ok(&mut a, change);
                let committed = run(&mut b, "commit");
                assert_eq!(committed.is_ok(), !at_commit(&db));
            }
            let _ = b.simple("rollback", &mut Rows::default());
            ok(&mut a, "delete from log where id = 3; update t set n = 101 where id = 7");
        }
    }
    assert_eq!(text(&mut a, SUM), "300000");
}

/// The same query has the same rows on the same state, in the same order, whatever it is made of.
fn queries_are_repeated_as_they_were<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    ok(&mut a, "create table u (id int, g int, s text, d numeric); create index on u (g)");
    ok(
        &mut a,
        "insert into u select i, i * 7 % 90, 'x' || i * 31 % 700, i / 8.0 from generate_series(1, 3000) i",
    );
    for sql in [
        "select g, count(*), sum(d) from u group by g",
        "select s, count(*) from u group by s",
        "select distinct s from u",
        "select g, count(distinct s), array_agg(id) from u group by rollup (g)",
        "select t.id, u.s from t join u on u.g = t.id",
        "select t.id, u.s from t full join u on u.s = 'x' || t.id",
        "select s from u union select 'x' || id from t",
        "select s from u except select 'x' || id from t",
        "select id, row_number() over (partition by g) from u",
        "select * from u order by g limit 40",
        "with recursive r as (select 1 as n union select (n * 5) % 97 from r) select r.n, u.s from r join u on u.g = r.n",
        "select s, (select max(d) from u v where v.g = u.g) from u where id < 300",
        "select now(), statement_timestamp(), current_user, id from t limit 3",
        "select float8 '-0' * id, d::float4 from u",
    ] {
        moved(&mut a, &mut b);
        ok(&mut b, sql);
        ok(&mut a, "update log set n = n + 1");
        ok(&mut b, "insert into log values (1, 1)");
        ok(&mut b, "rollback");
    }
}

/// The first rows of a query.
struct First(u64);

impl scaledb_sql::Rows for First {
    fn row(&mut self, _: &Env, _: &[Column], _: &[Value]) -> Result<ControlFlow<()>> {
        self.0 -= 1;
        Ok(if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn rewind(&mut self) -> bool {
        false
    }
}

/// Of a query whose first rows were enough the first rows are compared.
fn no_more_than_was_seen_is_compared<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    for changed in [2_000, 2] {
        b.expect_conflicts();
        ok(&mut b, "begin");
        b.run("select n from t", &[], &mut First(3)).unwrap();
        ok(&mut a, &format!("update t set n = n + 1 where id = {changed}"));
        let written = run(&mut b, "insert into log values (1, 1)");
        if at_commit(&db) {
            assert_eq!(written.is_ok(), changed > 3);
        }
        let _ = run(&mut b, "rollback");
    }
}

/// When the queries of a block have no transaction any more that they are part of, there is no way back to a savepoint.
fn a_block_that_is_lost_stays_so<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    if !at_commit(&db) {
        return;
    }
    // the second query would fail now
    moved(&mut a, &mut b);
    ok(&mut b, "savepoint s");
    assert_eq!(text(&mut b, "select sum(1 / (n - 50)) from t"), "0");
    ok(&mut a, "update t set n = 50 where id = 7; update t set n = 150 where id = 8");
    assert_eq!(code(&mut b, "insert into log values (1, 1)"), "40001");
    assert_eq!(code(&mut b, "rollback to s"), "40001");
    assert_eq!(code(&mut b, "insert into log values (1, 1)"), "25P02");
    assert_eq!(ok(&mut b, "commit").tags, ["ROLLBACK"]);
    ok(&mut a, "update t set n = 100 where id in (7, 8)");
    // its queries take too long to be run again
    moved(&mut a, &mut b);
    ok(&mut b, "savepoint s");
    assert_eq!(text(&mut b, "select count(*) from t, t u where u.id <= 200 and t.n + u.n > 0"), "600000");
    ok(&mut b, "set local statement_timeout = 1");
    assert_eq!(code(&mut b, "insert into log values (1, 1)"), "57014");
    assert_eq!(code(&mut b, "rollback to s"), "40001");
    ok(&mut b, "rollback");
    // an error tells of rows, too: those of a snapshot stay the block's
    moved(&mut a, &mut b);
    ok(&mut b, "savepoint s");
    assert_eq!(code(&mut b, "select 1 / (n - n) from t"), "22012");
    ok(&mut b, "rollback to s");
    assert_eq!(code(&mut b, "insert into log values (1, 1)"), "40001");
    ok(&mut b, "rollback");
    assert_eq!(text(&mut a, "select count(*) from log"), "0");
}

/// Queries before the one that meets a writer have had what the snapshot has, too.
fn queries_before_are_of_the_snapshot<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    let two = |a: &mut Session<E>, b: &mut Session<E>, changes: &str| {
        ok(b, "begin");
        let first = text(b, "select n from t where id = 1");
        let rest = beside(b, "select sum(n) from t where id > 1", || {
            ok(a, changes);
        });
        let ended = run(b, if rest.is_ok() { "commit" } else { "rollback" });
        let rest = rest.inspect_err(|error| assert_eq!(error.code().as_str(), "40001")).ok()?;
        ended.ok()?;
        Some(first.parse::<i64>().unwrap() + rest[0][0].as_ref().unwrap().parse::<i64>().unwrap())
    };
    let others = "update t set n = n + 1 where id = 2; update t set n = n - 1 where id = 3";
    // the first time it may fail, for nothing was kept of the first query
    two(&mut a, &mut b, others);
    for _ in 0..3 {
        assert_eq!(two(&mut a, &mut b, others), Some(300_000));
    }
    let its_own = "begin; update t set n = n + 1 where id = 1; update t set n = n - 1 where id = 3; commit";
    for _ in 0..3 {
        assert_eq!(two(&mut a, &mut b, its_own), Some(300_000));
        // what the first query has had is gone before the second
        ok(&mut b, "begin; select n from t where id = 1");
        ok(&mut a, its_own);
        let second = run(&mut b, "select sum(n) from t where id > 1; commit");
        assert_eq!(second.is_ok(), !at_commit(&db));
        let _ = run(&mut b, "rollback");
    }
}

/// A block that has only queried commits, or at least the next one does.
fn the_commit_of_queries_is_no_conflict<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    let change = "update t set n = n + 1 where id = 7; update t set n = n - 1 where id = 8";
    // one query has its place where it was compared
    for _ in 0..3 {
        ok(&mut b, "begin");
        assert_eq!(text(&mut b, "select sum(n) from t where id < 500"), "49900");
        ok(&mut a, change);
        ok(&mut b, "commit");
    }
    // that is no place for a write
    ok(&mut b, "begin");
    assert_eq!(text(&mut b, "select sum(n) from t where id < 500"), "49900");
    ok(&mut a, change);
    let written = run(&mut b, "insert into log values (1, 49900); commit");
    assert_eq!(written.is_ok(), !at_commit(&db));
    let _ = run(&mut b, "rollback");
    // two queries have none if the first one's rows have changed before the second
    let mut failed = 0;
    for _ in 0..4 {
        ok(&mut b, "begin");
        let first = text(&mut b, "select sum(n) from t where id < 500").parse::<u64>().unwrap();
        ok(
            &mut a,
            "begin; update t set n = n + 1 where id = 7; update t set n = n - 1 where id = 700; commit",
        );
        let second = text(&mut b, "select sum(n) from t where id >= 500").parse::<u64>().unwrap();
        match run(&mut b, "commit") {
            Ok(_) => assert_eq!(first + second, 300_000),
            Err(error) => {
                assert_eq!(error.code().as_str(), "40001");
                failed += 1;
            }
        }
    }
    // the next one reads a snapshot
    assert!(failed <= 1, "{failed}");
}

/// Rows that have to be sent before the end come from a snapshot.
fn rows_that_do_not_wait_are_of_a_snapshot<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    for _ in 0..3 {
        ok(&mut b, "begin");
        let change = || {
            ok(
                &mut a,
                "begin; update t set n = n + 1 where id = 1; update t set n = n - 1 where id = 3000; commit",
            );
        };
        let mut sink = Beside { rows: Rows::default(), at_first: Some(change), most: 1_000 };
        b.simple("select n from t", &mut sink).unwrap();
        let sum: i64 =
            sink.rows.rows.iter().map(|row| row[0].as_ref().unwrap().parse::<i64>().unwrap()).sum();
        assert_eq!((sink.rows.rows.len() as u64, sum), (ROWS, 300_000));
        let copied = ok(&mut b, "copy t to stdout").copied;
        assert_eq!(copied.iter().filter(|&&byte| byte == b'\n').count() as u64, ROWS);
        ok(&mut b, "commit");
    }
}

/// The names of queries that are run again mean what they have meant.
fn settings_may_change_within_a_block<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    ok(&mut a, "create table dates (d timestamptz); insert into dates values ('2020-01-01 00:00Z')");
    ok(
        &mut a,
        "create schema s; create table s.t as select * from t; create table s.dates as select * from dates",
    );
    for changes in [false, true] {
        moved(&mut a, &mut b);
        assert_eq!(text(&mut b, "select count(*) from t, dates where d < statement_timestamp()"), "3000");
        ok(
            &mut b,
            "set local search_path = s; set local timezone = 'Asia/Tokyo'; set local work_mem = '1MB'",
        );
        if changes {
            ok(&mut a, &format!("create table another{} (id int)", u8::from(changes)));
        }
        let written = run(&mut b, "insert into public.log values (1, 1); rollback");
        if at_commit(&db) {
            assert_eq!(written.is_ok(), !changes);
        }
        let _ = run(&mut b, "rollback");
    }
    // the same table in the other schema has what the first one had
    assert_eq!(text(&mut a, "select sum(n) from s.t"), "300000");
}

/// A cursor's rows are of the snapshot, and its row is written if they are so still.
fn cursors_are_queries<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    for changes in [false, true] {
        moved(&mut a, &mut b);
        ok(&mut b, "declare c cursor for select id, n from t");
        assert_eq!(ok(&mut b, "fetch 2 from c").rows.len(), 2);
        if changes {
            ok(&mut a, "update t set n = n + 1 where id = 9; update t set n = n - 1 where id = 10");
        }
        let written = run(&mut b, "update t set n = 0 where current of c");
        if at_commit(&db) {
            assert_eq!(written.is_ok(), !changes);
        }
        if written.is_ok() {
            assert_eq!(text(&mut b, "select id from t where n = 0"), "2");
            assert_eq!(ok(&mut b, "fetch all from c").rows.len() as u64, ROWS - 2);
        }
        ok(&mut b, "rollback");
    }
}

/// Blocks that sum beside transfers, some of which write what they have found: no sum is wrong, and of two that write
/// only one has found what it wrote over.
fn blocks_beside_writers<E: Engine>(db: Database<E>) {
    let mut a = filled(&db);
    ok(&mut a, "insert into log values (0, 0)");
    let (done, summed, written) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    scaledb_sync::thread::scope(|scope| {
        let (db, done, summed, written) = (&db, &done, &summed, &written);
        scope.spawn(move || {
            let mut session = session(db);
            for round in 0_u64.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                // now and then nobody writes
                if round % 64 > 48 {
                    scaledb_sync::thread::sleep(std::time::Duration::from_millis(1));
                    continue;
                }
                let (one, other) = (1 + round % ROWS, 1 + (round * 7) % ROWS);
                let transfer = format!(
                    "begin; update t set n = n - 1 where id = {one}; update t set n = n + 1 where id = {other}; commit"
                );
                if run(&mut session, &transfer).is_err() {
                    ok(&mut session, "rollback");
                }
            }
        });
        for reader in 0..2_u64 {
            scope.spawn(move || {
                let mut session = session(db);
                for round in 0..60_u64 {
                    let writes = (round + reader) % 3 == 0;
                    let block = |session: &mut Session<E>| -> Result<()> {
                        run(session, "begin")?;
                        let before =
                            run(session, "select n from log where id = 0")?.rows[0][0].clone().unwrap();
                        let sum = run(session, SUM)?;
                        assert_eq!(sum.rows[0][0].as_deref(), Some("300000"));
                        let sum = run(session, "select n from t")?;
                        let sum: i64 =
                            sum.rows.iter().map(|row| row[0].as_ref().unwrap().parse::<i64>().unwrap()).sum();
                        assert_eq!(sum, 300_000);
                        if writes {
                            let next = before.parse::<u64>().unwrap() + 1;
                            run(session, &format!("update log set n = {next} where id = 0"))?;
                        }
                        run(session, "commit")?;
                        Ok(())
                    };
                    match block(&mut session) {
                        Ok(()) if writes => written.fetch_add(1, Ordering::Relaxed),
                        Ok(()) => summed.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error.code().as_str(), "40001", "{error}");
                            let _ = run(&mut session, "rollback");
                            0
                        }
                    };
                }
                if reader == 0 {
                    return;
                }
                done.store(true, Ordering::Relaxed);
            });
        }
    });
    assert!(summed.load(Ordering::Relaxed) > 0);
    assert_eq!(text(&mut a, "select n from log"), written.load(Ordering::Relaxed).to_string());
    assert_eq!(text(&mut a, SUM), "300000");
}

on_each_engine!(
    a_block_of_queries_has_one_state,
    a_block_that_writes_has_read_what_is,
    queries_are_repeated_as_they_were,
    no_more_than_was_seen_is_compared,
    a_block_that_is_lost_stays_so,
    queries_before_are_of_the_snapshot,
    the_commit_of_queries_is_no_conflict,
    rows_that_do_not_wait_are_of_a_snapshot,
    settings_may_change_within_a_block,
    cursors_are_queries,
    blocks_beside_writers,
);
