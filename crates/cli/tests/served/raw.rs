//! A client that sends bytes, whether they are messages or not.

use crate::process::Server;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A message of the server.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) tag: char,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// A field of an error.
    pub(crate) fn field(&self, name: u8) -> String {
        assert_eq!(self.tag, 'E', "{self:?}");
        let mut fields = self.body.split(|&byte| byte == 0);
        let field = fields.find(|field| field.first() == Some(&name));
        field.map_or(String::new(), |field| String::from_utf8_lossy(&field[1..]).into_owned())
    }

    pub(crate) fn code(&self) -> String {
        self.field(b'C')
    }
}

/// A message with a tag.
pub(crate) fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// The first packet of a client.
pub(crate) fn login() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0ann\0database\0postgres\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    frame(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    frame(b'P', &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0\0\0"].concat())
}

/// A Bind of the unnamed portal to a statement without parameters.
pub(crate) fn bind(statement: &str) -> Vec<u8> {
    frame(b'B', &[b"\0", statement.as_bytes(), b"\0\0\0\0\0\0\0"].concat())
}

pub(crate) fn execute() -> Vec<u8> {
    frame(b'E', b"\0\0\0\0\0")
}

pub(crate) fn sync() -> Vec<u8> {
    frame(b'S', b"")
}

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    /// What cancels its statements.
    pub(crate) key: Vec<u8>,
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        // a test that hangs fails instead
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Self { stream, key: Vec::new() }
    }

    pub(crate) fn login(server: &Server) -> Self {
        let mut client = Self::connect(server.address());
        client.send(&login());
        let greeting = client.batch();
        assert_eq!(greeting.last().map(|message| message.tag), Some('Z'), "{greeting:?}");
        let key = greeting.into_iter().find(|message| message.tag == 'K').expect("a key");
        client.key = key.body;
        client
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Sends what the server may have had enough of.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next message; `None` at the end.
    pub(crate) fn message(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        if let Err(error) = self.stream.read_exact(&mut head) {
            let ends = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(ends.contains(&error.kind()), "{error}");
            return None;
        }
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Message { tag: head[0] as char, body })
    }

    /// All messages up to ReadyForQuery, or the end.
    pub(crate) fn batch(&mut self) -> Vec<Message> {
        let mut batch = Vec::new();
        while let Some(message) = self.message() {
            let last = message.tag == 'Z';
            batch.push(message);
            if last {
                break;
            }
        }
        batch
    }

    /// What a query is answered with: the SQLSTATE of its error, or the tags of the messages.
    pub(crate) fn run(&mut self, sql: &str) -> String {
        self.send(&query(sql));
        outcome(&self.batch())
    }
}

/// The SQLSTATE of the first error, or the tags of the messages.
pub(crate) fn outcome(batch: &[Message]) -> String {
    match batch.iter().find(|message| message.tag == 'E') {
        Some(error) => error.code(),
        None => batch.iter().map(|message| message.tag).collect(),
    }
}

/// The server answers a new client within seconds, and has not taken more than so many megabytes in addition.
pub(crate) fn assert_well(server: &Server, before: u64, megabytes: u64) {
    let begun = Instant::now();
    assert_eq!(Raw::login(server).run("select 1"), "TDCZ");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // what was given back may take a moment
    let grown = || server.status("VmRSS").saturating_sub(before) >> 10;
    let deadline = Instant::now() + Duration::from_secs(60);
    while grown() > megabytes && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(grown() <= megabytes, "{} MiB more", grown());
}
