//! Generated columns, where more than one session, the disk, or another way to write is part of it.

use crate::common::{code, failure, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_log::LogOptions;
use scaledb_log::disk::Disk;
use scaledb_sql::{Database, Step};
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

/// COPY names all columns but the generated ones, and computes these.
fn copies_leave_them_out<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (n int generated always as (length(a) + b) stored check (n < 10), a text, b int)");
    let mut rows = crate::common::Rows::default();
    let step = s.simple("copy t from stdin", &mut rows).expect("a copy begins");
    assert!(matches!(step, Step::CopyIn(ref info) if info.columns == 2));
    s.copy_data(b"abc\t1\nd\t\\N\n").expect("rows");
    s.copy_done(&mut rows).expect("a copy ends");
    assert_eq!(text(s, "select n, a, b from t order by a"), "4|abc|1 NULL|d|NULL");
    assert_eq!(ok(s, "copy t to stdout").copied, b"abc\t1\nd\t\\N\n");
    assert_eq!(ok(s, "copy (select * from t) to stdout").copied, b"4\tabc\t1\n\\N\td\t\\N\n");
    let refused = failure(s, "copy t (a, n) from stdin");
    assert_eq!((refused.code().as_str(), refused.message()), ("42P10", "column \"n\" is a generated column"));
    assert_eq!(code(s, "copy t (n) to stdout"), "42P10");
    s.simple("copy t (b, a) from stdin", &mut rows).expect("a copy begins");
    assert_eq!(s.copy_data(b"9\tabc\n").expect_err("n is 12").code().as_str(), "23514");
}

/// What is prepared before a column comes, and what has begun, does not write rows without it.
fn who_does_not_know_it_begins_anew<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1), (2, 2)");
    ok(b, "prepare i as insert into t values ($1, $2); prepare u as update t set n = $2 where id = $1");
    ok(b, "execute i (3, 3)");
    ok(b, "begin; update t set n = 10 where id = 1");
    ok(a, "alter table t add column m int generated always as (n * 2) stored");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback; execute i (4, 4); execute u (1, 7)");
    assert_eq!(text(b, "select * from t order by id"), "1|7|14 2|2|4 3|3|6 4|4|8");
    ok(b, "begin; update t set n = 100 where id = 4");
    ok(a, "alter table t alter m drop expression");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback; execute u (1, 8)");
    assert_eq!(text(b, "select * from t where id in (1, 4) order by id"), "1|8|14 4|4|8");
}

/// Concurrent changes of what a unique generated column is computed from conflict, or find the key taken.
fn two_sessions_do_not_compute_one_key<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, s text, l text generated always as (lower(s)) stored unique)");
    ok(a, "insert into t values (1, 'a'), (2, 'b')");
    ok(a, "begin; update t set s = 'Key' where id = 1");
    ok(b, "begin; update t set s = 'KEY' where id = 2");
    ok(a, "commit");
    assert!(["40001", "23505"].contains(&code(b, "commit").as_str()));
    ok(b, "rollback");
    assert_eq!(text(b, "select id, l from t order by id"), "1|key 2|b");
    assert_eq!(code(b, "update t set s = 'KEY' where id = 2"), "23505");
    ok(b, "insert into t values (3, 'KEY') on conflict (l) do update set s = excluded.l || '2'");
    assert_eq!(text(b, "select id, s, l from t order by id"), "1|key2|key2 2|b|b");
}

/// What computes a column means the same with any settings; what does not is refused.
fn settings_do_not_change_what_is_computed<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "set timezone = 'America/New_York'");
    let table =
        |expr: &str| format!("create table t (a timestamptz, b bool generated always as ({expr}) stored)");
    assert_eq!(code(s, &table("a > '2024-01-01'")), "0A000");
    assert_eq!(code(s, &table("a > 'today'")), "0A000");
    assert_eq!(code(s, &table("a > now()")), "42P17");
    assert_eq!(code(s, &table("extract(hour from a) > 3")), "42P17");
    ok(s, &table("a > '2024-01-01 00:00+00'"));
    ok(s, "insert into t values ('2024-01-01 00:30+00'), ('2023-12-31 23:30+00')");
    ok(s, "set timezone = 'UTC'; update t set a = a - interval '31 minutes' where b");
    assert_eq!(text(s, "select b from t order by a"), "f f");
    let date = "create table d (a date, b bool generated always as (a > '01/02/2024') stored)";
    ok(s, "set datestyle = 'iso, dmy'");
    assert_eq!(code(s, date), "0A000");
    ok(s, "set datestyle = 'iso, mdy'");
    ok(s, date);
    ok(s, "set datestyle = 'iso, dmy'; insert into d values ('2024-01-20')");
    assert_eq!(text(s, "select b from d"), "t");
}

/// What is kept as text is not renamed where that would change what it means.
fn a_name_that_means_something_else_is_not_changed<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (date date, b bool generated always as (date > date '2024-01-01') stored)");
    ok(s, "insert into t values ('2024-02-01'), ('2023-02-01')");
    assert_eq!(code(s, "alter table t rename column date to d"), "0A000");
    ok(s, "insert into t values ('2025-02-01')");
    assert_eq!(text(s, "select b from t order by date"), "f t t");
    ok(s, "create table c (date date check (date > date '2024-01-01'), k int)");
    assert_eq!(code(s, "alter table c rename column date to d"), "0A000");
    assert_eq!(code(s, "insert into c values ('2023-01-01')"), "23514");
}

/// The words of PostgreSQL.
fn messages_are_those_of_postgresql<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a int, b int generated always as (a * 2) stored check (b < 100))");
    let said = |s: &mut scaledb_sql::Session<E>, sql: &str| {
        let error = failure(s, sql);
        let detail = error.fields().detail.clone().unwrap_or_default();
        (error.message().to_owned(), detail)
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        said(s, "insert into t values (1, 2)"),
        pair("cannot insert a non-DEFAULT value into column \"b\"", "Column \"b\" is a generated column.")
    );
    assert_eq!(
        said(s, "update t set b = 1"),
        pair("column \"b\" can only be updated to DEFAULT", "Column \"b\" is a generated column.")
    );
    assert_eq!(
        said(s, "insert into t values (50)"),
        pair(
            "new row for relation \"t\" violates check constraint \"t_b_check\"",
            "Failing row contains (50, 100)."
        )
    );
    assert_eq!(
        said(s, "alter table t drop column a"),
        pair(
            "cannot drop column a of table t because other objects depend on it",
            "column b of table t depends on column a of table t"
        )
    );
    assert_eq!(
        said(s, "alter table t alter a type text"),
        pair(
            "cannot alter type of a column used by a generated column",
            "Column \"a\" is used by generated column \"b\"."
        )
    );
    assert_eq!(
        said(s, "alter table t add c int generated always as (b) stored"),
        pair(
            "cannot use generated column \"b\" in column generation expression",
            "A generated column cannot reference another generated column."
        )
    );
}

on_each_engine!(
    copies_leave_them_out,
    who_does_not_know_it_begins_anew,
    two_sessions_do_not_compute_one_key,
    settings_do_not_change_what_is_computed,
    messages_are_those_of_postgresql,
    a_name_that_means_something_else_is_not_changed,
);

fn open(disk: impl Disk) -> Database<Acc> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let durability =
        Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk)) };
    let config =
        Config { indexlet_slots: 64, phantomlet_cells: 4, durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// Wherever the power goes off, values are those that were computed, and a reopened database computes on.
#[test]
fn computed_values_survive_a_loss_of_power() {
    let story = [
        "create table t (id int primary key, n int, m int generated always as (n * 2) stored)",
        "insert into t (id, n) select i, i from generate_series(1, 30) i",
        "update t set n = 100 where id = 3",
        "alter table t add column l text generated always as (repeat('x', n % 10)) stored",
        "create unique index t_m on t (m, id)",
        "checkpoint",
        "update t set n = n + 1 where id between 10 and 12",
        "alter table t rename column n to number",
        "begin; insert into t (id, number) values (40, 40); alter table t alter l drop expression; commit",
        "insert into t (id, number, l) values (41, 41, 'own')",
        "alter table t drop column l",
    ];
    let look = |db: &Database<Acc>| {
        let s = &mut session(db);
        ok(s, "set synchronous_commit = off");
        let attributes = "select attname, attgenerated from pg_attribute where attrelid = 't'::regclass and attnum > 0 \
                          order by attnum";
        let rows = |s: &mut _, sql: &str| run(s, sql).map(|rows| rows.rows).ok();
        format!("{:?} {:?}", rows(s, "select * from t order by id"), rows(s, attributes))
    };
    let disk = SimDisk::new(12);
    let db = open(disk.clone());
    let (mut states, mut answered) = (vec![look(&db)], vec![disk.operations()]);
    for sql in story {
        ok(&mut session(&db), sql);
        answered.push(disk.operations());
        states.push(look(&db));
    }
    for at in answered[0]..=answered[answered.len() - 1] {
        let db = open(disk.image(at, at as u64));
        let found = look(&db);
        let least = answered.iter().filter(|&&operations| operations <= at).count() - 1;
        assert!(states[least..].contains(&found), "after operation {at}: {found}");
        let s = &mut session(&db);
        if found.contains("\"m\"") {
            let source = if found.contains("number") { "number" } else { "n" };
            ok(
                s,
                &format!(
                    "insert into t (id, {source}) values (77, 5); update t set {source} = 6 where id = 77"
                ),
            );
            assert_eq!(text(s, "select m from t where id = 77"), "12");
        }
    }
}
