//! Indexes on expressions, where more than one session, the planner or the disk is part of it.

use crate::common::{code, failure, hears_of_conflicts, ok, one_of_two_commits, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_log::LogOptions;
use scaledb_log::disk::Disk;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

const USERS: &str = "create table u (id int primary key, email text, a int, b int, doc jsonb, note text); \
     create unique index u_lower on u (lower(email))";

/// Of two transactions that take one key, one commits.
fn one_of_two_takes_a_key<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, USERS);
    ok(a, "insert into u values (1, 'Ann', 1, 1), (2, 'Bob', 2, 2)");
    one_of_two_commits(a, b, "insert into u values (3, 'Cid')", "insert into u values (4, 'CID')");
    one_of_two_commits(
        a,
        b,
        "update u set email = 'dan' where id = 1",
        "update u set email = 'DAN' where id = 2",
    );
    // who has read that a key is free does not commit once it is taken
    ok(b, "begin");
    assert_eq!(text(b, "select count(*) from u where lower(email) = 'eve'"), "0");
    ok(b, "insert into u values (10, 'other')");
    ok(a, "insert into u values (5, 'EVE')");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback");
    // other columns than those that it is computed from do not meet
    ok(a, "begin; update u set note = 'x' where id = 5");
    ok(a, "commit");
    let refused = failure(a, "insert into u values (6, 'eVe')");
    assert_eq!(refused.message(), "duplicate key value violates unique constraint \"u_lower\"");
    assert_eq!(refused.fields().detail.as_deref(), Some("Key (lower(email))=(eve) already exists."));
    ok(a, "create unique index u_sum on u ((a + b)); update u set a = 1, b = 2 where id = 1");
    let refused = failure(a, "update u set a = 2, b = 1 where id = 2");
    assert_eq!(refused.fields().detail.as_deref(), Some("Key ((a + b))=(3) already exists."));
}

/// The planner takes the index where a query has the expression, for equality, ranges, orders and extremes.
fn the_planner_finds_the_expression<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, USERS);
    ok(s, "create index u_sum on u ((a + b), id); create index u_doc on u ((doc ->> 'k'))");
    ok(s, "create index u_next on u ((a + 1)) where lower(email) is not null");
    ok(
        s,
        "insert into u select i, 'E' || i, i, i % 7, jsonb_build_object('k', 'v' || i) from generate_series(1, 200) i",
    );
    let uses = |s: &mut _, sql: &str, wanted: &str| {
        let plan = text(s, &format!("explain {sql}"));
        assert!(plan.contains(wanted), "{sql}: {plan}");
    };
    let avoids = |s: &mut _, sql: &str, index: &str| {
        let plan = text(s, &format!("explain {sql}"));
        assert!(!plan.contains(index), "{sql}: {plan}");
    };
    uses(s, "select * from u where lower(email) = 'e7'", "Index Cond: (lower(email) = 'e7'::text)");
    uses(s, "select * from u where lower(u.email) in ('e7', 'e8')", "u_lower");
    uses(
        s,
        "select * from u where a + b > 10 and a + b < 20",
        "Index Cond: (((a + b) > 10) AND ((a + b) < 20))",
    );
    uses(s, "select * from u where doc ->> 'k' = 'v9'", "u_doc");
    uses(s, "select * from u x where x.doc ->> 'k' = 'v9'", "u_doc");
    avoids(s, "select * from u where doc ->> 'l' = 'v9'", "u_doc");
    avoids(s, "select * from u where upper(email) = 'E7'", "u_lower");
    avoids(s, "select * from u where email = 'E7'", "u_lower");
    avoids(s, "select * from u where b + a = 10", "u_sum");
    uses(s, "select * from u order by lower(email) limit 3", "u_lower");
    avoids(s, "select * from u order by lower(email) limit 3", "Sort");
    uses(s, "select * from u order by a + b desc, id desc", "Index Scan Backward using u_sum");
    avoids(s, "select * from u order by a + b desc, id", "u_sum");
    uses(s, "select max(a + b) from u", "Index Scan Backward using u_sum");
    uses(s, "update u set note = 'x' where lower(email) = 'e7'", "u_lower");
    uses(s, "delete from u where a + b = 7", "u_sum");
    uses(s, "select * from u where a + 1 = 5 and lower(email) = 'e4'", "u_lower");
    uses(s, "select * from u where a + 1 = 5 and lower(email) > 'e'", "u_next");
    avoids(s, "select * from u where a + 1 = 5", "u_next");
    avoids(s, "select * from u where a + 2 = 5 and lower(email) > 'e'", "u_next");
    let join = "select count(*) from u x join u y on lower(y.email) = lower(x.email) where x.id < 5";
    uses(s, join, "u_lower");
    assert_eq!(text(s, join), "4");
    assert_eq!(text(s, "select id from u where lower(email) = 'e7'"), "7");
    assert_eq!(text(s, "select id from u where doc ->> 'k' = 'v9'"), "9");
    assert_eq!(text(s, "select id from u where a + 1 = 5 and lower(email) > 'e'"), "4");
    assert_eq!(text(s, "select max(a + b), min(a + b) from u"), "204|2");
    // parameters, of the key and in the expression
    ok(s, "prepare p as select id from u where lower(email) = $1");
    uses(s, "execute p ('e7')", "u_lower");
    assert_eq!(text(s, "execute p ('e7')"), "7");
    ok(s, "prepare q as select id from u where doc ->> $1 = $2 and id > 0");
    assert_eq!(text(s, "execute q ('k', 'v9')"), "9");
    assert_eq!(text(s, "execute q ('l', 'v9')"), "");
    // literals of a simple statement become parameters, but those of the expression
    ok(s, "create index u_twice on u ((a * 2))");
    let scans = "select sum(scans) from scaledb_stat_indexes where indexrelname in ('u_doc', 'u_twice')";
    let before: u64 = text(s, scans).parse().expect("a number");
    for id in 3..6 {
        assert_eq!(text(s, &format!("select id from u where doc ->> 'k' = 'v{id}'")), id.to_string());
        assert_eq!(text(s, &format!("select min(id) from u where a * 2 = {}", 2 * id)), id.to_string());
        let sql = format!("insert into u (id, doc) values (300, '{{}}') on conflict ((a + {id})) do nothing");
        assert_eq!(code(s, &sql), "42P10");
    }
    let after: u64 = text(s, scans).parse().expect("a number");
    assert!(after >= before + 6, "{before} {after}");
    // what is computed when it is written is not computed when it is read
    let changed = "update u set note = 'n', email = email where id = 7 returning lower(email)";
    assert_eq!(text(s, changed), "e7");
    // two indexes on one expression, and one that goes
    ok(s, "create index u_two on u (LOWER(email), a); drop index u_lower");
    uses(s, "select * from u where lower(email) = 'e7' and a = 7", "u_two");
    ok(s, "insert into u values (500, 'E7', 8)");
    assert_eq!(text(s, "select id from u where lower(email) = 'e7' order by id"), "7 500");
    ok(s, "drop index u_two");
    assert_eq!(text(s, "select id from u where lower(email) = 'e7' order by id"), "7 500");
    assert_eq!(
        text(s, "select count(*) from pg_attribute where attrelid = 'u'::regclass and attname = 'lower'"),
        "0"
    );
}

/// An index that comes while others write, and goes again: no row is lost to it, and none is kept out.
fn it_comes_and_goes_beside_others<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, k text)");
    ok(a, "insert into t select i, 'K' || i from generate_series(1, 300) i");
    ok(b, "begin; update t set k = 'k4' where id = 2");
    ok(a, "create unique index t_k on t (lower(k))");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback");
    assert_eq!(code(b, "update t set k = 'k4' where id = 2"), "23505");
    ok(b, "begin; update t set k = 'k1000' where id = 2");
    ok(a, "create index t_other on t (lower(k), id)");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback; update t set k = 'k1000' where id = 2");
    assert_eq!(text(a, "select id from t where lower(k) = 'k1000'"), "2");
    ok(a, "begin; drop index t_k; rollback");
    assert_eq!(code(b, "insert into t values (1000, 'k5')"), "23505");
    ok(a, "drop index t_k");
    ok(b, "insert into t values (1000, 'k5')");
    assert_eq!(text(b, "select id from t where lower(k) = 'k5' order by id"), "5 1000");
    let refused = failure(a, "create unique index t_k on t (lower(k))");
    assert_eq!(refused.fields().detail.as_deref(), Some("Key (lower(k))=(k5) is duplicated."));
    ok(a, "delete from t where id = 5; create unique index t_k on t (lower(k))");
    ok(a, "alter table t add column more text default 'm'");
    assert_eq!(code(b, "insert into t values (5, 'K5')"), "23505");
    ok(b, "alter table t drop column k");
    assert_eq!(text(b, "select * from t where id = 1000"), "1000|m");
}

/// An expression that means something else in other settings is refused, as what computes a column.
fn settings_do_not_change_what_it_has<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, at timestamptz, d date)");
    ok(s, "set timezone = 'America/New_York'");
    assert_eq!(code(s, "create index on t ((at > '2024-01-01'))"), "0A000");
    assert_eq!(code(s, "create index on t ((at::date))"), "42P17");
    assert_eq!(code(s, "create index on t (date_trunc('day', at))"), "42P17");
    ok(s, "create index t_day on t (date_trunc('day', at at time zone 'UTC'))");
    ok(s, "insert into t values (1, '2024-01-01 23:30+00'), (2, '2024-01-02 00:30+00')");
    let day = "select id from t where date_trunc('day', at at time zone 'UTC') = '2024-01-02'";
    assert_eq!(text(s, day), "2");
    ok(s, "set timezone = 'Asia/Tokyo'; insert into t values (3, '2024-01-02 08:59')");
    assert_eq!(text(s, &format!("{day} order by id")), "2");
    ok(
        s,
        "create table v (id int); alter table v add column ts timestamp; create index on v (date_trunc('day', ts))",
    );
    let refused = failure(s, "alter table v alter column ts type timestamptz");
    assert_eq!(refused.code().as_str(), "42P17");
    assert_eq!(refused.message(), "functions in index expression must be marked IMMUTABLE");
}

/// COPY, rows as values and lists of columns do not show what an index has.
fn no_statement_sees_its_column<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, k text); create index on t (lower(k)); create index on t ((id + 1))",
    );
    ok(s, "insert into t values (1, 'A'); insert into t select 2, 'B'");
    assert_eq!(text(s, "select * from t order by id"), "1|A 2|B");
    assert_eq!(text(s, "select t from t order by id"), "(1,A) (2,B)");
    assert_eq!(text(s, "select row_to_json(t) from t where id = 1"), "{\"id\":1,\"k\":\"A\"}");
    assert_eq!(text(s, "update t set k = 'C' where id = 1 returning *"), "1|C");
    for name in ["lower", "expr", "\"?column?\""] {
        assert_eq!(code(s, &format!("select {name} from t")), "42703");
        assert_eq!(code(s, &format!("update t set {name} = 'x'")), "42703");
        assert_eq!(code(s, &format!("insert into t (id, {name}) values (3, 'x')")), "42703");
        assert_eq!(code(s, &format!("alter table t drop column {name}")), "42703");
        assert_eq!(code(s, &format!("create index on t (({name} || 'x'))")), "42703");
    }
    ok(s, "alter table t add column lower int default 5");
    assert_eq!(text(s, "select lower, lower(k) from t where lower(k) = 'c'"), "5|c");
}

on_each_engine!(
    one_of_two_takes_a_key,
    the_planner_finds_the_expression,
    it_comes_and_goes_beside_others,
    settings_do_not_change_what_it_has,
    no_statement_sees_its_column,
);

fn open(disk: impl Disk) -> Database<Acc> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let durability =
        Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk)) };
    let config =
        Config { indexlet_slots: 64, phantomlet_cells: 4, durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// Wherever the power goes off, keys are checked and found.
#[test]
fn its_keys_are_the_same_after_a_loss_of_power() {
    let story = [
        "create table u (id int primary key, email text, n int)",
        "insert into u select i, 'E' || i, i from generate_series(1, 40) i",
        "create unique index u_lower on u (lower(email))",
        "update u set email = 'X5' where id = 5",
        "create index u_two on u (lower(email), (n % 10))",
        "checkpoint",
        "update u set n = n + 1 where id < 10",
        "alter table u rename column email to mail",
        "drop index u_two",
        "delete from u where id = 7",
        "alter table u add column more text default 'm'",
    ];
    let look = |db: &Database<Acc>| {
        let s = &mut session(db);
        ok(s, "set synchronous_commit = off");
        let rows = |s: &mut _, sql: &str| run(s, sql).map(|rows| rows.rows).ok();
        let indexes = "select indexdef from pg_indexes order by 1";
        format!("{:?} {:?}", rows(s, "select * from u order by id"), rows(s, indexes))
    };
    let disk = SimDisk::new(14);
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
        if found.contains("UNIQUE INDEX u_lower") {
            let column = if found.contains("lower(mail)") { "mail" } else { "email" };
            assert_eq!(code(s, "insert into u values (77, 'e9')"), "23505");
            ok(s, "insert into u values (77, 'NEW', 12)");
            assert_eq!(text(s, &format!("select id from u where lower({column}) = 'new'")), "77");
            assert_eq!(text(s, &format!("select id from u where lower({column}) = 'e9'")), "9");
        }
    }
}
