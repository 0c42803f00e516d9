//! Cursors that functions open, move and close, beside what runs them: statements that are run again, other sessions,
//! and limits.

use crate::common::steps::Client;
use crate::common::{code, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

fn filled<E: Engine>(db: &Database<E>) -> Session<E> {
    let mut a = session(db);
    ok(&mut a, "create table t (id int primary key, n int not null)");
    ok(&mut a, "insert into t select i, i * 10 from generate_series(1, 5) i");
    ok(
        &mut a,
        "create function opens(c refcursor) returns refcursor language plpgsql as $$ \
         begin open c for select id, n from t order by id; return c; end $$",
    );
    a
}

/// A statement that waits for a lock may be given up and run again: its functions have opened, moved and closed their
/// cursors once.
fn a_statement_that_waits_has_used_its_cursors_once<E: Engine>(db: Database<E>) {
    let mut b = filled(&db);
    ok(
        &mut b,
        "create function all_of_it() returns text language plpgsql as $$ \
         declare fresh refcursor := 'fresh'; old refcursor := 'old'; gone refcursor := 'gone'; made refcursor; i int; j int; \
         begin open fresh for select id from t order by id; fetch old into i; fetch old into i; close gone; \
         open made for select 1; perform pg_advisory_xact_lock(7); fetch fresh into j; return i || ' ' || j; end $$",
    );
    let a = Client::new(&db);
    // with a transaction that begins with it, and with one that has begun
    for begin in ["begin", "begin; select count(*) from t"] {
        ok(&mut b, "begin; select pg_advisory_xact_lock(7)");
        a.ok("rollback");
        a.ok("declare old cursor with hold for select id from t order by id");
        a.ok("declare gone cursor with hold for select 1");
        a.ok(begin);
        a.waits("select all_of_it()");
        ok(&mut b, "commit");
        assert_eq!(a.done("lock"), "2 1", "{begin}");
        assert_eq!(a.ok("fetch next from old"), "3");
        assert_eq!(a.ok("fetch next from fresh"), "2");
        assert_eq!(a.code("fetch next from gone"), "34000");
        a.ok("rollback");
        assert_eq!(a.ok("select count(*) from pg_cursors where name <> 'gone'"), "1");
        a.ok("close all");
    }
}

/// What a cursor of a function has read is a part of what its transaction has read.
fn what_a_cursor_has_read_is_validated<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (filled(&db), session(&db));
    ok(&mut a, "create table sums (id int primary key, n int)");
    for ends in ["fetch all in c", "close c", "fetch 1 from c"] {
        ok(&mut a, "begin");
        ok(&mut a, "select opens('c')");
        ok(&mut a, ends);
        ok(&mut a, "insert into sums values (1, 150) on conflict (id) do update set n = sums.n + 1");
        ok(&mut b, "begin");
        let seen = text(&mut b, "select sum(n) from sums");
        ok(&mut b, "update t set n = n + 1 where id = 3");
        let first = run(&mut a, "commit").is_ok();
        let second = run(&mut b, "commit").is_ok();
        assert!(!(first && second), "{ends}: each has read what the other has written, {seen}");
        for session in [&mut a, &mut b] {
            let _ = run(session, "rollback");
        }
    }
}

fn cursors_of_functions_have_limits<E: Engine>(db: Database<E>) {
    let mut a = filled(&db);
    assert_eq!(
        code(
            &mut a,
            "do $$ declare c refcursor; begin for i in 1 .. 1001 loop c := null; open c for select i; end loop; end $$"
        ),
        "53400"
    );
    assert_eq!(text(&mut a, "select count(*) from pg_cursors"), "0");
    // one that is closed takes no memory, in however long a statement
    ok(
        &mut a,
        "create function many() returns int language plpgsql as $$ \
         declare c refcursor; i int; n int := 0; \
         begin for j in 1 .. 3000 loop c := null; open c for select repeat('x', 1000) from generate_series(1, 20); \
         fetch c into i; close c; n := n + 1; end loop; return n; exception when invalid_text_representation then \
         return -1; end $$",
    );
    assert_eq!(text(&mut a, "select many()"), "-1");
    ok(
        &mut a,
        "create or replace function many() returns int language plpgsql as $$ \
         declare c refcursor; i text; n int := 0; \
         begin for j in 1 .. 3000 loop c := null; open c for select repeat('x', 1000) from generate_series(1, 20); \
         fetch c into i; close c; n := n + length(i); end loop; return n; end $$",
    );
    assert_eq!(text(&mut a, "select many()"), "3000000");
    ok(
        &mut a,
        "create function large() returns void language plpgsql as $$ declare c refcursor; \
         begin open c for select repeat('x', 1000) from generate_series(1, 100000); end $$",
    );
    ok(&mut a, "set work_mem = '256kB'");
    assert_eq!(code(&mut a, "select large()"), "53200");
}

on_each_engine! {
    a_statement_that_waits_has_used_its_cursors_once,
    what_a_cursor_has_read_is_validated,
    cursors_of_functions_have_limits,
}
