//! Measures a point.

use crate::ask::{Answer, Ask, Subject, Way};
use crate::mechanism;
use scaledb_acc::{Acc, IndexUpdates};
use scaledb_cicada::Cicada;
use scaledb_engine::EngineOptions;
use scaledb_workloads::driver::{Abort, Options, Outcome};
use scaledb_workloads::report::Report;
use std::error::Error;
use std::time::Duration;

/// Why there is no answer: an unknown machine or option, or what the engine says.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Bytes of rows and indexes.
const BUDGET: u64 = 8 << 30;

/// What ran: its rate, and the report of a workload.
type Ran = (f64, Option<Report>);

/// What ran, [`Answer::events`] and [`Answer::times`].
type Watched = (Ran, Option<(f64, f64)>, String);

/// Measures a point, on simulated cores in builds with `--cfg sim`, else on real ones.
///
/// # Errors
/// An unknown machine; what the engine returns.
pub fn measure(ask: &Ask) -> Result<Answer, Failure> {
    let options = Options {
        threads: ask.cores,
        warmup: Duration::from_micros(ask.warmup_us),
        measured: Duration::from_micros(ask.measured_us),
        pin: !scaledb_sync::SIMULATED,
        asynchronous: true,
    };
    let ((per_second, report), events, times) = platform::run(ask, &options, |loaded| match ask.subject {
        Subject::Workload(shape, way) => {
            let report = match way {
                Way::Cicada => shape.run(&cicada(ask)?, &options, ask, false, loaded),
                Way::Collected => {
                    shape.run(&acc(IndexUpdates::Collected, ask)?, &options, ask, false, loaded)
                }
                Way::Measured => shape.run(&acc(IndexUpdates::Measured, ask)?, &options, ask, false, loaded),
                Way::Synchronous => {
                    shape.run(&acc(IndexUpdates::Measured, ask)?, &options, ask, true, loaded)
                }
            }?;
            Ok((rate(&report, ask.cores), Some(report)))
        }
        Subject::Mechanism(mechanism) => {
            Ok((mechanism::rate(mechanism, ask.cores, options.measured, loaded)?, None))
        }
    })?;
    let abort_percent = report.as_ref().map_or(0.0, |report| report.abort_percent);
    Ok(Answer { per_second, abort_percent, report, events, times })
}

fn rate(report: &Report, cores: usize) -> f64 {
    match report.commits_per_cpu_second {
        // others may want the real cores, too
        Some(per_second) if !scaledb_sync::SIMULATED => per_second * cores as f64,
        _ => report.commits_per_second,
    }
}

fn acc(index_updates: IndexUpdates, ask: &Ask) -> Outcome<Acc> {
    let sized = scaledb_acc::Config::sized_for(ask.cores);
    Acc::open(scaledb_acc::Config { memory_budget: BUDGET, index_updates, ..sized }).map_err(Abort::from)
}

fn cicada(ask: &Ask) -> Outcome<Cicada> {
    let tuning = &ask.tuning;
    let mut options = EngineOptions::new();
    if let Some(bytes) = tuning.inline_bytes {
        options.set("inline_bytes", bytes);
    }
    if let Some(micros) = tuning.quiescence_us {
        options.set("quiescence", Duration::from_micros(micros));
    }
    if let Some(nanos) = tuning.backoff_ns {
        options.set("backoff", Duration::from_nanos(nanos));
    }
    if let Some(technique) = &tuning.without {
        options.set("without", technique.as_str());
    }
    let mut config = scaledb_cicada::Config { memory_budget: BUDGET, ..Default::default() };
    config.set(&options)?;
    Ok(Cicada::open(config)?)
}

#[cfg(sim)]
mod platform {
    use super::*;
    use scaledb_sync::{machine, thread};

    /// Runs on the simulated machine. What is loaded costs nothing.
    pub(super) fn run(
        ask: &Ask,
        options: &Options,
        work: impl FnOnce(&mut (dyn FnMut() + Send)) -> Result<Ran, Failure>,
    ) -> Result<Watched, Failure> {
        let spec = machine::preset(&ask.machine).ok_or("there is no machine of this name")?;
        let spec = spec
            .with_work(ask.work.unwrap_or(spec.costs.work), ask.same_line.unwrap_or(spec.costs.same_line));
        let warmup =
            if matches!(ask.subject, Subject::Mechanism(_)) { Duration::ZERO } else { options.warmup };
        let measured = options.measured;
        machine::run(&spec, ask.seed, 0, || {
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
            let ran = work(&mut loaded)?;
            let watched = watcher.expect("it was loaded").join();
            let (events, times, seconds) = watched.map_err(|_| "the watcher panicked")?;
            let millions = events as f64 / 1e6;
            Ok((ran, Some((millions, millions / seconds)), times.to_string()))
        })
    }

    /// What this thread has had of its core: others may want it, too.
    fn processor_seconds() -> f64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9
    }
}

#[cfg(not(sim))]
mod platform {
    use super::*;

    /// Runs on the real machine.
    pub(super) fn run(
        _: &Ask,
        _: &Options,
        work: impl FnOnce(&mut (dyn FnMut() + Send)) -> Result<Ran, Failure>,
    ) -> Result<Watched, Failure> {
        Ok((work(&mut || ())?, None, String::new()))
    }
}
