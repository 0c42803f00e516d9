//! Temporary relations: of one session, before all others along its path, gone at its end, at the latest when the
//! database is opened again.

use crate::common::{code, failure, ok, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

const MINE: &str = "select count(*) from pg_class where relname like 'mine%' and relpersistence = 't'";

fn sessions_have_tables_of_their_own<E: Engine>(db: Database<E>) {
    let (mut a, mut b) = (session(&db), session(&db));
    ok(&mut a, "create table t (id int primary key, what text); insert into t values (1, 'for all')");
    let read = "select what from t order by id";
    // compiled before there is another one
    assert_eq!((text(&mut a, read), text(&mut b, read)), ("for all".into(), "for all".into()));
    for (own, name) in [(&mut a, "a"), (&mut b, "b")] {
        ok(own, "create temp table t (id serial primary key, what text unique)");
        ok(own, &format!("insert into t (what) values ('{name}'), ('{name} too')"));
    }
    assert_eq!(text(&mut a, read), "a a too");
    assert_eq!(text(&mut b, read), "b b too");
    assert_eq!(text(&mut a, "select what from public.t"), "for all");
    assert_eq!(text(&mut a, "select id, what from pg_temp.t"), "1|a 2|a too");
    // no other session's
    let of_b = text(&mut b, "select nspname from pg_namespace where oid = pg_my_temp_schema()");
    assert!(of_b.starts_with("pg_temp_"));
    assert_eq!(code(&mut a, &format!("select * from {of_b}.t")), "42P01");
    assert_eq!(code(&mut a, &format!("drop table {of_b}.t")), "42P01");
    assert_eq!(
        text(&mut a, "select count(*) from pg_class where relname = 't' and pg_table_is_visible(oid)"),
        "1"
    );
    ok(&mut a, "drop table t");
    assert_eq!(text(&mut a, read), "for all");
    assert_eq!(text(&mut b, read), "b b too");
    assert_eq!(text(&mut b, "select 't'::regclass = 'public.t'::regclass, 't'::regclass"), "f|t");
}

fn they_go_with_their_session<E: Engine>(db: Database<E>) {
    let mut looks = session(&db);
    let mut leaves = session(&db);
    ok(&mut leaves, "create temp table mine (id int primary key, of int)");
    ok(&mut leaves, "create index mine_of on mine (of)");
    ok(&mut leaves, "create temp sequence mine_too; create temp view mine_seen as select * from mine");
    ok(&mut leaves, "create temp table mine_refers (id int references mine)");
    ok(&mut leaves, "insert into mine values (1, 2); insert into mine_refers values (1)");
    assert_eq!(text(&mut leaves, "select * from mine_seen"), "1|2");
    assert_eq!(text(&mut looks, MINE), "6");
    // in the middle of a transaction, too
    ok(&mut leaves, "begin; insert into mine values (2, 2)");
    drop(leaves);
    assert_eq!(text(&mut looks, MINE), "0");
    assert_eq!(text(&mut looks, "select count(*) from pg_namespace where nspname like 'pg_temp%'"), "0");
    let mut discards = session(&db);
    ok(&mut discards, "create temp table mine (id int)");
    ok(&mut discards, "discard temp");
    assert_eq!(code(&mut discards, "select * from mine"), "42P01");
    ok(&mut discards, "create temp table mine (id int)");
    ok(&mut discards, "discard all");
    assert_eq!(text(&mut discards, MINE), "0");
}

fn at_each_commit<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    ok(&mut s, "begin; create temp table kept (id int) on commit preserve rows");
    ok(&mut s, "create temp table emptied (id int) on commit delete rows");
    ok(&mut s, "create temp table dropped on commit drop as select 7 as id");
    ok(&mut s, "insert into kept values (1); insert into emptied values (1)");
    assert_eq!(text(&mut s, "select (select count(*) from emptied), (select id from dropped)"), "1|7");
    ok(&mut s, "commit");
    assert_eq!(text(&mut s, "select (select count(*) from kept), (select count(*) from emptied)"), "1|0");
    assert_eq!(code(&mut s, "select * from dropped"), "42P01");
    // statements by themselves
    ok(&mut s, "insert into emptied values (1)");
    assert_eq!(text(&mut s, "select count(*) from emptied"), "0");
    // a DROP that is rolled back leaves what was said
    ok(&mut s, "begin; drop table emptied; rollback");
    ok(&mut s, "begin; insert into emptied values (1), (2)");
    assert_eq!(text(&mut s, "select count(*) from emptied"), "2");
    ok(&mut s, "commit");
    assert_eq!(text(&mut s, "select count(*) from emptied"), "0");
    assert_eq!(code(&mut s, "create table t (id int) on commit drop"), "42P16");
}

fn what_is_for_all_does_not_depend_on_them<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    ok(&mut s, "create table t (id int primary key); insert into t values (1)");
    ok(&mut s, "create view seen as select id from t");
    ok(&mut s, "create temp table t (id int primary key); insert into t values (2), (3)");
    assert_eq!(text(&mut s, "select * from seen"), "1");
    // a view of it is temporary itself
    ok(&mut s, "create view seen_too as select id from t");
    assert_eq!(text(&mut s, "select * from seen_too order by id"), "2 3");
    let mut other = session(&db);
    assert_eq!(code(&mut other, "select * from seen_too"), "42P01");
    assert_eq!(text(&mut other, "select * from seen"), "1");
    assert_eq!(code(&mut s, "create table refers (id int references t)"), "42P16");
    assert_eq!(code(&mut s, "create temp table refers (id int references public.t)"), "42P16");
    assert_eq!(code(&mut s, "create temp table public.x (id int)"), "42P16");
    ok(&mut s, "create table pg_temp.x (id int); insert into x values (1)");
    assert_eq!(code(&mut other, "select * from x"), "42P01");
    assert_eq!(
        text(&mut s, "select table_type from information_schema.tables where table_name = 'x'"),
        "LOCAL TEMPORARY"
    );
    // it stands where the path says
    ok(&mut s, "set search_path = public, pg_temp");
    assert_eq!(text(&mut s, "select id from t"), "1");
    assert_eq!(text(&mut s, "select id from x"), "1");
    ok(&mut s, "reset search_path");
    // rolled back, it was never there
    ok(&mut s, "begin; create temp table y (id int); rollback");
    assert_eq!(failure(&mut s, "select * from y").code().as_str(), "42P01");
}

on_each_engine!(
    sessions_have_tables_of_their_own,
    they_go_with_their_session,
    at_each_commit,
    what_is_for_all_does_not_depend_on_them,
);

#[test]
fn what_a_killed_process_leaves_is_gone_when_it_is_opened() {
    let open = |disk: SimDisk| {
        let config = Config { durability: Some(Durability::new(Arc::new(disk))), ..Config::default() };
        Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
    };
    let disk = SimDisk::new(1).recording();
    let db = open(disk.clone());
    let mut s = session(&db);
    ok(&mut s, "create table stays (id int); insert into stays values (1)");
    ok(&mut s, "create temp table mine (id serial primary key); insert into mine default values");
    ok(&mut s, "insert into mine default values");
    let db = open(disk.killed(disk.operations()));
    let mut s = session(&db);
    assert_eq!(text(&mut s, MINE), "0");
    assert_eq!(text(&mut s, "select * from stays"), "1");
    ok(&mut s, "create temp table mine (id serial primary key); insert into mine default values");
    assert_eq!(text(&mut s, "select * from mine"), "1");
}
