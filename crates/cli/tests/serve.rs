//! `scaledb serve` and `scaledb password` as processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

fn scaledb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scaledb"))
}

/// The tags of the messages up to the next ReadyForQuery.
fn tags(stream: &mut TcpStream) -> String {
    let mut tags = String::new();
    while !tags.ends_with('Z') {
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        stream.read_exact(&mut vec![0; length - 4]).unwrap();
        tags.push(head[0] as char);
    }
    tags
}

#[test]
fn a_server_answers_and_ends_in_order() {
    let mut server = scaledb();
    server.args(["serve", "--port", "0", "--log", "error"]).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at ").unwrap();

    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    assert!(tags(&mut stream).starts_with('R'));
    stream.write_all(b"Q\0\0\0\x0dselect 1\0").unwrap();
    assert_eq!(tags(&mut stream), "TDCZ");

    let killed = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(server.wait().unwrap().success());
    let mut farewell = Vec::new();
    stream.read_to_end(&mut farewell).unwrap();
    assert!(String::from_utf8_lossy(&farewell).contains("57P01"));
}

#[test]
fn cicada_is_served_from_memory() {
    let mut server = scaledb();
    server.args(["serve", "--engine", "cicada", "--port", "0", "--log", "error"]).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut stream = TcpStream::connect(line.trim().strip_prefix("listening at ").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    assert!(tags(&mut stream).starts_with('R'));
    stream.write_all(b"Q\0\0\0\x3acreate table t (id int primary key); select id from t\0").unwrap();
    let tags = tags(&mut stream);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(tags, "CTCZ");
}

#[test]
fn a_server_that_others_could_reach_needs_rules() {
    let output = scaledb().args(["serve", "--port", "0", "--listen", "0.0.0.0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("[[rule]]"));
}

#[test]
fn a_password_becomes_a_verifier() {
    let mut command = scaledb();
    command.arg("password").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut command = command.spawn().unwrap();
    command.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    let output = command.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(scaledb_pgwire::Verifier::parse(text.trim()).unwrap().fits("secret"), "{text}");
}
