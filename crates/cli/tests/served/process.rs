//! A server in a process of its own.

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) fn scaledb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scaledb"))
}

/// A running server. Dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(crate) fn start(data: &Path, environment: &[(&str, &str)]) -> Self {
        Self::start_engine("acc", data, environment)
    }

    pub(crate) fn start_engine(engine: &str, data: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = scaledb();
        command.args(["serve", "--port", "0", "--log", "error", "--max-connections", "400"]);
        command.args(["--engine", engine, "--data"]).arg(data);
        command.envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Starts a server in memory whose configuration has these lines.
    pub(crate) fn configured(lines: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("scaledb.toml");
        std::fs::write(&path, lines).expect("a configuration");
        Self::of_file(&path)
    }

    /// Starts a server in memory with this configuration.
    pub(crate) fn of_file(path: &Path) -> Self {
        let mut command = scaledb();
        command.args(["serve", "--port", "0", "--log", "error", "--config"]).arg(path);
        Self::spawn(command)
    }

    /// Starts a server in memory with this configuration, whose log goes to a file.
    pub(crate) fn logging(path: &Path, format: &str, log: &Path) -> Self {
        let mut command = scaledb();
        command.args(["serve", "--port", "0", "--log-format", format, "--config"]).arg(path);
        command.stderr(std::fs::File::create(log).expect("a file"));
        Self::spawn(command)
    }

    /// Starts a server in memory whose rows and indexes have so many mebibytes.
    pub(crate) fn small(engine: &str, mebibytes: u64) -> Self {
        let mut command = scaledb();
        command.args(["serve", "--port", "0", "--log", "error", "--engine", engine]);
        command.args(["--memory", &mebibytes.to_string()]);
        Self::spawn(command)
    }

    /// Starts a server in memory in a control group.
    pub(crate) fn in_group(engine: &str, group: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(group);
        command.arg(env!("CARGO_BIN_EXE_scaledb"));
        command.args(["serve", "--port", "0", "--log", "error", "--engine", engine]);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says something");
        let address =
            line.trim().strip_prefix("listening at ").expect("it listens").parse().expect("an address");
        Self { child, address }
    }

    pub(crate) fn client(&self) -> Client {
        connect(self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it dies");
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.expect("a kill command").success());
    }

    /// Ends the server in order. Returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().expect("it ends").code()
    }

    /// What the system says of the process: kilobytes of memory, or a count.
    pub(crate) fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {field} in {status}"))
    }

    pub(crate) fn is_up(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // one that was killed is gone already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn connect(address: SocketAddr) -> Client {
    let mut config = Config::new();
    config.host(&address.ip().to_string()).port(address.port()).user("ann").dbname("postgres");
    config.connect(NoTls).expect("the server lets clients in")
}

/// Whether the transaction is to be run again.
pub(crate) fn is_conflict(error: &postgres::Error) -> bool {
    let codes = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| codes.contains(code))
}
