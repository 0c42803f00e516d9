//! A node that is cut off has old rows and an old catalog. What it makes of them it tells nobody.

use super::{Rows, Three, code, ok, run, text};
use scaledb_scar::NodeId;
use scaledb_sync::thread;
use std::time::{Duration, Instant};

/// Cuts the third node off, both ways.
fn cut_off(three: &Three) {
    for other in [NodeId(0), NodeId(1)] {
        three.cluster.channels().cut(other, NodeId(2));
        three.cluster.channels().cut(NodeId(2), other);
    }
}

/// What a node that hears nobody would say may be wrong by then. Its epoch does not commit, so that it says nothing
/// until it learns that it was put out: 57P03, 40001 with the advice to try again, or 40003 for what had begun to
/// commit.
#[test]
fn a_node_that_is_cut_off_says_nothing_of_what_it_has() {
    let statements = [
        // duplicates, of a statement by itself and in a block
        "insert into t values (1, 5)",
        "begin; insert into t values (1, 5); commit",
        "insert into t values (9, 1)",
        "update t set id = 2 where id = 1",
        // a parent that is not there, a child that is, and an error over a value
        "insert into child values (2, 7)",
        "delete from t where id = 2",
        "select 1 / (n - 1) from t where id = 1",
        "copy t from stdin",
        // results, empty ones, too
        "select n from t where id = 1",
        "select n from t where id = 100",
        "insert into t values (1, 5) on conflict do nothing",
        "begin read only; select count(*) from t; commit",
        // names
        "select * from nothing",
        "create table if not exists child (id int)",
        "create table child (id int)",
        "drop table if exists nothing",
        "drop table nothing",
    ];
    let three = Three::start_with(Duration::from_secs(2), Duration::from_millis(20));
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int unique)");
    ok(&mut a, "create table child (id int primary key, parent int references t)");
    ok(&mut a, "insert into t values (1, 1), (2, 2)");
    ok(&mut a, "insert into child values (1, 2)");
    let sessions = statements.map(|statement| {
        let mut session = three.databases[2].session("postgres", "postgres");
        assert_eq!(text(&mut session, "select * from t order by id"), "1|1 2|2");
        (statement, session)
    });
    cut_off(&three);
    // what was on its way has come
    thread::sleep(Duration::from_millis(100));
    thread::scope(|scope| {
        for (statement, mut session) in sessions {
            scope.spawn(move || {
                let told = match statement {
                    "copy t from stdin" => {
                        let copied = run(&mut session, statement).and_then(|_| session.copy_data(b"1\t5\n"));
                        copied.and_then(|()| session.copy_done(&mut Rows::default()).map(drop))
                    }
                    _ => run(&mut session, statement).map(drop),
                };
                let code = told.expect_err(statement).code().as_str().to_owned();
                assert!(["57P03", "40001", "40003"].contains(&&*code), "{statement}: {code}");
            });
        }
    });
}

/// The leader ends an epoch at once when an error waits for it, and not after its idle time.
#[test]
fn an_error_waits_for_an_epoch_and_no_longer() {
    let three = Three::start_with(Duration::from_secs(60), Duration::from_secs(20));
    let mut sessions = three.sessions();
    ok(&mut sessions[0], "create table t (id int primary key)");
    ok(&mut sessions[0], "insert into t values (1)");
    let began = Instant::now();
    for session in &mut sessions {
        for _ in 0..10 {
            assert_eq!(code(session, "insert into t values (1)"), "23505");
            assert_eq!(code(session, "select * from none"), "42P01");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}
