//! What the server's log tells of statements and connections.

use crate::process::Server;
use postgres::{Client, Config, NoTls};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Logged {
    server: Server,
    directory: TempDir,
}

impl Logged {
    fn start(format: &str, lines: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, log) = (directory.path().join("scaledb.toml"), directory.path().join("log"));
        std::fs::write(&path, lines).expect("a configuration");
        Self { server: Server::logging(&path, format, &log), directory }
    }

    fn configuration(&self) -> PathBuf {
        self.directory.path().join("scaledb.toml")
    }

    fn login(&self, user: &str) -> Result<Client, postgres::Error> {
        let address = self.server.address();
        let mut config = Config::new();
        config.host(&address.ip().to_string()).port(address.port()).user(user).dbname(user);
        config.application_name("an \"application\"\nof mine").connect(NoTls)
    }

    fn client(&self) -> Client {
        self.login("ann").expect("let in")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).expect("the log")
    }

    /// The lines that have this in them.
    fn lines(&self, what: &str) -> Vec<String> {
        self.log().lines().filter(|line| line.contains(what)).map(str::to_owned).collect()
    }

    fn eventually(&self, what: &str) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.lines(what);
            if !lines.is_empty() {
                return lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {what} in {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn statements_are_logged_by_what_they_do() {
    let logged = Logged::start("text", "log_statement = 'ddl'\n");
    let mut client = logged.client();
    client
        .batch_execute("create table t (id int primary key, s text); insert into t values (1, 'in')")
        .expect("rows");
    client.query("select * from t /* read */", &[]).expect("rows");
    assert_eq!(logged.lines("create table t").len(), 1);
    assert!(logged.lines("statement").iter().all(|line| line.contains("create table")), "{}", logged.log());
    client
        .batch_execute("set log_statement = 'mod'; insert into t values (2, 'two'); select 3 as three")
        .expect("rows");
    client
        .batch_execute("with w as (insert into t values (4, 'w') returning id) select * from w")
        .expect("rows");
    client.execute("insert into t values ($1, $2)", &[&3, &"it's\nINFO statement"]).expect("a row");
    client
        .batch_execute("prepare p as insert into t values ($1, 'p'); execute p(9); truncate t")
        .expect("rows");
    assert_eq!(logged.lines("(2, 'two')").len(), 1);
    assert_eq!(logged.lines("three").len(), 0);
    assert_eq!(logged.lines("with w as").len(), 1);
    assert_eq!(logged.lines("truncate t").len(), 1);
    let execute = logged.lines("execute p(9)");
    assert!(execute[0].contains("prepared=\"insert into t values ($1, 'p')\""), "{execute:?}");
    let bound = logged.lines("values ($1, $2)");
    assert!(bound[0].contains("parameters=\"$1 = '3', $2 = 'it''s\\nINFO statement'\""), "{bound:?}");
    client.batch_execute("set log_statement = 'all'").expect("a setting");
    client.query("select $1::int + 1", &[&7]).expect("a row");
    assert!(logged.lines("select $1::int")[0].contains("parameters=\"$1 = '7'\""));
    assert!(client.batch_execute("select * from nowhere").is_err());
    assert_eq!(logged.lines("nowhere").len(), 1);
    client.batch_execute("reset log_statement; select 'unseen'").expect("a row");
    assert_eq!(logged.lines("unseen").len(), 0);
    let shown: String = client.query_one("show log_statement", &[]).expect("a setting").get(0);
    assert_eq!(shown, "ddl");
    let wrong = client.batch_execute("set log_statement = 'some'").expect_err("no such value");
    assert_eq!(wrong.code().map(|code| code.code()), Some("22023"));
}

#[test]
fn no_text_of_a_client_is_a_line_of_the_log_or_tells_a_password() {
    for format in ["text", "json"] {
        let logged = Logged::start(format, "log_statement = 'all'\nlog_connections = true\n");
        let mut client = logged.client();
        let before = logged.log().lines().count();
        client
            .batch_execute("select 'a\n2026-01-01T00:00:00Z  INFO forged\r\n\u{1b}[2Kforged'")
            .expect("a row");
        client.query("select $1::text", &[&"b\n2026-01-01T00:00:00Z  INFO forged\u{7}"]).expect("a row");
        let long = format!("select length('{}')", "long ".repeat(200_000));
        client.batch_execute(&long).expect("a row");
        for sql in [
            "create role bob login password 'geheim'",
            "alter user ann password 'geheim'",
            "set a.password = 'geheim'",
        ] {
            // there are no roles in the database: what is refused is logged, too
            let _ = client.batch_execute(sql);
        }
        let log = logged.log();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), before + 6, "{log}");
        assert!(lines.iter().all(|line| !line.starts_with("2026-01-01") && line.len() < 20_000), "{log}");
        assert!(!log.contains(['\u{1b}', '\u{7}', '\r']), "{log}");
        assert!(log.contains("alter user ann password '***'") && !log.contains("geheim"), "{log}");
        if format == "json" {
            for line in lines {
                let line: serde_json::Value = serde_json::from_str(line).expect(line);
                assert!(line["message"].is_string(), "{line}");
            }
        }
    }
}

#[test]
fn what_takes_long_is_logged_with_its_parameters() {
    let logged = Logged::start("json", "log_min_duration_statement = 200\n");
    let mut client = logged.client();
    client.batch_execute("select 'quick'; select pg_sleep(0.3)").expect("rows");
    client.query("select pg_sleep($1) is null", &[&0.25_f64]).expect("a row");
    client.batch_execute("set statement_timeout = 300; select 1").expect("a setting");
    client.batch_execute("select pg_sleep(60)").expect_err("it takes too long");
    client.batch_execute("set statement_timeout = 0; set log_min_duration_statement = 0").expect("settings");
    client.batch_execute("create table t (id int)").expect("a table");
    let mut copy = client.copy_in("copy t from stdin").expect("a copy");
    std::io::Write::write_all(&mut copy, b"1\n2\n").expect("data");
    copy.finish().expect("rows");
    client
        .batch_execute(
            "set log_statement = 'all'; select 'both'; set log_min_duration_statement = -1; select 'none'",
        )
        .expect("rows");
    assert_eq!(logged.lines("quick").len(), 0);
    let event = |what: &str| -> serde_json::Value {
        let lines = logged.lines(what);
        assert_eq!(lines.len(), 1, "{lines:?}");
        serde_json::from_str(&lines[0]).expect("an object")
    };
    let slept = event("pg_sleep(0.3)");
    assert_eq!((&slept["message"], &slept["user"]), (&"duration".into(), &"ann".into()));
    assert!((200.0..60_000.0).contains(&slept["ms"].as_f64().expect("a number")), "{slept}");
    assert_eq!(event("pg_sleep($1)")["parameters"], "$1 = '0.25'");
    assert_eq!(event("pg_sleep(60)")["error"], "57014");
    assert_eq!(event("copy t from stdin")["message"], "duration");
    // one line has the text, and the other its time
    assert_eq!(event("'both'")["message"], "statement");
    assert_eq!(event("'none'")["message"], "statement");
}

#[test]
fn a_hangup_changes_what_sessions_log_that_are_there() {
    let logged = Logged::start("text", "");
    let (mut client, mut own) = (logged.client(), logged.client());
    own.batch_execute("set log_statement = 'ddl'").expect("a setting");
    client.batch_execute("select 'before'").expect("a row");
    std::fs::write(logged.configuration(), "log_statement = 'all'\nlog_min_duration_statement = 0\n")
        .expect("a configuration");
    logged.server.signal("HUP");
    logged.eventually("read again");
    client.batch_execute("select 'after'").expect("a row");
    own.batch_execute("select 'own'").expect("a row");
    assert_eq!(logged.lines("before").len(), 0);
    assert_eq!(logged.lines("after").len(), 1);
    assert!(logged.lines("own").iter().all(|line| line.contains("duration")));
    let shown: String = client.query_one("show log_statement", &[]).expect("a setting").get(0);
    assert_eq!(shown, "all");
}

#[test]
fn who_comes_and_goes_is_logged() {
    let lines = "log_connections = true\nlog_disconnections = true\n[[rule]]\nover = 'any'\nusers = ['ann']\nmethod = 'trust'\n\
                 [[rule]]\nover = 'any'\nusers = ['eve\\nforged']\nmethod = 'scram'\n";
    let logged = Logged::start("text", &lines.replace("'eve\\nforged'", "\"eve\\nforged\""));
    let mut client = logged.client();
    client.batch_execute("select 1").expect("a row");
    let pid: i32 = client.query_one("select pg_backend_pid()", &[]).expect("a number").get(0);
    drop(client);
    let gone = logged.eventually("disconnected");
    assert!(gone[0].contains(&format!("pid={pid}")) && gone[0].contains("seconds="), "{gone:?}");
    let came = logged.lines(" connected");
    assert!(came[0].contains("user=\"ann\"") && came[0].contains(&format!("pid={pid}")), "{came:?}");
    assert!(came[0].contains("application=\"an \\\"application\\\"\\nof mine\""), "{came:?}");
    // refused by a rule, and by a wrong password
    assert!(logged.login("bob").is_err());
    let address = logged.server.address();
    let mut config = Config::new();
    config
        .host(&address.ip().to_string())
        .port(address.port())
        .user("eve\nforged")
        .password("geheim")
        .dbname("postgres");
    assert!(config.connect(NoTls).is_err());
    let refused = logged.eventually("eve");
    assert!(refused[0].contains("login refused") && refused[0].contains("eve\\nforged"), "{refused:?}");
    assert!(logged.lines("bob")[0].contains("login refused"), "{}", logged.log());
    assert!(logged.log().lines().all(|line| !line.starts_with("forged")) && !logged.log().contains("geheim"));
}
