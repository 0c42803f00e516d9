//! DO beside other transactions, and how it ends when it is stopped. What blocks answer is in `slt/do_blocks.sql`.

use crate::common::{acc, cicada, code, failure, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use std::time::{Duration, Instant};

const CATCHES_ALL: &str = "exception when others then insert into log values ('caught')";

fn with_tables<E: Engine>(db: &Database<E>) {
    let s = &mut session(db);
    ok(s, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)");
    ok(s, "create table log (what text)");
}

/// A handler does not go on in a transaction that a conflict has ended.
fn no_handler_catches_a_conflict<E: Engine>(db: Database<E>) {
    with_tables(&db);
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, "begin; select n from t where id = 1");
    ok(&mut b, "update t set n = n + 1 where id = 1");
    let block = format!("do $$ begin update t set n = n + 10 where id = 1; {CATCHES_ALL}; end $$");
    let ended = match run(&mut a, &block) {
        Ok(_) => failure(&mut a, "commit"),
        Err(error) => error,
    };
    assert_eq!(ended.code().as_str(), "40001");
    ok(&mut a, "rollback");
    assert_eq!(text(&mut a, "select n from t where id = 1"), "1");
    assert_eq!(text(&mut a, "select count(*) from log"), "0");
}

/// What a handler has caught decides what the transaction does. Where that has changed meanwhile, it does not commit
/// on ACC; on Cicada it commits before a change of rows, as its timestamp is older.
fn what_is_caught_is_validated<E: Engine>(db: &Database<E>) -> [String; 2] {
    with_tables(db);
    let (mut a, mut b) = (session(db), session(db));
    ok(&mut a, "create table taken (a int)");
    [
        ("create table taken (a int)", "drop table taken"),
        ("insert into t values (1, 7)", "delete from t where id = 1"),
    ]
    .map(|(caught, other)| {
        ok(&mut a, &format!("begin; do $$ begin {caught}; {CATCHES_ALL}; end $$"));
        ok(&mut b, other);
        let ended = run(&mut a, "commit")
            .map_or_else(|error| error.code().as_str().to_owned(), |_| "done".to_owned());
        // after the change nothing is there to be caught
        ok(&mut a, &format!("begin; do $$ begin {caught}; {CATCHES_ALL}; end $$; rollback"));
        ended + " " + &text(&mut a, "select count(*) from log")
    })
}

#[test]
fn what_is_caught_is_validated_by_acc() {
    assert_eq!(what_is_caught_is_validated(&acc()), ["40001 0", "40001 0"]);
}

#[test]
fn what_is_caught_is_validated_by_cicada() {
    assert_eq!(what_is_caught_is_validated(&cicada()), ["40001 0", "done 1"]);
}

/// `statement_timeout` is that of the block, and OTHERS does not catch it.
fn a_block_ends_at_the_statement_timeout<E: Engine>(db: Database<E>) {
    with_tables(&db);
    let s = &mut session(&db);
    ok(s, "set statement_timeout = 300");
    let begun = Instant::now();
    let naps = "perform pg_sleep(0.1); insert into t values (3, 0); ".to_owned()
        + &"perform pg_sleep(0.1); ".repeat(100);
    assert_eq!(code(s, &format!("do $$ begin {naps} {CATCHES_ALL}; end $$")), "57014");
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    // one that names it does
    let named = "exception when query_canceled then raise notice 'stopped'";
    ok(s, &format!("do $$ begin perform pg_sleep(10); {named}; end $$"));
    ok(s, "set statement_timeout = 0");
    assert_eq!(text(s, "select count(*) from t"), "2");
    assert_eq!(text(s, "select count(*) from log"), "0");
}

fn a_block_can_be_cancelled<E: Engine>(db: Database<E>) {
    with_tables(&db);
    let s = &mut session(&db);
    let cancel = s.cancel_handle();
    let canceller = scaledb_sync::thread::spawn(move || {
        scaledb_sync::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    assert_eq!(code(s, &format!("do $$ begin perform pg_sleep(60); {CATCHES_ALL}; end $$")), "57014");
    canceller.join().expect("the canceller");
    assert_eq!(text(s, "select count(*) from log"), "0");
}

/// Memory that runs out within a block is an error like any other: its handler goes on without what was done.
fn memory_that_runs_out_is_caught<E: Engine>(db: Database<E>) {
    with_tables(&db);
    let s = &mut session(&db);
    db.set_max_query_memory(1 << 20);
    let large = "insert into t select i, 0 from generate_series(10, 100000) i order by i % 7, i";
    let before = failure(s, large);
    assert!(["53", "54"].contains(&before.code().class()), "{before}");
    ok(s, &format!("do $$ begin insert into t values (3, 0); {large}; {CATCHES_ALL}; end $$"));
    assert_eq!(text(s, "select count(*) from t"), "2");
    assert_eq!(text(s, "select * from log"), "caught");
}

/// A setting of SET LOCAL lasts as long as the block, without a warning that it does nothing.
fn set_local_lasts_as_long_as_the_block<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table log (what text); set work_mem = '1MB'");
    ok(
        s,
        "do $$ begin set local work_mem = '2MB'; insert into log values (current_setting('work_mem')); end $$",
    );
    let notices = s.take_notices();
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(text(s, "select what, current_setting('work_mem') from log"), "2MB|1MB");
}

fn harmful_blocks_are_refused_in_order<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    let begins = "begin ".repeat(10_000);
    let ifs = "if true then ".repeat(10_000);
    let parentheses = "(".repeat(50_000);
    for (body, wanted) in [
        (begins.as_str(), "54001"),
        (&format!("begin {ifs}"), "54001"),
        (&format!("begin perform {parentheses}; end"), "54001"),
        ("begin perform 'open; end", "42601"),
        ("begin if case when then", "42601"),
        ("begin raise", "42601"),
        ("begin raise notice '%', ; end", "42601"),
        ("begin null; exception when sqlstate 'ABC' then null; end", "42601"),
        ("begin null; exception end", "42601"),
        ("begin /* open", "42601"),
        ("", "42601"),
        ("begin commit; end", "2D000"),
        ("begin execute 'commit'; end", "2D000"),
        ("begin execute 'do ''begin end'''; end", "0A000"),
        ("begin execute 'savepoint s'; end", "0A000"),
    ] {
        assert_eq!(code(s, &format!("do $d$ {body} $d$")), wanted, "{}", &body[..body.len().min(60)]);
        assert_eq!(text(s, "select 1"), "1");
    }
    assert_eq!(code(s, "do $d$ begin end"), "42601");
    assert_eq!(code(s, "do"), "42601");
}

/// A SELECT of nothing but a function that runs text is run by itself, and again after a conflict.
fn a_function_that_runs_by_itself_is_repeated_after_conflicts<E: Engine>(db: Database<E>) {
    const EACH: usize = 60;
    with_tables(&db);
    ok(
        &mut session(&db),
        "create function bump(which int) returns int language plpgsql as $$ declare m int; begin
           execute 'select n from t where id = $1' into m using which;
           execute 'update t set n = $1 where id = $2' using m + 1, which;
           execute 'create table if not exists made (a int)';
           return m; end $$",
    );
    scaledb_sync::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let s = &mut session(&db);
                (0..EACH).for_each(|_| drop(ok(s, "select bump(1)")));
            });
        }
    });
    let s = &mut session(&db);
    assert_eq!(text(s, "select n from t where id = 1"), (3 * EACH).to_string());
    // a block is not, and says so
    ok(s, "begin; select bump(1)");
    ok(&mut session(&db), "select bump(1)");
    assert_eq!(code(s, "commit"), "40001");
    assert_eq!(text(s, "select n from t where id = 1"), (3 * EACH + 1).to_string());
    // in a query that does more it changes no definition
    for sql in ["select bump(1), 1", "select bump(1) where true and 1 = 1", "select bump(bump(1))"] {
        assert_eq!(code(s, sql), "0A000", "{sql}");
    }
    ok(s, "set statement_timeout = 200");
    ok(
        s,
        "create function naps() returns void language plpgsql as $$ begin execute 'select pg_sleep(60)'; end $$",
    );
    assert_eq!(code(s, "select naps()"), "57014");
}

on_each_engine!(
    a_function_that_runs_by_itself_is_repeated_after_conflicts,
    no_handler_catches_a_conflict,
    a_block_ends_at_the_statement_timeout,
    a_block_can_be_cancelled,
    memory_that_runs_out_is_caught,
    set_local_lasts_as_long_as_the_block,
    harmful_blocks_are_refused_in_order,
);
