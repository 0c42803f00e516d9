//! Each rule of the protocol is needed: an engine without it produces a history that the check refuses.
//! See [`hunt`](crate::history::hunt).

use crate::conformance::{Hunted, Purpose, Subject};
use crate::history::Plan;
use crate::history::hunt::{assert_all_are_needed, assert_nothing_is_found, hunt as hunt_with};

/// The name of the test that is a hunt. The name of an engine is that of its module in the test program.
fn test_of<S: Subject>() -> String {
    format!("{}::hunt", S::NAME)
}

/// Not a test of its own: one rule's hunt, in its process.
pub fn hunt<S: Hunted>() {
    hunt_with(|name, seed| {
        let hunt = S::hunt(seed);
        let engine = S::open(Purpose::Hunt { seed, without: name }).unwrap();
        let plan = Plan {
            seed,
            threads: 2 + (seed / 10 % 3) as usize * 2,
            transactions: 500,
            keys: hunt.keys(),
            rows: hunt.keys,
            tables: hunt.tables,
            mix: hunt.mix,
            unique_timestamps: true,
        };
        (engine, plan)
    });
}

/// The rules whose holes real threads run into; the others have their turn under random schedules.
pub fn every_rule_is_needed<S: Subject>() {
    let rules = S::mutations().into_iter().filter(|rule| rule.noticed.by_histories());
    assert_all_are_needed(&test_of::<S>(), rules.map(|rule| rule.rule));
}

/// What a hunt finds is a hole of the engine without the rule, and none of the check.
pub fn with_all_rules_the_same_histories_pass<S: Subject>() {
    assert_nothing_is_found(&test_of::<S>());
}
