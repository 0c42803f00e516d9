//! TRUNCATE of tables that are large enough to be replaced: what it leaves, how it is taken back, and who is beside it.

use crate::common::{code, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::Acc;
use scaledb_cicada::Cicada;
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

fn fill<E: Engine>(s: &mut Session<E>) {
    ok(s, "create table p (id serial primary key, n int not null check (n > 0), u int unique)");
    ok(s, "create index p_n on p (n); create table c (id int primary key, p int references p)");
    ok(s, "insert into p (n, u) select i % 7 + 1, i from generate_series(1, 500) i");
    ok(s, "insert into c select i, i from generate_series(1, 3) i");
}

fn what_hangs_on_a_table_stays<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    fill(s);
    ok(s, "comment on column p.n is 'seven'; create view v as select n, count(*) from p group by n");
    ok(s, "prepare q as select count(*) from p where n = 3");
    assert_eq!(code(s, "truncate p"), "0A000");
    ok(s, "truncate p restart identity cascade");
    assert_eq!(
        text(s, "select (select count(*) from p), (select count(*) from c), (select count(*) from v)"),
        "0|0|0"
    );
    assert_eq!(text(s, "execute q"), "0");
    ok(s, "insert into p (n, u) values (3, 1), (4, 2)");
    assert_eq!(text(s, "select * from p order by id"), "1|3|1 2|4|2");
    assert_eq!(text(s, "execute q"), "1");
    assert_eq!(code(s, "insert into p (n, u) values (3, 1)"), "23505");
    assert_eq!(code(s, "insert into p (n, u) values (0, 9)"), "23514");
    assert_eq!(code(s, "insert into c values (1, 9)"), "23503");
    assert_eq!(
        text(s, "select col_description('p'::regclass, 2), count(*) from pg_indexes where tablename = 'p'"),
        "seven|3"
    );
    assert_eq!(text(s, "select n, count from v order by n"), "3|1 4|1");
}

fn it_is_taken_back<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    fill(s);
    let look = "select count(*), sum(n), (select count(*) from c) from p";
    let before = text(s, look);
    ok(s, "begin; truncate p cascade; insert into p (n) values (1), (2)");
    assert_eq!(text(s, "select count(*) from p"), "2");
    ok(s, "truncate p cascade; rollback");
    assert_eq!(text(s, look), before);
    ok(s, "begin; savepoint a; truncate p cascade; insert into p (n) values (1); rollback to a");
    assert_eq!(text(s, look), before);
    ok(s, "delete from c; delete from p where id <= 10; commit");
    assert_eq!(text(s, "select count(*) from p"), "490");
    // behind writes of its own
    ok(s, "begin; insert into p (n) values (5); update p set n = 6 where n = 1; truncate p cascade; commit");
    assert_eq!(text(s, "select count(*) from p"), "0");
    ok(s, "insert into p (n, u) select i % 7 + 1, i from generate_series(1, 500) i");
    ok(
        s,
        "begin; truncate p cascade; insert into p (n, u) select 1, i from generate_series(1, 300) i; truncate p, c; commit",
    );
    assert_eq!(text(s, "select count(*) from p"), "0");
    ok(s, "insert into p (n, u) values (1, 1)");
}

/// No row is left of those that were acknowledged before it, and none is lost of those behind it.
fn writers_beside_it_come_before_or_after<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    fill(a);
    // it has written: either of the two must go
    ok(b, "begin; insert into p (n, u) values (1, 1000)");
    ok(a, "truncate p cascade");
    let late = run(b, "commit");
    let left = text(a, "select count(*) from p");
    match late {
        Ok(_) => assert_eq!(left, "1"),
        Err(error) => assert_eq!((error.code().as_str(), left.as_str()), ("40001", "0")),
    }
    // it has read rows that are gone: what it writes of them goes nowhere
    ok(a, "truncate p cascade; insert into p (n, u) select i % 7 + 1, i from generate_series(1, 500) i");
    ok(a, "create table sums (n int)");
    ok(b, "begin; insert into sums select sum(n) from p");
    ok(a, "truncate p cascade; insert into sums values (0)");
    assert!(run(b, "commit").is_err_and(|error| error.code().as_str() == "40001"));
    assert_eq!(text(a, "select n from sums"), "0");
    // a snapshot goes on as it was
    ok(a, "insert into p (n, u) select i % 7 + 1, i from generate_series(1, 500) i");
    ok(b, "begin read only");
    assert_eq!(text(b, "select count(*) from p"), "500");
    ok(a, "truncate p cascade");
    assert_eq!(text(b, "select count(*) from p"), "500");
    ok(b, "commit");
    assert_eq!(text(b, "select count(*) from p"), "0");
}

/// Inserts rows up to `end` in steps until one is refused; where it ended.
fn insert<E: Engine>(s: &mut Session<E>, mut next: i32, end: i32, step: i32) -> i32 {
    while next < end {
        let last = next + step - 1;
        if run(s, &format!("insert into t select i, repeat('x', 8) from generate_series({next}, {last}) i"))
            .is_err()
        {
            break;
        }
        next += step;
    }
    next
}

/// Tables that have all memory are emptied, and what they had serves again.
fn at_the_budget<E: Engine>(db: &Database<E>, is_too_much: bool) {
    let s = &mut session(db);
    ok(s, "create table t (id int primary key, b text)");
    let next = insert(s, 0, i32::MAX, 20_000);
    let next = insert(s, next, i32::MAX, 100);
    assert_eq!(text(s, "select count(*) from t"), next.to_string());
    if is_too_much {
        // one transaction cannot remember all rows
        assert_eq!(code(s, "delete from t"), "53200");
    }
    ok(s, "truncate t");
    assert_eq!(text(s, "select count(*) from t"), "0");
    // what was freed serves again, by and by
    let (mut again, start) = (0, std::time::Instant::now());
    while again < next / 2 {
        again = insert(s, again, next / 2, 10_000);
        assert!(start.elapsed().as_secs() < 60, "{again} of {next} rows");
    }
    ok(s, "drop table t; create table t (id int primary key, b text)");
    let start = std::time::Instant::now();
    while insert(s, 0, 10_000, 10_000) == 0 {
        assert!(start.elapsed().as_secs() < 60);
    }
}

const LIMIT: u64 = 64 << 20;

#[test]
fn acc_truncates_what_no_transaction_could_delete() {
    let config = scaledb_acc::Config { memory_budget: LIMIT, ..scaledb_acc::Config::default() };
    at_the_budget(&Database::open(Acc::open(config).expect("an engine")).expect("a database"), true);
}

#[test]
fn cicada_truncates_at_its_budget() {
    let config = scaledb_cicada::Config { memory_budget: LIMIT, ..scaledb_cicada::Config::default() };
    at_the_budget(&Database::open(Cicada::open(config).expect("an engine")).expect("a database"), false);
}

on_each_engine!(what_hangs_on_a_table_stays, it_is_taken_back, writers_beside_it_come_before_or_after);
