//! Random histories on the simulated machine: every engine, on machines of many cores, with delays at random. The seed
//! decides operations and delays; where the system's allocator puts things decides, too, so a failure is met again by
//! its seed, as a rule, but not always.
//!
//! ```text
//! RUSTFLAGS='--cfg sim' CARGO_TARGET_DIR=target/sim cargo test -p scaledb-verify --features mutations --test simulated
//! ```
//!
//! `SCALEDB_SEED` begins with another seed, and `SCALEDB_HISTORIES` says how many there are.
#![cfg(sim)]

#[allow(unused_macros, reason = "engines are named here")]
mod engines;

use engines::acc::OnAcc;
use engines::cicada::OnCicada;
use scaledb_sync::machine::{self, PRESETS};
use scaledb_verify::conformance::{Hunted, Purpose, Subject};
use scaledb_verify::history::{Keys, Kind, Mix, Plan, Report, run};

/// One in so many accesses to memory is followed by a delay of some microseconds.
const DELAYS: u32 = 400;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// A history on a machine. All that differs from one to the next follows from the seed.
fn history<S: Subject>(seed: u64) -> Result<Report, String> {
    let pick = |kinds: &[Kind]| vec![kinds[seed as usize / 7 % kinds.len()]];
    let differences = S::DIFFERENCES;
    let (tables, keys, rows, mix) = match seed % 7 {
        0 => (pick(differences.tables), Keys::Uniform(12), 12, Mix::ALL),
        1 => (differences.tables.to_vec(), Keys::Skewed(40), 40, Mix::ALL),
        2 | 3 => (pick(differences.tables_that_split), Keys::Uniform(600), 600, Mix::CHURN),
        4 => (pick(differences.queues), Keys::Queue, 200, Mix::CHURN),
        _ => (pick(differences.tables), Keys::Uniform(4), 4, Mix::SHORT),
    };
    let plan = Plan {
        seed,
        threads: [2, 3, 6, 24][seed as usize % 4],
        transactions: 60,
        tables,
        keys,
        rows,
        mix,
        unique_timestamps: differences.unique_timestamps,
    };
    let spec = PRESETS[seed as usize % PRESETS.len()];
    machine::run(&spec, seed, DELAYS, || {
        let engine = S::open(Purpose::History(seed % differences.configurations)).unwrap();
        run(&engine, &plan).map_err(|violation| format!("on {}: {plan:?}\n{violation}", spec.name))
    })
}

fn histories<S: Subject>() {
    let (first, count) = (number("SCALEDB_SEED", 1), number("SCALEDB_HISTORIES", 60));
    let mut sum = Report::default();
    for seed in first..first + count {
        let report = history::<S>(seed).unwrap_or_else(|violation| panic!("seed {seed} {violation}"));
        (sum.committed, sum.aborted) = (sum.committed + report.committed, sum.aborted + report.aborted);
    }
    println!("{}: {count} histories, {} commits, {} aborts", S::NAME, sum.committed, sum.aborted);
    assert!(sum.committed > 0 && sum.aborted > 0);
}

#[test]
fn histories_of_acc_are_strictly_serializable() {
    histories::<OnAcc>();
}

#[test]
fn histories_of_cicada_are_strictly_serializable() {
    histories::<OnCicada>();
}

/// The machine finds holes: without a rule a history is refused, with it none is.
#[cfg(feature = "mutations")]
#[test]
fn a_rule_that_is_off_is_noticed() {
    let hunt = |rule: &str, count: u64| {
        (1..=count).find(|&seed| {
            let hunt = OnAcc::hunt(seed);
            let plan = Plan {
                seed,
                threads: 6,
                transactions: 150,
                tables: hunt.tables.clone(),
                keys: hunt.keys(),
                rows: hunt.keys,
                mix: hunt.mix,
                unique_timestamps: true,
            };
            machine::run(&PRESETS[0], seed, DELAYS, || {
                let engine = OnAcc::open(Purpose::Hunt { seed, without: rule }).unwrap();
                run(&engine, &plan).is_err()
            })
        })
    };
    for rule in ["ValidateReads", "HonourLocks", "LockUnchanged"] {
        let found = hunt(rule, 60);
        println!("without {rule}: refused at seed {found:?}");
        assert!(found.is_some(), "without {rule} nothing is noticed");
    }
    assert_eq!(hunt("none", 10), None);
}
