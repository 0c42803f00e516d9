//! With a database behind the server: what of a connection counts as its memory, and what a client may start with.

use crate::naps::eventually;
use postgres::{Client, Config as Parameters, NoTls};
use scaledb_acc::Acc;
use scaledb_server::{Config, Server, Sql};
use scaledb_sql::Database;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const LOGIN: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0";
const KIB: usize = 1 << 10;

fn start() -> (Server, Database<Acc>) {
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
    (Server::start(config, Sql::new(database.clone())).unwrap(), database)
}

fn parameters(address: SocketAddr) -> Parameters {
    let mut parameters = Client::configure();
    parameters.host("127.0.0.1").port(address.port()).user("ann");
    parameters
}

/// A client that has logged in, with the first bytes of a query of so many bytes.
fn begin_query(address: SocketAddr, first: usize, all: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(LOGIN).unwrap();
    let mut greeting = Vec::new();
    while !greeting.ends_with(b"Z\0\0\0\x05I") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        greeting.push(byte[0]);
    }
    let mut message = vec![b'Q'];
    message.extend_from_slice(&(all as u32 - 1).to_be_bytes());
    message.extend_from_slice(b"select 1 --");
    message.resize(first, b'x');
    stream.write_all(&message).unwrap();
    stream
}

#[test]
fn unfinished_messages_are_counted_and_do_not_swell_the_server() {
    let (server, database) = start();
    let address = server.addresses()[0];
    database.set_max_query_memory(KIB << 10);
    // the buffer is full, and as large as the message from here on
    let mut large = begin_query(address, 512 * KIB, 600 * KIB);
    eventually(|| database.query_memory() == 600 * KIB);
    // as much as a connection has anyway is no matter
    let small = begin_query(address, 200 * KIB, 60 << 20);
    for _ in 0..3 {
        let mut refused = begin_query(address, 256 * KIB, 60 << 20);
        let mut answer = Vec::new();
        refused.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("SFATAL\0") && answer.contains("C53200\0"), "{answer}");
    }
    eventually(|| server.connections() == 2);
    // the first one ends its message, and is answered
    large.write_all(&[vec![b'x'; 88 * KIB - 1], vec![0]].concat()).unwrap();
    let mut answer = vec![0; 5];
    large.read_exact(&mut answer).unwrap();
    assert_eq!(answer[0], b'T');
    eventually(|| database.query_memory() == 0);
    // what a client that goes has held is free again
    let held = begin_query(address, 512 * KIB, 60 << 20);
    eventually(|| database.query_memory() == 1024 * KIB);
    drop((held, small, large));
    eventually(|| database.query_memory() == 0 && server.connections() == 0);
    server.stop();
}

#[test]
fn a_row_of_copy_that_never_ends_is_counted() {
    let (server, database) = start();
    database.set_max_query_memory(KIB << 10);
    let mut client = parameters(server.addresses()[0]).connect(NoTls).unwrap();
    client.batch_execute("create table t (name text)").unwrap();
    let mut rows = client.copy_in("copy t from stdin").unwrap();
    let piece = vec![b'x'; 64 * KIB];
    // the client hears of an error at the end, or sooner
    for _ in 0..64 {
        let _ = rows.write_all(&piece).and_then(|()| rows.flush());
        assert!(database.query_memory() <= KIB << 10);
    }
    let error = rows.finish().unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("53200"), "{error}");
    // a driver that runs only while it is called closes its statement with the next call
    eventually(|| {
        client.batch_execute("").unwrap();
        database.query_memory() == 0
    });
    client.batch_execute("insert into t values ('x')").unwrap();
    server.stop();
}

#[test]
fn settings_that_there_are_not_are_refused_at_the_start() {
    let (server, _) = start();
    let with = |options: &str| {
        let client = parameters(server.addresses()[0]).options(options).connect(NoTls);
        client.err().map(|error| error.code().map(|code| code.code().to_owned()))
    };
    assert_eq!(with("-c no_such_setting=1"), Some(Some("42704".to_owned())));
    assert_eq!(with("--server-version=9"), Some(Some("55P02".to_owned())));
    assert_eq!(with("-c statement_timeout=soon"), Some(Some("22023".to_owned())));
    assert_eq!(with("-c statement_timeout=1min -c geqo=off -c my.own=x --search-path=public"), None);
    server.stop();
}

#[test]
fn a_late_timeout_does_not_hit_the_next_statement() {
    let (server, _) = start();
    let mut client = parameters(server.addresses()[0]).connect(NoTls).unwrap();
    for more in 0..20 {
        // both the session and the watch see that the time is up, one of them later
        client.batch_execute(&format!("set statement_timeout = {}", 20 + more)).unwrap();
        let error = client.batch_execute("select pg_sleep(20)").unwrap_err();
        assert_eq!(error.code().unwrap().code(), "57014");
        client.batch_execute("set statement_timeout = 0").unwrap();
        client.batch_execute("select count(*) from generate_series(1, 2000)").unwrap();
    }
    server.stop();
}

#[test]
fn there_is_one_database_and_settings_of_the_server_are_true() {
    let engine = Acc::open(scaledb_acc::Config::default()).unwrap();
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        database: "shop".to_owned(),
        max_connections: 7,
        ..Config::default()
    };
    let sessions = Sql::new(Database::open(engine).unwrap()).of_server(&config);
    let server = Server::start(config, sessions).unwrap();
    let address = server.addresses()[0];
    let error = parameters(address).dbname("stop").connect(NoTls).err().unwrap();
    assert_eq!(error.code().unwrap().code(), "3D000");
    // the user's name is what clients say that are told none
    for name in ["shop", "ann"] {
        let mut client = parameters(address).dbname(name).connect(NoTls).unwrap();
        let row = client
            .query_one(
                "select current_database()::text, current_setting('max_connections'), current_setting('ssl'), \
                 pg_postmaster_start_time() between now() - interval '1 hour' and now()",
                &[],
            )
            .unwrap();
        let texts: [&str; 3] = [row.get(0), row.get(1), row.get(2)];
        assert_eq!(texts, ["shop", "7", "off"]);
        assert!(row.get::<_, bool>(3));
        let names = client.query("select datname::text from pg_database", &[]).unwrap();
        assert!(names.iter().any(|row| row.get::<_, &str>(0) == "shop"));
    }
    server.stop();
}

/// What the metrics say.
fn metrics(server: &Server) -> String {
    let mut stream = TcpStream::connect(server.metrics().unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn metrics_tell_of_statements_tables_and_indexes_with_their_types() {
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let listen = vec![([127, 0, 0, 1], 0).into()];
    let config = Config { listen, metrics: Some(([127, 0, 0, 1], 0).into()), ..Config::default() };
    let sql = Sql::new(database).of_server(&config);
    let server = Server::start(config, sql).unwrap();
    let mut client = parameters(server.addresses()[0]).connect(NoTls).unwrap();
    client.batch_execute("create table \"odd\"\"\n} 1\" (id int primary key)").unwrap();
    client.batch_execute("create table t (id int primary key, n int); create index t_n on t (n)").unwrap();
    client.batch_execute("insert into t select i, i from generate_series(1, 50) i").unwrap();
    client.query("select * from t where n = $1", &[&7]).unwrap();
    let text = metrics(&server);
    for line in [
        "# TYPE scaledb_statement_duration_seconds histogram",
        "scaledb_statement_duration_seconds_count{kind=\"insert\"} 1",
        "scaledb_statement_duration_seconds_bucket{le=\"+Inf\",kind=\"ddl\"} 3",
        "# TYPE scaledb_table_rows gauge",
        "scaledb_table_rows{table=\"public.t\"} 50",
        "scaledb_table_rows{table=\"public.odd\\\"\\n} 1\"} 0",
        "# TYPE scaledb_table_row_writes counter",
        "scaledb_table_row_writes_total{table=\"public.t\",operation=\"insert\"} 50",
        "scaledb_index_scans_total{table=\"public.t\",index=\"t_n\"} 1",
        "# TYPE scaledb_index_bytes gauge",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} in {text}");
    }
    // buckets hold what is at most as long: they only grow
    let buckets = text.lines().filter(|line| {
        line.starts_with("scaledb_statement_duration_seconds_bucket") && line.contains("kind=\"insert\"")
    });
    let counts: Vec<u64> = buckets.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(counts.len() == 20 && counts.is_sorted() && counts.last() == Some(&1), "{counts:?}");
    server.stop();
}

#[test]
fn the_configuration_switches_the_counting_of_statements_off_and_a_session_on() {
    let config =
        Config { listen: vec![([127, 0, 0, 1], 0).into()], track_statements: false, ..Config::default() };
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let sql = Sql::new(database).of_server(&config);
    let server = Server::start(config, sql).unwrap();
    let mut client = parameters(server.addresses()[0]).connect(NoTls).unwrap();
    client.batch_execute("select 1 as hidden; set track_statements = on; select 1 as seen").unwrap();
    let queries =
        client.query("select query from scaledb_stat_statements where query like 'select $1%'", &[]).unwrap();
    let queries: Vec<&str> = queries.iter().map(|row| row.get(0)).collect();
    assert_eq!(queries, ["select $1 as seen"]);
    server.stop();
}
