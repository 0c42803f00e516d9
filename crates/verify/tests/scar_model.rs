//! Explores the replicated protocol: ours must be clean, each of its rules must be needed, and the published protocol
//! must show its holes.
//!
//! `SCALEDB_LONG=1` goes deeper: one deviation more in each case, a million random runs of each, 200,000 random
//! programs (from `SCALEDB_SEED`). `SCALEDB_CASE` and `SCALEDB_RULE` choose a case and a rule that is off, and print
//! the trace. Run with `--nocapture` for the tables.

use scaledb_scar::Rule::{self, *};
use scaledb_scar::Switched;
use scaledb_verify::replication::cases::cases;
use scaledb_verify::replication::history::Property;
use scaledb_verify::replication::random::random_case;
use scaledb_verify::replication::search::{Limits, Report, explore, walk};
use scaledb_verify::replication::world::Setup;
use std::time::Instant;

/// For each rule a case that fails, or in which nothing commits, without it; and after how many deviations.
const NEEDED_BY: &[(Rule, &str, u32)] = &[
    (LockChecks, "lost-update", 1),
    (ValidateReads, "skew", 1),
    (AbovePromises, "lost-update", 1),
    (AtOrAfterReads, "read-two", 1),
    (ExtensionPromises, "extension", 1),
    (LockStopsExtension, "skew", 2),
    (OwnLockPasses, "rollback", 0),
    (Thomas, "writers-out-of-order", 2),
    (WaitForWrites, "skew", 1),
    (LocksEndWithEpoch, "skew", 1),
    (NoCommitAtBarrier, "floor", 1),
    (Undo, "crash", 1),
    (DropOldViews, "crash-two", 2),
    (Floor, "floor", 3),
    (FloorEverywhere, "floor-undone", 3),
    (PromisesEnd, "hand-over-promise", 3),
    (TellWhole, "cut", 1),
    (Quorum, "cut", 1),
    (EpochsAreNew, "crash-then-write", 1),
    (CommitWhole, "cut", 1),
    (AnswerAtGo, "crash-answered", 4),
    (AnswerAtEpoch, "crash", 1),
    (KeepTombstones, "delete-crash", 1),
    (ValidateAbsent, "absent-skew", 1),
    (SplitKeepsTimes, "inserts-out-of-order", 2),
    (EndOpen, "read-undone", 3),
    (WaitForView, "crash", 2),
    (SessionOrder, "session", 1),
    (GoOnFirst, "go-on", 2),
    (Rebase, "long-reader", 3),
    (SnapshotWaits, "snapshot-cut", 1),
    (SnapshotBeforePrepared, "snapshot", 1),
    (RefuseTooOld, "snapshot-full", 2),
    (CheckValidates, "check", 1),
    (CheckWaits, "confirm-cut", 1),
    (LearnersGetWrites, "join", 1),
    (LearnersAnswerNothing, "join-undo", 1),
    (LearnersKeepTombstones, "join-delete", 2),
    (CopyKeepsNewer, "join", 1),
    (CopyKeepsVersions, "join-undo", 2),
    (CopyBeforePromotion, "join", 1),
    (AckWhenOnDisk, "power-cut", 1),
    (InstalledWhenOnDisk, "power-cut-hand-over", 2),
    (OnAllDisks, "power-cut", 2),
    (NotBeyondDisks, "restart", 2),
    (CleanAtGo, "restart-crash", 3),
    (GapsBeginAnew, "join-gaps", 2),
    (CopyOnDisk, "restart-join", 3),
    (CheckpointBeginsWithEpoch, "checkpoint", 3),
    (CheckpointKeepsBehind, "checkpoint-join", 3),
    (RemovalKeepsPromises, "delete-put", 0),
    (FirstCommitterWins, "isolated-blind", 1),
    (DroppedIsForgotten, "move-back", 3),
    (LeaverWaits, "remove-cut", 3),
    (NoteOpened, "remove-note", 3),
    (RoomAtBackups, "full-backup", 0),
    (HeldUntilBegun, "restart-cut", 3),
    (AbortAtGo, "restart-cut-crash", 3),
];

/// Nothing is wrong without them: one is an optimization, and locks of an old view would end with the next epoch.
const NOT_NEEDED: &[Rule] = &[TellExtensions, ClearLocks];

/// Rules that only the clusters of `scar_simulated.rs` miss: nobody announces anything in these cases.
const SIMULATED: &[Rule] = &[UndoAnnounced, AnnounceAtGo, AnnounceBehindReads];

/// A hole of the published protocol: its letter, what it is, the rules that close it, where it shows.
type Hole = (char, &'static str, &'static [Rule], &'static str, u32, Property);

const HOLES: &[Hole] = &[
    ('a', "promises die with the primary", &[Floor, FloorEverywhere], "floor", 3, Property::AnyOrder),
    ('a', "promises are undone", &[FloorEverywhere], "floor-undone", 3, Property::AnyOrder),
    (
        'b',
        "the epoch's decision dies with the leader",
        &[TellWhole, Quorum, CommitWhole],
        "cut",
        2,
        Property::Lost,
    ),
    ('c', "locks of a failed coordinator", &[ClearLocks, LocksEndWithEpoch], "crash", 1, Property::Diverged),
    ('c', "late messages of the old view", &[DropOldViews], "crash-two", 2, Property::Diverged),
    ('c', "deletes are not undone", &[KeepTombstones], "delete-crash", 1, Property::Diverged),
    ('d', "a locked record is extended", &[LockStopsExtension], "skew", 2, Property::AnyOrder),
    ('d', "own reads of locked records fail", &[OwnLockPasses], "rollback", 0, Property::Stuck),
    ('e', "a deleted record comes back", &[KeepTombstones], "resurrection", 2, Property::Diverged),
    ('f', "absent keys have no times", &[ValidateAbsent], "absent-skew", 1, Property::AnyOrder),
    ('f', "ranges have no times", &[ValidateAbsent], "scan-skew", 1, Property::AnyOrder),
    ('g', "a node that is cut off answers", &[AnswerAtEpoch], "cut", 2, Property::Lost),
    ('h', "a read of an undone epoch passes", &[EndOpen], "read-undone", 3, Property::AnyOrder),
    ('i', "a session does not see its last write", &[SessionOrder], "session", 1, Property::StrictOrder),
    ('j', "writes of the next epoch are not undone", &[GoOnFirst], "go-on", 2, Property::Diverged),
    ('k', "a slow leader declares an epoch", &[TellWhole, Quorum, CommitWhole], "cut", 2, Property::Lost),
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn long() -> bool {
    variable("SCALEDB_LONG").is_some()
}

fn case(name: &str) -> Setup {
    cases().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"))
}

fn chosen() -> Vec<Setup> {
    let only = variable("SCALEDB_CASE");
    cases().into_iter().filter(|case| only.as_ref().is_none_or(|only| case.name == only)).collect()
}

fn within(deviations: u32, goal: Option<Property>) -> Limits {
    Limits { deviations: Some(deviations), states: 3_000_000, goal }
}

fn row(name: &str, report: &Report, started: Instant) -> String {
    let outcome = match &report.violation {
        Some(violation) => format!("{:?} after {} deviations", violation.property, violation.deviations),
        None => format!("clean, up to {} commits", report.most_commits),
    };
    format!("{name:52} {:>8} states {:>6.2} s  {outcome}", report.states, started.elapsed().as_secs_f32())
}

fn show(report: &Report) -> String {
    report.violation.as_ref().map(|v| format!("{}\n{}", v.detail, v.trace.join("\n"))).unwrap_or_default()
}

#[test]
fn ours_is_clean_up_to_three_deviations() {
    let mut total = 0;
    for case in chosen() {
        let started = Instant::now();
        let report = explore(&case, Switched::ours(), within(if long() { 4 } else { 3 }, None));
        println!("{}", row(case.name, &report, started));
        assert!(report.violation.is_none(), "{}: {}", case.name, show(&report));
        assert!(!report.capped && report.most_commits > 0, "{} shows nothing", case.name);
        total += report.states;
    }
    println!("{total} states");
}

#[test]
fn ours_is_clean_in_every_run_of_the_smallest_cases() {
    for name in ["crash-answered", "crash-alone", "cut-alone"] {
        let started = Instant::now();
        let limits = Limits { deviations: None, states: 3_000_000, goal: None };
        let report = explore(&case(name), Switched::ours(), limits);
        println!("{}", row(name, &report, started));
        assert!(report.violation.is_none(), "{name}: {}", show(&report));
        assert!(!report.capped && report.most_commits > 0, "{name} is too large");
    }
}

#[test]
fn random_runs_of_ours_are_clean() {
    let runs = if long() { 1_000_000 } else { 5_000 };
    for case in chosen() {
        for seed in 1..=runs {
            let report = walk(&case, Switched::ours(), seed, None);
            assert!(report.violation.is_none(), "{} seed {seed}: {}", case.name, show(&report));
        }
    }
}

#[test]
fn random_programs_are_clean() {
    let programs = if long() { 200_000 } else { 1_500 };
    let first = variable("SCALEDB_SEED").and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut commits = 0;
    for seed in first..first + programs {
        let case = random_case(seed);
        for run in 0..40 {
            let report = walk(&case, Switched::ours(), run, None);
            assert!(report.violation.is_none(), "seed {seed} run {run}: {case:?} {}", show(&report));
            commits += report.most_commits;
        }
    }
    println!("{commits} commits in {programs} programs");
}

#[test]
fn each_rule_is_needed() {
    let only = variable("SCALEDB_RULE");
    for &(rule, name, deviations) in NEEDED_BY {
        if only.as_ref().is_some_and(|only| *only != format!("{rule:?}")) {
            continue;
        }
        let started = Instant::now();
        let chosen = variable("SCALEDB_CASE");
        let name = chosen.as_deref().unwrap_or(name);
        let report = explore(&case(name), Switched::ours().without(rule), within(deviations, None));
        println!("{}", row(&format!("{rule:?}: {name}"), &report, started));
        assert!(report.violation.is_some() || report.most_commits == 0, "{rule:?} is not needed by {name}");
        if only.is_some() {
            println!("{}", show(&report));
        }
    }
}

#[test]
fn every_rule_is_in_a_table() {
    for rule in Rule::ALL {
        let needed = NEEDED_BY.iter().filter(|row| row.0 == rule).count();
        let not = NOT_NEEDED.iter().chain(SIMULATED).filter(|&&other| other == rule).count();
        assert_eq!(needed + not, 1, "{rule:?}");
    }
}

#[test]
fn what_is_not_needed_is_not() {
    for &rule in NOT_NEEDED {
        for case in cases() {
            let report = explore(&case, Switched::ours().without(rule), within(2, None));
            assert!(report.violation.is_none(), "{rule:?}, {}: {}", case.name, show(&report));
        }
    }
}

#[test]
fn the_published_protocol_has_the_known_holes() {
    for &(letter, about, rules, name, deviations, property) in HOLES {
        let started = Instant::now();
        let off = rules.iter().fold(Switched::ours(), |all, &rule| all.without(rule));
        let report = explore(&case(name), off, within(deviations, Some(property)));
        println!("{}", row(&format!("{letter} {about}: {name}"), &report, started));
        let found = report.violation.is_some() || (property == Property::Stuck && report.most_commits == 0);
        assert!(found, "{letter} {about}");
        if rules.iter().all(|rule| Rule::NOT_PUBLISHED.contains(rule)) {
            let limits = within(deviations, Some(property));
            let report = explore(&case(name), Switched::published(), limits);
            println!("{}", row(&format!("{letter} as published: {name}"), &report, started));
            assert!(report.violation.is_some(), "{letter} {about}, as published");
        }
        if variable("SCALEDB_CASE").is_some_and(|only| only == name) {
            println!("{}", show(&report));
        }
    }
}
