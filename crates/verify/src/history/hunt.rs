//! Hunts for the hole that an engine without one of its rules has: histories, until a check refuses one.
//!
//! A hunt runs in a process of its own, for without some rules an engine reads memory that was given back. The
//! process is the test binary itself, which must have a test that calls [`hunt`].
//!
//! `SCALEDB_SOAK_SECONDS` is the patience for one rule, in seconds of two cores, `SCALEDB_RULE` the only rule to try,
//! and `SCALEDB_VERBOSE` shows what was found.

use crate::history::run::{Plan, run};
use scaledb_engine::Engine;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::{Arc, thread};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CAUGHT: i32 = 77;
const STUCK: i32 = 78;
/// A machine with other work to do gets this many times the patience by the clock.
const SHARED: u32 = 4;
/// Seconds in which some history shows the hole: most do within one, a few take twenty to sixty.
const FOR_A_HOLE: u64 = 180;
/// Seconds in which the engine with all its rules has to show nothing.
const FOR_NOTHING: u64 = 20;
/// Seconds without the end of a history after which it is taken to be stuck.
const STUCK_AFTER: u64 = 15;
const PATIENCE: &str = "SCALEDB_SOAK_SECONDS";
const HUNTED: &str = "SCALEDB_MUTATION";

fn seconds(otherwise: u64) -> u64 {
    std::env::var(PATIENCE).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// What this process has had of all cores.
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// One rule's hunt, in the process that was started for it; else returns at once. `scenario` makes the engine
/// without the rule of that name, and the plan, from a number.
pub fn hunt<E>(scenario: impl Fn(&str, u64) -> (E, Plan))
where
    E: Engine,
    E::Worker: 'static,
{
    let Ok(rule) = std::env::var(HUNTED) else { return };
    let (start, limit) = (Instant::now(), Duration::from_secs(seconds(FOR_NOTHING)));
    let progress = Arc::new(AtomicU64::new(0));
    let watched = progress.clone();
    thread::spawn(move || {
        let mut last = u64::MAX;
        // a count, and nothing else
        while last != watched.load(Ordering::Relaxed) {
            last = watched.load(Ordering::Relaxed);
            thread::sleep(Duration::from_secs(STUCK_AFTER));
        }
        println!("history {last} does not end");
        std::process::exit(STUCK);
    });
    let mut seed = 0;
    while start.elapsed() < limit || start.elapsed() < limit * SHARED && processor_time() < limit * 2 {
        let (engine, plan) = scenario(&rule, seed);
        if let Err(violation) = run(&engine, &plan) {
            println!("history {seed}, after {:.2} s", start.elapsed().as_secs_f64());
            println!("{violation}");
            std::process::exit(CAUGHT);
        }
        seed += 1;
        progress.store(seed, Ordering::Relaxed); // a count
    }
    println!("{seed} histories, nothing found");
    std::process::exit(0);
}

enum Outcome {
    Caught,
    Crashed,
    Stuck,
    Missed,
}

/// A hunt with so many seconds of patience, unless the environment says otherwise.
fn send_out(test: &str, name: &str, patience: u64) -> (Outcome, String, f64) {
    let patience = seconds(patience);
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(HUNTED, name)
        .env(PATIENCE, patience.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::Read::read_to_end(&mut output, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let limit = Duration::from_secs(patience) * SHARED + Duration::from_secs(20);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let outcome = match status.map(|s| s.code()) {
        Some(Some(CAUGHT)) => Outcome::Caught,
        Some(Some(STUCK)) => Outcome::Stuck,
        Some(Some(0)) => Outcome::Missed,
        Some(_) => Outcome::Crashed,
        None => Outcome::Stuck,
    };
    (outcome, reader.join().unwrap(), start.elapsed().as_secs_f64())
}

/// Sends out a hunt for each rule: the test of this name, which calls [`hunt`].
///
/// # Panics
/// If the hole of a rule is not found.
pub fn assert_all_are_needed(test: &str, rules: impl Iterator<Item = String>) {
    let only = std::env::var("SCALEDB_RULE").ok();
    let mut missed = Vec::new();
    for name in rules {
        if only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        let (outcome, output, seconds) = send_out(test, &name, FOR_A_HOLE);
        let how = match outcome {
            Outcome::Caught => "refused",
            Outcome::Crashed => "crashed",
            Outcome::Stuck => "stuck",
            Outcome::Missed => "missed",
        };
        println!("without {name:20} {how:8} {seconds:5.1} s");
        if std::env::var("SCALEDB_VERBOSE").is_ok() {
            println!("{output}");
        }
        if matches!(outcome, Outcome::Missed) {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Sends out a hunt with all rules in force.
///
/// # Panics
/// If it finds anything.
pub fn assert_nothing_is_found(test: &str) {
    let (outcome, output, _) = send_out(test, "None", FOR_NOTHING);
    assert!(matches!(outcome, Outcome::Missed), "{output}");
}
