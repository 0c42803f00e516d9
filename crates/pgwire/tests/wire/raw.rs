//! A client that sends what a test wants, and reads whole messages.

use crate::backend::{Server, Users};
use postgres_protocol::message::frontend;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) tag: char,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// A field of an error.
    pub(crate) fn field(&self, name: u8) -> Option<String> {
        assert!(matches!(self.tag, 'E' | 'N'), "{self:?}");
        let fields = self.body.split(|byte| *byte == 0);
        let field = fields.filter(|field| !field.is_empty()).find(|field| field[0] == name)?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    }

    pub(crate) fn code(&self) -> String {
        self.field(b'C').unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end_matches('\0').to_owned()
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        // a test that hangs fails instead
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream }
    }

    /// A client that is ready for queries, and its server.
    pub(crate) fn ready() -> (Self, Server) {
        let server = Server::start(Users::default());
        (Self::login(&server), server)
    }

    pub(crate) fn login(server: &Server) -> Self {
        let mut client = Self::connect(server);
        client.startup(3 << 16, &[("user", "ann")]);
        assert_eq!(client.tags(), "RSSKZ");
        client
    }

    pub(crate) fn startup(&mut self, version: u32, parameters: &[(&str, &str)]) {
        let mut body = version.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        body.push(0);
        self.packet(&body);
    }

    /// Sends a packet without a tag.
    pub(crate) fn packet(&mut self, body: &[u8]) {
        let length = body.len() as u32 + 4;
        self.send(&[&length.to_be_bytes(), body].concat());
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends what `encode` writes.
    pub(crate) fn write(&mut self, encode: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::default();
        encode(&mut batch);
        self.send(&batch.0);
    }

    /// The next message; `None` at the end.
    pub(crate) fn read(&mut self) -> Option<Message> {
        read(&mut self.stream)
    }

    /// All messages up to ReadyForQuery or the end.
    pub(crate) fn batch(&mut self) -> Vec<Message> {
        let mut batch = Vec::new();
        while let Some(message) = self.read() {
            let last = message.tag == 'Z';
            batch.push(message);
            if last {
                break;
            }
        }
        batch
    }

    /// The tags of a batch, as one word.
    pub(crate) fn tags(&mut self) -> String {
        self.batch().iter().map(|message| message.tag).collect()
    }

    /// Runs a simple query.
    pub(crate) fn query(&mut self, sql: &str) -> Vec<Message> {
        self.write(|b| b.query(sql));
        self.batch()
    }

    pub(crate) fn hang_up(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

/// Reads a message; `None` at the end.
pub(crate) fn read(from: &mut impl Read) -> Option<Message> {
    let mut head = [0; 5];
    if from.read_exact(&mut head).is_err() {
        return None;
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut body = vec![0; length - 4];
    from.read_exact(&mut body).unwrap();
    Some(Message { tag: head[0] as char, body })
}

/// Messages of a client, one behind the other.
#[derive(Default)]
pub(crate) struct Batch(pub(crate) Vec<u8>);

impl Batch {
    fn with(&mut self, encode: impl FnOnce(&mut bytes::BytesMut) -> std::io::Result<()>) {
        let mut bytes = bytes::BytesMut::new();
        encode(&mut bytes).unwrap();
        self.0.extend_from_slice(&bytes);
    }

    pub(crate) fn query(&mut self, sql: &str) {
        self.with(|out| frontend::query(sql, out));
    }

    pub(crate) fn parse(&mut self, name: &str, sql: &str) {
        self.with(|out| frontend::parse(name, sql, [], out));
    }

    pub(crate) fn bind(&mut self, portal: &str, statement: &str, values: &[Option<&str>]) {
        self.with(|out| {
            let bound = frontend::bind(
                portal,
                statement,
                [],
                values,
                |value, out| {
                    Ok(value.map_or(postgres_protocol::IsNull::Yes, |value| {
                        out.extend_from_slice(value.as_bytes());
                        postgres_protocol::IsNull::No
                    }))
                },
                [],
                out,
            );
            bound.map_err(|_| std::io::Error::other("bind"))
        });
    }

    pub(crate) fn describe(&mut self, what: u8, name: &str) {
        self.with(|out| frontend::describe(what, name, out));
    }

    pub(crate) fn execute(&mut self, portal: &str, rows: i32) {
        self.with(|out| frontend::execute(portal, rows, out));
    }

    pub(crate) fn close(&mut self, what: u8, name: &str) {
        self.with(|out| frontend::close(what, name, out));
    }

    pub(crate) fn sync(&mut self) {
        self.0.extend_from_slice(b"S\0\0\0\x04");
    }

    pub(crate) fn flush(&mut self) {
        self.0.extend_from_slice(b"H\0\0\0\x04");
    }

    pub(crate) fn copy_data(&mut self, data: &[u8]) {
        self.0.push(b'd');
        self.0.extend_from_slice(&(data.len() as u32 + 4).to_be_bytes());
        self.0.extend_from_slice(data);
    }

    pub(crate) fn copy_done(&mut self) {
        self.0.extend_from_slice(b"c\0\0\0\x04");
    }

    pub(crate) fn copy_fail(&mut self, reason: &str) {
        self.with(|out| frontend::copy_fail(reason, out));
    }

    /// Parse, Bind, Describe, Execute of unnamed things.
    pub(crate) fn run(&mut self, sql: &str, values: &[Option<&str>]) {
        self.parse("", sql);
        self.bind("", "", values);
        self.describe(b'P', "");
        self.execute("", 0);
    }
}
