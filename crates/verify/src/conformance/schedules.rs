//! The whole engine under random schedules: each run is another small program and another interleaving of
//! its atomic operations, checked like every history.
//!
//! `SCALEDB_SCHEDULES` is the number of schedules of each test, `SCALEDB_SEED` the first program, and `SCALEDB_STEP`
//! (1) how far it is from one to the next. With the feature `mutations`, `SCALEDB_MUTATION` names a rule to switch off.

use crate::conformance::{Purpose, Subject};
use crate::history::{Keys, Kind, Mix, Plan, run};
use std::cell::Cell;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

thread_local! {
    /// The next program. All tasks of a schedule run on one thread.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Runs small programs, each under one schedule; panics if a history is refused.
fn schedules<S: Subject>(number_of: u64, without: Option<String>, program: &'static str) {
    NEXT.set(number("SCALEDB_SEED", 1));
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = shuttle::MaxSteps::ContinueAfter(2_000_000);
    config.failure_persistence = shuttle::FailurePersistence::None;
    let body = move || {
        let seed = NEXT.replace(NEXT.get() + number("SCALEDB_STEP", 1));
        let plan = plan::<S>(program, seed);
        let full = program == "full";
        let engine = S::open(Purpose::Schedule { seed, full, without: without.as_deref() }).unwrap();
        if let Err(violation) = run(&engine, &plan) {
            panic!("program {seed}: {plan:?}\n{violation}");
        }
    };
    shuttle::Runner::new(shuttle::scheduler::RandomScheduler::new(number_of as usize), config).run(body);
}

fn small(seed: u64, tables: &[Kind], keys: i32, mix: Mix) -> Plan {
    let threads = 2 + seed as usize % 2;
    let tables = vec![tables[seed as usize % tables.len()]];
    Plan {
        seed,
        threads,
        transactions: 3,
        tables,
        keys: Keys::Uniform(keys),
        rows: keys,
        mix,
        unique_timestamps: true,
    }
}

/// The program of a name and a number.
fn plan<S: Subject>(program: &str, seed: u64) -> Plan {
    const QUIET: Mix =
        Mix { snapshots: 0, deferrable: 0, yields: 0, operations: 3, savepoint: 1, run: 0, ..Mix::ALL };
    let tables = S::DIFFERENCES.programs;
    let plain = |kinds: &[Kind]| kinds.iter().map(|kind| kind.plain()).collect::<Vec<_>>();
    match program {
        "inserts" => {
            let mix = Mix { insert: 40, scan: 40, get: 5, update: 3, delete: 5, ..QUIET };
            small(seed, &plain(tables.inserts), 6, mix)
        }
        "splits" => {
            let mix = Mix { insert: 40, scan: 40, run: 20, get: 5, update: 0, delete: 10, ..QUIET };
            small(seed, &plain(tables.others), 40, mix)
        }
        "deletes" => {
            let mix = Mix { insert: 40, delete: 40, replace: 20, get: 20, scan: 10, ..QUIET };
            small(seed, &plain(tables.others), 3, mix)
        }
        "full" => {
            let mix = Mix { insert: 50, delete: 30, replace: 20, get: 20, scan: 10, ..QUIET };
            small(seed, &plain(tables.full), 4, mix)
        }
        "indexes" => {
            let mix = Mix { move_entry: 40, get_unique: 20, scan: 20, ..QUIET };
            small(seed, tables.others, 3, mix)
        }
        "snapshots" => {
            let mix = Mix { snapshots: 350, deferrable: 300, update: 60, delete: 20, insert: 20, ..QUIET };
            small(seed, &plain(tables.others), 3, mix)
        }
        // snapshots that begin while versions are freed
        "versions" => {
            let mix =
                Mix { snapshots: 500, deferrable: 50, update: 80, get: 20, delete: 0, insert: 0, ..QUIET };
            Plan { threads: 2, transactions: 6, ..small(seed, &[tables.row.plain()], 1, mix) }
        }
        "lengths" => {
            let mix = Mix { update: 80, get: 60, ..QUIET };
            small(seed, &[tables.row.plain()], 1, mix)
        }
        // writes that are taken back, and writers before and behind them
        "hot" => {
            let mix =
                Mix { update: 100, get: 10, scan: 0, insert: 0, delete: 0, replace: 0, sweep: 0, ..QUIET };
            let mix =
                Mix { move_entry: 0, get_unique: 0, savepoint: 0, read_only: 100, operations: 2, ..mix };
            Plan { threads: 4, transactions: 5, ..small(seed, &[tables.row.plain()], 2, mix) }
        }
        _ => panic!("there is no program {program}"),
    }
}

/// A test: the schedules of one program, at most so many.
fn test<S: Subject>(program: &'static str, most: u64) {
    let without = if cfg!(feature = "mutations") { std::env::var("SCALEDB_MUTATION").ok() } else { None };
    let schedules_of = S::DIFFERENCES.programs.schedules.min(most);
    schedules::<S>(number("SCALEDB_SCHEDULES", schedules_of), without, program);
}

/// Inserts, scans, and merges if there are any.
pub fn inserts_against_scans<S: Subject>() {
    test::<S>("inserts", u64::MAX);
}

/// Leaves that split while they are scanned.
pub fn splits_against_scans<S: Subject>() {
    test::<S>("splits", 10_000);
}

/// Keys that go and come back.
pub fn deletes_and_clean_up_against_inserts<S: Subject>() {
    test::<S>("deletes", u64::MAX);
}

/// Whatever has a limited number of places has very few of them.
pub fn full_indexlets_and_synchronous_tables<S: Subject>() {
    test::<S>("full", if S::DIFFERENCES.merges { u64::MAX } else { 2_000 });
}

/// Entries of indexes that move.
pub fn index_updates<S: Subject>() {
    test::<S>("indexes", u64::MAX);
}

/// Snapshots beside writers.
pub fn snapshots_against_commits<S: Subject>() {
    test::<S>("snapshots", u64::MAX);
}

/// Snapshots of a row that is updated all the time.
pub fn snapshots_against_updates<S: Subject>() {
    test::<S>("versions", u64::MAX);
}

/// Rows whose length changes while they are read.
pub fn rows_of_changing_length<S: Subject>() {
    test::<S>("lengths", u64::MAX);
}

/// Two rows that all write.
pub fn updates_of_hot_rows<S: Subject>() {
    test::<S>("hot", 10_000);
}

/// The rules whose holes real threads seldom run into; for the others see [`mutations`](crate::conformance::mutations).
pub fn rules_that_real_threads_seldom_need<S: Subject>() {
    let mut missed = Vec::new();
    for mutation in S::mutations() {
        let programs = mutation.noticed.by_schedules();
        let found = programs.iter().any(|&program| {
            let rule = Some(mutation.rule.clone());
            std::panic::catch_unwind(|| schedules::<S>(30_000, rule, program)).is_err()
        });
        if !programs.is_empty() && !found {
            missed.push(mutation.rule);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
