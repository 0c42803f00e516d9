//! Random histories: threads, replay, real time, final state.
//! `SCALEDB_SOAK_SECONDS` and `SCALEDB_SEED`: see [`histories`].

use crate::conformance::{Differences, Purpose, Subject};
use crate::history::{Keys, Kind, Mix, Plan, histories};

fn run<S: Subject>(name: &str, share: f64, plan: impl Fn(u64) -> Plan) {
    let configurations: Vec<u64> = (0..S::DIFFERENCES.configurations).collect();
    let open = |number| S::open(Purpose::History(number)).unwrap();
    histories(name, S::DIFFERENCES.seconds * share, &configurations, open, plan);
}

fn plan<S: Subject>(seed: u64, tables: Vec<Kind>, keys: Keys, rows: i32, mix: Mix) -> Plan {
    let Differences { transactions, unique_timestamps, keeps_snapshots, .. } = S::DIFFERENCES;
    let threads = [2, 3, 4, 6][seed as usize % 4];
    let mix = if keeps_snapshots { mix } else { Mix { snapshots: 0, deferrable: 0, ..mix } };
    Plan { seed, threads, transactions, tables, keys, rows, mix, unique_timestamps }
}

fn one(kinds: &[Kind], seed: u64) -> Vec<Kind> {
    vec![kinds[seed as usize % kinds.len()]]
}

/// Few keys, so that most transactions meet others.
pub fn few_keys_of_every_kind_of_table<S: Subject>() {
    run::<S>("few keys", 1.0, |seed| {
        plan::<S>(seed, one(S::DIFFERENCES.tables, seed), Keys::Uniform(12), 12, Mix::ALL)
    });
}

/// Transactions that use tables of every kind.
pub fn several_tables_in_one_transaction<S: Subject>() {
    run::<S>("several tables", 1.0, |seed| {
        plan::<S>(seed, S::DIFFERENCES.tables.to_vec(), Keys::Skewed(40), 40, Mix::ALL)
    });
}

/// Enough keys for some leaves, and runs of inserts and of deletes.
pub fn leaves_that_split_and_coalesce<S: Subject>() {
    run::<S>("splits", 1.3, |seed| {
        plan::<S>(seed, one(S::DIFFERENCES.tables_that_split, seed), Keys::Uniform(600), 600, Mix::CHURN)
    });
}

/// Rows inserted at one end and deleted at the other.
pub fn queues<S: Subject>() {
    run::<S>("queues", 1.0, |seed| {
        plan::<S>(seed, one(S::DIFFERENCES.queues, seed), Keys::Queue, 200, Mix::CHURN)
    });
}

/// Four keys.
pub fn short_transactions_on_hot_keys<S: Subject>() {
    run::<S>("hot", 1.0, |seed| {
        plan::<S>(seed, one(S::DIFFERENCES.tables, seed), Keys::Uniform(4), 4, Mix::SHORT)
    });
}
