//! The log on a disk that loses power at every moment.
//!
//! A run is recorded once; then each of its crash points gives the disks that a machine may find there. Each is
//! recovered, and must hold a prefix, in the order of timestamps, of what was committed, with all that was
//! acknowledged by then. `SCALEDB_SOAK_SECONDS` is the time for each test, `SCALEDB_SEED` its first seed.
#![cfg(not(any(loom, shuttle)))]

mod damage;
mod guards;
mod history;
mod hunt;
mod recover;
mod run;
mod threads;

use damage::{Flips, flip};
use guards::missed;
use hunt::{Patience, crash_after_faults, crash_again, crash_everywhere, hunt, number, plan};
use run::{Mutation, Plan};
use scaledb_verify::disk::{Call, SimDisk};

#[test]
fn what_was_acknowledged_survives_a_crash_at_any_moment() {
    let patience = Patience::new(100_000);
    patience.report(hunt(&patience, Mutation::None, |trace, plan| crash_everywhere(trace, plan, 4)));
}

#[test]
fn a_crash_in_a_recovery_and_what_comes_after_it_loses_nothing_more() {
    let patience = Patience::new(60_000);
    patience.report(hunt(&patience, Mutation::None, |trace, plan| crash_again(trace, plan, 2)));
}

#[test]
fn a_failing_disk_takes_nothing_that_was_acknowledged() {
    let patience = Patience::new(60_000);
    patience.report(hunt(&patience, Mutation::None, crash_after_faults));
}

#[test]
fn what_was_acknowledged_by_a_log_with_threads_survives() {
    let patience = Patience::new(15_000);
    let (mut seed, mut images) = (number("SCALEDB_SEED").unwrap_or(1), 0);
    while patience.lasts(images) {
        let plan = Plan { steps: 40, ..plan(seed) };
        let trace = threads::run(&SimDisk::new(seed), plan).unwrap();
        images += crash_everywhere(&trace, plan, 2).unwrap_or_else(|found| panic!("{found:#?}"));
        seed += 1;
    }
    patience.report(Ok(images));
}

#[test]
fn damage_at_rest_is_reported_with_its_place() {
    let patience = Patience::new(15_000);
    let mut flips = Flips::default();
    patience.report(hunt(&patience, Mutation::None, |trace, plan| flip(trace, plan, &mut flips)));
    println!("{flips:?}");
    assert!(flips.reported > 100);
}

/// The checks above are worth something: without a sync, or with an acknowledgement before its time, they fail.
#[test]
fn without_a_sync_something_is_lost() {
    let mutations = [
        ("any sync", Mutation::NoSync),
        ("the horizon", Mutation::AcknowledgeEarly),
        ("the sync of groups", Mutation::Lie(Call::Sync, "log-")),
        ("the sync of the manifest", Mutation::Lie(Call::Sync, "MANIFEST")),
        ("the sync of checkpoints", Mutation::Lie(Call::Sync, "checkpoint-")),
        ("the sync of the manifest's name", Mutation::Lie(Call::SyncNames, "MANIFEST")),
        ("the sync of the names of segments", Mutation::Lie(Call::SyncNames, "log-")),
        ("the sync of the names of checkpoints", Mutation::Lie(Call::SyncNames, "checkpoint-")),
    ];
    let missed: Vec<_> = mutations.into_iter().filter(|(name, mutation)| missed(name, *mutation)).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// In a build with the feature `mutations`.
#[cfg(feature = "mutations")]
#[test]
fn without_a_guard_something_is_lost() {
    let without = |rule: &scaledb_log::Rule| rule.without(|| missed(&format!("{rule:?}"), Mutation::None));
    let missed: Vec<_> = scaledb_log::Rule::OF_CRASHES.into_iter().filter(without).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
