//! Several databases in one: what is in one of them no other sees, roles and the list of databases are common to all.

use crate::common::{code, failure, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

fn enter<E: Engine>(db: &Database<E>, user: &str, name: &str) -> Session<E> {
    db.session_in(user, name).expect("it is let in")
}

fn refused<E: Engine>(db: &Database<E>, user: &str, name: &str) -> String {
    db.session_in(user, name).err().map_or_else(|| "let in".to_owned(), |error| error.code().to_string())
}

fn what_is_in_a_database_no_other_sees<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    ok(&mut first, "create database bank");
    let (mut shop, mut bank) = (enter(&db, "ann", "shop"), enter(&db, "ann", "bank"));
    assert_eq!(refused(&db, "ann", "none"), "3D000");
    for (s, n) in [(&mut first, 1), (&mut shop, 2), (&mut bank, 3)] {
        ok(s, "create schema own; create table t (id serial primary key, n int)");
        ok(s, "create type mood as enum ('low', 'high'); create table own.t (m mood)");
        ok(s, "insert into own.t values ('low')");
        ok(
            s,
            "create view v as select n * 10 as tens from t; create function f() returns int language sql as 'select sum(n)::int from t'",
        );
        ok(s, &format!("insert into t (n) select {n} from generate_series(1, {n})"));
    }
    for (s, n) in [(&mut first, 1), (&mut shop, 2), (&mut bank, 3)] {
        assert_eq!(text(s, "select count(*), max(id), sum(n) from t"), format!("{n}|{n}|{}", n * n));
        assert_eq!(text(s, "select f(), max(tens) from v"), format!("{}|{}", n * n, n * 10));
        assert_eq!(text(s, "select m from own.t"), "low");
        assert_eq!(text(s, "select count(*) from pg_class where relname = 't'"), "2");
        assert_eq!(text(s, "select count(*) from pg_namespace where nspname = 'own'"), "1");
    }
    // one has another shape: the plans of the others stay
    ok(&mut bank, "alter table t add column more text default 'x'");
    ok(&mut shop, "drop table own.t; drop type mood; drop view v");
    assert_eq!(text(&mut bank, "select count(more), max(n) from t"), "3|3");
    assert_eq!(text(&mut first, "select max(n) from t"), "1");
    assert_eq!(code(&mut first, "select more from t"), "42703");
    assert_eq!(code(&mut shop, "select * from v"), "42P01");
    assert_eq!(text(&mut first, "select tens from v"), "10");
    assert_eq!(
        text(&mut shop, "select string_agg(datname, ',' order by datname) from pg_database"),
        "bank,postgres,shop"
    );
    assert_eq!(text(&mut shop, "select current_database()"), "shop");
    assert_eq!(text(&mut shop, "select current_catalog"), "shop");
    assert_eq!(text(&mut bank, "select distinct table_catalog from information_schema.tables"), "bank");
    let activity = "select string_agg(datname, ',' order by datname) from pg_stat_activity \
        join pg_database d using (datname) where d.oid = datid";
    assert_eq!(text(&mut first, activity), "bank,postgres,shop");
    assert_eq!(code(&mut first, "select * from shop.public.t"), "0A000");
    for sql in [
        "create table shop.public.x (a int)",
        "create view shop.public.x as select 1",
        "create sequence shop.public.x",
        "create type shop.public.x as enum ()",
        "insert into shop.public.t values (1)",
        "alter table shop.public.t add column x int",
        "drop table shop.public.t",
    ] {
        assert_eq!(code(&mut first, sql), "0A000", "{sql}");
    }
    assert_eq!(text(&mut shop, "select max(n) from shop.public.t"), "2");
    assert_eq!(text(&mut shop, "select pg_database_size('shop') > 0, pg_database_size(5) > 0"), "t|t");
    assert_eq!(code(&mut shop, "select pg_database_size('none')"), "3D000");
}

fn locks_and_channels_are_those_of_one_database<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    let mut shop = enter(&db, "ann", "shop");
    ok(&mut first, "select pg_advisory_lock(7)");
    assert_eq!(text(&mut shop, "select pg_try_advisory_lock(7)"), "t");
    assert_eq!(
        text(
            &mut shop,
            "select count(*), min(database) = min(d.oid) from pg_locks, pg_database d where datname = 'shop'"
        ),
        "1|t"
    );
    let mut second = session(&db);
    assert_eq!(text(&mut second, "select pg_try_advisory_lock(7)"), "f");
}

fn roles_are_common_to_all<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    ok(&mut first, "create role ann login; create role bob login createdb");
    let mut shop = enter(&db, "root", "shop");
    ok(&mut shop, "create table t (a int); grant select on t to ann; create role eve login");
    assert_eq!(
        text(
            &mut first,
            "select string_agg(rolname, ',' order by rolname) from pg_roles where rolname !~ '^(pg_|postgres|ann$|root)'"
        ),
        "bob,eve"
    );
    let mut ann = enter(&db, "ann", "shop");
    assert_eq!(text(&mut ann, "select count(*) from t"), "0");
    assert_eq!(code(&mut ann, "insert into t values (1)"), "42501");
    // what a role has in another database keeps it
    let error = failure(&mut first, "drop role ann");
    assert_eq!(error.code().as_str(), "2BP01");
    assert_eq!(error.fields().detail.as_deref(), Some("1 object in database shop"));
    ok(&mut shop, "revoke select on t from ann");
    assert_eq!(code(&mut ann, "select * from t"), "42501");
    drop(ann);
    ok(&mut first, "drop role ann");
    assert_eq!(code(&mut shop, "set role ann"), "22023");
    // a role that is altered in one is another in all
    ok(&mut shop, "alter role eve superuser");
    let mut eve = enter(&db, "eve", "postgres");
    assert_eq!(text(&mut eve, "show is_superuser"), "on");
    ok(&mut first, "alter role eve nosuperuser");
    assert_eq!(code(&mut eve, "create role x"), "42501");
    // who may enter
    ok(&mut shop, "revoke connect on database shop from public");
    assert_eq!(refused(&db, "eve", "shop"), "42501");
    ok(&mut first, "grant connect on database shop to eve");
    drop(enter(&db, "eve", "shop"));
    ok(&mut first, "alter database shop connection limit 1");
    assert_eq!(refused(&db, "eve", "shop"), "53300");
    drop(enter(&db, "root", "shop"));
    ok(&mut first, "alter database shop allow_connections false");
    assert_eq!(refused(&db, "root", "shop"), "55000");
    assert_eq!(code(&mut shop, "alter database shop allow_connections false"), "22023");
    // an owner of a database makes schemas there, and is the owner of `public`
    let mut bob = enter(&db, "bob", "postgres");
    ok(&mut bob, "create database bobs");
    let mut bobs = enter(&db, "bob", "bobs");
    ok(&mut bobs, "create table own (a int); create schema more");
    assert_eq!(code(&mut bob, "create table own (a int)"), "42501");
    assert_eq!(code(&mut eve, "drop database bobs"), "42501");
}

fn settings_of_a_database_are_what_sessions_begin_with<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    ok(&mut first, "create role ann login");
    ok(&mut first, "alter database shop set work_mem = '7MB'; alter database shop set search_path = a, b");
    ok(
        &mut first,
        "alter role ann set work_mem = '9MB'; alter database postgres set timezone = 'Asia/Tokyo'",
    );
    let mut shop = enter(&db, "root", "shop");
    assert_eq!(
        text(&mut shop, "select current_setting('work_mem'), current_setting('search_path')"),
        "7MB|a, b"
    );
    let mut ann = enter(&db, "ann", "shop");
    assert_eq!(
        text(&mut ann, "select current_setting('work_mem'), current_setting('search_path')"),
        "9MB|a, b"
    );
    let mut other = session(&db);
    assert_eq!(
        text(&mut other, "select current_setting('work_mem') = '7MB', current_setting('timezone')"),
        "f|Asia/Tokyo"
    );
}

fn a_database_goes_when_nobody_is_in_it<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    ok(&mut first, "create database bank");
    let mut shop = enter(&db, "ann", "shop");
    ok(&mut shop, "create table t (id serial primary key, n int); insert into t (n) values (1), (2)");
    assert_eq!(code(&mut shop, "drop database shop"), "55006");
    assert_eq!(code(&mut shop, "drop database postgres"), "0A000");
    // who is in a program ends its sessions itself
    assert_eq!(code(&mut first, "drop database shop with (force)"), "0A000");
    let error = failure(&mut first, "drop database shop");
    assert_eq!(error.code().as_str(), "55006");
    assert_eq!(error.fields().detail.as_deref(), Some("There is 1 other session using the database."));
    // which lets sessions in again
    drop(enter(&db, "ann", "shop"));
    ok(&mut shop, "insert into t (n) values (3)");
    assert_eq!(code(&mut first, "alter database shop rename to store"), "55006");
    drop(shop);
    ok(&mut first, "begin; alter database shop rename to middle");
    ok(&mut first, "alter database middle rename to store; commit");
    assert_eq!(refused(&db, "ann", "shop"), "3D000");
    assert_eq!(refused(&db, "ann", "middle"), "3D000");
    let mut store = enter(&db, "ann", "store");
    assert_eq!(text(&mut store, "select current_database(), sum(n) from t"), "store|6");
    drop(store);
    ok(&mut first, "drop database store");
    assert_eq!(refused(&db, "ann", "store"), "3D000");
    // one of the same name has nothing of it
    ok(&mut first, "create database shop");
    let mut shop = enter(&db, "ann", "shop");
    assert_eq!(code(&mut shop, "select * from t"), "42P01");
    ok(&mut shop, "create table t (id serial primary key, n int); insert into t (n) values (7)");
    assert_eq!(text(&mut shop, "select * from t"), "1|7");
    // the list is common: another database drops it
    drop(shop);
    let mut bank = enter(&db, "ann", "bank");
    ok(&mut bank, "drop database shop");
    assert_eq!(text(&mut first, "select count(*) from pg_database"), "2");
    assert_eq!(code(&mut first, "drop database shop"), "3D000");
}

fn who_enters_beside_a_drop_does_not_hold_it_up<E: Engine>(db: Database<E>)
where
    Database<E>: Send + Sync,
{
    let mut first = session(&db);
    for _ in 0..30 {
        ok(&mut first, "create database shop");
        scaledb_sync::thread::scope(|scope| {
            let entering = scope.spawn(|| {
                let mut last = "let in".to_owned();
                while last == "let in" {
                    last = refused(&db, "ann", "shop");
                }
                last
            });
            ok(&mut first, "drop database shop");
            assert_eq!(entering.join().expect("it ends"), "3D000");
        });
    }
}

fn what_is_made_beside_each_other_is_made_once<E: Engine>(db: Database<E>) {
    let mut first = session(&db);
    ok(&mut first, "create database shop");
    ok(&mut first, "create database bank");
    let (mut shop, mut bank) = (enter(&db, "a", "shop"), enter(&db, "b", "bank"));
    // two transactions change what is common, each in its own database
    ok(&mut shop, "begin; create role x");
    ok(&mut bank, "begin; create role y");
    ok(&mut shop, "commit");
    assert_eq!(code(&mut bank, "commit"), "40001");
    ok(&mut bank, "create role y");
    assert_eq!(
        text(
            &mut first,
            "select string_agg(rolname, ',' order by rolname) from pg_roles where rolname in ('x', 'y')"
        ),
        "x,y"
    );
    // a role goes that gets something meanwhile
    ok(&mut shop, "begin; create table t (a int); grant select on t to x");
    ok(&mut bank, "drop role x");
    assert_eq!(code(&mut shop, "commit"), "40001");
    // a transaction that changes nothing of the catalog goes on
    ok(&mut shop, "create table t (a int)");
    ok(&mut shop, "begin; insert into t values (1)");
    ok(&mut bank, "create role z; create table u (b int)");
    ok(&mut shop, "insert into t values (2); commit");
    assert_eq!(text(&mut shop, "select sum(a) from t"), "3");
    assert_eq!(text(&mut bank, "select count(*) from u"), "0");
}

on_each_engine!(
    what_is_in_a_database_no_other_sees,
    locks_and_channels_are_those_of_one_database,
    roles_are_common_to_all,
    settings_of_a_database_are_what_sessions_begin_with,
    a_database_goes_when_nobody_is_in_it,
    who_enters_beside_a_drop_does_not_hold_it_up,
    what_is_made_beside_each_other_is_made_once,
);
