//! The whole engine under random schedules: each run is another small program and another interleaving of
//! its atomic operations, checked like every history.
//!
//! ```text
//! RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=target/shuttle \
//!     cargo test -p scaledb-verify --release --test shuttle_engine
//! ```
//! `SCALEDB_SCHEDULES` is the number of schedules of each test, `SCALEDB_SEED` the first program, and `SCALEDB_STEP` (1) how
//! far it is from one to the next.
//! With the feature `mutations`, `SCALEDB_MUTATION` names a rule to switch off.
#![cfg(shuttle)]

use scaledb_acc::{Acc, Config, Rules};
use scaledb_engine::Access;
use scaledb_verify::history::{Keys, Kind, Mix, Plan, run};
use std::cell::Cell;
use std::time::Duration;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

fn rules() -> Rules {
    #[cfg(feature = "mutations")]
    if let Ok(name) = std::env::var("SCALEDB_MUTATION") {
        return Rules::without(
            scaledb_acc::Rule::ALL.into_iter().find(|r| format!("{r:?}") == name).unwrap(),
        );
    }
    Rules::default()
}

const ORDERED: Kind = Kind::new(Access::Ordered, Some(2));
const HASHED: Kind = Kind::new(Access::Hashed, Some(2));

thread_local! {
    /// The next program. All tasks of a schedule run on one thread.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Runs small programs, each under one schedule; panics if a history is refused.
fn schedules(number_of: u64, rules: Rules, (slots, plan): Programs) {
    let schedules = number_of as usize;
    NEXT.set(number("SCALEDB_SEED", 1));
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = shuttle::MaxSteps::ContinueAfter(2_000_000);
    config.failure_persistence = shuttle::FailurePersistence::None;
    let body = move || {
        let seed = NEXT.replace(NEXT.get() + number("SCALEDB_STEP", 1));
        let plan = plan(seed);
        let config = Config {
            indexlet_slots: slots,
            phantomlet_cells: 1 + seed as usize % 3,
            merge_epoch: Duration::from_nanos(if seed % 2 == 0 { 400 } else { 100_000 }),
            background: false,
            rules,
            ..Config::default()
        };
        let engine = Acc::open(config).unwrap();
        if let Err(violation) = run(&engine, &plan) {
            panic!("program {seed}: {plan:?}\n{violation}");
        }
    };
    shuttle::Runner::new(shuttle::scheduler::RandomScheduler::new(schedules), config).run(body);
}

fn small(seed: u64, table: Kind, keys: i32, mix: Mix) -> Plan {
    let threads = 2 + seed as usize % 2;
    Plan { seed, threads, transactions: 3, tables: vec![table], keys: Keys::Uniform(keys), rows: keys, mix }
}

const QUIET: Mix =
    Mix { snapshots: 0, deferrable: 0, yields: 0, operations: 3, savepoint: 1, run: 0, ..Mix::ALL };

/// Slots of the indexlets, and a program for each seed.
type Programs = (usize, fn(u64) -> Plan);

/// The last two update their indexes at commit and in batches by turns.
const KINDS: [Kind; 4] = [ORDERED, HASHED, Kind::new(Access::Ordered, None), Kind::new(Access::Hashed, None)];

const INSERTS: Programs = (32, |seed| {
    let mix = Mix { insert: 40, scan: 40, get: 5, update: 3, delete: 5, ..QUIET };
    small(seed, KINDS[2 * (seed as usize % 2)].plain(), 6, mix)
});

const SPLITS: Programs = (32, |seed| {
    let mix = Mix { insert: 40, scan: 40, run: 20, get: 5, update: 0, delete: 10, ..QUIET };
    small(seed, KINDS[seed as usize % 4].plain(), 40, mix)
});

const DELETES: Programs = (32, |seed| {
    let mix = Mix { insert: 40, delete: 40, replace: 20, get: 20, scan: 10, ..QUIET };
    small(seed, KINDS[seed as usize % 4].plain(), 3, mix)
});

const FULL: Programs = (2, |seed| {
    let mix = Mix { insert: 50, delete: 30, replace: 20, get: 20, scan: 10, ..QUIET };
    let kinds = [
        ORDERED,
        Kind { merge_batch: Some(0), ..ORDERED },
        Kind { merge_batch: Some(0), ..HASHED },
        KINDS[2],
    ];
    small(seed, kinds[seed as usize % 4].plain(), 4, mix)
});

const INDEXES: Programs = (32, |seed| {
    let mix = Mix { move_entry: 40, get_unique: 20, scan: 20, ..QUIET };
    small(seed, KINDS[seed as usize % 4], 3, mix)
});

const SNAPSHOTS: Programs = (32, |seed| {
    let mix = Mix { snapshots: 350, deferrable: 300, update: 60, delete: 20, insert: 20, ..QUIET };
    small(seed, KINDS[seed as usize % 4].plain(), 3, mix)
});

const LENGTHS: Programs = (32, |seed| {
    let mix = Mix { update: 80, get: 60, ..QUIET };
    small(seed, HASHED.plain(), 1, mix)
});

#[test]
fn inserts_against_scans_and_merges() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), INSERTS);
}

#[test]
fn splits_against_scans() {
    schedules(number("SCALEDB_SCHEDULES", 10_000), rules(), SPLITS);
}

#[test]
fn deletes_and_clean_up_against_inserts() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), DELETES);
}

#[test]
fn full_indexlets_and_synchronous_tables() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), FULL);
}

#[test]
fn index_updates() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), INDEXES);
}

#[test]
fn snapshots_against_commits() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), SNAPSHOTS);
}

#[test]
fn rows_of_changing_length() {
    schedules(number("SCALEDB_SCHEDULES", 20_000), rules(), LENGTHS);
}

/// The rules whose holes real threads seldom run into; for the others see `mutations.rs`.
#[cfg(feature = "mutations")]
#[test]
fn rules_that_real_threads_seldom_need() {
    use scaledb_acc::Rule;
    let hunts: [(Rule, &[Programs]); 5] = [
        (Rule::PinFirst, &[SNAPSHOTS]),
        (Rule::LeaveTick, &[DELETES, INSERTS]),
        (Rule::PostBeforeTimestamp, &[INSERTS, SPLITS]),
        (Rule::Seqlock, &[LENGTHS, DELETES]),
        (Rule::LookAgain, &[DELETES, FULL]),
    ];
    let mut missed = Vec::new();
    for (rule, programs) in hunts {
        let found = programs.iter().any(|&programs| {
            std::panic::catch_unwind(|| schedules(30_000, Rules::without(rule), programs)).is_err()
        });
        if !found {
            missed.push(rule);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
