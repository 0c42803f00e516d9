//! The error of a conflict names the statements of both transactions, whichever nodes they have run at.

use super::{Three, ok, run};
use scaledb_cluster::Settings;
use scaledb_cluster::engine::Cluster;
use scaledb_scar::NodeId;
use scaledb_sql::Session;
use scaledb_sync::thread;
use std::time::Duration;

/// The detail of a 40001.
fn detail(session: &mut Session<Cluster>, sql: &str) -> String {
    let error = run(session, sql).map(|rows| rows.0).expect_err(sql);
    assert_eq!(error.code().as_str(), "40001", "{sql}: {error:?}");
    error.fields().detail.clone().unwrap_or_default()
}

/// The last statement of those who are refused, as it is remembered.
const OWN: &str = "update t set n = $1 where id = $2";

fn names(detail: &str, own: &str, other: &str) {
    let own = format!("\nThis transaction's statement: {own}\n");
    let other = format!("The other transaction's last statement: {other}");
    assert!(detail.contains(&own) && detail.ends_with(&other), "{detail:?}: {own:?} {other:?}");
}

#[test]
fn a_conflict_names_the_statement_of_another_node() {
    let three = Three::start();
    let mut sessions = three.sessions();
    ok(&mut sessions[0], "create table t (id int primary key, n int)");
    ok(&mut sessions[0], "insert into t select i, i from generate_series(1, 40) i");
    // each row has another primary, and each pair of nodes is the two transactions'
    for id in 1..=12 {
        let loser = id % 3;
        let winner = (loser + 1 + id / 6 % 2) % 3;
        let sign = ["+", "-", "*"][winner];
        ok(&mut sessions[loser], "begin");
        ok(&mut sessions[loser], &format!("select n from t where id = {id}"));
        ok(&mut sessions[winner], &format!("update t set n = n {sign} 100 where id = {id}"));
        ok(&mut sessions[loser], "update t set n = 0 where id = 40");
        let detail = detail(&mut sessions[loser], "commit");
        assert!(detail.starts_with(&format!("In table \"t\", key (id)=({id}): ")), "{detail}");
        names(&detail, OWN, &format!("update t set n = n {sign} $1 where id = $2"));
    }
    // of a block, the last statement
    let [a, b, _] = &mut sessions;
    ok(a, "begin");
    ok(a, "select n from t where id = 7");
    ok(b, "begin");
    ok(b, "update t set n = n % 5 where id = 7");
    ok(b, "update t set n = -n where id = 30");
    ok(b, "commit");
    ok(a, "update t set n = 1 where id = 31");
    names(&detail(a, "commit"), OWN, "update t set n = -n where id = $1");
    // a range
    ok(a, "begin");
    ok(a, "select count(*) from t");
    ok(b, "insert into t values (1000, 1)");
    ok(a, "update t set n = 1 where id = 32");
    names(&detail(a, "commit"), OWN, "insert into t values ($1, $2)");
    // an error over rows that have changed meanwhile; what has changed is not known
    ok(a, "begin");
    ok(a, "select n from t where id = 10");
    ok(b, "update t set n = n / 3 where id = 10");
    let told = detail(a, "insert into t values (11, 1)");
    assert!(told.starts_with("What this transaction read was changed by another one."), "{told}");
    ok(a, "rollback");
    // one that has ended long ago is not remembered
    ok(a, "begin");
    ok(a, "select n from t where id = 9");
    ok(b, "update t set n = 80 where id = 9");
    for i in 0..200 {
        ok(b, &format!("update t set n = {i} where id = 33"));
    }
    ok(a, "update t set n = 1 where id = 31");
    let told = detail(a, "commit");
    assert!(told.ends_with("is not known: no node remembers it."), "{told}");
}

/// The other one is being committed, and has the row locked.
#[test]
fn a_conflict_names_the_statement_that_has_the_lock() {
    // one that comes before the locks waits for the epoch, which does not end
    let told = (0..10).find_map(|_| refused_by_a_lock()).expect("a conflict");
    assert!(told.contains("another transaction is committing a change to the same row"), "{told}");
    names(&told, OWN, "update t set n = n + $1");
}

fn refused_by_a_lock() -> Option<String> {
    // the two commits are to be of one epoch
    let settings = Settings {
        epoch: Duration::from_secs(1),
        suspect_after: Duration::from_secs(3),
        ..Settings::default()
    };
    let three = Three::start_as(settings);
    let [mut a, _, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int)");
    ok(&mut a, "insert into t select i, i from generate_series(1, 40) i");
    ok(&mut c, "begin");
    ok(&mut c, "update t set n = n + 1");
    ok(&mut a, "set repeat_blocks = off; begin");
    ok(&mut a, "update t set n = 1 where id = 5");
    // the locks are given, and node 2 does not hear of those at node 1
    three.cluster.channels().cut(NodeId(1), NodeId(2));
    thread::scope(|scope| {
        scope.spawn(|| drop(run(&mut c, "commit")));
        thread::sleep(Duration::from_millis(100));
        let told = run(&mut a, "commit").err().and_then(|error| error.fields().detail.clone());
        three.cluster.members().for_each(|member| member.stop());
        told
    })
}
