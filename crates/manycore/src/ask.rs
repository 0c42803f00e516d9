//! What can be asked for, and the answer, as data.

use crate::shape::Shape;
use clap::ValueEnum;
use scaledb_workloads::report::Report;
use serde::{Deserialize, Serialize};

/// A point that is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// What runs.
    pub subject: Subject,
    /// On how many cores.
    pub cores: usize,
    /// The simulated machine.
    pub machine: String,
    /// Microseconds before counting begins; of the simulated time, if it is simulated.
    pub warmup_us: u64,
    /// Microseconds that are counted.
    pub measured_us: u64,
    /// Decides all that is random.
    pub seed: u64,
    /// Nanoseconds of instructions for an access to a line, if not those of the machine.
    pub work: Option<f64>,
    /// Nanoseconds of instructions for an access to the same line again.
    pub same_line: Option<f64>,
    /// What is different from the workload as it is by itself.
    pub tuning: Tuning,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            subject: Subject::Workload(Shape::Tpcc, Way::Measured),
            cores: 1,
            machine: "scaledb".to_owned(),
            warmup_us: 6_000,
            measured_us: 4_000,
            seed: 1,
            work: None,
            same_line: None,
            tuning: Tuning::default(),
        }
    }
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A workload on an engine.
    Workload(Shape, Way),
    /// A mechanism by itself.
    Mechanism(Mechanism),
}

/// Parameters that figures vary. What is `None` is the workload's, or the engine's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tuning {
    /// TPC-C: with all its items and customers, of which there are a twentieth otherwise.
    pub full: bool,
    /// TPC-C: warehouses.
    pub warehouses: Option<u16>,
    /// YCSB: records; SEATS: customers; Epinions: users.
    pub records: Option<u64>,
    /// YCSB: skew.
    pub theta: Option<f64>,
    /// YCSB: requests of a transaction.
    pub requests: Option<usize>,
    /// YCSB: percentage of requests that read; the others do whatever else the workload does.
    pub read_percent: Option<u32>,
    /// YCSB: bytes of a record.
    pub record_bytes: Option<usize>,
    /// Cicada: rows of up to so many bytes are inlined.
    pub inline_bytes: Option<u64>,
    /// Cicada: microseconds between two looks of a worker for what it may reclaim.
    pub quiescence_us: Option<u64>,
    /// Cicada: the longest pause after a conflict, in nanoseconds.
    pub backoff_ns: Option<u64>,
    /// Cicada: a technique to do without; in builds with `ablations`.
    pub without: Option<String>,
}

/// An engine, and how it gets new keys into its range indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// ACC, in batches.
    Collected,
    /// ACC, as each worker measures that it is cheaper.
    Measured,
    /// ACC, at each commit.
    Synchronous,
    /// Cicada.
    Cicada,
}

impl Way {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Collected => "collected",
            Self::Measured => "measured",
            Self::Synchronous => "synchronous",
            Self::Cicada => "cicada",
        }
    }
}

/// A mechanism that all transactions share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// The indexlet: half of the operations read a key, half insert one.
    Indexlet,
    /// The resident hash index, in the same way.
    HashIndex,
    /// A clock that each core reads.
    SynchronizedClock,
    /// A clock that one core writes.
    TimingThread,
    /// A counter that each core increments.
    SharedCounter,
}

/// A point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Transactions, or operations of a mechanism; on real cores, per second of the time that the threads had of them:
    /// others may want them, too.
    pub per_second: f64,
    /// Conflicts of 100 attempts.
    pub abort_percent: f64,
    /// What the driver reports of a workload.
    pub report: Option<Report>,
    /// Million memory events, and how many of them a second of the real time simulated.
    pub events: Option<(f64, f64)>,
    /// Where the simulated time went, as text.
    pub times: String,
}

impl Answer {
    /// Conflicts by kind and table, the most frequent first.
    pub fn aborts(&self) -> Vec<(String, u64)> {
        let mut sums = std::collections::BTreeMap::<String, u64>::new();
        for abort in self.report.iter().flat_map(|report| &report.classes).flat_map(|class| &class.aborts) {
            *sums.entry(format!("{} {}", abort.kind, abort.table)).or_default() += abort.count;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        sums
    }

    /// Of 100 attempts of a class of transactions, how many ended in a conflict.
    pub fn abort_percent_of(&self, class: &str) -> Option<f64> {
        let class = self.report.as_ref()?.classes.iter().find(|c| c.name == class)?;
        let attempts = class.commits + class.rollbacks + class.conflicts;
        (attempts > 0).then(|| 100.0 * class.conflicts as f64 / attempts as f64)
    }
}
