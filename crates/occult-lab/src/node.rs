//! One server.

use scaledb_occult::wire::{Command, Refused, Reply};
use std::io::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to answer after it was started, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The ports of a server. Others reach it at the announced ones, which a link forwards to its own.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Where the server listens to clients.
    pub port: u16,
    /// Where it listens to other servers.
    pub bus: u16,
    /// What others are told to be its port.
    pub announced: u16,
    /// What others are told to be its port for servers.
    pub announced_bus: u16,
}

/// A server of the cluster.
#[derive(Debug)]
pub struct Node {
    /// The ports.
    pub place: Ports,
    /// Where it stands.
    pub datacenter: u8,
    directory: PathBuf,
    program: PathBuf,
    process: Option<Child>,
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

impl Node {
    /// Writes the configuration of a server and starts it.
    ///
    /// # Errors
    /// It does not start: the error holds the end of its log.
    pub fn start(
        program: &Path,
        directory: PathBuf,
        place: Ports,
        datacenter: u8,
        lines: &[String],
    ) -> std::io::Result<Self> {
        std::fs::create_dir_all(&directory)?;
        let Ports { port, bus, announced, announced_bus } = place;
        let mut text = format!(
            "port {port}\ncluster-port {bus}\nbind 127.0.0.1\nprotected-mode no\ndaemonize no\n\
             cluster-enabled yes\ncluster-config-file nodes.conf\n\
             cluster-announce-ip 127.0.0.1\ncluster-announce-port {announced}\n\
             cluster-announce-bus-port {announced_bus}\nlogfile server.log\ndir {}\n\
             repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n",
            directory.display()
        );
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        std::fs::write(directory.join("redis.conf"), text)?;
        let mut node = Self { place, datacenter, directory, program: program.to_owned(), process: None };
        node.restart()?;
        Ok(node)
    }

    /// Starts it again, from what it has on disk.
    ///
    /// # Errors
    /// It does not start: the error holds what it has said, and the end of its log.
    pub fn restart(&mut self) -> std::io::Result<()> {
        self.kill();
        // a server must not outlive a test that is killed
        let mut command = match crate::on_path("setpriv") {
            Some(setpriv) => {
                let mut command = std::process::Command::new(setpriv);
                command.args(["--pdeathsig", "KILL"]).arg(&self.program);
                command
            }
            None => std::process::Command::new(&self.program),
        };
        command.arg("redis.conf").current_dir(&self.directory);
        // what is wrong with its configuration a server says before it has a log
        let errors = std::fs::File::create(self.directory.join("errors"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        self.process = Some(command.spawn()?);
        let end = Instant::now() + PATIENCE;
        loop {
            match self.ask::<String>(&["PING"]) {
                Ok(_) => return Ok(()),
                Err(error) => {
                    let ended =
                        self.process.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
                    if ended || Instant::now() > end {
                        let log = self.log();
                        let from = log.len().saturating_sub(3000);
                        let tail = log.get(from..).unwrap_or(&log);
                        let said = std::fs::read_to_string(self.directory.join("errors")).unwrap_or_default();
                        return Err(Error::other(format!(
                            "the server does not start: {error}\n{said}{tail}"
                        )));
                    }
                }
            }
            scaledb_sync::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as a power cut would: `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Ends it in good order: it saves what its configuration says.
    pub fn shut_down(&mut self) {
        let _ = self.ask::<redis::Value>(&["SHUTDOWN"]);
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }

    /// Whether it runs, as far as is known here.
    pub fn runs(&self) -> bool {
        self.process.is_some()
    }

    /// Its address for those beside it.
    pub fn address(&self) -> SocketAddr {
        loopback(self.place.port)
    }

    /// Its address for all others.
    pub fn announced(&self) -> SocketAddr {
        loopback(self.place.announced)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("server.log")).unwrap_or_default()
    }

    /// A connection to it.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect(&self) -> redis::RedisResult<redis::Connection> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", self.place.port))?;
        let connection = client.get_connection_with_timeout(Duration::from_secs(5))?;
        connection.set_read_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// Sends one command on a connection of its own.
    ///
    /// # Errors
    /// The server's, or that it does not answer.
    pub fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query(&mut self.connect()?)
    }

    /// Sends one command of Occult on a connection of its own.
    ///
    /// # Errors
    /// What the shard refuses, or another error of the server as text.
    pub fn occult(&self, command: &Command) -> Result<Reply, Failure> {
        let mut connection = self.connect().map_err(|error| Failure::Other(error.to_string()))?;
        occult(&mut connection, command)
    }

    /// A field of `INFO`.
    pub fn info(&self, field: &str) -> Option<String> {
        let text: String = self.ask(&["INFO", "everything"]).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        Some(line.trim().to_owned())
    }
}

/// Why a command has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The shard has refused it.
    Refused(Refused),
    /// Something else, as text.
    Other(String),
}

/// Sends a command of Occult.
///
/// # Errors
/// What the shard refuses, or another error of the server as text.
pub fn occult(connection: &mut redis::Connection, command: &Command) -> Result<Reply, Failure> {
    let mut request = redis::Cmd::new();
    for argument in command.to_args() {
        request.arg(argument);
    }
    match request.query::<Vec<u8>>(connection) {
        Ok(bytes) => Reply::from_bytes(&bytes).map_err(|error| Failure::Other(error.to_string())),
        Err(error) => {
            let text = format!("{} {}", error.code().unwrap_or("-"), error.detail().unwrap_or("-"));
            Err(text.parse().map_or(Failure::Other(text), Failure::Refused))
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
