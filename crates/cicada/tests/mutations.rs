//! Each rule of the protocol is needed: an engine without it produces a history that the check refuses.
//!
//! ```text
//! cargo test -p scaledb-cicada --features mutations --test mutations
//! ```
//! See [`scaledb_verify::history::hunt`].
#![cfg(not(any(loom, shuttle)))]

use scaledb_cicada::{Cicada, Clocks, Config, Rule, Rules};
use scaledb_engine::Access;
use scaledb_verify::history::hunt::{assert_all_are_needed, assert_nothing_is_found, hunt as hunt_with};
use scaledb_verify::history::{Keys, Kind, Mix, Plan};
use std::time::Duration;

const HASHED: Kind = Kind::new(Access::Hashed, None);
const ORDERED: Kind = Kind::new(Access::Ordered, None);

/// Short histories of many kinds, taken in turn.
fn scenario(seed: u64) -> (Config, Plan) {
    let base = Config { background: false, quiescence: Duration::ZERO, ..Config::default() };
    let loose = Config { clocks: Clocks::Loose, ..base.clone() };
    let boosted = Config { boost: Duration::from_micros(300), ..base.clone() };
    let far = Config { boost: Duration::from_millis(2), ..base.clone() };
    let snapshots = Mix { snapshots: 300, deferrable: 0, yields: 25, ..Mix::ALL };
    let short = Mix { operations: 4, savepoint: 2, yields: 15, ..Mix::ALL };
    let churn = Mix { yields: 25, ..Mix::CHURN };
    let undo = Mix { savepoint: 40, operations: 3, ..Mix::ALL };
    let deletes = Mix { delete: 40, insert: 40, get: 40, update: 5, yields: 20, operations: 5, ..Mix::ALL };
    let (config, kind, keys, mix) = match seed % 10 {
        0 => (base, ORDERED, 8, short),
        1 => (loose, HASHED, 30, Mix { yields: 30, ..Mix::ALL }),
        2 => (base, ORDERED, 300, churn),
        3 => (base, HASHED, 16, snapshots),
        4 => (Config { inline_words: 0, ..boosted }, ORDERED.plain(), 1000, churn),
        5 => (boosted, HASHED.plain(), 3, Mix { update: 60, get: 60, ..short }),
        6 => (base, HASHED.plain(), 6, deletes),
        7 => (loose, ORDERED.plain(), 12, deletes),
        8 => (far, HASHED.plain(), 3, Mix { update: 80, get: 80, yields: 50, ..short }),
        _ => (base, ORDERED, 6, undo),
    };
    let threads = 2 + (seed / 10 % 3) as usize * 2;
    (
        config,
        Plan {
            seed,
            threads,
            transactions: 500,
            tables: vec![kind],
            keys: Keys::Uniform(keys),
            rows: keys,
            mix,
        },
    )
}

/// Not a test of its own: one rule's hunt, in its process.
#[test]
fn hunt() {
    hunt_with(|name, seed| {
        let rule = Rule::ALL.into_iter().find(|r| format!("{r:?}") == name);
        let rules = rule.map_or(Rules::default(), Rules::without);
        let (config, plan) = scenario(seed);
        (Cicada::open(Config { rules, ..config }).unwrap(), plan)
    });
}

/// Whether real threads are expected to run into the hole; the others have their turn in
/// `shuttle_engine.rs`.
fn is_expected(rule: Rule) -> bool {
    rule != Rule::LookUp
}

#[test]
fn every_rule_is_needed() {
    assert_all_are_needed(Rule::ALL.into_iter().map(|rule| (format!("{rule:?}"), is_expected(rule))));
}

#[test]
fn with_all_rules_the_same_histories_pass() {
    assert_nothing_is_found();
}
