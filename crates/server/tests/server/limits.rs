//! How many, and how much.

use crate::naps::{connect, eventually, start, try_connect};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn there_is_room_for_so_many_clients_and_no_more() {
    let server = start(|config| config.max_connections = 3);
    let mut clients: Vec<_> = (0..3).map(|_| connect(&server)).collect();
    let error = try_connect(&server).err().unwrap();
    assert_eq!(error.code().unwrap().code(), "53300");
    clients.pop();
    eventually(|| try_connect(&server).is_ok());
    server.stop();
}

#[test]
fn those_who_say_nothing_do_not_fill_the_server() {
    let server = start(|config| config.max_unauthenticated = 5);
    let mut client = connect(&server);
    let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(server.addresses()[0]).unwrap()).collect();
    // the others are closed, once the server has come to them
    let closed = || {
        let closed = silent.iter().filter(|stream| {
            stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            matches!((&mut &**stream).read(&mut [0]), Ok(0))
        });
        closed.count()
    };
    eventually(|| server.connections() == 6 && closed() == 45);
    client.simple_query("echo").unwrap();
    drop(silent);
    eventually(|| server.connections() == 1);
    connect(&server).simple_query("echo").unwrap();
    server.stop();
}

#[test]
fn a_client_that_does_not_read_is_not_waited_for() {
    let server = start(|config| config.write_timeout = Duration::from_millis(300));
    let mut deaf = TcpStream::connect(server.addresses()[0]).unwrap();
    deaf.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    deaf.write_all(b"Q\0\0\0\x11echo 9000000\0").unwrap();
    eventually(|| server.connections() == 0);
    server.stop();
}

#[test]
fn clients_that_vanish_leave_nothing() {
    let server = start(|_| {});
    for _ in 0..200 {
        drop(TcpStream::connect(server.addresses()[0]).unwrap());
    }
    let clients: Vec<_> = (0..20).map(|_| connect(&server)).collect();
    drop(clients);
    eventually(|| server.connections() == 0);
    server.stop();
}

#[test]
fn a_bug_ends_one_connection() {
    let server = start(|_| {});
    let (mut one, mut other) = (connect(&server), connect(&server));
    assert!(one.simple_query("panic").is_err());
    other.simple_query("echo").unwrap();
    eventually(|| server.connections() == 1);
    server.stop();
}

#[test]
fn metrics_count_what_happens() {
    let server = start(|config| config.metrics = Some("127.0.0.1:0".parse().unwrap()));
    let mut client = connect(&server);
    client.simple_query("echo").unwrap();
    client.simple_query("begin").unwrap();
    let fetch = |path: &str| {
        let mut stream = TcpStream::connect(server.metrics().unwrap()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let text = fetch("/metrics");
    for line in [
        "scaledb_connections_accepted_total 1",
        "scaledb_statements_total 2",
        "scaledb_connections{state=\"idle in transaction\"} 1",
        "naps_total 2",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(fetch("/").starts_with("HTTP/1.1 404"));
    server.stop();
}
