//! Rows of the scaling table.

use crate::args::Args;
use scaledb_manycore::{Answer, Failure, Shape, Way};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// What the numbers are of.
///
/// # Errors
/// An unknown machine.
pub(crate) fn heading(args: &Args) -> Result<(), Failure> {
    #[cfg(sim)]
    {
        let names =
            scaledb_sync::machine::PRESETS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
        let spec = scaledb_sync::machine::preset(&args.machine);
        let spec = spec.ok_or_else(|| format!("no machine is called {}; there are {names}", args.machine))?;
        println!("SIMULATED on {}: {}", spec.name, spec.source);
        println!("A simulation is evidence of sharing, not of nanoseconds.");
    }
    #[cfg(not(sim))]
    {
        let _ = args;
        println!(
            "on real cores, per second of their time that the threads had; a build with RUSTFLAGS='--cfg sim' simulates other machines"
        );
    }
    println!(
        "{:<20} {:<12} {:>5} {:>12} {:>7} {:>10} {:>8}  conflicts",
        "workload", "way", "cores", "per second", "times", "efficiency", "aborts %"
    );
    Ok(())
}

/// A row.
pub(crate) struct Row<'a> {
    pub(crate) shape: Shape,
    pub(crate) way: Way,
    pub(crate) cores: usize,
    pub(crate) answer: &'a Answer,
    /// Transactions per second and core at the first number of cores.
    pub(crate) first: f64,
}

impl Row<'_> {
    fn times(&self) -> f64 {
        self.answer.per_second / self.first
    }
}

/// Prints a row.
pub(crate) fn print(row: &Row<'_>) {
    let Row { shape, way, cores, answer, .. } = row;
    let times = row.times();
    let aborts: Vec<_> =
        answer.aborts().iter().take(4).map(|(kind, count)| format!("{kind} {count}")).collect();
    let events = answer.events.map_or_else(String::new, |(millions, rate)| {
        format!("  [{millions:.0} M events, {rate:.1} M per second]")
    });
    println!(
        "{:<20} {:<12} {:>5} {:>12.0} {:>7.2} {:>9.1}% {:>8.2}  {}{events}",
        shape.name(),
        way.name(),
        cores,
        answer.per_second,
        times,
        times * 100.0 / *cores as f64,
        answer.abort_percent,
        aborts.join(", "),
    );
}

/// The table as a file.
pub(crate) struct Csv(Option<File>);

impl Csv {
    /// Creates it, if it is wanted.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn create(path: Option<&Path>) -> std::io::Result<Self> {
        let mut file = path.map(File::create).transpose()?;
        if let Some(file) = &mut file {
            writeln!(file, "machine,workload,way,cores,per_second,times,abort_percent")?;
        }
        Ok(Self(file))
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn row(&mut self, args: &Args, row: &Row<'_>) -> std::io::Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let machine = if scaledb_sync::SIMULATED { args.machine.as_str() } else { "real" };
        let (workload, way, cores, times) = (row.shape.name(), row.way.name(), row.cores, row.times());
        let Answer { per_second, abort_percent, .. } = row.answer;
        writeln!(file, "{machine},{workload},{way},{cores},{per_second:.0},{times:.3},{abort_percent:.3}")
    }
}
