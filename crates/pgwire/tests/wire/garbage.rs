//! What is no protocol: a client must not end, hang or swell the server.

use crate::backend::{Server, Users};
use crate::raw::{Batch, Client};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use scaledb_pgwire::{End, serve};
use std::io::{self, Read, Write};

/// A client that has sent all it will ever send, and reads nothing.
struct Recorded<'a> {
    sent: &'a [u8],
    answered: usize,
}

impl Read for Recorded<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.sent.read(to)
    }
}

impl Write for Recorded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answered += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(bytes: &[u8]) -> End {
    serve(Recorded { sent: bytes, answered: 0 }, &Users::default(), &crate::backend::LIMITS)
}

/// A session with a bit of everything.
fn session() -> Vec<u8> {
    let mut bytes = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0".to_vec();
    let mut batch = Batch::default();
    batch.query("echo a b; rows 3");
    batch.run("echo $1 $2", &[Some("value"), None]);
    batch.sync();
    batch.parse("s", "rows 9");
    batch.describe(b'S', "s");
    batch.bind("p", "s", &[]);
    batch.execute("p", 2);
    batch.flush();
    batch.execute("p", 2);
    batch.close(b'P', "p");
    batch.sync();
    batch.query("copy in; echo x");
    batch.copy_data(b"some data");
    batch.copy_done();
    batch.run("fail", &[]);
    batch.sync();
    batch.query("begin");
    batch.query("copy out 3");
    batch.query("commit");
    batch.0.extend_from_slice(b"X\0\0\0\x04");
    bytes.extend_from_slice(&batch.0);
    bytes
}

#[test]
fn the_recorded_session_is_sound() {
    assert!(matches!(run(&session()), End::Terminated));
}

#[test]
fn a_session_may_break_off_anywhere() {
    let session = session();
    for end in 0..session.len() {
        assert!(matches!(run(&session[..end]), End::Closed), "{end}");
    }
}

#[test]
fn no_changed_byte_makes_a_panic() {
    let session = session();
    for at in 0..session.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, session[at] ^ 1] {
            let mut changed = session.clone();
            changed[at] = value;
            run(&changed);
        }
    }
}

#[test]
fn no_mutation_makes_a_panic() {
    let session = session();
    // what is changed: (place, kind, byte)
    let changes = prop::collection::vec((0..session.len(), 0..4_u8, any::<u8>()), 1..20);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 2_000, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::XorShift),
    );
    let result = runner.run(&changes, |changes| {
        let mut bytes = session.clone();
        for (at, kind, byte) in changes {
            let at = at.min(bytes.len() - 1);
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if bytes.len() > 1 => {
                    bytes.remove(at);
                }
                _ => {
                    let end = (at + usize::from(byte)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.extend_from_slice(&piece);
                }
            }
        }
        run(&bytes);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn no_bytes_at_all_make_a_panic() {
    let login = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0";
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 2_000, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::XorShift),
    );
    let result = runner.run(&prop::collection::vec(any::<u8>(), 0..300), |bytes| {
        run(&bytes);
        run(&[login, &bytes[..]].concat());
        Ok(())
    });
    result.unwrap();
}

#[test]
fn unknown_messages_end_the_connection_with_a_word() {
    for bytes in [
        &b"z\0\0\0\x04"[..],
        b"\0\0\0\0\x04",
        b"p\0\0\0\x04",
        b"Q\0\0\0\x03",
        b"S\0\xff\xff\xff",
        b"Q\xff\xff\xff\xff",
    ] {
        let (mut client, _server) = Client::ready();
        client.send(bytes);
        let error = client.read().unwrap();
        assert_eq!(
            (error.code().as_str(), error.field(b'S').unwrap().as_str()),
            ("08P01", "FATAL"),
            "{bytes:?}"
        );
        assert_eq!(client.read(), None);
    }
}

#[test]
fn announced_messages_that_do_not_come_cost_nothing() {
    let server = Server::start(Users::default());
    let mut clients: Vec<_> = (0..50).map(|_| Client::login(&server)).collect();
    for client in &mut clients {
        client.send(b"Q\0\x0f\xff\xffechoing");
    }
    // the server is still there for others
    assert_eq!(Client::login(&server).query("echo a").len(), 4);
}
