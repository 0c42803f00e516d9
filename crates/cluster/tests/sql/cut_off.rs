//! A node that is cut off has old rows and an old catalog. What it makes of them it tells nobody.

use super::{Rows, Three, code, ok, run, text};
use scaledb_cluster::engine::Cluster;
use scaledb_scar::NodeId;
use scaledb_sql::Session;
use scaledb_sync::thread;
use scaledb_types::Result;
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
/// commit. The changes of tables wait like the others, but one behind the other; whoever comes to wait behind several
/// of them has 55P03 after a minute, which says nothing of rows either.
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
                assert!(["57P03", "40001", "40003", "55P03"].contains(&&*code), "{statement}: {code}");
            });
        }
    });
}

/// What a client does with statements that were prepared before the node was cut off.
type Act = fn(&mut Session<Cluster>) -> Result<()>;

/// Runs a portal to its end.
fn portal(session: &mut Session<Cluster>) -> Result<()> {
    session.execute("", 0, true, &mut Rows::default())?;
    session.sync()
}

/// COPY, PREPARE, EXECUTE, and what the protocol has of them: none says what it makes of old rows or names.
#[test]
fn a_node_that_is_cut_off_says_nothing_of_copy_and_prepared_statements_either() {
    let acts: [(&str, Act); 17] = [
        ("copy a duplicate", |session| {
            run(session, "copy t from stdin")?;
            session.copy_data(b"1\t5\n")?;
            session.copy_done(&mut Rows::default()).map(drop)
        }),
        ("copy what is no number", |session| {
            run(session, "copy t from stdin")?;
            session.copy_data(b"x\t5\n")?;
            session.copy_done(&mut Rows::default()).map(drop)
        }),
        ("copy in a block", |session| {
            run(session, "begin")?;
            run(session, "copy t from stdin")?;
            session.copy_data(b"1\t5\n")?;
            session.copy_done(&mut Rows::default()).map(drop)
        }),
        ("copy out", |session| run(session, "copy t to stdout").map(drop)),
        ("copy into no table", |session| run(session, "copy nothing from stdin").map(drop)),
        ("copy into no column", |session| run(session, "copy t (other) from stdin").map(drop)),
        ("prepare over no table", |session| run(session, "prepare q as select * from nothing").map(drop)),
        ("execute a duplicate", |session| run(session, "execute twice (1)").map(drop)),
        ("execute a query", |session| run(session, "execute one (1)").map(drop)),
        ("execute, divided by zero", |session| run(session, "execute divided (1)").map(drop)),
        ("execute what is no number", |session| run(session, "execute one ('x')").map(drop)),
        ("parse over no table", |session| session.parse("q", "select * from nothing", &[])),
        ("parse over no column", |session| session.parse("q", "select other from t", &[])),
        ("bind what is no number", |session| session.bind("", "one", &[], &[Some(b"x")])),
        ("bind and execute a duplicate", |session| {
            session.bind("", "twice", &[], &[Some(b"1")])?;
            portal(session)
        }),
        ("bind and execute a query", |session| {
            session.bind("", "one", &[], &[Some(b"1")])?;
            portal(session)
        }),
        ("bind and execute, divided by zero", |session| {
            session.bind("", "divided", &[], &[Some(b"1")])?;
            portal(session)
        }),
    ];
    let three = Three::start_with(Duration::from_secs(2), Duration::from_millis(20));
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int unique)");
    ok(&mut a, "insert into t values (1, 1), (2, 2)");
    let sessions = acts.map(|(name, act)| {
        let mut session = three.databases[2].session("postgres", "postgres");
        ok(&mut session, "prepare twice (int) as insert into t values ($1, 7)");
        ok(&mut session, "prepare one (int) as select n from t where id = $1");
        ok(&mut session, "prepare divided (int) as select 1 / (n - 1) from t where id = $1");
        assert_eq!(text(&mut session, "execute one (2)"), "2");
        (name, act, session)
    });
    cut_off(&three);
    // what was on its way has come
    thread::sleep(Duration::from_millis(100));
    thread::scope(|scope| {
        for (name, act, mut session) in sessions {
            scope.spawn(move || {
                let code = act(&mut session).expect_err(name).code().as_str().to_owned();
                assert!(["57P03", "40001", "40003"].contains(&&*code), "{name}: {code}");
            });
        }
    });
}

/// As many sessions as there are workers of the engine, and more, wait with errors for their epochs. None waits for a
/// worker that another keeps: all are told what is wrong, and no more than that.
#[test]
fn more_sessions_than_workers_have_their_errors_confirmed() {
    const SESSIONS: usize = 150;
    let three = Three::start_with(Duration::from_secs(60), Duration::from_millis(20));
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table t (id int primary key)");
    ok(&mut a, "insert into t values (1)");
    let statements = [
        ("insert into t values (1)", "23505"),
        ("select * from nothing", "42P01"),
        ("begin; insert into t values (2); select 1 / (id - 1) from t where id = 1; commit", "22012"),
        ("prepare q as select other from t", "42703"),
        ("copy nothing from stdin", "42P01"),
    ];
    let sessions = (0..SESSIONS).map(|_| three.databases[2].session("postgres", "postgres"));
    let sessions: Vec<_> = sessions.collect();
    let began = Instant::now();
    thread::scope(|scope| {
        for (number, mut session) in sessions.into_iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..6 {
                    let (statement, expected) = statements[(number + turn) % statements.len()];
                    assert_eq!(code(&mut session, statement), expected, "{number}: {statement}");
                    ok(&mut session, "rollback");
                }
            });
        }
    });
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(text(&mut a, "select * from t"), "1");
}

/// Without memory for more rows an insert fails with 53200, wherever it runs and whichever replica has none; what is
/// there can be read, changed and deleted, and errors over it are told as before.
#[test]
fn a_replica_without_memory_stops_inserts_and_nothing_else() {
    let three = Three::start_with(Duration::from_secs(60), Duration::from_millis(20));
    let mut sessions = three.sessions();
    ok(&mut sessions[0], "create table t (id int primary key, n int)");
    ok(&mut sessions[0], "insert into t select i, i from generate_series(1, 100) i");
    let limit = |bytes: usize| {
        let member = three.cluster.member(NodeId(1)).expect("a member");
        member.call(|node, _| node.limit_memory(bytes));
        // all know it when the next epoch has ended
        let epoch = member.committed();
        while member.committed().0 < epoch.0 + 2 {
            thread::sleep(Duration::from_millis(1));
        }
    };
    limit(1);
    for session in &mut sessions {
        // some of these rows are at the other two nodes only
        assert_eq!(code(session, "insert into t select i, i from generate_series(1001, 1100) i"), "53200");
        assert_eq!(code(session, "insert into t values (1, 1)"), "23505");
        assert_eq!(code(session, "select 1 / (n - 1) from t where id = 1"), "22012");
        ok(session, "update t set n = n + 1 where id > 50");
        assert_eq!(text(session, "select count(*) from t"), "100");
    }
    ok(&mut sessions[2], "delete from t where id > 90");
    limit(usize::MAX);
    ok(&mut sessions[2], "insert into t select i, i from generate_series(1001, 1100) i");
    for session in &mut sessions {
        assert_eq!(text(session, "select count(*), sum(n) from t"), "190|109265");
    }
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
