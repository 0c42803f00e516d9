//! Random histories on the Cicada engine: threads, replay, real time, final state.
//! `SCALEDB_SOAK_SECONDS` and `SCALEDB_SEED`: see [`scaledb_verify::history::histories`].
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, Clocks, Config};
use scaledb_engine::Access;
use scaledb_verify::history::{Keys, Kind, Mix, Plan, histories};
use std::time::Duration;

fn open(config: Config) -> Cicada {
    Cicada::open(config).unwrap()
}

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);
const HASH_ONLY: Kind = Kind::new(Access::HashOnly, None).plain();

/// Every way to keep a table.
const KINDS: [Kind; 3] = [HASHED, ORDERED, HASH_ONLY];

/// Settings under which rare paths are common.
fn configs() -> Vec<Config> {
    let few = Config { guards: 4, ..Config::default() };
    let no_rest = Duration::ZERO;
    vec![
        Config::default(),
        Config { quiescence: no_rest, ..few.clone() },
        Config { clocks: Clocks::Loose, ..few.clone() },
        Config { background: false, inline_words: 0, quiescence: no_rest, ..Config::default() },
        Config { inline_words: 1000, quiescence: no_rest, boost: Duration::from_micros(50), ..few },
        Config { clocks: Clocks::Loose, background: false, quiescence: no_rest, ..Config::default() },
    ]
}

fn plan(seed: u64, tables: Vec<Kind>, keys: Keys, rows: i32, mix: Mix) -> Plan {
    let threads = [2, 3, 4, 6][seed as usize % 4];
    Plan { seed, threads, transactions: 3000, tables, keys, rows, mix }
}

#[test]
fn few_keys_of_every_kind_of_table() {
    histories("few keys", 8.0, &configs(), open, |seed| {
        plan(seed, vec![KINDS[seed as usize % 3]], Keys::Uniform(12), 12, Mix::ALL)
    });
}

#[test]
fn several_tables_in_one_transaction() {
    histories("several tables", 8.0, &configs(), open, |seed| {
        plan(seed, KINDS.to_vec(), Keys::Skewed(40), 40, Mix::ALL)
    });
}

#[test]
fn leaves_that_split_and_coalesce() {
    histories("splits", 10.0, &configs(), open, |seed| {
        plan(seed, vec![KINDS[seed as usize % 2]], Keys::Uniform(600), 600, Mix::CHURN)
    });
}

#[test]
fn queues() {
    histories("queues", 8.0, &configs(), open, |seed| {
        plan(seed, vec![KINDS[seed as usize % 2]], Keys::Queue, 200, Mix::CHURN)
    });
}

#[test]
fn short_transactions_on_hot_keys() {
    histories("hot", 8.0, &configs(), open, |seed| {
        plan(seed, vec![KINDS[seed as usize % 3]], Keys::Uniform(4), 4, Mix::SHORT)
    });
}
