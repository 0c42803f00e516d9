//! Clients that ask and do not read, or promise and do not send: they take little memory, and not for long.

use crate::process::Server;
use crate::raw::{Raw, assert_well, bind, execute, frame, parse, query};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

const ENDLESS: &str = "select repeat('x', 1000) from generate_series(1, 100000000000) g";

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends until the server takes no more for a while.
fn stuff(client: &mut Raw, bytes: &[u8]) {
    use std::io::Write;
    client.stream.set_write_timeout(Some(Duration::from_millis(300))).expect("a socket");
    let mut rest = bytes;
    for _ in 0..100_000 {
        if rest.is_empty() {
            rest = bytes;
        }
        match client.stream.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) => {
                let full = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
                assert!(
                    full.contains(&error.kind()) || error.kind() == ErrorKind::ConnectionReset,
                    "{error}"
                );
                return;
            }
        }
    }
    panic!("the server takes it all");
}

#[test]
fn who_does_not_read_costs_little_and_is_cut_off() {
    let server = Server::configured("write_timeout = 2");
    let (before, threads) = (server.status("VmRSS"), server.status("Threads"));
    let mut other = Raw::login(&server);
    let mut deaf: Vec<_> = (0..8).map(|_| Raw::login(&server)).collect();
    for (number, client) in deaf.iter_mut().enumerate() {
        match number % 4 {
            0 => client.send(&query(ENDLESS)),
            1 => client.send(&[parse("", ENDLESS), bind(""), execute()].concat()),
            2 => client.send(&query(&format!("begin; copy ({ENDLESS}) to stdout"))),
            // answers that nobody reads, to many short questions
            _ => stuff(client, &query("select repeat('x', 10000)").repeat(1_000)),
        }
    }
    for _ in 0..20 {
        assert_eq!(other.run("select 1"), "TDCZ");
        let grown = server.status("VmRSS").saturating_sub(before) >> 10;
        assert!(grown < 64, "{grown} MiB");
        std::thread::sleep(Duration::from_millis(10));
    }
    eventually("they are cut off", || server.status("Threads") <= threads + 1);
    assert_well(&server, before, 64);
    drop(deaf);
}

#[test]
fn a_statement_of_who_reads_slowly_ends_in_time() {
    let server = Server::configured("");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("set statement_timeout = '300ms'"), "CZ");
    client.send(&query(ENDLESS));
    std::thread::sleep(Duration::from_millis(600));
    let begun = Instant::now();
    let last = client.batch().into_iter().rev().find(|message| message.tag == 'E').expect("an error");
    assert_eq!(last.code(), "57014");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(client.run("select 1"), "TDCZ");
}

#[test]
fn who_does_not_send_what_it_copies_is_not_waited_for() {
    let server = Server::configured("idle_in_transaction_timeout = 1");
    let (before, threads) = (server.status("VmRSS"), server.status("Threads"));
    let mut other = Raw::login(&server);
    assert_eq!(other.run("create table t (x text)"), "CZ");
    let mut silent: Vec<_> = (0..4).map(|_| Raw::login(&server)).collect();
    for client in &mut silent {
        client.send(&[query("copy t from stdin"), frame(b'd', b"a line\nand")].concat());
        assert_eq!(client.message().map(|message| message.tag), Some('G'));
    }
    for client in &mut silent {
        let last = client.message().expect("a word");
        assert_eq!(last.code(), "25P03");
        assert!(client.message().is_none());
    }
    eventually("they are gone", || server.status("Threads") <= threads + 1);
    assert_eq!(other.run("select 1 from t"), "TCZ");
    assert_well(&server, before, 32);
}

#[test]
fn a_copy_that_never_ends_a_line_is_over_in_time_and_can_be_cancelled() {
    let server = Server::configured("");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("create table t (x text)"), "CZ");
    assert_eq!(client.run("set statement_timeout = '300ms'"), "CZ");
    client.send(&query("copy t from stdin"));
    assert_eq!(client.message().map(|message| message.tag), Some('G'));
    client.stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a socket");
    let deadline = Instant::now() + Duration::from_secs(60);
    while client.stream.peek(&mut [0]).is_err() {
        assert!(Instant::now() < deadline, "it goes on");
        client.send(&frame(b'd', b"x"));
    }
    client.stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    assert_eq!(client.message().expect("an error").code(), "57014");
}
