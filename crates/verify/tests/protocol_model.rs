//! Explores the protocol model: the protocol as built must be clean, each of its rules must be needed, and the
//! published protocol must show its holes.
//!
//! `SCALEDB_LONG=1` adds the larger cases, every mutation under every case, and random programs (`SCALEDB_SECONDS`,
//! `SCALEDB_SEED`). `SCALEDB_CASE` and `SCALEDB_MUTATION` choose one of each and print its trace. Run with
//! `--nocapture` for the tables.

use scaledb_verify::model::cases::{Case, cases};
use scaledb_verify::model::explorer::{Limits, Report, Violation, explore};
use scaledb_verify::model::history::Property;
use scaledb_verify::model::protocol::rules::Mutation::{self, *};
use scaledb_verify::model::published::cases::holes;
use scaledb_verify::model::random::random_case;
use scaledb_verify::model::retaining::{self, Rule};
use std::time::{Duration, Instant};

/// A case that catches each mutation.
const CAUGHT_BY: &[(Mutation, &str)] = &[
    (PinLate, "coalesce"),
    (HelperUnpinsInFlight, "helped-in-flight"),
    (NoGenerationOfLists, "split-moves-pending"),
    (ListsBeforeFlights, "split-moves-pending-fine"),
    (NoInherit, "split-moves-pending"),
    (NoInheritOnCoalesce, "coalesce"),
    (ScanIgnoresInherited, "split-moves-pending"),
    (LockIgnoresWord, "lost-update"),
    (NoTreeCheckAfterIndexletClaim, "insert-existing"),
    (NoIndexletCheckAfterTreeClaim, "indexlet-full-two-places"),
    (LockWaits, "blind-adds-crossed"),
    (AddBeforeLock, "blind-adds"),
    (PostAfterTs, "own-merge"),
    (PostAfterValidation, "own-merge"),
    (ListAfterPost, "own-merge"),
    (BitAfterPost, "scan-then-update-unseen"),
    (SeqBeforeCount, "phantom-skew-fine"),
    (NoPost, "own-merge"),
    (NoLaneLock, "phantom-skew"),
    (TsBeforeLocks, "own-merge"),
    (TsAfterValidation, "own-merge"),
    (NoReadValidation, "two-reads"),
    (IgnoreLock, "write-skew"),
    (ValidationWaits, "write-skew"),
    (NoAbsentValidation, "absent-aba"),
    (NaiveAbsent, "absent-aba"),
    (NoCellValidation, "own-merge"),
    (NoLeafVersionCheck, "sync-skew-tree"),
    (LeafBeforeCells, "scan-then-update-unseen"),
    (OwnWholesale, "phantom-skew"),
    (NoRefine, "own-merge"),
    (RecheckContentOnly, "split-then-post"),
    (OwnLocksExcused, "scan-then-update-unseen"),
    (RecheckIgnoresAbsent, "sync-skew-tree"),
    (NoWordRecheck, "snapshot-two-rows-fine"),
    (NoConsult, "own-merge"),
    (NoOwnPending, "scan-own-pending"),
    (ObsoleteCountsAsSeen, "sync-reinsert"),
    (EntryNotValidated, "move-back-under-scan"),
    (NoEntryDelete, "move-into-range"),
    (DecBeforeMerge, "own-merge"),
    (DecBeforeRemove, "helped-scan"),
    (EvictBeforeTreeInsert, "absent-skew"),
    (MergeOverwritesPlaceholder, "indexlet-full-two-places"),
    (NoGrace, "absent-aba"),
    (CleanupIgnoresActive, "absent-aba"),
    (CleanupIgnoresSnapshots, "snapshot-delete"),
    (CleanupIgnoresHorizon, "snapshot-clean-pinned"),
    (CleanupIgnoresLists, "insert-delete-unmerged"),
    (CleanupActivesFirst, "snapshot-clean-pinned"),
    (CleanupNoRecheck, "sync-reinsert"),
    (CleanupNoObsolete, "scan-delete"),
    (NoRetention, "snapshot-chain"),
    (NoAbsentVersion, "snapshot-reinsert"),
    (PruneIgnoresSnapshots, "snapshot-long-chain"),
    (BoundaryIncluded, "snapshot-chain"),
    (NoConfirm, "snapshot-chain"),
    (AnnouncedBeforeTs, "snapshot-chain"),
    (HorizonIgnoresPins, "snapshot-scan-insert"),
    (HorizonClockLast, "snapshot-scan-insert-ahead"),
    (HorizonGoesBack, "snapshot-two-cleaners"),
    (SnapshotPublishedLate, "snapshot-delete"),
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn long() -> bool {
    variable("SCALEDB_LONG").is_some()
}

/// States after which a search gives up; no case of the short mode comes near.
fn limits() -> Limits {
    Limits { states: if long() { 20_000_000 } else { 2_000_000 }, goal: None }
}

fn chosen_cases() -> Vec<Case> {
    let only = variable("SCALEDB_CASE");
    let chosen = |case: &Case| only.as_ref().map_or(long() || !case.long, |only| case.name == only);
    cases().into_iter().filter(chosen).collect()
}

fn show(violation: &Violation) -> String {
    format!("{:?}: {}\n{}", violation.property, violation.detail, violation.trace.join("\n"))
}

fn row(name: &str, report: &Report, started: Instant) -> String {
    let outcome = match &report.violation {
        Some(violation) => format!("{:?} after {} steps", violation.property, violation.steps),
        None => format!(
            "clean{}, up to {} commits",
            if report.capped { " so far" } else { "" },
            report.most_commits
        ),
    };
    format!("{name:44} {:>9} states {:>6.2} s  {outcome}", report.states, started.elapsed().as_secs_f32())
}

#[test]
fn protocol_as_built_is_clean() {
    let mut total = 0;
    for case in chosen_cases() {
        let started = Instant::now();
        let report = explore(&case.model(None), limits());
        println!("{}", row(case.name, &report, started));
        if let Some(violation) = &report.violation {
            panic!("{} is not clean: {}", case.name, show(violation));
        }
        assert!(long() || !report.capped, "{} is too large for the short mode", case.name);
        assert!(report.most_commits > 1, "{} commits too little to show anything", case.name);
        total += report.states;
    }
    println!("{total} states");
}

#[test]
fn every_broken_rule_is_caught() {
    let only = variable("SCALEDB_MUTATION");
    for &(mutation, name) in
        CAUGHT_BY.iter().filter(|(m, _)| only.as_ref().is_none_or(|o| *o == format!("{m:?}")))
    {
        let case = cases().into_iter().find(|case| case.name == name).expect("a case of that name");
        let started = Instant::now();
        let report = explore(&case.model(Some(mutation)), limits());
        println!("{}", row(&format!("{mutation:?}: {name}"), &report, started));
        let violation = report.violation.unwrap_or_else(|| panic!("{mutation:?} is not caught by {name}"));
        if only.is_some() {
            println!("{}", show(&violation));
        }
    }
}

#[test]
fn every_rule_has_a_mutation_that_is_caught_or_known_to_be_redundant() {
    for mutation in Mutation::ALL {
        let caught = CAUGHT_BY.iter().filter(|(other, _)| other == mutation).count();
        let redundant = Mutation::REDUNDANT.iter().filter(|other| *other == mutation).count();
        assert_eq!(caught + redundant, 1, "{mutation:?}");
    }
}

#[test]
fn redundant_rules_are_not_needed_by_any_case() {
    for &mutation in Mutation::REDUNDANT {
        for case in chosen_cases() {
            let states = if long() { usize::MAX } else { 100_000 };
            let report = explore(&case.model(Some(mutation)), Limits { states, ..limits() });
            if let Some(violation) = &report.violation {
                panic!("{mutation:?} is needed by {}: {}", case.name, show(violation));
            }
        }
    }
}

#[test]
fn published_protocol_has_the_known_holes() {
    for hole in holes() {
        let started = Instant::now();
        let report = explore(&hole.model, Limits { goal: hole.breaks, ..limits() });
        println!("{}", row(&format!("{}: {}", hole.name, hole.about), &report, started));
        assert_eq!(report.violation.is_some(), hole.breaks.is_some(), "{}", hole.name);
        if variable("SCALEDB_CASE").is_some_and(|name| name == hole.name) {
            println!("{}", report.violation.as_ref().map(show).unwrap_or_default());
        }
    }
}

#[test]
fn random_programs_are_clean() {
    let number = |name, default| variable(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let first = number("SCALEDB_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number("SCALEDB_SECONDS", if long() { 600 } else { 0 }));
    let limits = Limits { states: 100_000, goal: None };
    let (mut seed, mut states) = (first, 0);
    while seed < first + 40 || Instant::now() < end {
        let case = random_case(seed);
        let report = explore(&case.model(None), limits);
        if let Some(violation) = &report.violation {
            panic!("seed {seed}: {:?} {:?}: {}", case.config, case.program, show(violation));
        }
        states += report.states;
        seed += 1;
    }
    println!("seeds {first} to {}: {states} states", seed - 1);
}

#[test]
fn every_mutation_under_every_case() {
    if !long() {
        return;
    }
    for &mutation in Mutation::ALL {
        let mut caught: Vec<(usize, String)> = Vec::new();
        for case in chosen_cases() {
            let report = explore(&case.model(Some(mutation)), Limits { states: 300_000, goal: None });
            caught.extend(report.violation.map(|v| (report.states, format!("{}@{}", case.name, v.steps))));
        }
        caught.sort();
        println!("{mutation:?}: {caught:?}");
    }
}

/// A case of [`retaining`] that finds each of its rules left out.
const RETAINING: &[(Rule, &str)] = &[
    (Rule::Confirm, "writer-ahead"),
    (Rule::ConfirmWithSkew, "writer-ahead"),
    (Rule::AnnouncedBehindTimestamp, "writer-ahead"),
    (Rule::FloorWaitsForPins, "in-flight"),
    (Rule::ClockBeforePins, "in-flight"),
    (Rule::PassWithSkew, "in-flight-ahead"),
    (Rule::AnnounceSnapshot, "cleaned"),
    (Rule::FloorBehindAnnouncement, "cleaned"),
    (Rule::OnBehindAnnouncement, "stop"),
    (Rule::FloorSince, "begin"),
    (Rule::FreeBehindSnapshots, "cleaned"),
    (Rule::WaitForPins, "begin"),
    (Rule::WaitWithSkew, "begin-ahead"),
    (Rule::StopIfUnused, "stop"),
    (Rule::StopByClosing, "stop"),
    (Rule::WaitForBoundary, "present"),
];

/// More than the largest case has.
const RETAINING_STATES: Limits = Limits { states: 6_000_000, goal: Some(Property::Invariant) };

#[test]
fn what_snapshots_need_is_kept() {
    for case in retaining::cases() {
        let begin = Instant::now();
        let report = explore(&case, RETAINING_STATES);
        println!("{}: {} states, {} ends, {:?}", case.name, report.states, report.terminals, begin.elapsed());
        if let Some(violation) = report.violation {
            panic!("{}: {}\n{}", case.name, violation.detail, violation.trace.join("\n"));
        }
        assert!(!report.capped && report.terminals > 0, "{}: all of it", case.name);
    }
}

#[test]
fn each_rule_of_snapshots_is_needed() {
    for &(rule, name) in RETAINING {
        let case =
            retaining::cases().into_iter().find(|case| case.name == name).expect("there is such a case");
        let report = explore(&retaining::Case { without: Some(rule), ..case }, RETAINING_STATES);
        let violation = report.violation.unwrap_or_else(|| panic!("{name} does not find {rule:?}"));
        println!("{rule:?}: {name}, {} steps: {}", violation.steps, violation.detail);
    }
    let known =
        |rule: &Rule| RETAINING.iter().any(|known| known.0 == *rule) || Rule::NOT_SHOWN.contains(rule);
    assert!(Rule::ALL.iter().all(known), "each rule is in a table");
}
