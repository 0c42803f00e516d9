//! Each rule of the protocol is needed: an engine without it produces a history that the check refuses.
//!
//! ```text
//! cargo test -p scaledb-verify --features mutations --test mutations
//! ```
//! A rule's hunt runs in a process of its own, for without some rules the engine reads memory that was
//! given back. `SCALEDB_SOAK_SECONDS` is the patience for one rule.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, Config, IndexUpdates, Rule, Rules};
use scaledb_engine::Access;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::{Arc, thread};
use scaledb_verify::history::{Keys, Kind, Mix, Plan, run};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CAUGHT: i32 = 77;
const STUCK: i32 = 78;
const HUNTED: &str = "SCALEDB_MUTATION";

fn seconds(otherwise: u64) -> u64 {
    std::env::var("SCALEDB_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);

fn with_batch(kind: Kind, batch: u32) -> Kind {
    Kind { merge_batch: Some(batch), ..kind }
}

/// Short histories of many kinds, taken in turn.
fn scenario(seed: u64) -> (Config, Plan) {
    // the rules are about entries that are collected
    let index_updates = IndexUpdates::Collected;
    let small = Config {
        indexlet_slots: 16,
        phantomlet_cells: 2,
        background: false,
        index_updates,
        ..Config::default()
    };
    let many = Mix { snapshots: 250, deferrable: 0, yields: 25, ..Mix::ALL };
    let short = Mix { operations: 4, savepoint: 2, yields: 15, ..Mix::ALL };
    let churn = Mix { yields: 25, ..Mix::CHURN };
    let undo = Mix { savepoint: 40, operations: 3, ..Mix::ALL };
    let epoch = |us| Duration::from_micros(us);
    let (config, tables, keys, mix) = match seed % 10 {
        0 => (small, vec![ORDERED], Keys::Uniform(8), short),
        1 => (
            Config { merge_epoch: epoch(100), ..small },
            vec![HASHED],
            Keys::Uniform(30),
            Mix { yields: 30, ..Mix::ALL },
        ),
        2 => (small, vec![with_batch(ORDERED, 2)], Keys::Uniform(300), churn),
        3 => (
            Config { background: true, merge_epoch: epoch(50), ..small },
            vec![ORDERED],
            Keys::Uniform(16),
            many,
        ),
        4 => (small, vec![with_batch(HASHED, 3)], Keys::Uniform(500), churn),
        5 => (small, vec![with_batch(ORDERED, 0), ORDERED], Keys::Uniform(6), short),
        6 => (
            Config { indexlet_slots: 64, ..small },
            vec![with_batch(ORDERED, 8).plain()],
            Keys::Uniform(1000),
            churn,
        ),
        7 => (small, vec![HASHED.plain()], Keys::Uniform(3), Mix { update: 60, get: 60, ..short }),
        8 => (small, vec![with_batch(HASHED, 1)], Keys::Uniform(12), many),
        _ => (small, vec![ORDERED], Keys::Uniform(6), undo),
    };
    let rows = match keys {
        Keys::Uniform(n) => n,
        _ => 0,
    };
    (
        config,
        Plan { seed, threads: 2 + (seed / 10 % 3) as usize * 2, transactions: 500, tables, keys, rows, mix },
    )
}

/// Not a test of its own: one rule's hunt, when the variable says so.
#[test]
fn hunt() {
    let Ok(name) = std::env::var(HUNTED) else { return };
    let rule = Rule::ALL.into_iter().find(|r| format!("{r:?}") == name);
    let rules = rule.map_or(Rules::default(), Rules::without);
    let (start, limit) = (Instant::now(), Duration::from_secs(seconds(20)));
    let progress = Arc::new(AtomicU64::new(0));
    let watched = progress.clone();
    thread::spawn(move || {
        let mut last = u64::MAX;
        // a count, and nothing else
        while last != watched.load(Ordering::Relaxed) {
            last = watched.load(Ordering::Relaxed);
            thread::sleep(Duration::from_secs(5));
        }
        println!("history {last} does not end");
        std::process::exit(STUCK);
    });
    let mut seed = 0;
    while start.elapsed() < limit {
        let (config, plan) = scenario(seed);
        let engine = Acc::open(Config { rules, ..config }).unwrap();
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

fn send_out(name: &str) -> (Outcome, String, f64) {
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hunt", "--nocapture"])
        .env(HUNTED, name)
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
    let limit = Duration::from_secs(seconds(20) * 2 + 20);
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

/// Whether real threads are expected to run into the hole; the others have their turn in
/// `shuttle_engine.rs`.
fn is_expected(rule: Rule) -> bool {
    !matches!(rule, Rule::PinFirst | Rule::PostBeforeTimestamp | Rule::Seqlock | Rule::LookAgain)
}

#[test]
fn every_rule_is_needed() {
    let only = std::env::var("SCALEDB_RULE").ok();
    let mut missed = Vec::new();
    for rule in Rule::ALL {
        let name = format!("{rule:?}");
        if only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        let (outcome, output, seconds) = send_out(&name);
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
        if matches!(outcome, Outcome::Missed) && is_expected(rule) {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

#[test]
fn with_all_rules_the_same_histories_pass() {
    let (outcome, output, _) = send_out("None");
    assert!(matches!(outcome, Outcome::Missed), "{output}");
}
