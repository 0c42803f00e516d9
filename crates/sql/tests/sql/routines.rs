//! Functions, procedures and triggers beside other transactions, when they are stopped, and after a restart. What they
//! answer is in `slt/functions.sql` and `slt/triggers.sql`.

use crate::common::steps::Client;
use crate::common::{code, failure, hears_of_conflicts, ok, opened, run, session, text};
use proptest::prelude::*;
use scaledb_engine::Engine;
use scaledb_sql::{Database, Step};
use scaledb_sync::thread;
use scaledb_verify::disk::SimDisk;
use std::time::{Duration, Instant};

const TRANSFER: &str = "create function transfer(f int, t int, amount int) returns int language plpgsql as $$ \
    declare have int; begin select n into strict have from acc where id = f; \
    if have < amount then return -1; end if; \
    update acc set n = n - amount where id = f; update acc set n = n + amount where id = t; \
    return have - amount; end $$";

fn accounts<E: Engine>(db: &Database<E>) {
    let s = &mut session(db);
    ok(
        s,
        "create table acc (id int primary key, n int not null); insert into acc select g, 100 from generate_series(1, 4) g",
    );
    ok(s, "create table log (id int generated always as identity primary key, f int, t int)");
    ok(s, TRANSFER);
}

/// A statement that calls a function is run again after a conflict, with all that the function has done: the client
/// hears of none.
fn conflicts_do_not_reach_those_who_call_a_function<E: Engine>(db: Database<E>) {
    accounts(&db);
    ok(
        &mut session(&db),
        "create function note() returns trigger language plpgsql as $$ begin \
         insert into log (f, t) values (old.n, new.n); return null; end $$; \
         create trigger note after update on acc for each row execute function note(); \
         create procedure move(f int, t int, inout rest int) language plpgsql as $$ begin \
         rest := transfer(f, t, rest); end $$",
    );
    thread::scope(|scope| {
        for number in 0..3 {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                for round in 0..40 {
                    let (f, t) = ((number + round) % 4 + 1, (number + round * 3 + 1) % 4 + 1);
                    if f == t {
                        continue;
                    }
                    if round % 2 == 0 {
                        ok(s, &format!("select transfer({f}, {t}, 1)"));
                    } else {
                        ok(s, &format!("call move({f}, {t}, 1)"));
                    }
                }
            });
        }
    });
    let s = &mut session(&db);
    assert_eq!(text(s, "select sum(n), min(n) >= 0 from acc"), "400|t");
    // a row of the log for each row that was written, and no more
    assert_eq!(text(s, "select sum(t - f), count(*) % 2 from log"), "0|0");
    assert_eq!(text(s, "select 100 * 4 + sum(t - f) = (select sum(n) from acc) from log"), "t");
}

/// What a function raises, or a trigger finds changed, is of one state of the database.
fn what_a_function_raises_is_of_one_state<E: Engine>(db: Database<E>) {
    accounts(&db);
    let block = "select n into a from acc where id = 1; for i in 1..30 loop a := a + 0; end loop; \
                 select n into b from acc where id = 2; \
                 if a + b <> 200 then raise exception 'broken: % %', a, b; end if;";
    ok(
        &mut session(&db),
        &format!(
            "create function check_it() returns int language plpgsql as $$ declare a int; b int; begin {block} \
             return a; end $$; \
             create function leave_it() returns trigger language plpgsql as $$ begin return new; end $$; \
             create trigger leave_it before update on acc for each row execute function leave_it()"
        ),
    );
    let does = format!("do $$ declare a int; b int; begin {block} end $$");
    thread::scope(|scope| {
        for number in 0..2 {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                (0..150).for_each(|round| {
                    let amount = (number * 2 - 1) * (round % 7);
                    ok(
                        s,
                        &format!("update acc set n = n + case id when 1 then {amount} else -({amount}) end where id < 3"),
                    );
                });
            });
        }
        for checks in ["select check_it()", &does, "update acc set n = n where id > 0"] {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                (0..150).for_each(|_| drop(ok(s, checks)));
            });
        }
    });
    assert_eq!(text(&mut session(&db), "select sum(n) from acc"), "400");
    // between its two reads another transaction changes both rows
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin; select pg_advisory_xact_lock(7); update acc set n = case id when 1 then 150 else 50 end where id < 3");
    b.waits(
        "do $$ declare a int; b int; begin select n into a from acc where id = 1; perform pg_advisory_xact_lock(7); \
         select n into b from acc where id = 2; if a + b <> 200 then raise exception 'broken'; end if; end $$",
    );
    a.ok("commit");
    b.done("do");
}

/// What a function reads is read by the transaction.
fn what_a_function_has_read_is_validated<E: Engine>(db: Database<E>) {
    accounts(&db);
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, "create function total() returns bigint language sql as 'select sum(n) from acc'");
    ok(
        &mut a,
        "create function seen(i int) returns int language plpgsql as $$ declare x int; begin \
                begin select n into x from acc where id = i; raise exception 'undone'; \
                exception when raise_exception then null; end; return x; end $$",
    );
    for call in ["select total()", "select seen(1)"] {
        ok(&mut a, &format!("begin; {call}"));
        ok(&mut b, &format!("begin; {call}"));
        ok(&mut a, "update acc set n = n + 1 where id = 1");
        ok(&mut b, "update acc set n = n + 1 where id = 2; update acc set n = n where id = 1");
        let ended = [run(&mut a, "commit"), run(&mut b, "commit")];
        let failed = ended.iter().filter(|end| end.is_err()).count();
        assert_eq!(failed, 1, "{call}: {ended:?}");
        ok(&mut a, "rollback");
        ok(&mut b, "rollback");
    }
}

/// A transaction does not commit beside a change of what it has called, or of the triggers of what it has written.
fn definitions_are_validated<E: Engine>(db: Database<E>) {
    accounts(&db);
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut b, "create function rate(i int) returns int language sql as 'select i * 2'");
    ok(&mut b, "create schema s");
    for change in [
        "create or replace function rate(i int) returns int language sql as 'select i * 3'",
        "create function rate(i bigint) returns int language sql as 'select 9'",
        "create function s.rate(i int) returns int language sql as 'select 8'",
        "drop function public.rate(int)",
    ] {
        ok(&mut a, "begin; update acc set n = rate(n) where id = 1");
        ok(&mut b, change);
        assert_eq!(code(&mut a, "commit"), "40001", "{change}");
        ok(&mut a, "rollback");
    }
    ok(&mut b, "create function keep() returns trigger language plpgsql as $$ begin return new; end $$");
    for change in [
        "create trigger k before update on acc for each row execute function keep()",
        "alter table acc disable trigger k",
        "create or replace function keep() returns trigger language plpgsql as $$ begin return null; end $$",
        "alter table acc enable trigger all",
        "drop trigger k on acc",
    ] {
        ok(&mut a, "begin; update acc set n = n + 1 where id = 2");
        let before = text(&mut b, "select count(*) from pg_trigger");
        ok(&mut b, change);
        let ended = run(&mut a, "commit");
        // a function that no trigger in force calls says nothing
        if change.starts_with("create or replace") {
            assert_eq!(before, "1");
            ended.expect("the trigger was off");
        } else {
            assert_eq!(ended.expect_err(change).code().as_str(), "40001", "{change}");
        }
        ok(&mut a, "rollback");
    }
}

/// Prepared statements, and functions that call functions, follow what is put in their place.
fn what_is_replaced_is_called_at_once<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, "create function f(i int) returns int language sql as 'select i + 1'");
    ok(&mut a, "create function g(i int) returns int language plpgsql as $$ begin return f(i) * 10; end $$");
    ok(&mut a, "prepare p as select f($1), g($1)");
    assert_eq!(text(&mut a, "execute p(1)"), "2|20");
    ok(&mut b, "create or replace function f(i int) returns int language sql as 'select i + 2'");
    assert_eq!(text(&mut a, "execute p(1)"), "3|30");
    ok(&mut b, "begin; create or replace function f(i int) returns int language sql as 'select i + 3'");
    assert_eq!(text(&mut b, "select g(1)"), "40");
    assert_eq!(text(&mut a, "execute p(1)"), "3|30");
    ok(&mut b, "rollback");
    assert_eq!(text(&mut b, "select g(1)"), "30");
    // a table is another one by the same name
    ok(
        &mut a,
        "create function n() returns bigint language plpgsql as $$ begin return (select count(*) from made); end $$",
    );
    assert_eq!(code(&mut a, "select n()"), "42P01");
    ok(&mut b, "create table made (a int); insert into made values (1)");
    assert_eq!(text(&mut a, "select n()"), "1");
    ok(&mut b, "drop table made; create table made (b text)");
    assert_eq!(text(&mut a, "select n()"), "0");
    // and another schema's along another path
    ok(
        &mut a,
        "create schema s; create table s.made (a int); insert into s.made values (1), (2); set search_path = s, public",
    );
    assert_eq!(text(&mut a, "select n()"), "2");
    ok(&mut a, "alter function public.n() set search_path = public");
    assert_eq!(text(&mut a, "select n()"), "0");
}

fn a_read_only_transaction_stays_so<E: Engine>(db: Database<E>) {
    accounts(&db);
    let s = &mut session(&db);
    ok(s, "begin read only");
    assert_eq!(code(s, "select transfer(1, 2, 5)"), "25006");
    ok(s, "rollback; begin read only");
    assert_eq!(code(s, "do $$ begin perform transfer(1, 2, 5); end $$"), "25006");
    ok(s, "rollback");
    ok(
        s,
        "create procedure p() language plpgsql as $$ begin perform transfer(1, 2, 5); end $$; begin read only",
    );
    assert_eq!(code(s, "call p()"), "25006");
    ok(s, "rollback");
    assert_eq!(text(s, "select n from acc order by id"), "100 100 100 100");
}

fn a_function_can_be_stopped<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create function forever() returns int language plpgsql as $$ begin loop end loop; exception when others then return 1; end $$",
    );
    ok(
        s,
        "create function busy() returns int language plpgsql as $$ declare i int := 0; begin while true loop i := (i + 1) % 7; end loop; end $$",
    );
    ok(
        s,
        "create function each() returns int language plpgsql as $$ begin for i in 1..2000000000 loop null; end loop; return 1; end $$",
    );
    ok(s, "set statement_timeout = 200");
    for call in
        ["select forever()", "select busy()", "select each()", "do $$ begin loop null; end loop; end $$"]
    {
        let begun = Instant::now();
        assert_eq!(code(s, call), "57014", "{call}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{call} took {:?}", begun.elapsed());
    }
    ok(s, "set statement_timeout = 0");
    let cancel = s.cancel_handle();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    assert_eq!(code(s, "select busy()"), "57014");
    canceller.join().expect("the canceller");
}

/// Calls that go too deep, and sets that are too large, are errors that handlers catch; nothing is left of them.
fn a_function_has_limits<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create function deep(n int) returns int language plpgsql as $$ begin return deep(n + 1); end $$");
    assert_eq!(code(s, "select deep(1)"), "54001");
    ok(
        s,
        "create function shallow(n int) returns int language plpgsql as $$ begin if n = 0 then return 0; end if; return 1 + shallow(n - 1); end $$",
    );
    assert_eq!(text(s, "select shallow(400)"), "400");
    ok(
        s,
        "create function caught() returns text language plpgsql as $$ begin return deep(1); exception when statement_too_complex then return 'too deep'; end $$",
    );
    assert_eq!(text(s, "select caught()"), "too deep");
    ok(s, "create procedure again(n int) language plpgsql as $$ begin call again(n + 1); end $$");
    assert_eq!(code(s, "call again(1)"), "54001");
    ok(
        s,
        "create table t (n int); create function tr() returns trigger language plpgsql as $$ begin insert into t values (new.n + 1); return null; end $$",
    );
    ok(s, "create trigger tr after insert on t for each row execute function tr()");
    assert_eq!(code(s, "insert into t values (1)"), "54001");
    assert_eq!(text(s, "select count(*) from t"), "0");
    db.set_max_query_memory(1 << 20);
    ok(
        s,
        "create function large() returns setof text language plpgsql as $$ begin for i in 1..1000000 loop return next repeat('x', 100); end loop; end $$",
    );
    let error = failure(s, "select count(*) from large()");
    assert!(["53", "54"].contains(&error.code().class()), "{error}");
    assert_eq!(text(s, "select shallow(3)"), "3");
    ok(
        s,
        "create function rows() returns bigint language plpgsql as $$ declare c bigint := 0; r record; begin for k in 1..30 loop for r in select g from generate_series(1, 2000) g loop c := c + 1; end loop; end loop; return c; end $$",
    );
    // what a loop has kept is given back behind it
    assert_eq!(text(s, "select rows()"), "60000");
    ok(
        s,
        "do $$ declare r record; begin for k in 1..30 loop for r in select g from generate_series(1, 2000) g loop null; end loop; end loop; end $$",
    );
}

/// An error says where it comes from, and points at no place in the client's text.
fn errors_have_a_context<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create function inner_f(n int) returns int language plpgsql as $$\nbegin\n  return 10 / n;\nend $$",
    );
    ok(
        s,
        "create function outer_f(n int, t text) returns int language plpgsql as $$\ndeclare x int;\nbegin\n\n  x := inner_f(n);\n  return x;\nend $$",
    );
    let error = failure(s, "select outer_f(0, 'a')");
    assert_eq!(
        error.fields().context.as_deref(),
        Some(
            "PL/pgSQL function inner_f(integer) line 3 at RETURN\nPL/pgSQL function outer_f(integer,text) line 5 at assignment"
        )
    );
    assert_eq!(error.fields().position, None);
    let error = failure(
        s,
        "do $$\nbegin\n  raise exception 'x' using detail = 'd', hint = 'h', errcode = 'AB000', table = 't', column = 'c';\nend $$",
    );
    let fields = error.fields();
    assert_eq!(fields.context.as_deref(), Some("PL/pgSQL function inline_code_block line 3 at RAISE"));
    assert_eq!((fields.code.as_str(), &*fields.message), ("AB000", "x"));
    assert_eq!((fields.detail.as_deref(), fields.hint.as_deref()), (Some("d"), Some("h")));
    assert_eq!((fields.table.as_deref(), fields.column.as_deref()), (Some("t"), Some("c")));
}

/// An error says which statement of which function it comes from, and where in that a mistake stands.
fn errors_say_what_a_function_ran<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a int primary key)");
    ok(
        s,
        "create function twice(n int) returns int language plpgsql as $$\nbegin\n  insert into t values (n);\n  insert into t  values (n + 0);\n  return n;\nend $$",
    );
    let error = failure(s, "select twice(1)");
    assert_eq!(
        error.fields().context.as_deref(),
        Some(
            "SQL statement \"insert into t  values (n + 0)\"\nPL/pgSQL function twice(integer) line 4 at SQL statement"
        )
    );
    let error = failure(s, "do $$ begin execute 'select 1 / 0'; end $$");
    assert_eq!(
        error.fields().context.as_deref(),
        Some("SQL statement \"select 1 / 0\"\nPL/pgSQL function inline_code_block line 1 at EXECUTE")
    );
    let error = failure(s, "do $$ begin execute 'select nosuch from t'; end $$");
    let fields = error.fields();
    assert_eq!(fields.internal.as_ref().map(|(at, text)| (*at, &**text)), Some((8, "select nosuch from t")));
    assert_eq!(fields.position, None);
    ok(s, "create function wrong() returns int language plpgsql as $$ begin return 1 + nosuch; end $$");
    let error = failure(s, "select wrong()");
    assert_eq!(error.fields().internal.as_ref().map(|(at, text)| (*at, &**text)), Some((5, "1 + nosuch")));
    ok(s, "create function divided(n int) returns int language sql as 'select 1; select 10 / n'");
    let error = failure(s, "select divided(0)");
    assert_eq!(error.fields().context.as_deref(), Some("SQL function \"divided\" statement 2"));
    // where it was made, in our own source
    let origin = error.fields().origin;
    assert!(origin.file().starts_with("types/src/func/") && origin.line() > 0, "{origin:?}");
    assert!(origin.module().starts_with("types::func::"), "{}", origin.module());
}

/// Workers of a queue that take their jobs by a function get different ones; and what a function waits for, it sees.
fn functions_lock_rows_and_tables<E: Engine>(db: Database<E>) {
    accounts(&db);
    ok(
        &mut session(&db),
        "create table jobs (id int primary key, done bool not null default false); \
         insert into jobs select g from generate_series(1, 9) g; \
         create function take() returns int language plpgsql as $$ declare j int; begin \
         select id into j from jobs where not done order by id limit 1 for update skip locked; \
         update jobs set done = true where id = j; return j; end $$",
    );
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("begin");
    b.ok("begin");
    assert_eq!(a.ok("select take()"), "1");
    assert_eq!(b.ok("select take()"), "2");
    a.ok("commit");
    b.ok("commit");
    a.ok("begin; select n from acc where id = 1 for update; update acc set n = 1 where id = 1");
    b.waits("select transfer(1, 2, 100)");
    a.ok("commit");
    assert_eq!(b.done("select"), "-1");
    a.ok("begin; lock table acc in exclusive mode");
    b.waits("select transfer(2, 1, 10)");
    a.ok("update acc set n = 50 where id = 2; commit");
    assert_eq!(b.done("select"), "40");
    assert_eq!(text(&mut session(&db), "select count(*) from pg_locks"), "0");
}

/// A COPY fires the triggers of its table: those of the statement once, and those behind rows when all are there.
fn a_copy_fires_triggers<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (a int primary key, b int); create table log (n int generated always as identity, what text)",
    );
    ok(
        s,
        "create function note() returns trigger language plpgsql as $$ begin \
         insert into log (what) values (tg_when || tg_level || (select count(*) from t)); \
         if tg_level = 'ROW' and new.a = 2 then return null; end if; return new; end $$",
    );
    for when in ["before", "after"] {
        ok(s, &format!("create trigger r{when} {when} insert on t for each row execute function note()"));
        ok(s, &format!("create trigger s{when} {when} insert on t execute function note()"));
    }
    assert!(matches!(
        s.simple("copy t from stdin", &mut crate::common::Rows::default()),
        Ok(Step::CopyIn(_))
    ));
    s.copy_data(b"1\t1\n2\t2\n").expect("rows");
    s.copy_data(b"3\t3\n").expect("rows");
    let mut rows = crate::common::Rows::default();
    s.copy_done(&mut rows).expect("it ends");
    assert_eq!(rows.tags, ["COPY 2"]);
    assert_eq!(text(s, "select a from t order by a"), "1 3");
    assert_eq!(
        text(s, "select what from log order by n"),
        "BEFORESTATEMENT0 BEFOREROW0 BEFOREROW1 BEFOREROW1 AFTERROW2 AFTERROW2 AFTERSTATEMENT2"
    );
    assert!(matches!(
        s.simple("copy t from stdin", &mut crate::common::Rows::default()),
        Ok(Step::CopyIn(_))
    ));
    s.copy_done(&mut crate::common::Rows::default()).expect("it ends");
    assert_eq!(text(s, "select count(*) from log"), "9");
}

/// A block in a function that is undone takes its settings, locks and checks along.
fn what_is_undone_is_undone<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table p (id int primary key); create table c (p int references p (id) deferrable initially deferred)",
    );
    ok(
        s,
        "create function f(fails bool) returns int language plpgsql as $$ begin \
         begin insert into c values (7); perform set_config('work_mem', '77MB', true); \
         perform pg_advisory_xact_lock(5); if fails then raise exception 'x'; end if; \
         exception when raise_exception then null; end; return 1; end $$",
    );
    ok(s, "begin");
    assert_eq!(text(s, "select f(true)"), "1");
    assert_ne!(text(s, "show work_mem"), "77MB");
    assert_eq!(text(s, "select count(*) from pg_locks where locktype = 'advisory'"), "0");
    ok(s, "commit");
    assert_eq!(text(s, "select count(*) from c"), "0");
    ok(s, "begin");
    assert_eq!(text(s, "select f(false)"), "1");
    assert_eq!(text(s, "show work_mem"), "77MB");
    assert_eq!(text(s, "select count(*) from pg_locks where locktype = 'advisory'"), "1");
    assert_eq!(code(s, "commit"), "23503");
}

#[test]
fn routines_are_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let db = opened(&disk);
    accounts(&db);
    let s = &mut session(&db);
    ok(s, "create function gone() returns int language sql as 'select 1'; drop function gone()");
    ok(
        s,
        "create function twice() returns trigger language plpgsql as $$ begin new.n := new.n * 2; return new; end $$; \
         create trigger twice before insert on acc for each row when (new.n < 1000) execute function twice(); \
         create trigger off before insert on acc for each row execute function twice(); \
         alter table acc disable trigger off; comment on function twice() is 'doubles'; checkpoint",
    );
    ok(s, "create procedure p(a int, inout b int default 7) language sql as 'select a + b'");
    db.engine().close().expect("it is closed");
    drop(db);
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select transfer(1, 2, 30)"), "70");
    ok(s, "insert into acc values (10, 21), (11, 2000)");
    assert_eq!(text(s, "select n from acc where id >= 10 order by id"), "42 2000");
    assert_eq!(text(s, "call p(1)"), "8");
    assert_eq!(code(s, "select gone()"), "42883");
    assert_eq!(text(s, "select obj_description('twice'::regproc)"), "doubles");
    ok(s, "create function new() returns int language sql as 'select 1'");
    assert_eq!(text(s, "select count(*) = count(distinct oid) from pg_proc"), "t");
}

on_each_engine!(
    conflicts_do_not_reach_those_who_call_a_function,
    what_a_function_raises_is_of_one_state,
    what_a_function_has_read_is_validated,
    definitions_are_validated,
    what_is_replaced_is_called_at_once,
    a_read_only_transaction_stays_so,
    a_function_can_be_stopped,
    a_function_has_limits,
    errors_have_a_context,
    errors_say_what_a_function_ran,
    functions_lock_rows_and_tables,
    a_copy_fires_triggers,
    what_is_undone_is_undone,
);

const WORDS: &[&str] = &[
    "begin",
    "end",
    "declare",
    "if",
    "then",
    "elsif",
    "else",
    "end if",
    "loop",
    "end loop",
    "while",
    "for",
    "in",
    "x",
    "r",
    ":=",
    "=",
    ";",
    "1",
    "..",
    "10",
    "reverse",
    "by",
    "exit",
    "continue",
    "when",
    "return",
    "return next",
    "return query",
    "select 1",
    "into",
    "strict",
    "raise",
    "notice",
    "'a % b'",
    ",",
    "using",
    "errcode",
    "exception",
    "others",
    "or",
    "sqlstate",
    "'23505'",
    "case",
    "end case",
    "perform",
    "execute",
    "'select 1'",
    "get diagnostics",
    "row_count",
    "foreach",
    "slice",
    "array",
    "array[1,2]",
    "<<",
    ">>",
    "l",
    "null",
    "record",
    "int",
    "t%rowtype",
    "t.a%type",
    "not null",
    "constant",
    "default",
    "alias for",
    "$1",
    "(",
    ")",
    "[",
    "]",
    ".",
    "insert into t values (1)",
    "update t set a = x",
    "delete from t",
    "assert",
    "call p()",
    "open",
    "new",
    "old",
    "found",
    "--",
    "/*",
    "'",
    "$$",
    "\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a body says, it is read and run, or refused.
    #[test]
    fn no_body_stops_a_session(words in proptest::collection::vec(0..WORDS.len(), 1..40), closed in any::<bool>()) {
        let db = crate::common::acc();
        let s = &mut session(&db);
        ok(s, "create table t (a int); set statement_timeout = 100");
        let mut body = words.iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
        if closed {
            body = format!("declare x int; r record; begin {body}; end");
        }
        let _ = run(s, &format!("create function f(int) returns setof int language plpgsql as $body$ {body} $body$"));
        let _ = run(s, "select * from f(1)");
        let _ = run(s, &format!("do $body$ {body} $body$"));
        prop_assert_eq!(text(s, "select 1"), "1");
    }
}
