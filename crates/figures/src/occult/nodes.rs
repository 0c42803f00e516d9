//! Figures 2.2 and 4.8: slow nodes.

use super::{FOUR, NOT_AS_IN_THE_PAPER, PAPER, Yards, setup, simulated};
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_occult::Micros;
use scaledb_occult_bench::Yield;
use scaledb_occult_bench::cascade::{self, Cascade, Slow};
use scaledb_occult_bench::yard::{Setup, Store};
use scaledb_sync::Arc;

const SLOW: Axis = Axis::linear("slow replicas, half of them in each datacenter");
const LATE: Micros = Micros(100_000);
/// Later than a run takes.
const NEVER: Micros = Micros(u32::MAX as u64);

/// Figure 2.2.
pub(super) fn cascades() -> Vec<Figure> {
    vec![Figure {
        name: "occult-2.2",
        title: "Replicated writes that wait, when one shard of ten is slow",
        source: "S. A. Mehdi's dissertation, section 2.1.2",
        x: Axis::linear("seconds"),
        y: Axis::linear("waiting writes of a shard, on average"),
        published: Vec::new(),
        measure: Box::new(cascade),
    }]
}

/// Figure 4.8.
pub(super) fn figures(yard: &Arc<Yards>) -> Vec<Figure> {
    let figure = |name, title, y, published, measure: fn(&Yards, &Run<'_>) -> Result<Measured, Failure>| {
        let yard = Arc::clone(yard);
        let measure = Box::new(move |run: &Run<'_>| measure(&yard, run));
        Figure { name, title, source: PAPER, x: SLOW, y, published, measure }
    };
    let milliseconds = Axis::linear("milliseconds of a read");
    vec![
        figure(
            "occult-4.8a",
            "Goodput with slow replicas",
            Axis::linear("goodput as a part of that without slow ones"),
            vec![Series::published(
                "100 ms, little used, the paper",
                "section 4.6.3",
                [2.0, 4.0, 6.0].map(|x| (x, 1.0)),
            )],
            goodput,
        ),
        figure(
            "occult-4.8b",
            "How long reads take with slow replicas that are little used",
            milliseconds,
            vec![Series::published("95th percentile, the paper", "section 4.6.3", [(6.0, 48.0)])],
            |yard, run| latency(yard, run, false),
        ),
        figure(
            "occult-4.8c",
            "How long reads take with slow replicas that are much used",
            milliseconds,
            Vec::new(),
            |yard, run| latency(yard, run, true),
        ),
    ]
}

fn cascade(run: &Run<'_>) -> Result<Measured, Failure> {
    let of = |waits, slow| -> Cascade {
        (run.progress)(&format!("simulated: {slow:?}, waits: {waits}"));
        let full = cascade::Setup { seed: run.seed, ..cascade::Setup::paper(waits, slow) };
        cascade::run(&match run.form {
            Form::Full => full,
            Form::Quick => cascade::Setup { time: Micros(300_000), ..full },
        })
    };
    // about 2,600 writes in a second come to each shard
    let cases = [
        ("waits for dependencies, none slow", true, Slow::Nobody),
        ("waits, one 100 ms late", true, Slow::Late(LATE)),
        ("waits, one applies 1,000 in a second", true, Slow::Applies(1_000.0)),
        ("Occult, one 100 ms late", false, Slow::Late(LATE)),
        ("Occult, one applies 1,000 in a second", false, Slow::Applies(1_000.0)),
    ];
    let made = simulated();
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (name, waits, slow) in cases {
        let all = of(waits, slow);
        let last = all.others.last().map_or(0.0, |(_, length)| *length);
        notes.push(format!(
            "{name}: at the nine other shards {last:.0} wait at the end, and a write is visible after {:.1} ms",
            all.visible
        ));
        // a point for each tenth of a second
        series.push(Series::new(name, made.clone(), all.queues.into_iter().skip(4).step_by(5)));
    }
    notes.push(
        "Replicas that wait do it in the manner of Eiger, as state machines in the simulation only: Redis cannot hold \
         back its stream. Readers at the replicas are left out: they change no queue."
            .to_owned(),
    );
    Ok(Measured { series, notes })
}

fn counts(run: &Run<'_>) -> &'static [usize] {
    if run.form == Form::Quick { &[0, 2] } else { &[0, 2, 4, 6] }
}

/// A cluster with slow replicas: those of the groups that are used least or most, as many in each datacenter.
fn of(yard: &Yards, run: &Run<'_>, slow: usize, hot: bool, delay: Micros) -> Yield {
    let setup = setup(run, Store::Occult(FOUR));
    let mut loads = setup.keys.loads(setup.groups, 1);
    if !hot {
        loads.reverse();
    }
    let of = |datacenter| loads.iter().map(|(group, _)| *group).filter(move |group| group % 2 == datacenter);
    let slow = of(0).take(slow / 2).chain(of(1).take(slow / 2)).map(|group| (group, delay)).collect();
    yard.run(run, Setup { slow, ..setup })
}

fn goodput(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let cases = [
        ("100 ms, little used", false, LATE),
        ("endlessly, little used", false, NEVER),
        ("100 ms, much used", true, LATE),
    ];
    let series = cases.into_iter().map(|(name, hot, delay)| {
        let without = of(yard, run, 0, hot, delay).goodput;
        let points =
            counts(run).iter().map(|&slow| (slow as f64, of(yard, run, slow, hot, delay).goodput / without));
        Series::new(name, simulated(), points)
    });
    Ok(Measured { series: series.collect(), notes: vec![NOT_AS_IN_THE_PAPER.to_owned()] })
}

fn latency(yard: &Yards, run: &Run<'_>, hot: bool) -> Result<Measured, Failure> {
    let mut all: Vec<_> =
        counts(run).iter().map(|&slow| (slow as f64, of(yard, run, slow, hot, LATE).reads)).collect();
    let parts = [("median", 0.5), ("75th percentile", 0.75), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)];
    let series = parts.into_iter().map(|(name, part)| {
        let points = all.iter_mut().map(|(slow, reads)| (*slow, reads.quantile(part) / 1_000.0));
        Series::new(name, simulated(), points.collect::<Vec<_>>())
    });
    Ok(Measured { series: series.collect(), notes: vec![NOT_AS_IN_THE_PAPER.to_owned()] })
}
