//! Whole connections: bytes as a client sends them, to the protocol with SQL behind it.

use crate::database::database;
use scaledb_acc::Acc;
use scaledb_base::timeouts::Timeouts;
use scaledb_pgwire::{Host, Limits, Method, Opened, Result, Startup, Tls, Verifier, serve};
use scaledb_server::{Sessions, Sql, SqlSession};
use std::io::{self, Read, Write};
use std::time::Duration;

/// The start-up packet of user `ann`.
const LOGIN: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0";
/// Bytes of a message.
const MAX_MESSAGE: usize = 1 << 20;
/// Bytes of answers, after which the client hangs up.
const MAX_ANSWER: usize = 16 << 20;

/// A client that has sent all it will ever send.
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
        if self.answered > MAX_ANSWER { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Door {
    sessions: Sql<Acc>,
    method: Method,
}

impl Host for Door {
    type Backend = SqlSession<Acc>;

    fn tls(&self) -> Option<&Tls> {
        None
    }

    fn method(&self, _: &Startup) -> Result<Method> {
        Ok(self.method)
    }

    fn verifier(&self, user: &str) -> Verifier {
        Verifier::nobody(&[7; 32], user)
    }

    fn open(&self, startup: &Startup) -> Result<Opened<Self::Backend>> {
        let timeouts = Timeouts { statement: Duration::from_secs(1), idle_in_transaction: Duration::ZERO };
        let opened = self.sessions.open(startup, timeouts)?;
        Ok(Opened {
            backend: opened.session,
            parameters: opened.parameters,
            pid: opened.pid,
            key: vec![1, 2, 3, 4],
        })
    }

    fn cancel(&self, _: i32, _: &[u8]) {}
}

fn run(sent: &[u8], method: Method) {
    let door = Door { sessions: Sql::new(database()), method };
    // how it ends is the client's affair
    let _ = serve(Recorded { sent, answered: 0 }, &door, &Limits { message_bytes: MAX_MESSAGE });
}

/// A connection from its first byte; what must be proved is what the first byte of the input says.
pub fn startup(input: &[u8]) {
    let Some((method, bytes)) = input.split_first() else { return };
    run(bytes, [Method::Trust, Method::Password, Method::Scram][usize::from(method % 3)]);
}

/// The messages of a client that has logged in.
pub fn session(input: &[u8]) {
    run(&[LOGIN, input].concat(), Method::Trust);
}
