//! Random histories on the ACC engine: threads, replay, real time, final state.
//! `SCALEDB_SOAK_SECONDS` and `SCALEDB_SEED`: see [`scaledb_verify::history::histories`].
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, Config, IndexUpdates};
use scaledb_engine::Access;
use scaledb_verify::history::{Keys, Kind, Mix, Plan, histories};
use std::time::Duration;

fn open(config: Config) -> Acc {
    Acc::open(config).unwrap()
}

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();

fn with_batch(kind: Kind, batch: u32) -> Kind {
    Kind { merge_batch: Some(batch), ..kind }
}

/// Every way to keep a table.
fn all_kinds() -> Vec<Kind> {
    vec![
        HASHED,
        ORDERED,
        HASH_ONLY,
        with_batch(HASHED, 0),
        with_batch(ORDERED, 0),
        with_batch(HASHED, 2),
        with_batch(ORDERED, 2),
    ]
}

/// Settings under which rare paths are common.
fn configs() -> Vec<Config> {
    let small = Config { indexlet_slots: 16, phantomlet_cells: 2, ..Config::default() };
    let mut configs = vec![
        Config { merge_epoch: Duration::from_micros(50), ..small.clone() },
        Config { background: false, merge_epoch: Duration::from_secs(1), ..small.clone() },
        Config { indexlet_slots: 256, phantomlet_cells: 4, ..small.clone() },
        Config { phantomlet_cells: 1, merge_epoch: Duration::from_micros(500), background: false, ..small },
    ];
    let by_turns = |c: &Config| Config { index_updates: IndexUpdates::Alternating, ..c.clone() };
    configs.extend(configs.iter().map(by_turns).collect::<Vec<_>>());
    configs.push(Config::default());
    // nine: no divisor in common with the kinds of tables and the numbers of threads
    configs
}

fn plan(seed: u64, tables: Vec<Kind>, keys: Keys, rows: i32, mix: Mix) -> Plan {
    let threads = [2, 3, 4, 6][seed as usize % 4];
    Plan { seed, threads, transactions: 3000, tables, keys, rows, mix }
}

#[test]
fn few_keys_of_every_kind_of_table() {
    histories("few keys", 12.0, &configs(), open, |seed| {
        let kind = all_kinds()[seed as usize % 7];
        plan(seed, vec![kind], Keys::Uniform(12), 12, Mix::ALL)
    });
}

#[test]
fn several_tables_in_one_transaction() {
    histories("several tables", 12.0, &configs(), open, |seed| {
        plan(seed, all_kinds(), Keys::Skewed(40), 40, Mix::ALL)
    });
}

#[test]
fn leaves_that_split_and_coalesce() {
    histories("splits", 16.0, &configs(), open, |seed| {
        let kinds = [HASHED, ORDERED, with_batch(ORDERED, 2), with_batch(HASHED, 2), with_batch(ORDERED, 0)];
        plan(seed, vec![kinds[seed as usize % 5].epoch_us(200)], Keys::Uniform(600), 600, Mix::CHURN)
    });
}

#[test]
fn queues() {
    histories("queues", 12.0, &configs(), open, |seed| {
        let kinds = [HASHED, ORDERED, with_batch(ORDERED, 2), with_batch(ORDERED, 0)];
        plan(seed, vec![kinds[seed as usize % 4]], Keys::Queue, 200, Mix::CHURN)
    });
}

#[test]
fn short_transactions_on_hot_keys() {
    histories("hot", 12.0, &configs(), open, |seed| {
        let kind = all_kinds()[seed as usize % 7];
        plan(seed, vec![kind], Keys::Uniform(4), 4, Mix::SHORT)
    });
}
