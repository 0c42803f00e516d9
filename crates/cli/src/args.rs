//! The command line.

mod bench;
mod cluster;
mod times;

use crate::shell::ShellArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use scaledb_base::limits::MAX_WORKERS;
#[cfg(feature = "repro")]
use scaledb_base::timeouts::Unit;
use scaledb_engines::EngineKind;
use scaledb_sync::thread::cores;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use times::seconds;
#[cfg(feature = "repro")]
use times::within;

pub(crate) use bench::{BenchArgs, Family, IndexUpdates, SqlBy, Workload, scale};
pub(crate) use cluster::{
    ClusterArgs, ClusterBackupArgs, ClusterCommand, ClusterDemoArgs, ClusterRestoreArgs, NodeArgs,
    NodeCommandArgs, RebalanceArgs, StoreArgs,
};

/// Threads at most: the engine keeps a worker or two for itself.
const MAX_THREADS: i64 = MAX_WORKERS as i64 - 2;
/// Warehouses at most: their number is an `Int2`.
const MAX_WAREHOUSES: i64 = 32_767;
/// Records at most.
const MAX_RECORDS: i64 = 2_000_000_000;

/// ScaleDB: a serializable in-memory database.
#[derive(Debug, Parser)]
#[command(name = "scaledb", version, about, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server with TPC-C's tables, run the transactions against it in SQL, and check the database.
    Demo(DemoArgs),
    /// Measure a workload.
    Bench(BenchArgs),
    /// Make figures of the papers again: tables, CSV files and pictures.
    #[cfg(feature = "repro")]
    Repro(ReproArgs),
    /// Be a server for PostgreSQL's clients.
    Serve(Box<ServeArgs>),
    /// Run SQL: in memory, on a directory, or on a server; at a terminal, or from a script.
    Shell(ShellArgs),
    /// Print what the server's configuration keeps of a password (read from the standard input).
    Password,
    /// Verify a database directory: every checksum, and tables against their indexes.
    Check(CheckArgs),
    /// Copy a database, which may be in use, to an empty directory, and verify the copy.
    Backup(BackupArgs),
    /// Copy a backup to an empty directory, where it is a database to be opened.
    Restore(BackupArgs),
    /// Look at the redo log.
    Log(LogArgs),
    /// Look at a cluster of nodes, or see one at work.
    Cluster(ClusterArgs),
}

#[cfg(feature = "repro")]
#[derive(Debug, ClapArgs)]
pub(crate) struct ReproArgs {
    /// Figures (scaledb-8a), papers (cicada), or all; list prints their names
    #[arg(required = true, value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// Seconds instead of minutes: shows that a figure can be made; its points mean little
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where the CSV files and the pictures go
    #[arg(long, default_value = "evidence", value_name = "DIRECTORY")]
    pub(crate) out: PathBuf,
    /// A page in Markdown: figures that it has places for are put there
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    /// Only what the cores of this machine measure: nothing is simulated
    #[arg(long, conflicts_with = "simulator")]
    pub(crate) real: bool,
    /// The simulator of many cores [default: where 'make simulator' leaves it]
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) simulator: Option<PathBuf>,
    /// Only what is simulated: the cores of this machine, which others may use, measure nothing
    #[arg(long, conflicts_with = "real")]
    pub(crate) simulated: bool,
    /// The longest time that the simulator may take for one point, in seconds
    #[arg(long, default_value = "1800", value_name = "SECONDS", value_parser = within(Unit::Seconds, 0..=u64::MAX))]
    pub(crate) limit: Duration,
    /// Measure points again that an earlier run has kept in points.jsonl beside the pictures
    #[arg(long)]
    pub(crate) again: bool,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// The directory; of a database that is in use, only the checksums are verified
    pub(crate) directory: PathBuf,
    /// Threads that read it [default: the cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BackupArgs {
    /// The directory that is copied
    pub(crate) from: PathBuf,
    /// The directory of the copy: empty, or not there
    pub(crate) to: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Print what the log of a directory holds
    Dump(DumpArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DumpArgs {
    /// The directory
    pub(crate) directory: PathBuf,
    /// How much is printed
    #[arg(long, value_enum, default_value_t = Detail::Groups)]
    pub(crate) detail: Detail,
}

/// How much of a log is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Detail {
    /// Its segments
    Segments,
    /// and their groups
    Groups,
    /// and their transactions
    Transactions,
    /// and what those did
    Operations,
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct ServeArgs {
    /// The configuration: encryption, users, rules, limits; what is given here overrides it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// An address to listen at; may be repeated [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<IpAddr>,
    /// The port; 0 is a free one [default: 5432]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The directory of a Unix socket
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) socket: Option<PathBuf>,
    /// Clients at most [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<usize>,
    /// Serve metrics for Prometheus at this address and port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// The engine of the database [default: acc]
    #[arg(long, value_parser = engines())]
    pub(crate) engine: Option<EngineKind>,
    /// Keep the database in this directory [default: in memory only]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) data: Option<PathBuf>,
    /// Mebibytes that rows and indexes may take [default: six tenths of what the machine or its cgroup has]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// What is logged to the standard error: error, warn, info, debug
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(crate) log: tracing::Level,
    /// How the lines of the log are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
}

/// How the lines of the log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people: values in quotes where they need them
    Text,
    /// A JSON object a line
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Worker threads [default: the cores, at most 4]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,
    /// Warehouses [default: as many as threads]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_WAREHOUSES))]
    pub(crate) warehouses: Option<u16>,
    /// Seconds that are measured
    #[arg(long, default_value = "10", value_parser = seconds())]
    pub(crate) seconds: Duration,
    /// Load only 2,000 items and 60 customers per district
    #[arg(long)]
    pub(crate) small: bool,
    /// Leave PostgreSQL out, which is given the same load if it is installed
    #[arg(long)]
    pub(crate) alone: bool,
    /// End after the checks, as without a terminal, instead of leaving the server to other clients
    #[arg(long)]
    pub(crate) exit: bool,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl DemoArgs {
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or(cores().min(4), usize::from)
    }
}

/// The engines by their names, for the help.
fn engines() -> impl TypedValueParser<Value = EngineKind> {
    let names = EngineKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.help()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EngineKind>())
}
