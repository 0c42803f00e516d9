//! Runs of many kinds, and crashes at each moment of them.

use crate::history::History;
use crate::recover::{Violation, recover};
use crate::run::{Mutation, Plan, Trace, run};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_log::LogError;
use scaledb_verify::disk::{Call, Fault, SimDisk, When};
use std::time::{Duration, Instant};

/// Who runs the tests may give them more time, or another start.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// How long a test goes on: until it has recovered so many images, or for as long as it is told.
pub(crate) struct Patience {
    start: Instant,
    images: u64,
    time: Option<Duration>,
}

impl Patience {
    pub(crate) fn new(images: u64) -> Self {
        let time = number("SCALEDB_SOAK_SECONDS").map(Duration::from_secs);
        Self { start: Instant::now(), images, time }
    }

    pub(crate) fn lasts(&self, images: u64) -> bool {
        self.time.map_or(images < self.images, |time| self.start.elapsed() < time)
    }

    pub(crate) fn report(&self, checked: Checked) {
        match checked {
            Ok(images) => println!("{images} crashes recovered, {:.1} s", self.start.elapsed().as_secs_f64()),
            Err(found) => panic!("{found:#?}"),
        }
    }
}

/// Plans of many kinds, taken in turn.
pub(crate) fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        steps: [60, 150, 400][seed as usize % 3],
        writers: 1 + (seed / 3 % 4) as u8,
        pages: [2, 3, 8][seed as usize / 12 % 3],
        checkpoints: !seed.is_multiple_of(5),
        faulty: false,
        mutation: Mutation::None,
    }
}

/// How many images were recovered.
pub(crate) type Checked = Result<u64, Box<Found>>;

/// Where something went wrong.
#[derive(Debug)]
#[expect(dead_code, reason = "for the message")]
pub(crate) struct Found {
    plan: Plan,
    at: usize,
    of: usize,
    image: u64,
    pub(crate) violation: Violation,
    /// What was done last.
    operations: Vec<String>,
}

impl Found {
    pub(crate) fn new(trace: &Trace, plan: Plan, at: usize, image: u64, violation: Violation) -> Box<Self> {
        const SHOWN: usize = 40;
        let journal = trace.disk.journal();
        let shown = journal[at.saturating_sub(SHOWN)..at].iter().map(ToString::to_string);
        Box::new(Self { plan, at, of: journal.len(), image, violation, operations: shown.collect() })
    }
}

/// Recovers from all crash points of a run. Returns how many images there were.
pub(crate) fn crash_everywhere(trace: &Trace, plan: Plan, images: u64) -> Checked {
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

/// Runs of all kinds from an empty directory.
pub(crate) fn hunt(
    patience: &Patience,
    mutation: Mutation,
    mut check: impl FnMut(&Trace, Plan) -> Checked,
) -> Checked {
    let (mut seed, mut images) = (number("SCALEDB_SEED").unwrap_or(1), 0);
    while patience.lasts(images) {
        let plan = Plan { mutation, ..plan(seed) };
        let disk = SimDisk::new(seed);
        if let Mutation::Lie(call, start) = mutation {
            disk.inject(When::Of(call, start), Fault::Lie);
        }
        let (trace, outcome) = run(&disk, &History::default(), 0, plan);
        outcome.map_err(|violation| Found::new(&trace, plan, trace.disk.operations(), 0, violation))?;
        images += check(&trace, plan)?;
        seed += 1;
    }
    Ok(images)
}

/// Lets a run go on from some of its crash points, or from a kill there, and crashes everywhere in that: in the
/// recovery, and in what follows it.
pub(crate) fn crash_again(trace: &Trace, plan: Plan, lives: u32) -> Checked {
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

/// Faults of all kinds at a random moment of a run that follows another one, or from there on.
pub(crate) fn plan_faults(disk: &SimDisk, rng: &mut SmallRng) {
    let calls =
        [Call::Create, Call::Rename, Call::Remove, Call::SyncNames, Call::Read, Call::Write, Call::Sync];
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
pub(crate) fn crash_after_faults(trace: &Trace, plan: Plan) -> Checked {
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
        let next =
            Plan { seed: rng.random::<u64>() >> 32, steps: rng.random_range(0..80), faulty: true, ..plan };
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
