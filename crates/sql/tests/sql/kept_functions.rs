//! Functions of one's own in CHECK constraints, generated columns, indexes and domains, beside what changes them. What
//! they answer is in `slt/kept_functions.sql`.

use crate::common::{code, hears_of_conflicts, ok, opened, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;

const TABLES: &str = "create function pos(int) returns boolean immutable language sql as 'select $1 > 0'; \
    create function twice(int) returns int immutable language plpgsql as 'begin return $1 * 2; end'; \
    create domain dom as int check (pos(value)); \
    create table checked (a int check (pos(a))); \
    create table computed (a int, b int generated always as (twice(a)) stored); \
    create table indexed (a int); create index on indexed (twice(a)); \
    create table parent (id int primary key); \
    create table child (p int references parent on update cascade, check (pos(p))); \
    create table typed (d dom); \
    insert into parent values (1), (2); insert into child values (2)";

/// Nothing is written by what a function was, once it is something else.
fn what_was_written_by_a_function_that_has_changed_does_not_commit<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut a, TABLES);
    let writes = [
        "insert into checked values (1)",
        "insert into computed values (1)",
        "insert into indexed values (1)",
        "insert into typed values (1)",
        "update parent set id = 3 where id = 2",
        "do $$ declare d dom := 1; begin insert into parent values (d + 10); end $$",
    ];
    for write in writes {
        ok(&mut a, "begin");
        ok(&mut a, write);
        ok(
            &mut b,
            "create or replace function pos(int) returns boolean immutable language sql as 'select $1 > 1'; \
             create or replace function twice(int) returns int immutable language plpgsql as \
             'begin return $1 * 20; end'",
        );
        assert_eq!(code(&mut a, "commit"), "40001", "{write}");
        ok(
            &mut b,
            "create or replace function pos(int) returns boolean immutable language sql as 'select $1 > 0'; \
             create or replace function twice(int) returns int immutable language plpgsql as \
             'begin return $1 * 2; end'",
        );
    }
    assert_eq!(text(&mut a, "select count(*) from checked"), "0");
}

/// An index answers by what its function says now, and so does a key that must be one of its kind.
fn an_index_follows_its_function<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create function f(int) returns int immutable language sql as 'select $1 % 10'; \
         create table t (id int primary key, v int generated always as (f(id)) stored); \
         insert into t select g from generate_series(1, 200) g; create index i on t (f(id)) where f(id) < 5",
    );
    let find = "select count(*), sum(id) from t where f(id) = 3 and f(id) < 5";
    assert_eq!(text(s, find), "20|1960");
    ok(s, "create or replace function f(int) returns int immutable language sql as 'select $1 % 100'");
    assert_eq!(text(s, find), "2|106");
    // what is there keeps what it had
    assert_eq!(text(s, "select v from t where id = 23"), "3");
    // one that they do not know of is what REINDEX is for
    ok(
        s,
        "create function g(int) returns int immutable language plpgsql as 'begin return $1; end'; \
         create or replace function f(int) returns int immutable language sql as 'select g($1)'; \
         create or replace function g(int) returns int immutable language plpgsql as 'begin return $1 + 1; end'; \
         reindex index i",
    );
    assert_eq!(text(s, find), "1|2");
    assert_eq!(code(s, "create unique index u on t (f(id % 10))"), "23505");
    ok(s, "create unique index u on t (f(id))");
    let folds = "create or replace function f(int) returns int immutable language sql as 'select $1 / 2'";
    assert_eq!(code(s, folds), "23505");
    assert_eq!(text(s, find), "1|2");
    // an index needs it to be IMMUTABLE
    assert_eq!(code(s, "alter function f(int) stable"), "42P17");
    assert_eq!(code(s, "create or replace function f(int) returns int language sql as 'select $1'"), "42P17");
    ok(s, "drop index i, u; alter table t drop v; alter function f(int) stable");
}

/// What a text means that is kept does not change because there is another function of a name.
fn a_new_function_does_not_take_the_place_of_one_that_is_called<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create function f(bigint) returns bigint immutable language sql as 'select $1'; \
         create table t (a int check (f(a) > 0)); create index on t (f(a)); create table l (a varchar check (lower(a) > 'a'))",
    );
    assert_eq!(
        code(s, "create function f(int) returns bigint immutable language sql as 'select -$1::bigint'"),
        "0A000"
    );
    assert_eq!(
        code(s, "create function lower(varchar) returns text immutable language sql as 'select $1'"),
        "0A000"
    );
    ok(s, "create function other(int) returns bigint immutable language sql as 'select -$1::bigint'");
    assert_eq!(code(s, "alter function other(int) rename to f"), "0A000");
    ok(
        s,
        "create function f(text) returns text immutable language sql as 'select $1'; insert into t values (1)",
    );
    assert_eq!(code(s, "insert into t values (-1)"), "23514");
}

on_each_engine!(
    what_was_written_by_a_function_that_has_changed_does_not_commit,
    an_index_follows_its_function,
    a_new_function_does_not_take_the_place_of_one_that_is_called,
);

/// Indexes, columns and constraints that call functions are there after a restart, and so are the functions.
#[test]
fn functions_compute_what_is_kept_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    {
        let db = opened(&disk);
        let s = &mut session(&db);
        ok(s, TABLES);
        ok(
            s,
            "insert into computed select g from generate_series(1, 50) g; insert into indexed values (1), (7)",
        );
    }
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select a from indexed where twice(a) = 14"), "7");
    ok(s, "insert into computed values (60)");
    assert_eq!(text(s, "select sum(b) from computed"), "2670");
    assert_eq!(code(s, "insert into checked values (0)"), "23514");
    assert_eq!(code(s, "select 0::dom"), "23514");
    assert_eq!(code(s, "drop function twice(int)"), "2BP01");
}
