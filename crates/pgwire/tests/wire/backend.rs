//! A session whose statements are words, and a server of such sessions on a port.
//!
//! ```text
//!  echo a b $1     a row of texts          fail            an error
//!  rows 5          rows 0 to 4             conflict        an error at the end of the batch
//!  bytes 5         a row of 5 bytes        begin, commit   a transaction
//!  copy in         counts bytes            retry           writes rows, takes them back, writes one
//!  copy out 5      5 lines                 deallocate x    forgets a prepared statement
//! ```

use scaledb_pgwire::{
    Backend, Bind, Column, End, Format, Host, Limits, Method, Oids, Opened, Reply, Report, Result, Severity,
    SqlState, Startup, Status, Step, Tag, Tls, Verifier, serve,
};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::thread::{self, JoinHandle};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

pub(crate) const TEXT: u32 = 25;

#[derive(Debug, Default)]
pub(crate) struct Words {
    open: bool,
    failed: bool,
    /// Not even the end of the batch is possible.
    conflict: bool,
    copied: usize,
    /// What stands behind a COPY.
    rest: String,
    statements: HashMap<String, Statement>,
    portals: HashMap<String, Portal>,
    /// Executions that were said to be the last of their batch.
    pub(crate) last: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(crate) struct Statement {
    text: String,
    types: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Portal {
    text: String,
    values: Vec<Option<String>>,
    format: Format,
    at: u64,
}

fn column(name: &str, format: Format) -> Column<'_> {
    Column { name, table: 0, attribute: 0, type_oid: TEXT, size: -1, modifier: -1, format }
}

/// The number of `$1` to `$9`.
fn parameter(word: &str) -> Option<usize> {
    word.strip_prefix('$')?.parse().ok().filter(|n| (1..10).contains(n))
}

fn no_statement() -> Box<Report> {
    Report::error(SqlState::INVALID_SQL_STATEMENT_NAME, "no such statement")
}

fn no_portal() -> Box<Report> {
    Report::error(SqlState::INVALID_CURSOR_NAME, "no such portal")
}

fn columns(text: &str) -> usize {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("echo") => words.count(),
        Some("rows" | "bytes" | "retry") => 1,
        _ => 0,
    }
}

impl Words {
    fn run(&mut self, portal: &mut Portal, limit: u64, reply: &mut Reply<'_>) -> Result<Step> {
        let mut words = portal.text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if self.failed && !matches!(first, "commit" | "rollback") {
            return Err(Report::error(SqlState::IN_FAILED_SQL_TRANSACTION, "the transaction failed"));
        }
        let mut number =
            || -> u64 { words.next().and_then(|word| word.parse().ok()).unwrap_or(0).min(5_000_000) };
        let tag = match first {
            "" => {
                reply.empty();
                return Ok(Step::Done);
            }
            "echo" => {
                reply.row(|row| {
                    for word in words {
                        let value = parameter(word).and_then(|n| portal.values.get(n - 1));
                        match value {
                            Some(None) => row.null(),
                            Some(Some(value)) => row.bytes(value.as_bytes()),
                            None => row.bytes(word.as_bytes()),
                        }
                    }
                    Ok(())
                })?;
                Tag::new("SELECT", Some(1))
            }
            "rows" => {
                let end: u64 = number();
                let stop = end.min(portal.at.saturating_add(limit));
                let sent = stop - portal.at;
                while portal.at < stop {
                    let n = portal.at.to_string();
                    reply.row(|row| {
                        row.bytes(n.as_bytes());
                        Ok(())
                    })?;
                    portal.at += 1;
                }
                if portal.at < end {
                    return Ok(Step::Suspended);
                }
                Tag::new("SELECT", Some(sent))
            }
            "bytes" => {
                let bytes = vec![b'x'; number() as usize];
                reply.row(|row| {
                    row.bytes(&bytes);
                    Ok(())
                })?;
                Tag::new("SELECT", Some(1))
            }
            "retry" => {
                reply.mark();
                for _ in 0..3 {
                    reply.row(|row| {
                        row.bytes(b"wrong");
                        Ok(())
                    })?;
                }
                assert!(reply.rewind());
                reply.row(|row| {
                    row.bytes(b"right");
                    Ok(())
                })?;
                Tag::new("SELECT", Some(1))
            }
            "begin" => {
                self.open = true;
                Tag::new("BEGIN", None)
            }
            "commit" | "rollback" => {
                let failed = std::mem::take(&mut self.failed);
                self.open = false;
                self.portals.clear();
                Tag::new(if failed || first == "rollback" { "ROLLBACK" } else { "COMMIT" }, None)
            }
            "copy" => match words.next() {
                Some("in") => {
                    self.copied = 0;
                    return Ok(Step::CopyIn { format: Format::Text, columns: 2 });
                }
                _ => {
                    let lines: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
                    reply.copy_out(Format::Text, 1);
                    for n in 0..lines {
                        reply.copy_data(|out| {
                            out.extend_from_slice(format!("{n}\n").as_bytes());
                            Ok(())
                        })?;
                    }
                    Tag::new("COPY", Some(lines))
                }
            },
            "conflict" => {
                self.conflict = true;
                Tag::new("UPDATE", Some(1))
            }
            "notice" => {
                reply.notice(&Report::new(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, "look"));
                reply.parameter("TimeZone", "UTC");
                Tag::new("DO", None)
            }
            "deallocate" => {
                let name = words.next().unwrap_or_default().to_owned();
                self.statements.remove(&name);
                Tag::new("DEALLOCATE", None)
            }
            "fail" => {
                let report = Report::error(SqlState::DIVISION_BY_ZERO, "division by zero");
                let mut report = report.with_detail("by nothing").with_hint("do not");
                report.position = Some(8);
                report.table = Some("t".to_owned());
                return Err(report);
            }
            other => {
                return Err(Report::error(SqlState::SYNTAX_ERROR, format!("syntax error at \"{other}\"")));
            }
        };
        reply.complete(tag);
        Ok(Step::Done)
    }

    fn note<T>(&mut self, done: Result<T>) -> Result<T> {
        if done.is_err() {
            self.fail();
        }
        done
    }
}

impl Backend for Words {
    fn status(&self) -> Status {
        match (self.open, self.failed) {
            (false, _) => Status::Idle,
            (true, false) => Status::Transaction,
            (true, true) => Status::Failed,
        }
    }

    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step> {
        let mut rest = sql;
        loop {
            let (text, behind) = rest.split_once(';').unwrap_or((rest, ""));
            let mut portal =
                Portal { text: text.to_owned(), values: Vec::new(), format: Format::Text, at: 0 };
            let n = columns(text);
            if n > 0 {
                reply.columns((0..n).map(|_| column("word", Format::Text)));
            }
            let done = self.run(&mut portal, u64::MAX, reply);
            let step = self.note(done)?;
            if step != Step::Done {
                self.rest = behind.to_owned();
                return Ok(step);
            }
            if behind.trim().is_empty() {
                return Ok(Step::Done);
            }
            rest = behind;
        }
    }

    fn parse(&mut self, name: &str, sql: &str, types: Oids<'_>) -> Result<()> {
        if sql.contains("nonsense") {
            return self.note(Err(Report::error(SqlState::SYNTAX_ERROR, "syntax error")));
        }
        if !name.is_empty() && self.statements.contains_key(name) {
            return self.note(Err(Report::error(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                "there is one of this name",
            )));
        }
        let mut types: Vec<u32> = types.iter().map(|oid| if oid == 0 { TEXT } else { oid }).collect();
        types.resize(sql.split_whitespace().filter_map(parameter).max().unwrap_or(0), TEXT);
        self.statements.insert(name.to_owned(), Statement { text: sql.to_owned(), types });
        Ok(())
    }

    fn describe_statement(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        let Some(statement) = self.statements.get(name) else { return self.note(Err(no_statement())) };
        reply.parameters(statement.types.iter().copied());
        match columns(&statement.text) {
            0 => reply.no_data(),
            n => reply.columns((0..n).map(|_| column("word", Format::Text))),
        }
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let Some(statement) = self.statements.get(bind.statement) else {
            return self.note(Err(no_statement()));
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let values = bind.iter().map(|(_, value)| value.map(text)).collect();
        let portal = Portal { text: statement.text.clone(), values, format: bind.results.get(0), at: 0 };
        self.portals.insert(bind.portal.to_owned(), portal);
        Ok(())
    }

    fn describe_portal(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()> {
        let Some(portal) = self.portals.get(name) else { return self.note(Err(no_portal())) };
        match columns(&portal.text) {
            0 => reply.no_data(),
            n => reply.columns((0..n).map(|_| column("word", portal.format))),
        }
        Ok(())
    }

    fn execute(&mut self, name: &str, rows: u64, last: bool, reply: &mut Reply<'_>) -> Result<Step> {
        if last {
            self.last.fetch_add(1, Ordering::SeqCst);
        }
        let Some(mut portal) = self.portals.remove(name) else { return self.note(Err(no_portal())) };
        let done = self.run(&mut portal, rows, reply);
        self.portals.insert(name.to_owned(), portal);
        self.note(done)
    }

    fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.copied += data.len();
        if data.starts_with(b"bad") {
            return self.note(Err(Report::error(SqlState::BAD_COPY_FILE_FORMAT, "bad data")));
        }
        Ok(())
    }

    fn copy_done(&mut self, reply: &mut Reply<'_>) -> Result<Step> {
        reply.complete(Tag::new("COPY", Some(self.copied as u64)));
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Ok(Step::Done) } else { self.query(&rest, reply) }
    }

    fn copy_fail(&mut self) {
        self.fail();
    }

    fn sync(&mut self, _: &mut Reply<'_>) -> Result<()> {
        let conflict = std::mem::take(&mut self.conflict);
        if !self.open {
            self.failed = false;
            self.portals.clear();
        }
        if conflict {
            return Err(Report::error(SqlState::SERIALIZATION_FAILURE, "could not serialize access"));
        }
        Ok(())
    }

    fn fail(&mut self) {
        self.failed = true;
        self.conflict = false;
    }

    fn interrupted(&mut self) -> Option<Box<Report>> {
        let stop = self.stop.load(Ordering::SeqCst);
        stop.then(|| Report::error(SqlState::ADMIN_SHUTDOWN, "the server goes"))
    }
}

/// Users: `ann` may come as she is, `bob` and `eve` with the password `secret`; `max` must not.
#[derive(Default)]
pub(crate) struct Users {
    pub(crate) tls: Option<Tls>,
    pub(crate) cancelled: Mutex<Vec<(i32, Vec<u8>)>>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) last: Arc<AtomicUsize>,
}

impl Host for Users {
    type Backend = Words;

    fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    fn method(&self, startup: &Startup) -> Result<Method> {
        match startup.user.as_str() {
            "ann" => Ok(Method::Trust),
            "eve" => Ok(Method::Password),
            "max" => Err(Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "not you")),
            _ => Ok(Method::Scram),
        }
    }

    fn verifier(&self, user: &str) -> Verifier {
        match user {
            "bob" | "eve" => Verifier::of("secret").unwrap(),
            other => Verifier::nobody(b"salt", other),
        }
    }

    fn open(&self, startup: &Startup) -> Result<Opened<Words>> {
        Ok(Opened {
            backend: Words { stop: self.stop.clone(), last: self.last.clone(), ..Words::default() },
            parameters: vec![
                ("server_version".into(), "15.0".into()),
                ("client_encoding".into(), "UTF8".into()),
            ],
            pid: 42,
            key: if startup.minor >= 2 { vec![7; 32] } else { vec![7; 4] },
        })
    }

    fn cancel(&self, pid: i32, key: &[u8]) {
        self.cancelled.lock().push((pid, key.to_vec()));
    }
}

pub(crate) const LIMITS: Limits = Limits { message_bytes: 1 << 20 };

/// A server that takes clients as long as the process lives.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) host: Arc<Users>,
    ends: Arc<Mutex<Vec<JoinHandle<End>>>>,
}

impl Server {
    pub(crate) fn start(host: Users) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let host = Arc::new(host);
        let ends: Arc<Mutex<Vec<_>>> = Arc::default();
        let (threads, users) = (ends.clone(), host.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                // a test that hangs fails instead
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let host = users.clone();
                let client = thread::spawn(move || serve(stream, &*host, &LIMITS));
                threads.lock().push(client);
            }
        });
        Self { address, host, ends }
    }

    /// How the first `n` connections ended.
    pub(crate) fn ends(&self, n: usize) -> Vec<End> {
        while self.ends.lock().len() < n {
            thread::yield_now();
        }
        let threads = std::mem::take(&mut *self.ends.lock());
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a connection's thread does not panic"))
            .collect()
    }
}
