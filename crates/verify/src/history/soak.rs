//! Histories for some seconds, one after the other.
//!
//! `SCALEDB_SOAK_SECONDS` runs them for that long instead, with a new seed for each, and `SCALEDB_SEED` begins with
//! another seed. A failure prints the plan that it happened with.

use crate::history::run::{Plan, Report, run};
use scaledb_engine::Engine;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::{Arc, thread};
use std::fmt::Debug;
use std::time::{Duration, Instant};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A history that does not end is a failure too.
struct Watchdog(Arc<AtomicBool>);

impl Watchdog {
    fn start(what: String) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let theirs = done.clone();
        thread::spawn(move || {
            for _ in 0..600 {
                thread::sleep(Duration::from_millis(200));
                // a flag, and nothing else
                if theirs.load(Ordering::Relaxed) {
                    return;
                }
            }
            eprintln!("no end after 120 s: {what}");
            std::process::abort();
        });
        Self(done)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed); // seen soon enough
    }
}

/// Runs the histories of `plan` for some seconds, on a new engine each, with the configurations in turn.
///
/// # Panics
/// If a check fails. A history that does not end within two minutes aborts the process.
pub fn histories<E, C>(
    name: &str,
    seconds: f64,
    configs: &[C],
    open: impl Fn(C) -> E,
    plan: impl Fn(u64) -> Plan,
) where
    E: Engine,
    E::Worker: 'static,
    C: Clone + Debug,
{
    let seconds = number("SCALEDB_SOAK_SECONDS").map_or(seconds, |s| s as f64);
    let first = number("SCALEDB_SEED").unwrap_or(1);
    let start = Instant::now();
    let (mut sum, mut histories) = (Report::default(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        let plan = plan(first + histories);
        let config = &configs[histories as usize % configs.len()];
        let _watchdog = Watchdog::start(format!("{name}: {plan:?}"));
        let engine = open(config.clone());
        match run(&engine, &plan) {
            Ok(report) => {
                sum.committed += report.committed;
                sum.aborted += report.aborted;
            }
            Err(violation) => panic!("{name}: {plan:?}\n{config:?}\n{violation}"),
        }
        histories += 1;
    }
    println!(
        "{name}: {histories} histories, {} commits, {} aborts, {:.1} s",
        sum.committed,
        sum.aborted,
        start.elapsed().as_secs_f64()
    );
}
