//! A PostgreSQL of its own: started in a temporary directory, spoken to in its simple protocol.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use scaledb_sqlfuzz::answer::Answer;
use scaledb_sqlfuzz::generate::{READER, Statement};
use scaledb_sqlfuzz::servers::{Server, comparable};
use scaledb_sync::thread;
use std::io::{Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A user that is not root: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;

/// A connection to a server that ends with it.
pub(crate) struct Postgres {
    stream: UnixStream,
    received: BytesMut,
    schemas: u32,
    _server: Running,
}

/// A process that ends when its input does.
struct Running {
    child: Child,
    _directory: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Where the programs of PostgreSQL 15 are.
fn programs() -> Option<PathBuf> {
    let named = std::env::var_os("SCALEDB_POSTGRES_BIN").map(PathBuf::from);
    let places = [PathBuf::from("/usr/lib/postgresql/15/bin"), PathBuf::from("/usr/pgsql-15/bin")];
    named.into_iter().chain(places).find(|place| place.join("initdb").exists())
}

fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    // root may not run it
    if std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
    command
}

fn login(stream: &mut UnixStream, received: &mut BytesMut) -> std::io::Result<()> {
    let mut out = BytesMut::new();
    frontend::startup_message([("user", "postgres"), ("database", "postgres")], &mut out)?;
    stream.write_all(&out)?;
    while !matches!(message(stream, received)?, Message::ReadyForQuery(_)) {}
    Ok(())
}

fn message(stream: &mut UnixStream, received: &mut BytesMut) -> std::io::Result<Message> {
    loop {
        if let Some(message) = Message::parse(received)? {
            return Ok(message);
        }
        let mut bytes = [0; 16384];
        let read = stream.read(&mut bytes)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        received.extend_from_slice(&bytes[..read]);
    }
}

impl Postgres {
    /// Starts a server; or says why there is none.
    pub(crate) fn start() -> Result<Self, String> {
        let programs = programs().ok_or("PostgreSQL 15 is not installed (postgresql-15)")?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = directory.path().to_owned();
        let _ = chown(&path, Some(NOBODY), Some(NOBODY));
        let data = path.join("data");
        let made = command(&programs.join("initdb"), &path)
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "-D",
            ])
            .arg(&data)
            .output()
            .map_err(|error| error.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        // the shell ends the server when its input ends: when this process does, however that comes about
        let script = "\"$0\" -D data -k \"$PWD\" -c listen_addresses= -c fsync=off -c full_page_writes=off \
                      -c synchronous_commit=off -c autovacuum=off -c jit=off -c statement_timeout=20000 \
                      -c max_parallel_workers_per_gather=0 > log 2>&1 < /dev/null & server=$!; cat > /dev/null; \
                      kill -QUIT $server; wait $server";
        let child = command(Path::new("/bin/sh"), &path)
            .args(["-c", script])
            .arg(programs.join("postgres"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = Running { child, _directory: directory };
        for _ in 0..800 {
            // while it starts, it accepts connections and refuses who comes
            if let Ok(mut stream) = UnixStream::connect(path.join(".s.PGSQL.5432")) {
                let mut received = BytesMut::new();
                if login(&mut stream, &mut received).is_ok() {
                    return Ok(Self { stream, received, schemas: 0, _server: server });
                }
            }
            thread::sleep(Duration::from_millis(25));
        }
        Err(std::fs::read_to_string(path.join("log")).unwrap_or_default())
    }

    fn query(&mut self, sql: &str) -> std::io::Result<Answer> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out)?;
        self.stream.write_all(&out)?;
        let (mut columns, mut rows, mut tag) = (Vec::new(), Vec::new(), String::new());
        let mut failure = None;
        loop {
            match message(&mut self.stream, &mut self.received)? {
                Message::RowDescription(body) => {
                    columns = body
                        .fields()
                        .map(|field| Ok((field.name().to_owned(), comparable(field.type_oid()))))
                        .collect()?;
                }
                Message::DataRow(body) => {
                    let bytes = body.buffer();
                    let row = body.ranges().map(|range| {
                        Ok(range.map(|range| String::from_utf8_lossy(&bytes[range]).into_owned()))
                    });
                    rows.push(row.collect()?);
                }
                Message::CommandComplete(body) => tag = body.tag()?.to_owned(),
                Message::ErrorResponse(body) => {
                    let mut fields = body.fields();
                    let (mut code, mut message) = (String::new(), String::new());
                    while let Some(field) = fields.next()? {
                        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
                        match field.type_() {
                            b'C' => code = text,
                            b'M' => message = text,
                            _ => {}
                        }
                    }
                    failure = Some(Answer::Failed { code, message });
                }
                Message::ReadyForQuery(_) => {
                    return Ok(failure.unwrap_or(Answer::Done { columns, rows, tag }));
                }
                _ => {}
            }
        }
    }

    fn must(&mut self, sql: &str) {
        let answer = self.query(sql).expect("PostgreSQL answers");
        assert!(answer.code().is_none(), "{sql}: {answer}");
    }
}

impl Server for Postgres {
    fn name(&self) -> String {
        "PostgreSQL".to_owned()
    }

    fn reset(&mut self) {
        let _ = self.query("rollback");
        let _ = self.query("deallocate all");
        let _ = self.query("reset role");
        let _ = self.query(&format!("create role {READER}"));
        let old = self.schemas;
        self.schemas += 1;
        let new = self.schemas;
        self.must(&format!(
            "set client_min_messages = error; drop schema if exists s{old} cascade; create schema s{new}; set search_path = s{new}; grant usage on schema s{new} to {READER}"
        ));
    }

    fn run(&mut self, statement: &Statement) -> Answer {
        self.query(&statement.tree.sql()).expect("PostgreSQL answers")
    }
}
