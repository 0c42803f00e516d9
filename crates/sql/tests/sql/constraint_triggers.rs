//! Constraint triggers beside other sessions, beside what is told at a commit, and where memory is short. What
//! PostgreSQL answers is in `slt/constraint_triggers.sql`.

use crate::common::{code, ok, run, session, text};
use crate::notifications::{heard, listener};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// A ledger whose transactions must be in balance when they commit.
fn ledger<E: Engine>(db: &Database<E>) -> [Session<E>; 2] {
    let mut a = session(db);
    ok(&mut a, "create table account (id int primary key, balance int not null)");
    ok(&mut a, "insert into account select i, 100 from generate_series(1, 4) i");
    ok(&mut a, "create table entry (txn int, account int, amount int)");
    ok(
        &mut a,
        "create function balanced() returns trigger language plpgsql as $$ begin
           if (select sum(amount) from entry where txn = new.txn) <> 0 then
             raise exception 'out of balance' using errcode = 'check_violation';
           end if;
           return null;
         end $$",
    );
    ok(
        &mut a,
        "create constraint trigger balanced after insert on entry deferrable initially deferred
         for each row execute function balanced()",
    );
    [a, session(db)]
}

fn transfer(txn: i32, amounts: (i32, i32)) -> [String; 4] {
    [
        format!("update account set balance = balance + {} where id = 1", amounts.0),
        format!("insert into entry values ({txn}, 1, {})", amounts.0),
        format!("update account set balance = balance + {} where id = 2", amounts.1),
        format!("insert into entry values ({txn}, 2, {})", amounts.1),
    ]
}

/// A block that meets a conflict is run again, and its triggers fire in the run that commits.
fn triggers_fire_in_the_run_that_commits<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = ledger(&db);
    for session in [&mut a, &mut b] {
        ok(session, "begin");
    }
    for (number, session) in [(1, &mut a), (2, &mut b)] {
        transfer(number, (5, -5)).iter().for_each(|sql| drop(ok(session, sql)));
    }
    ok(&mut a, "commit");
    ok(&mut b, "commit");
    assert_eq!(
        text(&mut a, "select string_agg(balance::text, ' ' order by id) from account"),
        "110 90 100 100"
    );
    // what is out of balance is so in each run
    ok(&mut a, "begin");
    transfer(3, (5, -4)).iter().for_each(|sql| drop(ok(&mut a, sql)));
    ok(&mut b, "update account set balance = balance + 1 where id = 1");
    assert_eq!(code(&mut a, "commit"), "23514");
    assert_eq!(text(&mut a, "select count(*) from entry where txn = 3"), "0");
    // what a trigger reads is part of what the commit compares
    ok(&mut a, "begin");
    ok(&mut a, "insert into entry values (4, 1, 5), (4, 2, -5)");
    ok(&mut a, "update account set balance = 0 where id = 4");
    ok(&mut b, "insert into entry values (4, 3, 0)");
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select count(*), sum(amount) from entry where txn = 4"), "3|0");
}

/// What a trigger says at a commit reaches those who listen, and once.
fn what_a_trigger_says_at_a_commit_is_heard<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = ledger(&db);
    let (mut listening, _) = listener(&db, &["news"]);
    ok(
        &mut a,
        "create function tells() returns trigger language plpgsql as $$ begin
           raise notice 'row %', new.id; perform pg_notify('news', new.id::text); return null;
         end $$",
    );
    ok(
        &mut a,
        "create constraint trigger tells after insert or update on account initially deferred
         for each row execute function tells()",
    );
    ok(&mut a, "insert into account values (7, 0)");
    assert_eq!(heard(&mut listening), "news:7");
    assert_eq!(a.take_notices().len(), 1);
    ok(&mut a, "begin");
    ok(&mut a, "insert into account values (8, 0)");
    assert_eq!((heard(&mut listening), a.take_notices().len()), (String::new(), 0));
    ok(&mut a, "commit");
    assert_eq!((heard(&mut listening), a.take_notices().len()), ("news:8".to_owned(), 1));
    // what was said cannot be taken back, so a block in whose way another has come is not run again
    ok(&mut a, "begin");
    ok(&mut a, "update account set balance = balance + 1 where id = 1");
    ok(&mut b, "update account set balance = balance + 1 where id = 1");
    b.take_notices();
    assert_eq!(heard(&mut listening), "news:1");
    assert_eq!(code(&mut a, "commit"), "40001");
    assert_eq!(heard(&mut listening), "");
    assert_eq!(text(&mut a, "select balance from account where id = 1"), "101");
}

/// Rows that wait for a commit are memory that all statements have together, and it is given back.
fn rows_that_wait_for_a_commit_are_counted<E: Engine>(db: Database<E>) {
    let [mut a, _] = ledger(&db);
    db.set_max_query_memory(4 << 20);
    let before = db.query_memory();
    ok(&mut a, "begin");
    let filled = (0..1_000).find_map(|batch| {
        let sql = format!("insert into entry select {}, 1, 0 from generate_series(1, 1000)", 100 + batch);
        run(&mut a, &sql).err()
    });
    let error = filled.expect("memory is short");
    assert_eq!(error.code().as_str(), "53200", "{error}");
    ok(&mut a, "rollback");
    ok(&mut a, "insert into entry select 100, 1, 0 from generate_series(1, 1000)");
    assert_eq!(db.query_memory(), before);
}

on_each_engine! {
    triggers_fire_in_the_run_that_commits,
    what_a_trigger_says_at_a_commit_is_heard,
    rows_that_wait_for_a_commit_are_counted,
}
