//! Each rule of the protocol is needed: an engine without it produces a history that the check refuses.
//!
//! ```text
//! cargo test -p scaledb-verify --features mutations --test mutations
//! ```
//! See [`scaledb_verify::history::hunt`].
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::{Acc, Config, IndexUpdates, Rule, Rules};
use scaledb_engine::Access;
use scaledb_verify::history::hunt::{assert_all_are_needed, assert_nothing_is_found, hunt as hunt_with};
use scaledb_verify::history::{Keys, Kind, Mix, Plan};
use std::time::Duration;

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

/// Not a test of its own: one rule's hunt, in its process.
#[test]
fn hunt() {
    hunt_with(|name, seed| {
        let rule = Rule::ALL.into_iter().find(|r| format!("{r:?}") == name);
        let rules = rule.map_or(Rules::default(), Rules::without);
        let (config, plan) = scenario(seed);
        (Acc::open(Config { rules, ..config }).unwrap(), plan)
    });
}

/// Whether real threads are expected to run into the hole; the others have their turn in
/// `shuttle_engine.rs`.
fn is_expected(rule: Rule) -> bool {
    !matches!(
        rule,
        Rule::PinFirst | Rule::PostBeforeTimestamp | Rule::LeaveTick | Rule::Seqlock | Rule::LookAgain
    )
}

#[test]
fn every_rule_is_needed() {
    assert_all_are_needed(Rule::ALL.into_iter().map(|rule| (format!("{rule:?}"), is_expected(rule))));
}

#[test]
fn with_all_rules_the_same_histories_pass() {
    assert_nothing_is_found();
}
