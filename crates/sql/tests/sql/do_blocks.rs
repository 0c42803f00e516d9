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

on_each_engine!(
    no_handler_catches_a_conflict,
    a_block_ends_at_the_statement_timeout,
    a_block_can_be_cancelled,
    memory_that_runs_out_is_caught,
    set_local_lasts_as_long_as_the_block,
    harmful_blocks_are_refused_in_order,
);
