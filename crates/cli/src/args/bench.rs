//! The command line: what is measured.

use super::times::{seconds, within};
use super::{MAX_RECORDS, MAX_THREADS, MAX_WAREHOUSES, engines};
use crate::Result;
use clap::{Args as ClapArgs, ValueEnum};
use scaledb_base::timeouts::Unit;
use scaledb_engine::EngineOptions;
use scaledb_engines::EngineKind;
use scaledb_sync::thread::cores;
use scaledb_workloads::driver::Options;
use scaledb_workloads::tpcc::Scale;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// How SQL reaches the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlBy {
    /// By sessions in this process
    Embedded,
    /// By PostgreSQL's protocol
    Wire,
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
    /// SEATS: tickets of an airline; 35 % look for open seats, 20 % reserve one
    Seats,
    /// Epinions: reviews, and who trusts whom; half of nine short transactions write
    Epinions,
    /// SQL: prepared selects of one row by its key, each a transaction
    PointSelect,
    /// SQL: prepared updates of one row by its key, each a transaction
    PointUpdate,
    /// How often threads can read each kind of clock
    Clock,
    /// How old the state is that a snapshot shows, beside threads that write
    Staleness,
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
    #[arg(long, default_value = "10", value_parser = seconds())]
    pub(crate) seconds: Duration,
    /// Seconds before that
    #[arg(long, default_value = "2", value_parser = seconds())]
    pub(crate) warmup: Duration,
    /// tpcc: warehouses [default: as many as threads]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_WAREHOUSES))]
    pub(crate) warehouses: Option<u16>,
    /// tpcc: load only 2,000 items and 60 customers per district
    #[arg(long)]
    pub(crate) small: bool,
    /// ycsb, smallbank, seats, epinions, point-...: records, customers, users [default: 1000000; seats, point-...:
    /// 100000; epinions: 200000]
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
    #[arg(long, value_name = "MICROSECONDS", value_parser = within(Unit::Microseconds, 0..=u64::MAX))]
    pub(crate) quiescence: Option<Duration>,
    /// Longest pause after a conflict, in nanoseconds [default: what serves the throughput]
    #[arg(long, value_name = "NANOSECONDS", value_parser = within(Unit::Nanoseconds, 0..=u64::MAX))]
    pub(crate) backoff: Option<Duration>,
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
        if let Some(quiescence) = self.quiescence {
            options.set("quiescence", quiescence);
        }
        if let Some(backoff) = self.backoff {
            options.set("backoff", backoff);
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
    Seats,
    Epinions,
    Point,
    Clock,
    Staleness,
}

impl Workload {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Tpcc | Self::TpccNp | Self::TpccNd => Family::Tpcc,
            Self::Smallbank => Family::SmallBank,
            Self::Seats => Family::Seats,
            Self::Epinions => Family::Epinions,
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
        matches!(self, Self::Ycsb | Self::SmallBank | Self::Seats | Self::Epinions | Self::Point)
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

fn theta(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number is expected".to_owned())?;
    if (0.0..=4.0).contains(&number) { Ok(number) } else { Err("0 (uniform) to 4 is possible".to_owned()) }
}
