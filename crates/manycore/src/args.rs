//! The command line.

use clap::Parser;
use scaledb_manycore::{Ask, Shape, Subject, Tuning, Way};
use std::path::PathBuf;

/// Workloads on many cores: simulated in builds with `--cfg sim`, else on those of this machine.
#[derive(Debug, Parser)]
#[command(name = "manycore", max_term_width = 120)]
pub(crate) struct Args {
    /// A point as JSON, as `scaledb repro` asks for one; the answer is JSON, too. Nothing else counts then
    #[arg(long, value_name = "JSON")]
    pub(crate) ask: Option<String>,
    /// Print as JSON how this program was built, as `scaledb repro` asks before it asks for points
    #[arg(long, conflicts_with = "ask")]
    pub(crate) build: bool,
    /// The simulated machine: scaledb (2 x 18 cores), cicada (2 x 14), chiplets (2 x 64), flat (sharing is free)
    #[arg(long, default_value = "scaledb")]
    pub(crate) machine: String,
    /// Numbers of cores
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,24,36")]
    pub(crate) cores: Vec<usize>,
    /// Workloads
    #[arg(long, value_delimiter = ',', value_enum, default_value = "tpcc")]
    pub(crate) workload: Vec<Shape>,
    /// Engines, and ACC's ways of updating range indexes
    #[arg(long, value_delimiter = ',', value_enum, default_value = "collected,measured,synchronous,cicada")]
    pub(crate) ways: Vec<Way>,
    /// Milliseconds before counting begins, of the simulated time
    #[arg(long, default_value_t = 6)]
    pub(crate) warmup: u64,
    /// Milliseconds that are counted; by default 4 to 30, the fewer cores the more
    #[arg(long)]
    pub(crate) measured: Option<u64>,
    /// Decides all that is random
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Nanoseconds of instructions for an access to a line, if not those of the machine
    #[arg(long)]
    pub(crate) work: Option<f64>,
    /// Nanoseconds of instructions for an access to the same line again
    #[arg(long)]
    pub(crate) same_line: Option<f64>,
    /// TPC-C with all its items and customers, of which there are a twentieth otherwise
    #[arg(long)]
    pub(crate) full: bool,
    /// Print where the cores' time went, and the lines that they lost it on
    #[arg(long)]
    pub(crate) hot: bool,
    /// Write the table to this file, too
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
}

impl Args {
    /// The point of a workload on so many cores.
    pub(crate) fn point(&self, shape: Shape, way: Way, cores: usize) -> Ask {
        let measured = self.measured.unwrap_or((120 / cores as u64).clamp(4, 30));
        Ask {
            subject: Subject::Workload(shape, way),
            cores,
            machine: self.machine.clone(),
            warmup_us: self.warmup * 1_000,
            measured_us: measured * 1_000,
            seed: self.seed,
            work: self.work,
            same_line: self.same_line,
            tuning: Tuning { full: self.full, ..Tuning::default() },
        }
    }
}
