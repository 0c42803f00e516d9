//! What a run did, as plain data.

use hdrhistogram::Histogram;
use scaledb_engine::{LogStats, Stats, TableStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The engine's name.
    pub engine: String,
    /// Worker threads.
    pub threads: usize,
    /// The measured time, in seconds.
    pub seconds: f64,
    /// Committed transactions per second, of all classes.
    pub commits_per_second: f64,
    /// Committed transactions per second of processor time that the worker threads got, where the system
    /// tells: the better number on a machine with other work.
    pub commits_per_cpu_second: Option<f64>,
    /// Of 100 attempts, how many ended in a conflict.
    pub abort_percent: f64,
    /// Each class of transactions.
    pub classes: Vec<ClassReport>,
    /// Bytes that the engine has taken for rows and indexes.
    pub memory_bytes: u64,
    /// The log during the run, warm-up included; `None` for a database in memory only.
    pub log: Option<LogReport>,
    /// Tables and indexes, since the database was opened.
    pub tables: Vec<TableReport>,
}

/// What the log had to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogReport {
    /// Bytes written for a transaction that wrote, padding included.
    pub bytes_per_transaction: f64,
    /// Transactions that were written and synced together, on average.
    pub transactions_per_group: f64,
    /// Half of the writes and syncs since the database was opened took at most so many microseconds (a power of two).
    pub sync_p50_us: u64,
    /// 99 % of them took at most so many (a power of two).
    pub sync_p99_us: u64,
}

impl LogReport {
    fn of(before: &LogStats, after: &LogStats) -> Self {
        let transactions = (after.transactions - before.transactions) as f64;
        let per = |n: u64, of: f64| n as f64 / of.max(1.0);
        Self {
            bytes_per_transaction: per(after.bytes - before.bytes, transactions),
            transactions_per_group: transactions / ((after.groups - before.groups) as f64).max(1.0),
            sync_p50_us: after.sync_p50_us,
            sync_p99_us: after.sync_p99_us,
        }
    }
}

/// What one class of transactions did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    /// Its name.
    pub name: String,
    /// Commits.
    pub commits: u64,
    /// Transactions that rolled themselves back.
    pub rollbacks: u64,
    /// Transactions that were tried more than once.
    pub retried: u64,
    /// Attempts that ended in a conflict.
    pub conflicts: u64,
    /// The conflicts by place and kind.
    pub aborts: Vec<Abort>,
    /// From its preparation to its end, retries included.
    pub latency: Latency,
}

/// Conflicts of one kind on one table or index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abort {
    /// The kind.
    pub kind: String,
    /// The table or index.
    pub table: String,
    /// How many.
    pub count: u64,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Measurements.
    pub count: u64,
    /// The mean.
    pub mean_us: f64,
    /// Half are at or below.
    pub p50_us: f64,
    /// 95 % are at or below.
    pub p95_us: f64,
    /// 99 % are at or below.
    pub p99_us: f64,
    /// 99.9 % are at or below.
    pub p999_us: f64,
    /// The largest.
    pub max_us: f64,
}

/// Counters of a table or index, since the database was opened. Fields as in the engine's `TableStats`; in JSON, the
/// engine's metrics stand beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TableReport {
    pub name: String,
    pub tree_entries: u64,
    pub cleaned: u64,
    pub hash_bytes: u64,
    pub other_bytes: u64,
    pub tree_bytes: u64,
    /// How long before scans found them rows had been written, of a sample of the scans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_to_scan: Vec<Ago>,
    #[serde(flatten)]
    pub metrics: BTreeMap<String, u64>,
}

/// Rows that were scanned so long after they had been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ago {
    /// Less than so many microseconds (a power of two), and not less than half of that. `None`: longer than the others.
    pub below_us: Option<u64>,
    /// The rows.
    pub rows: u64,
}

impl Ago {
    fn of(stats: &TableStats) -> Vec<Self> {
        let buckets = stats.write_to_scan.buckets().filter(|(_, rows)| *rows > 0);
        let below = |end: Duration| (end < Duration::MAX).then_some(end.as_micros() as u64);
        buckets.map(|(end, rows)| Self { below_us: below(end), rows }).collect()
    }
}

impl Latency {
    pub(crate) fn of(histogram: &Histogram<u32>, ticks_per_second: f64) -> Self {
        let micros = |ticks: f64| ticks / ticks_per_second * 1e6;
        let at = |q: f64| micros(histogram.value_at_quantile(q) as f64);
        Self {
            count: histogram.len(),
            mean_us: micros(histogram.mean()),
            p50_us: at(0.5),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: micros(histogram.max() as f64),
        }
    }
}

impl Report {
    pub(crate) fn new(
        engine: &str,
        threads: usize,
        seconds: f64,
        cpu: Option<Duration>,
        classes: Vec<ClassReport>,
        (before, stats): (&Stats, &Stats),
    ) -> Self {
        let commits: u64 = classes.iter().map(|c| c.commits).sum();
        let conflicts: u64 = classes.iter().map(|c| c.conflicts).sum();
        Self {
            engine: engine.to_owned(),
            threads,
            seconds,
            commits_per_second: commits as f64 / seconds.max(f64::MIN_POSITIVE),
            commits_per_cpu_second: cpu.filter(|t| !t.is_zero()).map(|t| commits as f64 / t.as_secs_f64()),
            abort_percent: 100.0 * conflicts as f64 / (commits + conflicts).max(1) as f64,
            classes,
            memory_bytes: stats.memory_bytes,
            log: before.log.zip(stats.log).map(|(before, after)| LogReport::of(&before, &after)),
            tables: stats.tables.iter().map(TableReport::from).collect(),
        }
    }

    /// Commits of all classes.
    pub fn commits(&self) -> u64 {
        self.classes.iter().map(|c| c.commits).sum()
    }
}

impl From<&TableStats> for TableReport {
    fn from(t: &TableStats) -> Self {
        Self {
            name: t.name.clone(),
            tree_entries: t.tree_entries,
            cleaned: t.cleaned,
            hash_bytes: t.hash_bytes,
            other_bytes: t.other_bytes,
            tree_bytes: t.tree_bytes,
            write_to_scan: Ago::of(t),
            metrics: t.metrics.by_name(),
        }
    }
}
