//! Schemas beside other transactions and after a restart. What statements answer otherwise is in `slt/schemas.sql`.

use crate::common::{code, failure, hears_of_conflicts, ok, opened, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;

const TWO: &str = "create schema app; create table public.t (n int); insert into public.t values (1); \
                   create table public.log (what int)";

/// What a name means belongs to what a commit compares: something of this name that comes first along the path, and
/// was not there when the transaction began, would have been found instead.
fn a_name_means_something_else_since<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut a, TWO);
    for comes in
        ["create table app.t (n int)", "create view app.t as select 7 as n", "alter table app.s rename to t"]
    {
        if comes.starts_with("alter") {
            ok(&mut a, "create table app.s (n int)");
        }
        ok(&mut a, "set search_path = app, public");
        ok(&mut a, "begin; insert into log select n from t");
        ok(&mut b, comes);
        assert_eq!(code(&mut a, "commit"), "40001", "{comes}");
        ok(&mut a, "set search_path = public");
        let kind = if comes.contains("view") { "view" } else { "table" };
        ok(&mut a, &format!("drop {kind} app.t"));
    }
    // and what is no such name does not
    ok(&mut a, "set search_path = app, public; begin; insert into log select n from t");
    ok(&mut b, "create table app.u (n int); create schema more; create table more.v (n int)");
    ok(&mut a, "commit");
    assert_eq!(text(&mut b, "select * from log"), "1");
}

/// Plans that are kept find what statements would find.
fn plans_follow_the_path<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, TWO);
    ok(&mut a, "set search_path = app, public; prepare p as select n from t");
    let each = |a: &mut _| text(a, "select n from t") + " " + &text(a, "execute p");
    assert_eq!(each(&mut a), "1 1");
    ok(&mut b, "create table app.t (n int); insert into app.t values (2)");
    assert_eq!(each(&mut a), "2 2");
    ok(&mut b, "alter schema app rename to other");
    assert_eq!(each(&mut a), "1 1");
    ok(&mut a, "set search_path = other");
    assert_eq!(each(&mut a), "2 2");
    ok(&mut b, "drop schema other cascade");
    assert_eq!(code(&mut a, "select n from t"), "42P01");
    assert_eq!(code(&mut a, "execute p"), "42P01");
}

/// Changes of schemas and of what is in them have an order.
fn changes_conflict<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, TWO);
    ok(&mut a, "begin; create table app.inside (n int)");
    let dropped = run(&mut b, "drop schema app");
    let ended = run(&mut a, "commit");
    assert!(dropped.is_err() || ended.is_err(), "a table in no schema");
    let orphans = "select count(*) from information_schema.tables t left join information_schema.schemata s
        on s.schema_name = t.table_schema where s.schema_name is null";
    assert_eq!(text(&mut b, orphans), "0");
    let _ = run(&mut a, "rollback");
    // rows of a transaction that does not know yet
    ok(&mut a, "create schema if not exists app; create table if not exists app.inside (n int)");
    ok(&mut a, "begin; insert into app.inside values (1)");
    ok(&mut b, "set lock_timeout = 2000");
    let dropped = run(&mut b, "drop schema app cascade");
    let ended = run(&mut a, "commit");
    assert!(dropped.is_ok() != ended.is_ok(), "{dropped:?} {ended:?}");
}

/// Temporary relations come first, and views that all see do not read them.
fn temporary_relations_come_first<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TWO);
    ok(s, "create table app.t (n int); insert into app.t values (2); set search_path = app, public");
    ok(s, "create view v as select n from t");
    ok(s, "create temp table t (n int); insert into t values (3)");
    assert_eq!(text(s, "select n from t"), "3");
    assert_eq!(text(s, "select n from v"), "2");
    assert_eq!(text(s, "select n from pg_temp.t"), "3");
    assert_eq!(text(s, "select current_schema()"), "app");
    ok(s, "create temp view w as select n from t");
    ok(s, "set search_path = public");
    assert_eq!(text(s, "select n from w"), "3");
    assert_eq!(code(s, "alter table pg_temp.t set schema app"), "0A000");
    assert_eq!(code(s, "create schema pg_temp"), "42P06");
    assert_eq!(text(s, "select n from public.t"), "1");
}

/// What names something with its schema before it does not move, as its text would have to change.
fn what_a_text_names_does_not_move<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TWO);
    ok(s, "create table app.t (n int); create view v as select n from app.t");
    let error = failure(s, "alter table app.t set schema public");
    assert_eq!(error.code().as_str(), "42P07", "{error}");
    ok(s, "create schema other");
    for moves in ["alter table app.t set schema other", "alter schema app rename to renamed"] {
        let error = failure(s, moves);
        assert_eq!(error.code().as_str(), "0A000", "{error}");
        assert!(error.message().contains("view \"v\""), "{error}");
    }
    assert_eq!(text(s, "select count(*) from v"), "0");
    ok(
        s,
        "create type app.mood as enum ('ok'); create table m (m app.mood default 'ok', check (m = 'ok'::app.mood))",
    );
    assert_eq!(code(s, "alter type app.mood set schema other"), "0A000");
    ok(s, "insert into m values (default)");
    // a temporary view of another session is in the way of what it uses, and of nothing else
    let other = &mut session(&db);
    ok(other, "create table seen (n int); create temp view w as select n from seen");
    ok(s, "create table free (n int); alter table free set schema other");
    assert_eq!(code(s, "alter table seen set schema other"), "0A000");
    assert_eq!(text(other, "select count(*) from w"), "0");
    // what is not there is refused
    assert_eq!(code(s, "create schema z create type e as enum ('a')"), "42601");
    assert_eq!(code(s, "create table information_schema.t (a int)"), "42501");
    assert_eq!(code(s, "create table pg_catalog.t (a int)"), "42501");
}

/// A view that was made where the system's schema comes last reads the table that it was made over.
fn a_view_keeps_its_table_beside_one_of_the_system<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "set search_path = public, pg_catalog; create table pg_class (n int); insert into pg_class values (7)",
    );
    ok(s, "create view v as select * from pg_class; reset search_path");
    assert_eq!(text(s, "select n from v"), "7");
    assert_eq!(text(s, "select count(*) > 10 from pg_class"), "t");
}

/// `"$user"` is another schema for each user, though the text of the path is the same.
fn each_user_has_a_schema<E: Engine>(db: Database<E>) {
    let mut sessions = ["alice", "bob"].map(|user| db.session(user, "database"));
    for (s, user) in sessions.iter_mut().zip(["alice", "bob"]) {
        ok(s, &format!("create schema {user}; create table t (who text); insert into t values ('{user}')"));
        assert_eq!(text(s, "select current_schema()"), user);
    }
    for _ in 0..3 {
        for (s, user) in sessions.iter_mut().zip(["alice", "bob"]) {
            assert_eq!(text(s, "select who from t"), user);
            assert_eq!(text(s, "select count(*) from t where who is not null"), "1");
        }
    }
}

/// What a transaction has found not to be there belongs to what its commit compares, too.
fn what_was_not_there_is_validated<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    hears_of_conflicts(&mut a);
    hears_of_conflicts(&mut b);
    ok(&mut a, "create table log (what text)");
    for (reads, comes, goes) in [
        ("select to_regnamespace('late') is null", "create schema late", "drop schema late"),
        ("select current_schemas(true)", "create schema late", "drop schema late"),
        (
            "savepoint s; select * from missing; rollback to s",
            "create table missing (a int)",
            "drop table missing",
        ),
    ] {
        ok(&mut a, "begin");
        for statement in reads.split("; ") {
            let _ = run(&mut a, statement);
        }
        ok(&mut a, "insert into log values ('not there')");
        ok(&mut b, comes);
        assert_eq!(code(&mut a, "commit"), "40001", "{reads}");
        ok(&mut b, goes);
    }
    assert_eq!(text(&mut a, "select count(*) from log"), "0");
}

/// A default cannot take values of what ends with the session.
fn no_default_of_what_is_temporary<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create temp sequence q; create temp table own (a int default nextval('q'))");
    assert_eq!(text(s, "insert into own default values returning a"), "1");
    assert_eq!(code(s, "create table t (a int default nextval('q'))"), "0A000");
    assert_eq!(code(s, "create table t (like own including all)"), "0A000");
    ok(s, "create table t (a int)");
    assert_eq!(code(s, "alter table t alter a set default nextval('q')"), "0A000");
}

on_each_engine!(
    a_name_means_something_else_since,
    plans_follow_the_path,
    changes_conflict,
    temporary_relations_come_first,
    what_a_text_names_does_not_move,
    a_view_keeps_its_table_beside_one_of_the_system,
    each_user_has_a_schema,
    what_was_not_there_is_validated,
    no_default_of_what_is_temporary,
);

#[test]
fn schemas_are_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let db = opened(&disk);
    let s = &mut session(&db);
    ok(
        s,
        "create schema app; create schema gone; set search_path = app, public; create type mood as enum ('ok')",
    );
    ok(
        s,
        "create table t (id serial, m mood default 'ok'); insert into t default values; create view v as select * from t",
    );
    ok(s, "drop schema gone; drop schema public cascade");
    db.engine().close().expect("it is closed");
    drop(db);
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select * from app.v"), "1|ok");
    assert_eq!(text(s, "insert into app.t default values returning id > 1, m"), "t|ok");
    let named = "select nspname from pg_namespace where nspname in ('app', 'gone', 'public')";
    assert_eq!(text(s, named), "app");
    assert_eq!(code(s, "create table t (n int)"), "3F000");
    assert_eq!(code(s, "create schema app"), "42P06");
    ok(s, "create schema public; create table t (n int); create schema later");
    db.engine().close().expect("it is closed");
    drop(db);
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(text(s, "select 't'::regclass"), "t");
    let oids =
        "select count(distinct oid) from (select oid from pg_class union all select oid from pg_namespace
        union all select oid from pg_type where typtype = 'e') x";
    let all = "select (select count(*) from pg_class) + (select count(*) from pg_namespace)
        + (select count(*) from pg_type where typtype = 'e')";
    assert_eq!(text(s, oids), text(s, all));
}
