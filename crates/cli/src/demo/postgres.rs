//! A PostgreSQL of the demo's own: in a directory that goes with it, reached by a Unix socket.

use crate::Result;
use scaledb_sqlbench::Wire;
use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where distributions keep its programs, by version, newest first.
const PLACES: [&str; 8] = [
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/14/bin",
    "/usr/pgsql-15/bin",
    "/usr/local/bin",
    "/usr/bin",
];

/// Serializable as ScaleDB is, and with nothing that a database in memory does not do.
const SETTINGS: [&str; 8] = [
    "listen_addresses=",
    "default_transaction_isolation=serializable",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "max_pred_locks_per_transaction=4096",
];

/// How long its start may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The port in the socket's name; the server does not listen at it.
const PORT: u16 = 54_320;

/// A server that runs. Dropped, it is ended, and its files are removed.
pub(super) struct Postgres {
    name: String,
    server: Child,
    directory: TempDir,
}

impl Postgres {
    /// Starts one; `None` if PostgreSQL is not installed.
    pub(super) fn start() -> Result<Option<Self>> {
        let told = std::env::var_os("SCALEDB_POSTGRES_BIN").map(PathBuf::from);
        let places = told.into_iter().chain(PLACES.iter().map(PathBuf::from));
        let Some(programs) = places.into_iter().find(|place| place.join("initdb").exists()) else {
            return Ok(None);
        };
        let version = Command::new(programs.join("postgres")).arg("--version").output()?;
        let version = String::from_utf8_lossy(&version.stdout);
        let version = version.split_whitespace().nth(2).unwrap_or("of an unknown version").to_owned();
        // in memory where there is such a place
        let memory = Path::new("/dev/shm");
        let mut made = tempfile::Builder::new();
        made.prefix("scaledb-demo-");
        let directory = if memory.is_dir() { made.tempdir_in(memory) } else { made.tempdir() }?;
        let user = other_user(directory.path())?;
        let data = directory.path().join("data");
        let log = File::create(directory.path().join("log"))?;
        let command = |program: &str| -> Result<Command> {
            let mut command = Command::new(programs.join(program));
            command.current_dir(directory.path()).arg("-D").arg(&data);
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            Ok(command)
        };
        let made = command("initdb")?
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
            .status()?;
        if !made.success() {
            return Err(format!("initdb has failed ({made})").into());
        }
        let mut server = command("postgres")?;
        server.arg("-k").arg(directory.path()).args(["-p", &PORT.to_string()]);
        SETTINGS.iter().for_each(|setting| {
            server.args(["-c", setting]);
        });
        let server = server.spawn()?;
        let mut postgres = Self { name: format!("PostgreSQL {version}"), server, directory };
        postgres.wait()?;
        Ok(Some(postgres))
    }

    /// Until it answers.
    fn wait(&mut self) -> Result<()> {
        let since = Instant::now();
        while let Err(failure) = Wire::connect(&self.parameters()) {
            if let Some(status) = self.server.try_wait()? {
                return Err(format!("it ended at its start ({status})").into());
            }
            if since.elapsed() > PATIENCE {
                return Err(format!("it does not answer: {failure}").into());
            }
            scaledb_sync::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn parameters(&self) -> String {
        format!("host={} port={PORT} user=postgres dbname=postgres", self.directory.path().display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // in order, so that its own processes end with it: the signal of a fast shutdown
        let asked = Command::new("kill").args(["-INT", &self.server.id().to_string()]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

/// PostgreSQL refuses to run as root: then the user that it is run as, who is given the directory.
fn other_user(directory: &Path) -> Result<Option<(u32, u32)>> {
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata(directory)?.uid() != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let (user, group) = of("postgres").or_else(|| of("nobody")).ok_or("it does not run as root")?;
    chown(directory, Some(user), Some(group))?;
    Ok(Some((user, group)))
}
