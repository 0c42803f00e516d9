//! What an operator does to a running server: reads the configuration again, cancels and ends sessions, asks how it is.

use crate::process::Server;
use postgres::{Client, Config, Error, NoTls};
use std::time::{Duration, Instant};

const LET_IN: &str = "statement_timeout = 0\n[[rule]]\nover = 'any'\nmethod = 'trust'\n";
const SHUT_OUT: &str = "statement_timeout = 0\n[[rule]]\nover = 'any'\nusers = ['bob']\nmethod = 'trust'\n";

fn login(server: &Server, user: &str) -> Result<Client, Error> {
    let address = server.address();
    Config::new().host(&address.ip().to_string()).port(address.port()).user(user).dbname(user).connect(NoTls)
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pid(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).expect("a number").get(0)
}

fn answer(client: &mut Client, sql: &str, pid: i32) -> bool {
    client.query_one(sql, &[&pid]).expect(sql).get(0)
}

#[test]
fn a_hangup_reads_the_configuration_again_and_ends_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("scaledb.toml");
    std::fs::write(&path, LET_IN).expect("a configuration");
    let mut server = Server::of_file(&path);
    let mut client = login(&server, "ann").expect("let in");
    // what is wrong is not put in force
    std::fs::write(&path, "rules = 7").expect("a configuration");
    server.signal("HUP");
    let reloaded: bool = client.query_one("select pg_reload_conf()", &[]).expect("an answer").get(0);
    assert!(!reloaded);
    login(&server, "ann").expect("still let in");
    std::fs::write(&path, SHUT_OUT).expect("a configuration");
    server.signal("HUP");
    eventually("the rules are in force", || login(&server, "ann").is_err());
    login(&server, "bob").expect("let in");
    // who was there before goes on
    client.batch_execute("select 1").expect("goes on");
    std::fs::write(&path, LET_IN).expect("a configuration");
    let reloaded: bool = client.query_one("select pg_reload_conf()", &[]).expect("an answer").get(0);
    assert!(reloaded);
    login(&server, "ann").expect("let in again");
    assert!(server.is_up());
}

#[test]
fn sessions_cancel_and_end_others() {
    let server = Server::configured("");
    let mut boss = login(&server, "ann").expect("let in");
    let mut worker = login(&server, "ann").expect("let in");
    let number = pid(&mut worker);
    let busy = std::thread::spawn(move || {
        let error = worker.batch_execute("select pg_sleep(600)").expect_err("it was cancelled");
        assert_eq!(error.code().map(|code| code.code()), Some("57014"));
        worker.batch_execute("select 1").expect("the session goes on");
        let error = worker.batch_execute("select pg_sleep(600) as second").expect_err("it was ended");
        // a client that reads the end of the stream with the last message may forget the message
        let code = error.code().map(|code| code.code());
        assert!(code == Some("57P01") || code.is_none() && worker.is_closed(), "{error:?}");
    });
    let mut runs = |what: &str| -> bool {
        let sql = format!(
            "select count(*) from pg_stat_activity where pid = {number} and state = 'active' and query like '%{what}%'"
        );
        boss.query_one(&sql, &[]).expect("a count").get::<_, i64>(0) == 1
    };
    eventually("it sleeps", || runs("sleep"));
    assert!(answer(&mut login(&server, "ann").expect("let in"), "select pg_cancel_backend($1)", number));
    eventually("it was cancelled, and sleeps again", || runs("second"));
    assert!(answer(&mut boss, "select pg_terminate_backend($1)", number));
    busy.join().expect("it has seen both");
    // an idle one is told, too
    let mut idle = login(&server, "ann").expect("let in");
    let number = pid(&mut idle);
    assert!(answer(&mut boss, "select pg_terminate_backend($1)", number));
    eventually("it is gone", || idle.batch_execute("select 1").is_err() && idle.is_closed());
    for sql in ["select pg_cancel_backend($1)", "select pg_terminate_backend($1)"] {
        eventually("nobody has its number", || !answer(&mut boss, sql, number));
    }
}

#[test]
fn what_the_configuration_says_now_is_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("scaledb.toml");
    std::fs::write(&path, "max_connections = 7\nlog_connections = false\n").expect("a configuration");
    let server = Server::of_file(&path);
    let mut boss = login(&server, "ann").expect("let in");
    let mut other = login(&server, "ann").expect("let in");
    let shown = |client: &mut Client| {
        ["max_connections", "log_connections"]
            .map(|name| -> String { client.query_one(&format!("show {name}"), &[]).expect(name).get(0) })
    };
    assert_eq!(shown(&mut boss), ["7", "off"]);
    std::fs::write(&path, "max_connections = 5\nlog_connections = true\n").expect("a configuration");
    let reloaded: bool = boss.query_one("select pg_reload_conf()", &[]).expect("an answer").get(0);
    assert!(reloaded);
    // in sessions that there are, and in new ones
    for client in [&mut boss, &mut other, &mut login(&server, "ann").expect("let in")] {
        assert_eq!(shown(client), ["5", "on"]);
    }
}

#[test]
fn the_state_of_the_server_is_told() {
    let server = Server::configured("max_connections = 7\n");
    let mut client = login(&server, "ann").expect("let in");
    let mut line = |name: &str| -> String {
        let row = client.query_one("select value from scaledb_status where name = $1", &[&name]);
        row.expect(name).get(0)
    };
    assert_eq!(line("engine"), "acc");
    assert!(line("log").starts_with("none"));
    assert_eq!(line("max_connections"), "7");
    assert_eq!(line("sessions"), "1");
    assert_eq!(line("listening at"), server.address().to_string());
    assert_eq!(line("encryption"), "off");
}
