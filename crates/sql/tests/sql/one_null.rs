//! UNIQUE NULLS NOT DISTINCT beside other transactions, and over a restart. What statements answer is in
//! `slt/one_null.sql`.

use crate::common::{code, ok, one_of_two_commits, opened, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_sync::thread;
use scaledb_verify::disk::SimDisk;

const TABLE: &str =
    "create table t (id int primary key, a int, b int, n int default 0, unique nulls not distinct (a, b))";

/// Of two transactions that take one key with a NULL, one commits.
fn one_of_two_takes_a_key_with_a_null<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, TABLE);
    ok(a, "insert into t values (1, 1, 1), (2, 2, 2)");
    one_of_two_commits(a, b, "insert into t values (3, null, 1)", "insert into t values (4, null, 1)");
    one_of_two_commits(
        a,
        b,
        "insert into t values (5, null, null)",
        "update t set a = null, b = null where id = 1",
    );
    one_of_two_commits(
        a,
        b,
        "update t set a = 7, b = null where id = 1",
        "update t set a = 7, b = null where id = 2",
    );
    let all = "select id, a, b from t order by id";
    assert_eq!(text(a, all), "1|7|NULL 2|2|2 3|NULL|1 5|NULL|NULL");
    // keys that differ do not meet
    ok(a, "begin; insert into t values (6, null, 8)");
    ok(b, "begin; insert into t values (7, 8, null)");
    ok(a, "commit");
    ok(b, "commit");
}

/// Of rows that several sessions insert and change, no two have one key, and one of each is there.
fn no_two_rows_share_a_key<E: Engine>(db: Database<E>) {
    ok(&mut session(&db), TABLE);
    thread::scope(|scope| {
        for client in 0..3_i32 {
            let db = &db;
            scope.spawn(move || {
                let s = &mut session(db);
                for round in 0..60 {
                    let id = client * 1_000 + round;
                    let key = |n: i32| if n == 0 { "null".to_owned() } else { n.to_string() };
                    let (a, b) = (key(round % 4), key((round / 4 + client) % 4));
                    let statement = match round % 3 {
                        0 => format!("insert into t values ({id}, {a}, {b})"),
                        1 => format!("insert into t values ({id}, {a}, {b}) on conflict (a, b) do update set n = t.n + 1"),
                        _ => format!("update t set a = {a}, b = {b} where id = (select min(id) from t where id >= {})", client * 1_000),
                    };
                    if let Err(error) = run(s, &statement) {
                        assert!(["23505", "40001"].contains(&error.code().as_str()), "{statement}: {error}");
                    }
                }
            });
        }
    });
    let s = &mut session(&db);
    let shared = "select count(*) from t x join t y on x.a is not distinct from y.a and x.b is not distinct from y.b \
                  and x.id < y.id";
    assert_eq!(text(s, shared), "0");
    assert_eq!(text(s, "select count(*) > 3 from t where a is null or b is null"), "t");
}

#[test]
fn the_constraint_is_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    {
        let db = opened(&disk);
        let s = &mut session(&db);
        ok(s, TABLE);
        ok(s, "create unique index i on t (n) nulls not distinct where a > 5");
        ok(s, "insert into t values (1, null, 1, 0), (2, 6, 2, null)");
    }
    let db = opened(&disk);
    let s = &mut session(&db);
    assert_eq!(code(s, "insert into t values (3, null, 1)"), "23505");
    assert_eq!(code(s, "insert into t values (3, 7, 1, null)"), "23505");
    ok(s, "insert into t values (3, 5, 1, null), (4, null, null, 0)");
    assert_eq!(
        text(s, "insert into t values (5, null, 1) on conflict (a, b) do update set n = 9 returning id"),
        "1"
    );
}

on_each_engine!(one_of_two_takes_a_key_with_a_null, no_two_rows_share_a_key);
