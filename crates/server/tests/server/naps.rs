//! Sessions that wait: `nap 500` waits half a second or until it is cancelled, `work 500` cannot be cancelled,
//! `begin` and `commit` are transactions, `echo` answers, `panic` is a bug, `set 100` sets the statement timeout.

use postgres::{Client, NoTls};
use scaledb_base::timeouts::Timeouts;
use scaledb_pgwire::{
    Backend, Bind, Column, Format, Oids, Reply, Report, Result, SqlState, Startup, Status, Step, Tag,
};
use scaledb_server::{Cancels, Config, Limited, Measure, NewSession, Server, Sessions};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use scaledb_sync::thread;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub(crate) struct Naps(pub(crate) AtomicU32);

pub(crate) struct Nap {
    cancel: Arc<Batches>,
    open: bool,
    failed: bool,
    timeouts: Timeouts,
    changed: bool,
}

impl Sessions for Naps {
    type Session = Nap;

    fn open(&self, startup: &Startup, timeouts: Timeouts) -> Result<NewSession<Nap>> {
        if startup.database == "nowhere" {
            return Err(Report::error(SqlState::INVALID_CATALOG_NAME, "database \"nowhere\" does not exist"));
        }
        let cancel = Arc::new(Batches::default());
        let canceller = cancel.clone();
        Ok(NewSession {
            session: Nap { cancel, open: false, failed: false, timeouts, changed: false },
            pid: self.0.fetch_add(1, Ordering::SeqCst) as i32,
            database: startup.database.clone(),
            parameters: vec![("server_version".into(), "15.0".into())],
            canceller,
        })
    }

    fn numbers(&self, each: &mut dyn FnMut(&str, &str, Measure, u64)) {
        each("naps", "Sessions so far", Measure::Counter, self.0.load(Ordering::SeqCst).into());
    }
}

/// The batches of a session: which runs, and which is to stop.
#[derive(Default)]
pub(crate) struct Batches {
    running: AtomicU64,
    stopped: AtomicU64,
}

impl Batches {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst) == self.running.load(Ordering::SeqCst)
    }
}

impl Cancels for Batches {
    fn running(&self) -> u64 {
        self.running.load(Ordering::SeqCst)
    }

    fn stop(&self, number: u64) {
        self.stopped.fetch_max(number, Ordering::SeqCst);
    }
}

impl Limited for Nap {
    fn begin(&mut self) {
        self.cancel.running.fetch_add(1, Ordering::SeqCst);
    }

    fn last_statement(&self) -> Option<Arc<str>> {
        None
    }

    fn new_timeouts(&mut self) -> Option<Timeouts> {
        std::mem::take(&mut self.changed).then_some(self.timeouts)
    }
}

impl Backend for Nap {
    fn status(&self) -> Status {
        match (self.open, self.failed) {
            (false, _) => Status::Idle,
            (true, false) => Status::Transaction,
            (true, true) => Status::Failed,
        }
    }

    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step> {
        let (word, number) = sql.split_once(' ').unwrap_or((sql, "0"));
        let time = Duration::from_millis(number.parse().unwrap_or(0));
        match word {
            "nap" | "work" => {
                if word == "work" {
                    WORKING.fetch_add(1, Ordering::SeqCst);
                }
                let end = Instant::now() + time;
                while Instant::now() < end {
                    if word == "nap" && self.cancel.is_stopped() {
                        self.failed = true;
                        let what = "canceling statement due to user request";
                        return Err(Report::error(SqlState::QUERY_CANCELED, what));
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
            "begin" => self.open = true,
            "commit" => {
                self.open = false;
                self.failed = false;
            }
            "panic" => panic!("a bug"),
            "set" => {
                self.timeouts.statement = time;
                self.changed = true;
            }
            _ => {
                let column = Column {
                    name: "word",
                    table: 0,
                    attribute: 0,
                    type_oid: 25,
                    size: -1,
                    modifier: -1,
                    format: Format::Text,
                };
                reply.columns([column]);
                for _ in 0..number.parse().unwrap_or(1) {
                    reply.row(|row| {
                        row.bytes(word.as_bytes());
                        Ok(())
                    })?;
                }
            }
        }
        reply.complete(Tag::new("DONE", None));
        Ok(Step::Done)
    }

    fn parse(&mut self, _: &str, _: &str, _: Oids<'_>) -> Result<()> {
        Err(Report::error(SqlState::FEATURE_NOT_SUPPORTED, "simple queries only"))
    }

    fn describe_statement(&mut self, _: &str, _: &mut Reply<'_>) -> Result<()> {
        Ok(())
    }

    fn bind(&mut self, _: &Bind<'_>) -> Result<()> {
        Ok(())
    }

    fn describe_portal(&mut self, _: &str, _: &mut Reply<'_>) -> Result<()> {
        Ok(())
    }

    fn execute(&mut self, _: &str, _: u64, _: bool, _: &mut Reply<'_>) -> Result<Step> {
        Ok(Step::Done)
    }

    fn close_statement(&mut self, _: &str) {}

    fn close_portal(&mut self, _: &str) {}

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn copy_done(&mut self, _: &mut Reply<'_>) -> Result<Step> {
        Ok(Step::Done)
    }

    fn copy_fail(&mut self) {}

    fn sync(&mut self, _: &mut Reply<'_>) -> Result<()> {
        Ok(())
    }

    fn fail(&mut self) {
        self.failed = true;
    }
}

/// How often somebody has begun to work, on whatever server.
pub(crate) static WORKING: AtomicU32 = AtomicU32::new(0);

/// A server at a free port.
pub(crate) fn start(change: impl FnOnce(&mut Config)) -> Server {
    let mut config = Config { listen: vec!["127.0.0.1:0".parse().unwrap()], ..Config::default() };
    change(&mut config);
    Server::start(config, Naps(AtomicU32::new(1))).unwrap()
}

pub(crate) fn try_connect(server: &Server) -> std::result::Result<Client, postgres::Error> {
    let mut config = Client::configure();
    config.host("127.0.0.1").port(server.addresses()[0].port()).user("ann").connect(NoTls)
}

pub(crate) fn connect(server: &Server) -> Client {
    try_connect(server).unwrap()
}

/// A client without a driver, which may mistake an orderly end for a lost connection.
pub(crate) fn plain(server: &Server) -> TcpStream {
    with_key(server).0
}

/// The same, with its number and key for cancel requests.
pub(crate) fn with_key(server: &Server) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0").unwrap();
    let mut key = Vec::new();
    loop {
        match bytes(&mut stream).unwrap() {
            ('K', body) => key = body,
            ('Z', _) => return (stream, key),
            _ => {}
        }
    }
}

/// Sends a cancel request, and waits until the server has done with it.
pub(crate) fn cancel(server: &Server, key: &[u8]) {
    let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
    stream.write_all(&[&[0, 0, 0, 16, 4, 210, 22, 46], key].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty());
}

/// Sends a simple query.
pub(crate) fn send(stream: &mut TcpStream, sql: &str) {
    let length = sql.len() as u32 + 5;
    stream.write_all(&[b"Q", &length.to_be_bytes()[..], sql.as_bytes(), b"\0"].concat()).unwrap();
}

/// The next message; `None` at the end.
pub(crate) fn message(stream: &mut TcpStream) -> Option<(char, String)> {
    bytes(stream).map(|(tag, body)| (tag, String::from_utf8_lossy(&body).into_owned()))
}

fn bytes(stream: &mut TcpStream) -> Option<(char, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
    stream.read_exact(&mut body).ok()?;
    Some((head[0] as char, body))
}

/// Waits until something holds, at most a minute.
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "it does not come to hold");
        thread::sleep(Duration::from_millis(2));
    }
}
