//! Domains beside other transactions, after a restart, and as texts name them. What statements answer otherwise is in
//! `slt/domains.sql`.

use crate::common::{code, failure, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

const POS: &str = "create domain pos int check (value > 0); \
                   create table t (id int primary key, p pos); \
                   insert into t values (1, 1), (2, 12)";

/// A transaction whose plans, or whose routines, have made values by what the domain demanded before does not commit.
fn a_writer_by_the_old_domain_does_not_commit<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut a, POS);
    ok(&mut a, "create table log (p int); create table into_t (p pos)");
    ok(
        &mut a,
        "create function f (i int) returns int language plpgsql as $$ declare x pos := i; begin return x; end $$",
    );
    ok(
        &mut a,
        "create table r (id int primary key); insert into r values (90), (91); \
                create table c (p pos references r on update cascade on delete set default); insert into c values (90), (91)",
    );
    // what each makes of the domain, and whether the rows of the domain's tables have to be looked at, too
    let writes = [
        "insert into log values (50::pos)",
        "insert into log select '50'::pos",
        "insert into log values (f(50))",
        "insert into into_t values (50)",
        "insert into into_t select id + 50 from t",
        "update t set p = 50 where id = 2",
        "prepare p (pos) as insert into log values ($1); execute p (50); deallocate p",
        "do $$ declare x pos := 50; begin insert into log values (x); end $$",
        "update r set id = 50 where id = 90",
        "insert into t (id, p) values (1, 50) on conflict (id) do update set p = excluded.p",
    ];
    for write in writes {
        ok(&mut a, "begin");
        ok(&mut a, write);
        let added = run(&mut b, "alter domain pos add constraint late check (value <> 50)");
        assert!(added.is_ok(), "{write}: {added:?}");
        let committed = code(&mut a, "commit");
        assert_eq!(committed, "40001", "{write}");
        assert_eq!(text(&mut b, "select count(*) from t where p = 50"), "0", "{write}");
        ok(&mut b, "alter domain pos drop constraint late");
    }
    // what does not make values of it is not disturbed
    ok(&mut a, "begin; insert into log values (1)");
    ok(&mut b, "alter domain pos add constraint late check (value <> 50)");
    ok(&mut a, "commit");
    // and a statement by itself is run by what the domain demands then
    assert_eq!(code(&mut a, "insert into t values (3, 50)"), "23514");
    ok(&mut b, "alter domain pos drop constraint late");
    ok(&mut a, "insert into t values (3, 50)");
}

/// However writers and a change of the domain meet, no row is there in the end that the domain refuses.
fn a_constraint_that_is_added_beside_writers_holds<E: Engine>(db: Database<E>) {
    ok(&mut session(&db), POS);
    for round in 0..4 {
        let done = AtomicBool::new(false);
        scaledb_sync::thread::scope(|scope| {
            for writer in 0..2 {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let s = &mut session(db);
                    let mut id = 1_000_000 * (1 + writer) + 10_000_000 * round;
                    while !done.load(Ordering::Relaxed) {
                        id += 1;
                        // the table stays small: the change looks at all of its rows
                        scaledb_sync::thread::sleep(std::time::Duration::from_micros(500));
                        let block = id % 3 == 0;
                        let insert = format!("insert into t values ({id}, {})", 1 + id % 10);
                        let result = match block {
                            true => {
                                run(s, "begin").and_then(|_| run(s, &insert)).and_then(|_| run(s, "commit"))
                            }
                            false => run(s, &insert),
                        };
                        if let Err(error) = result {
                            let code = error.code();
                            assert!(["23514", "40001", "55P03"].contains(&code.as_str()), "{error}");
                            ok(s, "rollback");
                        }
                    }
                });
            }
            let s = &mut session(&db);
            for _ in 0..6 {
                scaledb_sync::thread::sleep(std::time::Duration::from_millis(10));
                ok(s, "delete from t where p = 7");
                match run(s, "alter domain pos add constraint seven check (value <> 7)") {
                    Ok(_) => {
                        assert_eq!(text(s, "select count(*) from t where p = 7"), "0");
                        scaledb_sync::thread::sleep(std::time::Duration::from_millis(10));
                        assert_eq!(text(s, "select count(*) from t where p = 7"), "0");
                        ok(s, "alter domain pos drop constraint seven");
                    }
                    // a row with it has come between
                    Err(error) => assert!(["23514", "40001"].contains(&error.code().as_str()), "{error}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

/// A change that is taken back, or fails, leaves the domain as it was.
fn a_change_that_is_taken_back_changes_nothing<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, POS);
    ok(a, "begin; alter domain pos add check (value <> 50); rollback");
    ok(a, "insert into t values (3, 50)");
    ok(a, "begin; savepoint s; alter domain pos set not null; insert into t values (4, 4); rollback to s");
    ok(a, "insert into t values (4, null); commit");
    assert_eq!(code(a, "alter domain pos set not null"), "23502");
    assert_eq!(code(a, "alter domain pos add check (value < 50)"), "23514");
    ok(a, "insert into t values (6, 60)");
    ok(a, "begin; drop domain pos cascade; rollback");
    assert_eq!(text(b, "select p from t where id = 6"), "60");
}

/// Prepared statements, cached plans and loaded routines follow a change.
fn plans_follow<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, POS);
    ok(
        a,
        "create function f (i int) returns pos language plpgsql as $$ declare p pos := i; begin return p; end $$",
    );
    ok(a, "prepare p (pos) as select $1 + 1; prepare q as insert into t values ($1, $2)");
    assert_eq!(text(a, "execute p (5)"), "6");
    ok(a, "execute q (3, 5)");
    assert_eq!(text(a, "select f(5), 5::pos"), "5|5");
    ok(b, "update t set p = 6 where p = 5; alter domain pos add check (value <> 5)");
    assert_eq!(code(a, "execute p (5)"), "23514");
    assert_eq!(code(a, "execute q (4, 5)"), "23514");
    assert_eq!(code(a, "select f(5)"), "23514");
    assert_eq!(code(a, "select 5::pos"), "23514");
    ok(b, "alter domain pos drop constraint pos_check1");
    assert_eq!(text(a, "execute p (5)"), "6");
    assert_eq!(text(a, "select f(5), 5::pos"), "5|5");
    ok(b, "alter domain pos set default 8; create table d (a int, p pos)");
    ok(a, "insert into d values (1)");
    ok(b, "alter domain pos set default 9");
    ok(a, "insert into d values (1)");
    assert_eq!(text(a, "select p from d order by p"), "8 9");
}

/// What is said of a value that is refused.
fn errors_say_which_domain_and_constraint<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, POS);
    ok(s, "create domain \"Small One\" as pos not null constraint \"at most\" check (value < 10)");
    let said = |s: &mut Session<E>, statement: &str| {
        let error = failure(s, statement);
        let fields = error.fields();
        let of = |field: &Option<String>| field.clone().unwrap_or_default();
        format!("{error}: {} {} {}", of(&fields.schema), of(&fields.data_type), of(&fields.constraint))
    };
    assert_eq!(
        said(s, "select 12::\"Small One\""),
        "value for domain \"Small One\" violates check constraint \"at most\": public Small One at most"
    );
    assert_eq!(
        said(s, "select 0::\"Small One\""),
        "value for domain \"Small One\" violates check constraint \"pos_check\": public Small One pos_check"
    );
    assert_eq!(
        said(s, "select null::\"Small One\""),
        "domain \"Small One\" does not allow null values: public Small One "
    );
    assert_eq!(
        said(s, "alter domain pos add check (value < 5)"),
        "column \"p\" of table \"t\" contains values that violate the new constraint: public  "
    );
    let messages = [
        ("insert into t values (3, true)", "column \"p\" is of type pos but expression is of type boolean"),
        ("drop domain pos", "cannot drop type pos because other objects depend on it"),
        ("drop domain mood", "type \"mood\" does not exist"),
        ("drop domain int4", "\"int4\" is not a domain"),
        ("alter domain int4 set not null", "integer is not a domain"),
        ("create domain pos int", "type \"pos\" already exists"),
        ("create domain x int primary key", "primary key constraints not possible for domains"),
        ("create domain x record", "\"record\" is not a valid base type for a domain"),
        (
            "create domain x int default true",
            "column \"x\" is of type integer but default expression is of type boolean",
        ),
        ("alter domain pos drop constraint x", "constraint \"x\" of domain \"pos\" does not exist"),
        (
            "alter domain pos add constraint pos_check check (value > 1)",
            "constraint \"pos_check\" for domain \"pos\" already exists",
        ),
        ("alter domain pos rename constraint x to y", "constraint \"x\" for domain pos does not exist"),
        ("comment on constraint x on domain pos is 'x'", "constraint \"x\" for domain pos does not exist"),
    ];
    for (statement, message) in messages {
        let error = failure(s, statement);
        let text = error.to_string();
        assert_eq!(text, message, "{statement}");
    }
    let error = failure(s, "insert into t values (3, 'true'::date)");
    assert_eq!(error.code().as_str(), "22007", "{error}");
}

/// Conditions that make values of their own domain have no end: they are refused, or found out.
fn domains_in_circles_are_refused<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create domain a int; create domain b int check (value::a is not null)");
    assert_eq!(code(s, "alter domain a add check (value::b > 0)"), "54001");
    assert_eq!(code(s, "alter domain a add check (value::a > 0)"), "54001");
    assert_eq!(text(s, "select 1::a, 2::b"), "1|2");
    // what a function does is seen when it is called
    ok(s, "create function f (int) returns bool language sql as 'select $1::a is not null'");
    ok(s, "alter domain a add check (f(value))");
    assert_eq!(code(s, "select 1::a"), "54001");
    assert_eq!(code(s, "do $$ declare x a := 1; begin end $$"), "54001");
    ok(s, "alter domain a drop constraint a_check");
    // arrays have one kind of elements
    ok(s, "create domain l int[]");
    assert_eq!(code(s, "create table x (l l[])"), "0A000");
    assert_eq!(code(s, "select '{}'::l[]"), "0A000");
    ok(s, "create table holds (x a[])");
    assert_eq!(code(s, "alter domain a set not null"), "0A000");
}

/// Names in texts that are kept follow where that is certain; else the change is refused and nothing has changed.
fn texts_follow_or_refuse<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create type mood as enum ('sad', 'ok'); create domain good mood check (value <> 'sad'::mood) default 'ok'::mood",
    );
    ok(s, "create domain better good check (value::good = 'ok')");
    ok(
        s,
        "create table t (id int primary key, g good default cast('ok' as good) check (g is null or g = 'ok'::good), \
         b better)",
    );
    ok(s, "create view v as select id, 'ok'::good as c from t where g = cast('ok' as good)");
    ok(s, "insert into t (id) values (1)");
    ok(s, "alter domain good rename to \"Good One\"; alter type mood rename to \"My Mood\"");
    ok(s, "insert into t (id) values (2)");
    assert_eq!(text(s, "select * from t order by id"), "1|ok|ok 2|ok|ok");
    assert_eq!(
        text(s, "select id, c, pg_typeof(c) from v order by id"),
        "1|ok|\"Good One\" 2|ok|\"Good One\""
    );
    assert_eq!(
        text(
            s,
            "select pg_get_constraintdef(oid) from pg_constraint where contypid = '\"Good One\"'::regtype"
        ),
        "CHECK ((VALUE <> 'sad'::\"My Mood\"))"
    );
    ok(s, "alter domain \"Good One\" rename to good; alter type \"My Mood\" rename to mood");
    // a label in a condition is none that may change
    assert_eq!(code(s, "alter type mood rename value 'sad' to 'blue'"), "0A000");
    assert_eq!(code(s, "insert into t (id, g) values (3, 'sad')"), "23514");
    // a schema in the path of another session is none of theirs
    ok(s, "set search_path = ''");
    ok(s, "insert into public.t (id) values (4)");
    assert_eq!(text(s, "select count(*) from public.v"), "3");
    assert_eq!(code(s, "select 'ok'::good"), "42704");
    assert_eq!(text(s, "select pg_typeof(g) from public.t limit 1"), "public.good");
    ok(s, "reset search_path");
    assert_eq!(code(s, "drop type mood"), "2BP01");
    ok(s, "drop view v; alter table t drop constraint t_g_check; alter table t alter g drop default");
    ok(s, "drop type mood cascade");
    assert_eq!(text(s, "select * from t order by id"), "1 2 4");
}

/// Rows that are copied in, and what goes through files.
fn rows_are_spilled_and_sorted<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create domain name5 varchar(5) check (value <> 'x'); create domain l name5[]");
    ok(s, "create table wide (id int primary key, n name5, l l, a name5[])");
    ok(
        s,
        "insert into wide select i, 'n' || i % 10, array['a', 'b' || i % 3], array['c' || i % 2] \
         from generate_series(1, 6000) i",
    );
    let query = "select n, l, a, count(*), min(id) from (select * from wide order by n desc, l, a, id) w \
                 group by n, l, a order by n, l, a";
    let in_memory = text(s, query);
    ok(s, "set work_mem = '64kB'");
    assert_eq!(text(s, query), in_memory);
    assert_eq!(text(s, "select count(*) from wide a join wide b using (n) where a.id < 20"), "11400");
    ok(s, "create index on wide (n); create index on wide (l)");
    assert_eq!(text(s, "select count(*) from wide where n = 'n3' and id < 100"), "10");
    assert_eq!(text(s, "select count(*) from wide where l = '{a,b1}'"), "2000");
}

on_each_engine!(
    a_writer_by_the_old_domain_does_not_commit,
    a_constraint_that_is_added_beside_writers_holds,
    a_change_that_is_taken_back_changes_nothing,
    plans_follow,
    errors_say_which_domain_and_constraint,
    domains_in_circles_are_refused,
    texts_follow_or_refuse,
    rows_are_spilled_and_sorted,
);

#[test]
fn domains_are_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let open = |disk: &SimDisk| {
        let durability = Durability { recovery_threads: 1, ..Durability::new(Arc::new(disk.clone())) };
        let config = Config { durability: Some(durability), ..Config::default() };
        Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
    };
    let db = open(&disk);
    let s = &mut session(&db);
    ok(s, "create type mood as enum ('sad', 'ok')");
    ok(s, POS);
    ok(
        s,
        "create domain small pos default 3 check (value < 10); create domain good mood check (value <> 'sad')",
    );
    ok(
        s,
        "alter table t add column s small; alter table t add column g good default 'ok'; create index on t (p)",
    );
    ok(s, "create domain gone int; drop domain gone; comment on domain small is 'a small one'; checkpoint");
    ok(
        s,
        "alter domain small rename to little; alter domain pos add check (value <> 5); insert into t (id) values (4)",
    );
    db.engine().close().expect("it is closed");
    drop(db);
    let db = open(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select * from t order by id"), "1|1|3|ok 2|12|3|ok 4|NULL|3|ok");
    assert_eq!(code(s, "insert into t (id, s) values (5, 10)"), "23514");
    assert_eq!(code(s, "insert into t (id, s) values (5, 5)"), "23514");
    assert_eq!(code(s, "insert into t (id, g) values (5, 'sad')"), "23514");
    assert_eq!(code(s, "select 1::gone"), "42704");
    assert_eq!(
        text(s, "select obj_description('little'::regtype, 'pg_type'), pg_typeof(s) from t limit 1"),
        "a small one|little"
    );
    assert_eq!(text(s, "select id from t where p > 5"), "2");
    // oids are not given again
    ok(s, "create domain new int check (value > 0)");
    assert_eq!(text(s, "select count(*) = count(distinct oid) from pg_type"), "t");
    assert_eq!(text(s, "select count(*) = count(distinct oid) from pg_constraint"), "t");
}
