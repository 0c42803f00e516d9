//! Seeded simulations: clients, messages, clocks and failures that a seed decides about; each answer is checked.
//!
//! `SCALEDB_SEED` is the first seed, `SCALEDB_SEEDS` how many.

use scaledb_occult_sim::plan::Plan;
use scaledb_occult_sim::world::{Report, World};

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs seeds; fails if one breaks a promise.
fn run(count: u64, change: impl Fn(&mut Plan)) -> Report {
    let (first, count) = (from_env("SCALEDB_SEED", 0), from_env("SCALEDB_SEEDS", count));
    let (mut all, mut failed) = (Report::default(), Vec::new());
    for seed in first..first + count {
        let mut plan = Plan::of(seed);
        change(&mut plan);
        let report = World::new(plan.clone()).run();
        if let Some((broken, what)) = report.broken.first() {
            println!("seed {seed}: {broken:?}: {what}\n{plan:?}");
            failed.push(seed);
        }
        all += report;
    }
    println!("{all:#?}");
    assert!(failed.is_empty(), "seeds {failed:?}");
    all
}

#[test]
fn no_order_of_messages_and_no_death_of_a_client_breaks_a_promise() {
    run(75, |plan| (plan.failovers, plan.moves) = (0, 0));
}

#[test]
fn no_failover_breaks_a_promise() {
    run(75, |plan| (plan.failovers, plan.moves) = (plan.failovers.max(200_000), 0));
}

#[test]
fn no_move_of_a_slot_breaks_a_promise() {
    run(75, |plan| (plan.failovers, plan.moves) = (0, plan.moves.max(50_000)));
}

#[test]
fn failovers_and_moves_together_break_no_promise() {
    run(75, |plan| {
        if plan.failovers > 0 {
            plan.failovers = plan.failovers.max(200_000);
        }
    });
}

/// Some failovers lose all that there was of a slot, its first write included: it begins anew.
#[test]
fn failovers_that_follow_each_other_fast_break_no_promise() {
    run(30, |plan| (plan.failovers, plan.moves) = (50_000, 0));
}

#[test]
fn fast_failovers_and_moves_together_break_no_promise() {
    run(6, |plan| (plan.failovers, plan.moves) = (100_000, 30_000));
}

/// Most moves are interrupted, at any step, and taken back or finished by an operator.
#[test]
fn failovers_in_the_middle_of_moves_break_no_promise() {
    let all = run(1_500, |plan| {
        (plan.failovers, plan.moves, plan.operations) = (100_000, 30_000, 300);
        if plan.seed % 2 == 0 {
            plan.transactions = 0;
        }
    });
    assert!(all.interrupted > 1_500, "{} moves were interrupted", all.interrupted);
}
