//! Several databases behind one server, and what drivers rely on in the protocol.

use crate::naps::eventually;
use postgres::types::Type;
use postgres::{Client, Config as Parameters, NoTls, SimpleQueryMessage};
use scaledb_acc::Acc;
use scaledb_server::{Config, Handle, Server, Sql};
use scaledb_sql::{Database, Supervisor};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// What a server does for its sessions.
struct Ends(Handle);

impl Supervisor for Ends {
    fn cancel(&self, pid: i32) -> bool {
        self.0.cancel(pid)
    }

    fn terminate(&self, pid: i32) -> bool {
        self.0.terminate(pid)
    }

    fn reload(&self) -> Result<(), String> {
        Ok(())
    }

    fn status(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

fn start() -> Server {
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let config =
        Config { listen: vec![([127, 0, 0, 1], 0).into()], database: "shop".to_owned(), ..Config::default() };
    let server = Server::start(config.clone(), Sql::new(database.clone()).of_server(&config)).unwrap();
    database.supervise(Arc::new(Ends(server.handle())));
    server
}

fn connect(server: &Server, name: &str) -> Result<Client, String> {
    let mut parameters: Parameters = Client::configure();
    parameters.host("127.0.0.1").port(server.addresses()[0].port()).user("ann").dbname(name);
    parameters.connect(NoTls).map_err(|error| code(&error))
}

fn code(error: &postgres::Error) -> String {
    error.code().map_or_else(|| "closed".to_owned(), |code| code.code().to_owned())
}

fn one(client: &mut Client, sql: &str) -> String {
    let messages = client.simple_query(sql).unwrap();
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    row.unwrap_or_else(|| "NULL".to_owned())
}

#[test]
fn clients_make_databases_enter_and_drop_them() {
    let server = start();
    let mut first = connect(&server, "shop").unwrap();
    assert_eq!(connect(&server, "bank").err().as_deref(), Some("3D000"));
    first.batch_execute("create database bank").unwrap();
    let mut bank = connect(&server, "bank").unwrap();
    bank.batch_execute("create table t (a int); insert into t values (7)").unwrap();
    assert_eq!(one(&mut bank, "select current_database()"), "bank");
    assert_eq!(one(&mut first, "select count(*) from pg_tables where tablename = 't'"), "0");
    assert_eq!(
        one(&mut first, "select string_agg(datname, ',' order by datname) from pg_database"),
        "bank,shop"
    );
    // a client that is told no database says its user's name
    let mut unnamed = connect(&server, "ann").unwrap();
    assert_eq!(one(&mut unnamed, "select current_database()"), "shop");
    first.batch_execute("create database ann").unwrap();
    let mut named = connect(&server, "ann").unwrap();
    assert_eq!(one(&mut named, "select current_database()"), "ann");
    drop(named);
    // who is in it is thrown out
    first.batch_execute("drop database bank with (force)").unwrap();
    let gone = bank.simple_query("select 1").unwrap_err();
    assert!(gone.is_closed() || code(&gone) == "57P01", "{gone}");
    assert_eq!(connect(&server, "bank").err().as_deref(), Some("3D000"));
    // a client that has hung up just now is no reason to refuse
    drop(unnamed);
    first.batch_execute("drop database ann").unwrap();
    first.batch_execute("alter database shop allow_connections false").unwrap_err();
    server.stop();
}

#[test]
fn a_client_that_hangs_up_before_its_database_goes_is_waited_for() {
    let server = start();
    let mut first = connect(&server, "shop").unwrap();
    for round in 0..20 {
        first.batch_execute("create database bank").unwrap();
        let mut bank = connect(&server, "bank").unwrap();
        bank.batch_execute(&format!("create table t{round} (a int)")).unwrap();
        drop(bank);
        first.batch_execute("drop database bank").unwrap();
    }
    server.stop();
}

#[test]
fn a_session_that_ends_itself_answers_nothing_more() {
    let server = start();
    let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    answer(&mut stream);
    let query = b"select pg_terminate_backend(pg_backend_pid()); select 1\0";
    let length = (query.len() as u32 + 4).to_be_bytes();
    stream.write_all(&[b"Q".as_slice(), &length, query].concat()).unwrap();
    let mut told = Vec::new();
    stream.read_to_end(&mut told).unwrap();
    let text = String::from_utf8_lossy(&told);
    assert!(text.contains("SFATAL") && text.contains("C57P01") && !text.contains("SELECT 1"), "{text}");
    eventually(|| server.connections() == 0);
    // and one that another ends in the middle of a transaction
    let mut idle = connect(&server, "shop").unwrap();
    idle.batch_execute("begin; select 1").unwrap();
    let pid = one(&mut idle, "select pg_backend_pid()");
    let mut other = connect(&server, "shop").unwrap();
    assert_eq!(one(&mut other, &format!("select pg_terminate_backend({pid})")), "t");
    // it may answer what has reached it at the same moment
    let mut ended = None;
    eventually(|| {
        ended = idle.batch_execute("rollback").err();
        ended.is_some()
    });
    let error = ended.unwrap();
    assert!(error.is_closed() || code(&error) == "57P01", "{error}");
    server.stop();
}

#[test]
fn a_plan_that_changed_its_result_names_the_routine_that_drivers_look_for() {
    let server = start();
    let mut client = connect(&server, "shop").unwrap();
    client.batch_execute("create table t (a int)").unwrap();
    let statement = client.prepare("select * from t").unwrap();
    client.query(&statement, &[]).unwrap();
    client.batch_execute("alter table t add column b text").unwrap();
    let error = client.query(&statement, &[]).unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!((told.code().code(), told.routine()), ("0A000", Some("RevalidateCachedQuery")));
    server.stop();
}

#[test]
fn parameters_of_type_void_are_no_arguments() {
    let server = start();
    let mut client = connect(&server, "shop").unwrap();
    client.batch_execute("create function twice(a int) returns int language sql as 'select a * 2'").unwrap();
    for sql in ["select * from twice($1, $2) as result", "select twice($1, $2)", "select abs($1, $2) + 0"] {
        let statement = client.prepare_typed(sql, &[Type::VOID, Type::INT4]).unwrap();
        assert_eq!(statement.params(), [Type::VOID, Type::INT4], "{sql}");
    }
    server.stop();
}

#[test]
fn parameters_of_type_void_are_arguments_of_a_procedure() {
    let server = start();
    let mut client = connect(&server, "shop").unwrap();
    let sql = "create procedure p(a int, out b int, out c text, inout d int) language plpgsql as
        $$ begin b := a + 1; c := 'x' || a; d := d * 2; end $$;
        create function f(a int, b int) returns int language sql as 'select a + b'";
    client.batch_execute(sql).unwrap();
    for sql in ["call p($2, $1, $3, $4)", "call p($2, d => $4, c => $3, b => $1)"] {
        let types = [Type::VOID, Type::INT4, Type::VOID, Type::INT4];
        let statement = client.prepare_typed(sql, &types).unwrap();
        assert!(!statement.params().contains(&Type::VOID), "{sql}");
        let none: Option<&str> = None;
        let row = client.query_one(&statement, &[&none, &10, &none, &20]).unwrap();
        let told = (row.get::<_, i32>(0), row.get::<_, String>(1), row.get::<_, i32>(2));
        assert_eq!(told, (11, "x10".to_owned(), 40), "{sql}");
    }
    let error =
        client.prepare_typed("call f($1, $2, $3)", &[Type::VOID, Type::INT4, Type::INT4]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42883");
    client.batch_execute("create function g(inout a int, out b int) language sql as 'select 1, 2'").unwrap();
    let error = client.prepare_typed("call g($1, $2)", &[Type::INT4, Type::VOID]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42809");
    server.stop();
}

#[test]
fn a_fetch_that_was_prepared_before_its_cursor_describes_the_cursors_rows() {
    let server = start();
    let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    answer(&mut stream);
    let message = |tag: u8, body: &[u8]| {
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    };
    let mut send = |messages: &[Vec<u8>]| {
        stream.write_all(&messages.concat()).unwrap();
        answer(&mut stream)
    };
    send(&[message(b'P', b"f\0fetch all in c\0\0\0"), message(b'S', b"")]);
    send(&[message(b'Q', b"begin; declare c cursor for select 5 as five\0")]);
    let tags = send(&[
        message(b'B', b"\0f\0\0\0\0\0\0\0"),
        message(b'D', b"P\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
    ]);
    assert_eq!(tags, "2TDCZ", "bound, described, a row");
    server.stop();
}

/// The tags of the messages up to ReadyForQuery.
fn answer(stream: &mut TcpStream) -> String {
    let mut tags = String::new();
    while !tags.ends_with('Z') {
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).unwrap();
        tags.push(char::from(head[0]));
    }
    tags
}

#[test]
fn a_client_that_ends_before_it_has_begun_is_told_nothing() {
    let server = start();
    let address: SocketAddr = server.addresses()[0];
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"X\0\0\0\x04").unwrap();
    let mut told = Vec::new();
    // a server that closes with bytes unread may reset the connection
    let _ = stream.read_to_end(&mut told);
    assert_eq!(told, b"");
    eventually(|| server.connections() == 0);
    server.stop();
}
