//! Two or three sessions in turns, statement by statement: every schedule that is not serializable is refused, and
//! those who are left agree on one order. More of them are in `isolation.rs`; many at once in `appends.rs`.

use crate::common::{acc, code, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::Acc;
use scaledb_sql::Session;

/// The codes of some statements: `ok`, or the first failure, after which the transaction is rolled back.
fn outcome(session: &mut Session<Acc>, statements: &[&str]) -> String {
    for sql in statements {
        if let Err(error) = run(session, sql) {
            let _ = run(session, "rollback");
            return error.code().as_str().to_owned();
        }
    }
    "ok".to_owned()
}

fn three(setup: &str) -> (Session<Acc>, Session<Acc>, Session<Acc>) {
    let db = acc();
    let mut all = (session(&db), session(&db), session(&db));
    ok(&mut all.0, setup);
    [&mut all.0, &mut all.1, &mut all.2].into_iter().for_each(hears_of_conflicts);
    all
}

/// Exactly one of two transactions that cannot both have happened does.
fn one_of_two(setup: &str, a: [&str; 2], b: [&str; 2]) {
    for a_first in [true, false] {
        let (mut x, mut y, _) = three(setup);
        for (session, statements) in [(&mut x, a), (&mut y, b)] {
            ok(session, "begin");
            ok(session, statements[0]);
        }
        let (first, second) = if a_first { ((&mut x, a), (&mut y, b)) } else { ((&mut y, b), (&mut x, a)) };
        assert_eq!(outcome(first.0, &[first.1[1], "commit"]), "ok", "{a:?} {b:?}");
        assert_eq!(outcome(second.0, &[second.1[1], "commit"]), "40001", "{a:?} {b:?}");
    }
}

const NUMBERS: &str = "create table t (id int primary key, n int, kind int);
    create index t_kind on t (kind);
    insert into t values (1, 10, 1), (2, 20, 1), (3, 30, 2)";

#[test]
fn write_skew_by_point_reads() {
    one_of_two(
        NUMBERS,
        ["select n from t where id = 2", "update t set n = 0 where id = 1"],
        ["select n from t where id = 1", "update t set n = 0 where id = 2"],
    );
}

#[test]
fn write_skew_by_predicates() {
    // each counts what the other is about to add
    one_of_two(
        NUMBERS,
        ["select sum(n) from t where kind = 1", "insert into t values (10, 30, 2)"],
        ["select sum(n) from t where kind = 2", "insert into t values (11, 30, 1)"],
    );
}

#[test]
fn write_skew_by_a_predicate_without_an_index() {
    one_of_two(
        NUMBERS,
        ["select count(*) from t where n % 3 = 0", "insert into t values (10, 42, 9)"],
        ["select count(*) from t where n % 3 = 0", "insert into t values (11, 45, 9)"],
    );
}

#[test]
fn a_row_that_moves_into_a_predicate_is_a_phantom() {
    one_of_two(
        NUMBERS,
        ["select count(*) from t where kind = 2", "update t set n = 1 where id = 1"],
        ["select n from t where id = 1", "update t set kind = 2 where id = 2"],
    );
}

#[test]
fn a_row_that_leaves_a_predicate_is_missed() {
    one_of_two(
        NUMBERS,
        ["select count(*) from t where kind = 1", "insert into t values (20, 0, 3)"],
        ["select count(*) from t where kind = 3", "delete from t where id = 1"],
    );
}

#[test]
fn what_is_absent_is_read_too() {
    one_of_two(
        NUMBERS,
        ["select n from t where id = 100", "insert into t values (200, 0, 0)"],
        ["select n from t where id = 200", "insert into t values (100, 0, 0)"],
    );
}

#[test]
fn a_minimum_depends_on_what_is_below_it() {
    one_of_two(
        NUMBERS,
        ["select min(id) from t", "insert into t values (1000, 0, 0)"],
        ["select max(id) from t", "insert into t values (-1, 0, 0)"],
    );
}

#[test]
fn a_limit_depends_on_what_it_let_through() {
    one_of_two(
        NUMBERS,
        ["select id from t where kind = 1 order by id limit 1", "update t set n = 99 where id = 3"],
        ["select n from t where id = 3", "delete from t where id = 1"],
    );
}

#[test]
fn subqueries_and_joins_are_reads() {
    one_of_two(
        NUMBERS,
        ["update t set n = (select count(*) from t x where x.kind = 2) where id = 1", "select 1"],
        ["insert into t select 50, n, 2 from t where id = 1", "select 1"],
    );
    one_of_two(
        NUMBERS,
        ["select count(*) from t a join t b on a.kind = b.id", "insert into t values (60, 0, 0)"],
        ["select count(*) from t a left join t b on a.id = b.n", "insert into t values (61, 0, 0)"],
    );
}

#[test]
fn a_lost_update_is_refused_in_each_form() {
    for update in [
        "update t set n = n + 1 where id = 1",
        "update t set n = n + 1 where kind = 1",
        "insert into t values (1, 0, 1) on conflict (id) do update set n = t.n + 1",
        "delete from t where id = 1",
    ] {
        one_of_two(NUMBERS, [update, "select 1"], [update, "select 1"]);
    }
}

#[test]
fn a_reader_cannot_see_an_order_that_writers_exclude() {
    // the read-only anomaly: a deposit, a withdrawal with a fee that has not seen it, and a report between them
    let (mut deposit, mut withdrawal, mut report) = three(
        "create table accounts (name text primary key, balance int);
         insert into accounts values ('checking', 0), ('savings', 0)",
    );
    let sum = "select sum(balance) from accounts";
    ok(&mut withdrawal, "begin");
    assert_eq!(text(&mut withdrawal, sum), "0");
    ok(&mut deposit, "update accounts set balance = 20 where name = 'savings'");
    ok(&mut report, "begin read only");
    let reported = text(&mut report, sum);
    let reporter = outcome(&mut report, &["commit"]);
    let write = "update accounts set balance = -11 where name = 'checking'";
    let withdrawn = outcome(&mut withdrawal, &[write, "commit"]);
    // the report has seen the deposit, so the withdrawal without a sight of it cannot come after both
    assert!(!(reporter == "ok" && reported == "20" && withdrawn == "ok"), "{reported} {withdrawn}");
    assert_eq!((reporter.as_str(), withdrawn.as_str()), ("ok", "40001"));
}

#[test]
fn a_deferrable_reader_sees_an_order_without_conflicts() {
    let (mut a, mut b, mut reader) = three(NUMBERS);
    ok(&mut reader, "begin isolation level serializable read only deferrable");
    let before = text(&mut reader, "select sum(n) from t");
    ok(&mut a, "update t set n = n + 1");
    ok(&mut b, "insert into t values (7, 7, 7)");
    assert_eq!(text(&mut reader, "select sum(n) from t"), before);
    ok(&mut reader, "commit");
}

#[test]
fn a_cycle_of_three_is_refused() {
    let (mut a, mut b, mut c) = three(NUMBERS);
    let turns = [
        ("select n from t where id = 1", "update t set n = 0 where id = 2"),
        ("select n from t where id = 2", "update t set n = 0 where id = 3"),
        ("select n from t where id = 3", "update t set n = 0 where id = 1"),
    ];
    let mut outcomes = Vec::new();
    for (session, (read, _)) in [&mut a, &mut b, &mut c].into_iter().zip(turns) {
        ok(session, "begin");
        ok(session, read);
    }
    for (session, (_, write)) in [&mut a, &mut b, &mut c].into_iter().zip(turns) {
        outcomes.push(outcome(session, &[write, "commit"]));
    }
    assert!(outcomes.iter().any(|code| code == "40001"), "{outcomes:?}");
    assert_eq!(outcomes[0], "ok");
}

#[test]
fn an_upsert_that_does_nothing_has_read() {
    one_of_two(
        NUMBERS,
        ["insert into t values (1, 0, 0) on conflict (id) do nothing", "update t set n = 1 where id = 3"],
        ["select n from t where id = 3", "delete from t where id = 1"],
    );
}

#[test]
fn upserts_by_a_unique_index_do_not_both_insert() {
    let setup = "create table u (id int primary key, name text unique, n int)";
    let upsert = |id: i32| {
        format!("insert into u values ({id}, 'same', 1) on conflict (name) do update set n = u.n + 1")
    };
    let (mut a, mut b, _) = three(setup);
    ok(&mut a, "begin");
    ok(&mut b, "begin");
    ok(&mut a, &upsert(1));
    ok(&mut b, &upsert(2));
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    ok(&mut b, &upsert(2));
    assert_eq!(text(&mut a, "select id, n from u"), "1|2");
}

#[test]
fn a_unique_value_is_given_to_one() {
    let (mut a, mut b, _) = three("create table u (id int primary key, name text unique)");
    ok(&mut a, "begin; insert into u values (1, 'same')");
    ok(&mut b, "begin; insert into u values (2, 'same')");
    ok(&mut a, "commit");
    let second = outcome(&mut b, &["commit"]);
    assert!(["40001", "23505"].contains(&second.as_str()), "{second}");
    assert_eq!(code(&mut b, "insert into u values (2, 'same')"), "23505");
}

#[test]
fn children_and_parents_agree() {
    const FAMILY: &str = "create table p (id int primary key, n int);
        create table c (id int primary key, p int references p on delete cascade on update cascade);
        insert into p values (1, 0), (2, 0); insert into c values (10, 1)";
    // a child of a parent that is deleted, cascading or not, or renamed
    for parent in ["delete from p where id = 2", "update p set id = 3 where id = 2"] {
        one_of_two(FAMILY, ["insert into c values (11, 2)", "select 1"], [parent, "select 1"]);
    }
    one_of_two(
        FAMILY,
        ["update c set p = 2 where id = 10", "select 1"],
        ["delete from p where id = 2", "select 1"],
    );
    // whatever the order, no child is without its parent
    let (mut a, mut b, mut c) = three(FAMILY);
    ok(&mut a, "begin; insert into c values (12, 1)");
    ok(&mut b, "begin; delete from p where id = 1");
    assert_eq!(outcome(&mut b, &["commit"]), "ok");
    assert_eq!(outcome(&mut a, &["commit"]), "40001");
    let orphans = "select count(*) from c left join p on p.id = c.p where p.id is null";
    assert_eq!(text(&mut c, orphans), "0");
}

#[test]
fn a_check_that_waits_for_the_commit_is_serializable_too() {
    let setup = "create table p (id int primary key);
        create table c (id int primary key, p int references p deferrable initially deferred);
        insert into p values (1)";
    let (mut a, mut b, mut c) = three(setup);
    ok(&mut a, "begin; insert into c values (1, 1)");
    ok(&mut b, "begin; delete from p where id = 1");
    ok(&mut b, "commit");
    // its check comes with the commit, and finds no parent: as if it had begun after the other
    assert!(["23503", "40001"].contains(&outcome(&mut a, &["commit"]).as_str()));
    assert_eq!(text(&mut c, "select (select count(*) from p), (select count(*) from c)"), "0|0");
}
