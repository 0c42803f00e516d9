//! A transaction that idles among writers while memory is short.

use crate::process::Server;
use postgres::Client;
use std::time::{Duration, Instant};

const ROWS: i32 = 2_000;

fn number(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).expect(sql).get(0)
}

/// Rows come and go, and change, until the other client's transaction is over. None of this may fail.
fn who_idles_is_ended(engine: &str) {
    // what is left when it is to be ended is more than the writer takes until the server looks again
    let server = Server::small(engine, 256);
    let (mut idle, mut writer, mut boss) = (server.client(), server.client(), server.client());
    writer.batch_execute("create table t (id int primary key, s text)").expect("a table");
    let fill = format!("insert into t select i, repeat('x', 400) from generate_series(1, {ROWS}) i");
    writer.batch_execute(&fill).expect("rows");
    let pid = number(&mut idle, "select pg_backend_pid()::bigint");
    idle.batch_execute("begin; select count(*) from t").expect("a transaction");
    let held = format!(
        "select count(*) from scaledb_stat_transactions where pid = {pid} and state = 'idle in transaction'"
    );
    assert_eq!(number(&mut boss, &held), 1);
    // nobody idles who has just done something
    std::thread::sleep(Duration::from_millis(1_500));
    let begun = Instant::now();
    while number(&mut boss, &held) == 1 {
        writer.batch_execute("update t set s = repeat('y', 400)").expect("the writer goes on");
        writer.batch_execute("delete from t").expect("the writer goes on");
        writer.batch_execute(&fill).expect("the writer goes on");
        assert!(begun.elapsed() < Duration::from_secs(240), "it was not ended");
    }
    let error = idle.batch_execute("select 1").expect_err("the session was ended");
    // a client that reads the end of the stream with the last message may forget the message
    let code = error.code().map(|code| code.code());
    assert!(code == Some("72000") || code.is_none() && idle.is_closed(), "{error:?}");
    // what it kept is used again
    for _ in 0..20 {
        writer.batch_execute("delete from t").expect("the writer goes on");
        writer.batch_execute(&fill).expect("the writer goes on");
    }
    // and who idles and keeps next to nothing is left alone
    let mut other = server.client();
    other.batch_execute("begin; select count(*) from t").expect("a transaction");
    std::thread::sleep(Duration::from_millis(1_500));
    other.batch_execute("select count(*) from t; commit").expect("it goes on");
}

#[test]
fn who_idles_gets_an_error_before_others_do_on_cicada() {
    who_idles_is_ended("cicada");
}

#[test]
fn who_idles_gets_an_error_before_others_do_on_acc() {
    who_idles_is_ended("acc");
}

#[test]
fn what_holds_memory_back_is_told() {
    let server = Server::small("cicada", 256);
    let (mut idle, mut writer) = (server.client(), server.client());
    writer.batch_execute("create table t (id int primary key, n int)").expect("a table");
    writer.batch_execute("insert into t select i, 0 from generate_series(1, 100) i").expect("rows");
    let pid = number(&mut idle, "select pg_backend_pid()::bigint");
    idle.batch_execute("begin").expect("a transaction");
    // it has not read anything yet
    let held = format!("select count(*) from scaledb_stat_transactions where pid = {pid}");
    assert_eq!(number(&mut writer, &held), 0);
    idle.batch_execute("select * from t").expect("rows");
    for _ in 0..10 {
        writer.batch_execute("update t set n = n + 1").expect("changes");
    }
    let mut line = |name: &str| -> String {
        let row = writer.query_one("select value from scaledb_status where name = $1", &[&name]);
        row.expect(name).get(0)
    };
    assert_eq!(line("reclamation waits for"), format!("session {pid}"));
    let waiting = line("reclamation waiting").parse::<u64>().expect("a number");
    assert!(waiting >= 900, "{waiting}");
    assert!(line("reclamation lag seconds").parse::<f64>().expect("a number") > 0.0);
    assert_eq!(line("memory budget bytes"), (256_u64 << 20).to_string());
    idle.batch_execute("commit").expect("the end");
    assert_eq!(number(&mut writer, &held), 0);
}
