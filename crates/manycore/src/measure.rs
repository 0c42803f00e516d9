//! One point of a curve.

use crate::args::{Args, Way};
use crate::shape::Shape;
use scaledb_acc::{Acc, IndexUpdates};
use scaledb_cicada::Cicada;
use scaledb_workloads::driver::{Abort, Options, Outcome};
use scaledb_workloads::report::Report;
use std::collections::BTreeMap;
use std::error::Error;

/// What a way came to on a number of cores.
pub(crate) struct Point {
    pub(crate) workload: String,
    pub(crate) way: Way,
    pub(crate) cores: usize,
    pub(crate) per_second: f64,
    /// Conflicts of 100 attempts.
    pub(crate) abort_percent: f64,
    /// Conflicts by kind.
    pub(crate) aborts: Vec<(String, u64)>,
    /// Million memory events, and how many of them a second of the real time simulated.
    pub(crate) events: Option<(f64, f64)>,
    /// Where the simulated time went, as text.
    pub(crate) times: String,
}

/// A report, [`Point::events`] and [`Point::times`].
type Ran = (Report, Option<(f64, f64)>, String);

/// Measures a point.
///
/// # Errors
/// An unknown machine; what the engine returns.
pub(crate) fn measure(args: &Args, shape: Shape, way: Way, cores: usize) -> Result<Point, Box<dyn Error>> {
    let options = Options {
        threads: cores,
        warmup: args.warmup(),
        measured: args.measured(cores),
        pin: !scaledb_sync::SIMULATED,
        asynchronous: true,
    };
    let (report, events, times) = platform::run(args, &options, |loaded| match way {
        Way::Cicada => {
            let engine =
                Cicada::open(scaledb_cicada::Config { memory_budget: BUDGET, ..Default::default() })?;
            shape.run(&engine, &options, args, false, loaded)
        }
        Way::Collected => acc(IndexUpdates::Collected, shape, &options, args, false, loaded),
        Way::Measured => acc(IndexUpdates::Measured, shape, &options, args, false, loaded),
        Way::Synchronous => acc(IndexUpdates::Measured, shape, &options, args, true, loaded),
    })?;
    let mut aborts = BTreeMap::new();
    for abort in report.classes.iter().flat_map(|class| &class.aborts) {
        *aborts.entry(format!("{} {}", abort.kind, abort.table)).or_default() += abort.count;
    }
    let mut aborts: Vec<_> = aborts.into_iter().collect();
    aborts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Point {
        workload: shape.name(),
        way,
        cores,
        per_second: match report.commits_per_cpu_second {
            // others may want the real cores, too
            Some(per_second) if !scaledb_sync::SIMULATED => per_second * cores as f64,
            _ => report.commits_per_second,
        },
        abort_percent: report.abort_percent,
        aborts,
        events,
        times,
    })
}

/// Bytes of rows and indexes.
const BUDGET: u64 = 8 << 30;

fn acc(
    index_updates: IndexUpdates,
    shape: Shape,
    options: &Options,
    args: &Args,
    synchronous: bool,
    loaded: &mut (dyn FnMut() + Send),
) -> Outcome<Report> {
    let sized = scaledb_acc::Config::sized_for(options.threads);
    let config = scaledb_acc::Config { memory_budget: BUDGET, index_updates, ..sized };
    let engine = Acc::open(config).map_err(Abort::from)?;
    shape.run(&engine, options, args, synchronous, loaded)
}

#[cfg(sim)]
mod platform {
    use super::*;
    use scaledb_sync::{machine, thread};

    /// Runs on the simulated machine. What is loaded costs nothing.
    pub(super) fn run(
        args: &Args,
        options: &Options,
        work: impl FnOnce(&mut (dyn FnMut() + Send)) -> Outcome<Report>,
    ) -> Result<Ran, Box<dyn Error>> {
        let spec = machine::preset(&args.machine).ok_or("there is no machine of this name")?;
        let (work_ns, same_line) = (args.work, args.same_line);
        let spec =
            spec.with_work(work_ns.unwrap_or(spec.costs.work), same_line.unwrap_or(spec.costs.same_line));
        let (warmup, measured) = (options.warmup, options.measured);
        machine::run(&spec, args.seed, 0, || {
            machine::set_charging(false);
            let mut watcher = None;
            let mut loaded = || {
                machine::settle();
                machine::set_charging(true);
                let since = processor_seconds();
                machine::take_report();
                watcher = Some(thread::spawn(move || {
                    thread::sleep(warmup);
                    let before = machine::take_report();
                    thread::sleep(measured);
                    let report = machine::take_report();
                    (before.events + report.events, report, processor_seconds() - since)
                }));
            };
            let report = work(&mut loaded).map_err(|error| error.to_string())?;
            let watched = watcher.expect("it was loaded").join();
            let (events, times, seconds) = watched.map_err(|_| "the watcher panicked")?;
            let millions = events as f64 / 1e6;
            Ok((report, Some((millions, millions / seconds)), times.to_string()))
        })
    }
}

/// What this thread has had of its core: others may want it, too.
#[cfg(sim)]
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

#[cfg(not(sim))]
mod platform {
    use super::*;

    /// Runs on the real machine.
    pub(super) fn run(
        _: &Args,
        _: &Options,
        work: impl FnOnce(&mut (dyn FnMut() + Send)) -> Outcome<Report>,
    ) -> Result<Ran, Box<dyn Error>> {
        Ok((work(&mut || ())?, None, String::new()))
    }
}
