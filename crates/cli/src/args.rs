//! The command line.

use crate::Result;
use crate::shell::ShellArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use scaledb_base::limits::MAX_WORKERS;
use scaledb_engine::EngineOptions;
use scaledb_engines::EngineKind;
use scaledb_sync::thread::cores;
use scaledb_workloads::driver::Options;
use scaledb_workloads::tpcc::Scale;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

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
    #[arg(long, default_value_t = 1_800, value_name = "SECONDS")]
    pub(crate) limit: u64,
    /// Measure points again that an earlier run has kept in points.jsonl beside the pictures
    #[arg(long)]
    pub(crate) again: bool,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Print the nodes of a cluster, who is a member, who leads, and who keeps what
    Status(StatusArgs),
    /// Let a node be a member, after it was drained or removed, or give one that is new its part; waits until it has it
    Add(NodeCommandArgs),
    /// Move what a node keeps to others; it stays a member. Waits until it is done
    Drain(NodeCommandArgs),
    /// Move what a node keeps to others, and let it be a member no more. Waits until it is done
    Remove(NodeCommandArgs),
    /// Let all nodes keep as much as the others, and replace lost replicas; waits until it is done
    Rebalance(RebalanceArgs),
    /// Have all nodes copy their directories, as they are at one epoch; waits until they have
    Backup(ClusterBackupArgs),
    /// Make the directories of a new cluster's nodes, and its first view, from a backup
    Restore(ClusterRestoreArgs),
    /// Run three nodes on this machine with TPC-C and Retwis in SQL, kill one, let it come back, and look for what was
    /// answered; needs etcd
    Demo(ClusterDemoArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// What is to be done with a node.
#[derive(Debug, ClapArgs)]
pub(crate) struct NodeCommandArgs {
    /// The node's name
    pub(crate) node: String,
    /// Wait no longer than so many seconds; the cluster goes on
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RebalanceArgs {
    /// Wait no longer than so many seconds; the cluster goes on
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterBackupArgs {
    /// The name of the backup: that of a directory below each node's --cluster-backups
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterRestoreArgs {
    /// The nodes' copies, each a directory in this one
    pub(crate) from: PathBuf,
    /// Where the directories of the new nodes go, each by its node's name: move them to --data of the nodes
    pub(crate) to: PathBuf,
    /// The name of a node of the new cluster; once for each
    #[arg(long, value_name = "NAME", required = true)]
    pub(crate) node: Vec<String>,
    /// How many nodes of the new cluster may fail together [default: as in the one of the backup]
    #[arg(long, value_name = "N")]
    pub(crate) cluster_failures: Option<u8>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where the cluster's metadata are.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct StoreArgs {
    /// Where the cluster's metadata are kept: etcd, several of its addresses with commas between
    #[arg(long, value_name = "etcd://HOST:PORT")]
    pub(crate) cluster: String,
    /// The name of the cluster
    #[arg(long, default_value = "scaledb", value_name = "NAME")]
    pub(crate) cluster_name: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClusterDemoArgs {
    /// How long the nodes work before one is killed, without it, and when it is back, each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Clients of each node: half of them run TPC-C, half Retwis
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=64))]
    pub(crate) clients: u16,
    /// Milliseconds of silence after which a node is given up: more on a machine that is busy
    #[arg(long, default_value_t = 1000, value_name = "MS", value_parser = clap::value_parser!(u64).range(100..=600_000))]
    pub(crate) silence: u64,
    /// Warehouses of TPC-C, small ones
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) warehouses: u16,
    /// The program etcd
    #[arg(long, default_value = "etcd", value_name = "FILE")]
    pub(crate) etcd: PathBuf,
}

/// A server that is a node of a cluster.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct NodeArgs {
    /// Be a node of the cluster whose metadata are kept there: etcd, several of its addresses with commas between
    #[arg(long, value_name = "etcd://HOST:PORT", requires_all = ["node", "peer_listen", "peer_ca", "peer_certificate", "peer_key"])]
    pub(crate) cluster: Option<String>,
    /// The name of the cluster
    #[arg(long, default_value = "scaledb", value_name = "NAME", requires = "cluster")]
    pub(crate) cluster_name: String,
    /// The name of this node, which its certificate is for
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub(crate) node: Option<String>,
    /// Where to listen to other nodes
    #[arg(long, value_name = "ADDRESS:PORT", requires = "cluster")]
    pub(crate) peer_listen: Option<SocketAddr>,
    /// Where other nodes find this one [default: the node's name, and the port of --peer-listen]
    #[arg(long, value_name = "HOST:PORT", requires = "cluster")]
    pub(crate) peer_advertise: Option<String>,
    /// The authority that all nodes' certificates are of: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_ca: Option<PathBuf>,
    /// The certificate of this node: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_certificate: Option<PathBuf>,
    /// Its key: a PEM file
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) peer_key: Option<PathBuf>,
    /// A node that says nothing for so many milliseconds is put out; the same at all nodes
    #[arg(long, default_value_t = 1000, value_name = "MS", requires = "cluster", value_parser = clap::value_parser!(u64).range(100..=600_000))]
    pub(crate) cluster_silence: u64,
    /// Nodes that come back with their directories wait so many seconds for one that has not
    #[arg(long, default_value_t = 30, value_name = "SECONDS", requires = "cluster", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) cluster_restart: u64,
    /// A checkpoint is made when this node's log is so many mebibytes long
    #[arg(long, default_value_t = 64, value_name = "MIB", requires = "cluster", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) cluster_checkpoint: u64,
    /// Where this node puts its copy when the cluster is backed up: in DIR/BACKUP/NODE
    #[arg(long, value_name = "DIR", requires_all = ["cluster", "data"])]
    pub(crate) cluster_backups: Option<PathBuf>,
    /// A new cluster begins when so many nodes are there
    #[arg(long, default_value_t = 3, value_name = "N", requires = "cluster", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) cluster_nodes: u8,
    /// How many nodes of a new cluster may fail together
    #[arg(long, default_value_t = 1, value_name = "N", requires = "cluster")]
    pub(crate) cluster_failures: u8,
    /// Into how many partitions the keys of a new cluster are divided, for ever
    #[arg(long, default_value_t = 64, value_name = "N", requires = "cluster", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) cluster_partitions: u16,
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
    #[arg(long, default_value = "10", value_parser = seconds)]
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

/// How SQL reaches the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlBy {
    /// By sessions in this process
    Embedded,
    /// By PostgreSQL's protocol
    Wire,
}

impl DemoArgs {
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or(cores().min(4), usize::from)
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// TPC-C: 45 % New-Order, 43 % Payment, 4 % each of Order-Status, Delivery, Stock-Level
    Tpcc,
    /// TPC-C: half New-Order, half Payment
    TpccNp,
    /// TPC-C: half New-Order, half Delivery
    TpccNd,
    /// YCSB: half reads, half updates
    YcsbA,
    /// YCSB: 95 % reads, 5 % updates
    YcsbB,
    /// YCSB: reads
    YcsbC,
    /// YCSB: 95 % reads of the latest records, 5 % inserts
    YcsbD,
    /// YCSB: 95 % scans of up to 100 records, 5 % inserts
    YcsbE,
    /// YCSB: half reads, half read-modify-writes
    YcsbF,
    /// Transactions of 16 requests: half reads, half read-modify-writes
    #[value(name = "ycsb-16")]
    Ycsb16,
    /// Transactions of one request: 95 % reads, 5 % read-modify-writes
    #[value(name = "ycsb-1")]
    Ycsb1,
    /// 95 % reads, 5 % inserts, records of ten fields
    YcsbReadInsert,
    /// SmallBank: six short transactions, a hot spot
    Smallbank,
    /// SQL: prepared selects of one row by its key, each a transaction
    PointSelect,
    /// SQL: prepared updates of one row by its key, each a transaction
    PointUpdate,
    /// How often threads can read each kind of clock
    Clock,
    /// How old the state is that a snapshot shows, beside threads that write
    Staleness,
}

/// The engines by their names, for the help.
fn engines() -> impl TypedValueParser<Value = EngineKind> {
    let names = EngineKind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.help()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EngineKind>())
}

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BenchArgs {
    /// What is measured
    #[arg(value_enum)]
    pub(crate) workload: Workload,
    /// The engine
    #[arg(long, value_parser = engines(), default_value_t = EngineKind::Acc)]
    pub(crate) engine: EngineKind,
    /// tpcc, tpcc-np, tpcc-nd: run prepared statements of SQL instead of calls of the engine; point-select,
    /// point-update: how SQL is run [default: embedded]
    #[arg(long, value_enum, value_name = "BY")]
    pub(crate) sql: Option<SqlBy>,
    /// With --sql wire: a server to measure, such as PostgreSQL, instead of one in this process:
    /// "host=localhost port=5432 user=postgres". The tables are created; they must not be there
    #[arg(long, value_name = "PARAMETERS")]
    pub(crate) connect: Option<String>,
    /// Worker threads [default: the cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,
    /// Measure it with each of these numbers of threads, and print how it scales; stops at the cores that there are
    #[arg(long, value_delimiter = ',', value_name = "THREADS", conflicts_with_all = ["threads", "directory", "connect"],
          value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) scale: Vec<u16>,
    /// Seconds that are measured
    #[arg(long, default_value = "10", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// Seconds before that
    #[arg(long, default_value = "2", value_parser = seconds)]
    pub(crate) warmup: Duration,
    /// tpcc: warehouses [default: as many as threads]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_WAREHOUSES))]
    pub(crate) warehouses: Option<u16>,
    /// tpcc: load only 2,000 items and 60 customers per district
    #[arg(long)]
    pub(crate) small: bool,
    /// ycsb, smallbank, point-...: records, customers [default: 1000000; point-...: 100000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=MAX_RECORDS))]
    pub(crate) records: Option<u32>,
    /// ycsb: fields of a record [default: 1; ycsb-read-insert: 10]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) fields: Option<u8>,
    /// ycsb: bytes of a field [default: 100]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(8..=8_000))]
    pub(crate) field_bytes: Option<u16>,
    /// ycsb: Zipf skew, 0 is uniform [default: 0.99]
    #[arg(long, value_parser = theta)]
    pub(crate) theta: Option<f64>,
    /// ycsb: requests of a transaction [default: 1; ycsb-16: 16]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) requests: Option<u16>,
    /// ycsb-16, ycsb-1, ycsb-read-insert: percentage of requests that read
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) read_ratio: Option<u8>,
    /// smallbank: percentage of transactions on the hot spot [default: 90]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) hot: Option<u8>,
    /// smallbank: customers in the hot spot [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) hot_customers: Option<u32>,
    /// How new keys get into the range indexes of acc [default: measured]
    #[arg(long, value_enum)]
    pub(crate) index_updates: Option<IndexUpdates>,
    /// How Cicada is set up
    #[command(flatten)]
    pub(crate) cicada: CicadaArgs,
    /// Read-only transactions read a recent snapshot instead of the current state
    #[arg(long)]
    pub(crate) snapshot_reads: bool,
    /// Keep each thread on a core of its own
    #[arg(long)]
    pub(crate) pin: bool,
    /// MiB of memory to take from the system before the run: its first touch is slow
    #[arg(long, default_value_t = 0, value_name = "MIB")]
    pub(crate) reserve: u64,
    /// Keep the database in this directory, which must be empty; transactions count when they are durable
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// With --directory: transactions count when they have committed, durable or not
    #[arg(long, requires = "directory")]
    pub(crate) asynchronous: bool,
    /// With --directory: write a checkpoint when the log has grown by this many MiB; 0 for none
    #[arg(long, default_value_t = 1024, value_name = "MIB", requires = "directory")]
    pub(crate) checkpoint: u64,
    /// Do not check the database after the run
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Settings of Cicada that its figures vary.
#[derive(Debug, Clone, Default, PartialEq, Eq, ClapArgs)]
#[command(next_help_heading = "Options of --engine cicada")]
pub(crate) struct CicadaArgs {
    /// Inline rows of up to this many bytes; 0: none [default: 216]
    #[arg(long, value_name = "BYTES")]
    pub(crate) inline_bytes: Option<usize>,
    /// Microseconds between two looks of a worker for what it may reclaim [default: 10]
    #[arg(long, value_name = "MICROSECONDS")]
    pub(crate) quiescence: Option<u64>,
    /// Longest pause after a conflict, in nanoseconds [default: what serves the throughput]
    #[arg(long, value_name = "NANOSECONDS")]
    pub(crate) backoff: Option<u64>,
    /// A technique to do without
    #[cfg(feature = "ablations")]
    #[arg(long, value_enum)]
    pub(crate) without: Option<Technique>,
}

/// See `scaledb_cicada::Technique`.
#[cfg(feature = "ablations")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Technique {
    /// Wait for pending versions
    Wait,
    /// Write the latest version only
    Latest,
    /// Install contended writes first
    Sort,
    /// Check reads before anything is installed
    Precheck,
}

impl CicadaArgs {
    fn options(&self, options: &mut EngineOptions) {
        if let Some(bytes) = self.inline_bytes {
            options.set("inline_bytes", bytes as u64);
        }
        if let Some(micros) = self.quiescence {
            options.set("quiescence", Duration::from_micros(micros));
        }
        if let Some(nanos) = self.backoff {
            options.set("backoff", Duration::from_nanos(nanos));
        }
        #[cfg(feature = "ablations")]
        if let Some(value) = self.without.and_then(|technique| technique.to_possible_value()) {
            options.set("without", value.get_name());
        }
    }
}

impl BenchArgs {
    /// What is set for the engine of the benchmark alone.
    pub(crate) fn engine_options(&self) -> EngineOptions {
        let mut options = EngineOptions::new();
        if self.index_updates == Some(IndexUpdates::Collected) {
            options.set("index_updates", "collected");
        }
        self.cicada.options(&mut options);
        options
    }
}

/// See `scaledb_acc::IndexUpdates`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IndexUpdates {
    /// Whatever each worker finds to be cheaper
    #[default]
    Measured,
    /// In batches
    Collected,
    /// At each commit
    Synchronous,
}

/// Families of workloads, for options that belong to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Tpcc,
    Ycsb,
    SmallBank,
    Point,
    Clock,
    Staleness,
}

impl Workload {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Tpcc | Self::TpccNp | Self::TpccNd => Family::Tpcc,
            Self::Smallbank => Family::SmallBank,
            Self::PointSelect | Self::PointUpdate => Family::Point,
            Self::Clock => Family::Clock,
            Self::Staleness => Family::Staleness,
            _ => Family::Ycsb,
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl Family {
    fn has_records(self) -> bool {
        matches!(self, Self::Ycsb | Self::SmallBank | Self::Point)
    }

    fn has_sql(self) -> bool {
        matches!(self, Self::Tpcc | Self::Point)
    }
}

impl BenchArgs {
    /// How SQL reaches the database, if the workload is run in SQL.
    pub(crate) fn sql(&self) -> Option<SqlBy> {
        self.sql.or((self.workload.family() == Family::Point).then_some(SqlBy::Embedded))
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or(cores(), usize::from)
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            threads: self.threads(),
            warmup: self.warmup,
            measured: self.seconds,
            pin: self.pin,
            asynchronous: self.asynchronous,
        }
    }

    /// Refuses options that the workload does not have: ignoring them would mislead.
    pub(crate) fn check(&self) -> Result<()> {
        let family = self.workload.family();
        let has_ratio =
            matches!(self.workload, Workload::Ycsb16 | Workload::Ycsb1 | Workload::YcsbReadInsert);
        let runs_transactions = !matches!(family, Family::Clock | Family::Staleness);
        let misplaced = [
            ("--warehouses", self.warehouses.is_some(), family == Family::Tpcc),
            ("--small", self.small, family == Family::Tpcc),
            ("--records", self.records.is_some(), family.has_records()),
            ("--fields", self.fields.is_some(), family == Family::Ycsb),
            ("--field-bytes", self.field_bytes.is_some(), family == Family::Ycsb),
            ("--theta", self.theta.is_some(), family == Family::Ycsb),
            ("--requests", self.requests.is_some(), family == Family::Ycsb),
            ("--read-ratio", self.read_ratio.is_some(), has_ratio),
            ("--hot", self.hot.is_some(), family == Family::SmallBank),
            ("--hot-customers", self.hot_customers.is_some(), family == Family::SmallBank),
            ("--index-updates", self.index_updates.is_some(), runs_transactions),
            ("--snapshot-reads", self.snapshot_reads, runs_transactions),
            ("--directory", self.directory.is_some(), runs_transactions),
            ("--scale", !self.scale.is_empty(), runs_transactions),
            ("--sql", self.sql.is_some(), family.has_sql()),
            ("--connect", self.connect.is_some(), family.has_sql()),
        ];
        for (option, given, applies) in misplaced {
            if given && !applies {
                let name = self.workload.name();
                return Err(format!("{option} does not apply to {name}; try 'scaledb bench --help'").into());
            }
        }
        if self.cicada != CicadaArgs::default() && self.engine != EngineKind::Cicada {
            return Err("--inline-bytes, --quiescence, --backoff and --without need --engine cicada".into());
        }
        if self.index_updates.is_some() && self.engine == EngineKind::Cicada {
            return Err("--index-updates does not apply to cicada; leave it out".into());
        }
        if self.connect.is_some() && self.sql() != Some(SqlBy::Wire) {
            return Err("--connect needs --sql wire".into());
        }
        // the statements say how they are run; the engine, where it is kept, is opened in memory
        let of_the_engine = [
            ("--index-updates", self.index_updates.is_some()),
            ("--snapshot-reads", self.snapshot_reads),
            ("--pin", self.pin),
            ("--directory", self.directory.is_some()),
        ];
        let given = of_the_engine.iter().find(|(_, given)| *given && self.sql().is_some());
        given.map_or(Ok(()), |(option, _)| {
            Err(format!("{option} does not apply to --sql; leave it out").into())
        })
    }
}

/// The size of TPC-C.
pub(crate) fn scale(warehouses: Option<u16>, threads: usize, small: bool) -> Scale {
    let warehouses = warehouses.unwrap_or(threads as u16);
    if small { Scale { warehouses, items: 2_000, customers: 60 } } else { Scale::full(warehouses) }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    if !(0.0..=86_400.0).contains(&number) {
        return Err("0 to 86400 seconds are possible".to_owned());
    }
    Ok(Duration::from_secs_f64(number))
}

fn theta(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number is expected".to_owned())?;
    if (0.0..=4.0).contains(&number) { Ok(number) } else { Err("0 (uniform) to 4 is possible".to_owned()) }
}
