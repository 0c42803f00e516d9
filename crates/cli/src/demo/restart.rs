//! A server on a directory is killed while clients insert, and started again: all that was acknowledged is there.

use crate::Result;
use crate::format::{count, plural};
use crate::output::say;
use scaledb_sqlbench::{Client, Failure, Param, Rows, Wire};
use scaledb_sync::thread;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections that insert.
const WRITERS: i64 = 8;

/// How long they do so before the server is killed.
const INSERTING: Duration = Duration::from_secs(2);

/// Whether all is there that was acknowledged.
pub(super) fn show() -> Result {
    let directory = tempfile::Builder::new().prefix("scaledb-demo-").tempdir()?;
    say!("\nA server on a directory, killed (kill -9) while {WRITERS} connections insert");
    let server = Server::start(directory.path())?;
    let parameters = &server.parameters();
    Wire::connect(parameters)?
        .script("CREATE TABLE kept (writer bigint, number bigint, PRIMARY KEY (writer, number))")?;
    let (acknowledged, failures) = thread::scope(|scope| {
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || insert(parameters, writer))).collect();
        thread::sleep(INSERTING);
        drop(server);
        let mut acknowledged = Vec::new();
        let mut failures = Vec::new();
        for writer in writers {
            match writer.join() {
                Ok(Ok(number)) => acknowledged.push(number),
                Ok(Err(failure)) => failures.push(failure),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (acknowledged, failures)
    });
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure.into());
    }
    let total: i64 = acknowledged.iter().sum();
    say!("  {} rows were acknowledged before that, each on disk by then", count(total as u64));
    let since = Instant::now();
    let server = Server::start(directory.path())?;
    let mut client = Wire::connect(&server.parameters())?;
    let mut rows = Rows::default();
    client.query("SELECT count(*) FROM kept", &mut rows)?;
    let (found, took) = (rows.answer(0).int(0, 0)?, since.elapsed());
    say!("  started again: answers after {:.2} s, with {} rows", took.as_secs_f64(), count(found as u64));
    let mut lost = 0;
    for (writer, acknowledged) in acknowledged.iter().enumerate() {
        // numbers are given one after the other: those up to the last acknowledged one must be there, all of them
        client.query(
            &format!("SELECT count(*) FROM kept WHERE writer = {writer} AND number < {acknowledged}"),
            &mut rows,
        )?;
        lost += acknowledged - rows.answer(0).int(0, 0)?;
    }
    match lost {
        0 => say!(
            "  nothing is lost; {} had been on the way",
            plural(found.saturating_sub(total) as u64, "insert")
        ),
        lost => say!("  FAILED: {} that were acknowledged are lost", plural(lost as u64, "row")),
    }
    Ok(lost == 0)
}

/// Inserts until the connection breaks; how many inserts were acknowledged.
fn insert(parameters: &str, writer: i64) -> std::result::Result<i64, Failure> {
    let mut client = Wire::connect(parameters)?;
    client.prepare(&["INSERT INTO kept VALUES ($1, $2)"])?;
    let mut rows = Rows::default();
    let mut number = 0;
    loop {
        match client.run(0, &[Param::Int(writer), Param::Int(number)], &mut rows) {
            Ok(_) => number += 1,
            Err(Failure::Connection(_)) => return Ok(number),
            Err(failure) => return Err(failure),
        }
    }
}

/// A server in a process of its own. Dropped, it is killed.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(data: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--port", "0", "--log", "error", "--data"]).arg(data);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        match line.trim().strip_prefix("listening at ").map(str::parse) {
            Some(Ok(address)) => Ok(Self { process, address }),
            _ => {
                let _ = process.kill();
                let status = process.wait()?;
                Err(format!("the server on {} did not start ({status})", data.display()).into())
            }
        }
    }

    fn parameters(&self) -> String {
        let address = self.address;
        format!("host={} port={} user=postgres dbname=postgres", address.ip(), address.port())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // without a word to the process: that is the point
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
