//! The log on a disk that loses power at every moment.
//!
//! A run is recorded once; then each of its crash points gives the disks that a machine may find there. Each is
//! recovered, and must hold a prefix, in the order of timestamps, of what was committed, with all that was
//! acknowledged by then. `SCALEDB_SOAK_SECONDS` is the patience for each test, `SCALEDB_SEED` its first seed.
#![cfg(not(any(loom, shuttle)))]

mod history;
mod recover;
mod run;

use history::History;
use recover::{Violation, recover};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use run::{Mutation, Plan, Trace, run};
use scaledb_log::LogError;
use scaledb_verify::disk::{Call, Fault, SimDisk, When};
use std::time::{Duration, Instant};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Plans of many kinds, taken in turn.
fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        steps: [60, 150, 400][seed as usize % 3],
        writers: 1 + (seed / 3 % 4) as u8,
        pages: [2, 3, 8][seed as usize / 12 % 3],
        checkpoints: seed % 5 != 0,
        faulty: false,
        mutation: Mutation::None,
    }
}

/// Where something went wrong.
#[derive(Debug)]
#[expect(dead_code, reason = "for the message")]
struct Found {
    plan: Plan,
    at: usize,
    of: usize,
    image: u64,
    violation: Violation,
    /// What was done last.
    operations: Vec<String>,
}

impl Found {
    fn new(trace: &Trace, plan: Plan, at: usize, image: u64, violation: Violation) -> Self {
        const SHOWN: usize = 40;
        let journal = trace.disk.journal();
        let shown = journal[at.saturating_sub(SHOWN)..at].iter().map(ToString::to_string);
        Self { plan, at, of: journal.len(), image, violation, operations: shown.collect() }
    }
}

/// Recovers from all crash points of a run. Returns how many images there were.
fn crash_everywhere(trace: &Trace, plan: Plan, images: u64) -> Result<u64, Found> {
    let of = trace.disk.crash_points();
    for at in 0..of {
        let (history, acknowledged) = trace.expected(at);
        for i in 0..images {
            let image = plan.seed << 40 | (at as u64) << 8 | i;
            if let Err(violation) = recover(&trace.disk.image(at, image), history, acknowledged) {
                return Err(Found::new(trace, plan, at, image, violation));
            }
        }
    }
    Ok(of as u64 * images)
}

/// Runs of all kinds from an empty directory, until the time is over.
fn hunt(
    seconds: u64,
    mutation: Mutation,
    mut check: impl FnMut(&Trace, Plan) -> Result<u64, Found>,
) -> Result<u64, Found> {
    let (start, patience) = (Instant::now(), Duration::from_secs(number("SCALEDB_SOAK_SECONDS", seconds)));
    let (mut seed, mut images) = (number("SCALEDB_SEED", 1), 0);
    while start.elapsed() < patience {
        let plan = Plan { mutation, ..plan(seed) };
        let (trace, outcome) = run(&SimDisk::new(seed), &History::default(), 0, plan);
        outcome.map_err(|violation| Found::new(&trace, plan, trace.disk.operations(), 0, violation))?;
        images += check(&trace, plan)?;
        seed += 1;
    }
    Ok(images)
}

/// Lets a run go on from some of its crash points, or from a kill there, and crashes everywhere in that: in the
/// recovery, and in what follows it.
fn crash_again(trace: &Trace, plan: Plan, lives: u32) -> Result<u64, Found> {
    let mut rng = SmallRng::seed_from_u64(plan.seed);
    let mut images = 0;
    for _ in 0..3 {
        let at = rng.random_range(0..trace.disk.crash_points());
        let (history, acknowledged) = trace.expected(at);
        let disk = if rng.random() { trace.disk.image(at, rng.random()) } else { trace.disk.killed(at) };
        let steps = rng.random_range(0..40);
        let next = Plan { seed: rng.random::<u64>() >> 32, steps, ..plan };
        let (second, outcome) = run(&disk.recording(), history, acknowledged, next);
        let end = second.disk.operations();
        outcome.map_err(|violation| Found::new(&second, next, end, 0, violation))?;
        images += crash_everywhere(&second, next, 2)?;
        if lives > 0 {
            images += crash_again(&second, next, lives - 1)?;
        }
    }
    Ok(images)
}

fn report(start: Instant, images: Result<u64, Found>) {
    match images {
        Ok(images) => println!("{images} crashes recovered, {:.1} s", start.elapsed().as_secs_f64()),
        Err(found) => panic!("{found:#?}"),
    }
}

#[test]
fn what_was_acknowledged_survives_a_crash_at_any_moment() {
    let start = Instant::now();
    report(start, hunt(8, Mutation::None, |trace, plan| crash_everywhere(trace, plan, 4)));
}

#[test]
fn a_crash_in_a_recovery_and_what_comes_after_it_loses_nothing_more() {
    let start = Instant::now();
    report(start, hunt(12, Mutation::None, |trace, plan| crash_again(trace, plan, 2)));
}

/// Faults of all kinds at a random moment of a run that follows another one, or from there on.
fn plan_faults(disk: &SimDisk, rng: &mut SmallRng) {
    let calls = [Call::Create, Call::Rename, Call::Remove, Call::SyncNames, Call::Read, Call::Write, Call::Sync];
    for _ in 0..rng.random_range(1..3) {
        let call = calls[rng.random_range(0..calls.len())];
        let fault = match rng.random_range(0..4) {
            0 => Fault::Full,
            1 if call == Call::Write => Fault::Short(rng.random_range(0..8192)),
            _ => Fault::Error,
        };
        let when = match rng.random_range(0..4) {
            0 => When::OneIn(call, 20),
            1 => When::Operation(rng.random_range(0..150)),
            _ => When::Nth(call, rng.random_range(0..60)),
        };
        disk.inject(when, fault);
    }
}

/// A run meets faults; then the machine stops, or only the process, and the next run meets none.
fn crash_after_faults(trace: &Trace, plan: Plan) -> Result<u64, Found> {
    let mut rng = SmallRng::seed_from_u64(plan.seed);
    let mut images = 0;
    for _ in 0..4 {
        let at = rng.random_range(0..trace.disk.crash_points());
        let (history, acknowledged) = trace.expected(at);
        let disk = trace.disk.image(at, rng.random()).recording();
        match rng.random_range(0..5) {
            0 => disk.set_capacity(rng.random_range(0..300_000)),
            _ => plan_faults(&disk, &mut rng),
        }
        let next = Plan { seed: rng.random::<u64>() >> 32, steps: rng.random_range(0..80), faulty: true, ..plan };
        let (faulty, outcome) = run(&disk, history, acknowledged, next);
        let end = faulty.disk.operations();
        match outcome {
            Ok(()) | Err(Violation::Refused(LogError::Io { .. })) => {}
            Err(violation) => return Err(Found::new(&faulty, next, end, 0, violation)),
        }
        images += crash_everywhere(&faulty, next, 2)?;
        let at = rng.random_range(0..faulty.disk.crash_points());
        let (history, acknowledged) = faulty.expected(at);
        let healthy = Plan { seed: next.seed + 1, steps: rng.random_range(0..40), faulty: false, ..next };
        let (last, outcome) = run(&faulty.disk.killed(at).recording(), history, acknowledged, healthy);
        let end = last.disk.operations();
        outcome.map_err(|violation| Found::new(&last, healthy, end, 0, violation))?;
        images += crash_everywhere(&last, healthy, 2)?;
    }
    Ok(images)
}

#[test]
fn a_failing_disk_takes_nothing_that_was_acknowledged() {
    let start = Instant::now();
    report(start, hunt(10, Mutation::None, crash_after_faults));
}

/// What became of bits that were turned over.
#[derive(Debug, Default)]
struct Flips {
    reported: u64,
    harmless: u64,
    /// The last group was taken for torn, where nothing behind it told better.
    cut: u64,
}

/// Turns over a bit of a disk where all is synced. Either it does not matter, or it is reported with its place.
fn flip(trace: &Trace, plan: Plan, flips: &mut Flips) -> Result<u64, Found> {
    let mut rng = SmallRng::seed_from_u64(plan.seed);
    let mut images = 0;
    for _ in 0..200 {
        let at = rng.random_range(0..trace.disk.crash_points());
        let seed = rng.random();
        let (history, acknowledged) = trace.expected(at);
        let whole = recover(&trace.disk.image(at, seed), history, acknowledged);
        let whole = whole.map_err(|violation| Found::new(trace, plan, at, seed, violation))?;
        let disk = trace.disk.image(at, seed);
        let names = scaledb_log::disk::Disk::list(&disk).unwrap();
        let names: Vec<_> = names.iter().filter(|name| !disk.contents(name).unwrap().is_empty()).collect();
        if names.is_empty() {
            continue;
        }
        let name = names[rng.random_range(0..names.len())];
        let len = disk.contents(name).unwrap().len();
        let offset = rng.random_range(0..len);
        assert!(disk.flip(name, offset, 1 << rng.random_range(0..8)));
        let bad = |what: String| Err(Found::new(trace, plan, at, seed, Violation::Wrong(what)));
        match recover(&disk, history, acknowledged) {
            Ok(found) if found.count == whole.count => flips.harmless += 1,
            Ok(_) => flips.cut += 1,
            Err(Violation::Refused(LogError::Damaged { file, offset: from, .. })) => {
                // the manifest has one checksum, and its place is at the end
                if file != *name || from > offset as u64 && name != "MANIFEST" {
                    return bad(format!("{name} is damaged at {offset}, and {file} at {from} is reported"));
                }
                flips.reported += 1;
            }
            // nothing stands behind the last group before the log is closed, or idle
            Err(Violation::Lost { recovered, .. }) if recovered >= trace.before_last_group(at) => flips.cut += 1,
            Err(violation) => return bad(format!("{name} is damaged at {offset}: {violation:?}")),
        }
        images += 1;
    }
    Ok(images)
}

#[test]
fn damage_at_rest_is_reported_with_its_place() {
    let start = Instant::now();
    let mut flips = Flips::default();
    report(start, hunt(5, Mutation::None, |trace, plan| flip(trace, plan, &mut flips)));
    println!("{flips:?}");
    assert!(flips.reported > 100);
}
