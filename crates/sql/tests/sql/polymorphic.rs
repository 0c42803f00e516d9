//! Polymorphic and VARIADIC functions, and those that return records, beside others, prepared, and after a restart.
//! What they answer is in `slt/polymorphic.sql`.

use crate::common::{code, hears_of_conflicts, ok, opened, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;

const FUNCTIONS: &str = "create function named(x anyelement) returns text language plpgsql as \
    'declare y x%type := x; begin return pg_typeof(y)::text; end'; \
    create function total(variadic anyarray) returns anyelement language sql as 'select max(v) from unnest($1) v'; \
    create function rec(int) returns record language sql as 'select $1, $1::text'";

/// One call's types are not those of another, whoever has called first, and in whatever order.
fn each_call_has_types_of_its_own<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, FUNCTIONS);
    for _ in 0..3 {
        assert_eq!(text(s, "select named(1), named('x'::text), named(array[1.5])"), "integer|text|numeric[]");
        assert_eq!(
            text(s, "select named(null::int), named(null::text), named(null::date)"),
            "integer|text|date"
        );
        assert_eq!(
            text(s, "select total(1, 7, 3), total('a'::text, 'z'), total(variadic array[1.5])"),
            "7|z|1.5"
        );
        assert_eq!(text(s, "select a, b from rec(4) as t(a int, b text)"), "4|4");
        assert_eq!(text(s, "select a, b from rec(4) as t(a bigint, b varchar)"), "4|4");
    }
    ok(s, "prepare p (int) as select named($1), a from rec($1) as t(a int, b text)");
    assert_eq!(text(s, "execute p (5)"), "integer|5");
    ok(
        s,
        "create or replace function named(x anyelement) returns text language sql as 'select ''new ''::text || x'",
    );
    assert_eq!(text(s, "execute p (6)"), "new 6|6");
}

/// A transaction that has called a function does not commit once the function is another one.
fn a_changed_function_is_noticed<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut a, FUNCTIONS);
    ok(&mut a, "create table t (v text)");
    for call in ["named(1)", "total(2, 3)::text", "(select b from rec(1) as t(a int, b text))"] {
        ok(&mut a, &format!("begin; insert into t values ({call})"));
        ok(
            &mut b,
            "create or replace function named(x anyelement) returns text language sql as 'select ''b'''; \
             create or replace function total(variadic anyarray) returns anyelement language sql as 'select $1[1]'; \
             create or replace function rec(int) returns record language sql as 'select 0, ''b''::text'",
        );
        assert_eq!(code(&mut a, "commit"), "40001", "{call}");
        ok(&mut b, &FUNCTIONS.replace("create function", "create or replace function"));
    }
}

/// What is returned beside what a call says is refused, and calls within calls end.
fn what_does_not_fit_is_refused<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, FUNCTIONS);
    ok(
        s,
        "create function deep(x anyelement) returns text language plpgsql as 'begin return deep(array[x]); end'; \
         create function down(x anyelement) returns text language plpgsql as 'begin return down(x); end'; \
         create function wide() returns setof record language plpgsql as \
         'begin return query select g, repeat(''x'', 100) from generate_series(1, 1000) g; end'",
    );
    assert_eq!(code(s, "select down(1)"), "54001");
    assert_ne!(code(s, "select deep(1)"), "XX000");
    assert_eq!(code(s, "select * from wide() as t(a text, b text)"), "42804");
    assert_eq!(code(s, "select * from wide() as t(a int, a text)"), "42701");
    assert_eq!(code(s, "select * from rec(1) as t(a int, b anyelement)"), "42P16");
    assert_eq!(code(s, "select count(*) from rec(1)"), "42601");
    // as many arguments as there may be
    let many = vec!["1"; 1_000].join(",");
    assert_eq!(text(s, &format!("select total({many})")), "1");
}

on_each_engine!(each_call_has_types_of_its_own, a_changed_function_is_noticed, what_does_not_fit_is_refused);

/// The functions are there after a restart, with all that was said of them.
#[test]
fn functions_are_what_they_were_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    {
        let db = opened(&disk);
        ok(&mut session(&db), FUNCTIONS);
    }
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select named(1), total(1, 7, 3), total(variadic array[4])"), "integer|7|4");
    assert_eq!(text(s, "select * from rec(4) as t(a int, b text)"), "4|4");
    let arguments =
        "select pg_get_function_arguments(oid), pg_get_function_result(oid) from pg_proc where proname = ";
    assert_eq!(text(s, &format!("{arguments}'total'")), "VARIADIC anyarray|anyelement");
    assert_eq!(text(s, &format!("{arguments}'rec'")), "integer|record");
}
