//! Figure 4.6: single operations.

use super::{FOUR, NOT_AS_IN_THE_PAPER, PAPER, Yards, schemes, setup, simulated};
use scaledb_evidence::{Axis, Failure, Figure, Measured, Run, Series};
use scaledb_occult::Shape;
use scaledb_occult_bench::Yield;
use scaledb_occult_bench::yard::{Setup, Store};
use scaledb_sync::Arc;

const ENTRIES: Axis = Axis::logarithmic("entries of a timestamp, of all datacenters together");
const OF_EVENTUAL: Axis = Axis::linear("goodput as a part of plain Redis'");
const STALE: Axis = Axis::linear("stale reads of 100");
const MORE: Axis = Axis::linear("microseconds more than a read of plain Redis");

pub(super) fn figures(yard: &Arc<Yards>) -> Vec<Figure> {
    let figure =
        |name, title, x, y, published, measure: fn(&Yards, &Run<'_>) -> Result<Measured, Failure>| {
            let yard = Arc::clone(yard);
            let measure = Box::new(move |run: &Run<'_>| measure(&yard, run));
            Figure { name, title, source: PAPER, x, y, published, measure }
        };
    let published = |name, points: &[(f64, f64)]| {
        vec![Series::published(name, "section 4.6.2.1", points.iter().copied())]
    };
    vec![
        figure(
            "occult-4.6a",
            "Goodput by the size of timestamps, 95 % reads",
            ENTRIES,
            OF_EVENTUAL,
            published("isolated, the paper", &[(4.0, 0.913)]),
            |yard, run| goodput(yard, run, 5),
        ),
        figure(
            "occult-4.6b",
            "How much longer reads take, 95 % reads",
            Axis::names("of all reads", &["mean", "99th percentile"]),
            MORE,
            published("isolated, 4 entries, the paper", &[(0.0, 50.0), (1.0, 400.0)]),
            |yard, run| latency(yard, run, 5, |of| [of.reads.mean(), of.reads.quantile(0.99)]),
        ),
        figure(
            "occult-4.6c",
            "Stale reads in the first datacenter",
            ENTRIES,
            STALE,
            Vec::new(),
            |yard, run| stale(yard, run, 0),
        ),
        figure(
            "occult-4.6d",
            "Stale reads in the second datacenter, whose clocks are ahead",
            ENTRIES,
            STALE,
            Vec::new(),
            |yard, run| stale(yard, run, 1),
        ),
        figure(
            "occult-4.6e",
            "What a session had used before a read that was stale, temporal timestamps",
            Axis::names(
                "used before",
                &["a master in its datacenter", "a replica there", "a master elsewhere"],
            ),
            Axis::linear("parts of all stale reads, in percent"),
            published("temporal, the paper", &[(0.0, 96.0)]),
            before,
        ),
        figure(
            "occult-4.6g",
            "Goodput by the size of timestamps, 75 % reads",
            ENTRIES,
            OF_EVENTUAL,
            published("isolated, the paper", &[(4.0, 0.931)]),
            |yard, run| goodput(yard, run, 25),
        ),
        figure(
            "occult-4.6h",
            "How much longer reads take, 75 % reads",
            Axis::names("of all reads", &["median", "99th percentile"]),
            MORE,
            published("isolated, 4 entries, the paper", &[(0.0, 50.0), (1.0, 4_000.0)]),
            |yard, run| latency(yard, run, 25, |of| [of.reads.quantile(0.5), of.reads.quantile(0.99)]),
        ),
    ]
}

fn of(yard: &Yards, run: &Run<'_>, store: Store, writes: u64) -> Yield {
    let setup = setup(run, store);
    // half of the writes wait for the other datacenter: with more of them it takes more sessions to fill the servers
    let sessions = if writes > 5 { 4 * setup.sessions } else { setup.sessions };
    yard.run(run, Setup { writes, sessions, ..setup })
}

fn notes(more: impl IntoIterator<Item = String>) -> Vec<String> {
    more.into_iter().chain([NOT_AS_IN_THE_PAPER.to_owned()]).collect()
}

fn goodput(yard: &Yards, run: &Run<'_>, writes: u64) -> Result<Measured, Failure> {
    let plain = of(yard, run, Store::Eventual, writes);
    let series = schemes(run).into_iter().map(|(name, shapes)| {
        let points = shapes.into_iter().map(|(entries, shape)| {
            (entries, of(yard, run, Store::Occult(shape), writes).goodput / plain.goodput)
        });
        Series::new(name, simulated(), points)
    });
    let plain = format!(
        "plain Redis: {:.0} operations in a second, its busiest server busy for {:.0} % of the time",
        plain.goodput,
        100.0 * plain.busiest
    );
    Ok(Measured { series: series.collect(), notes: notes([plain]) })
}

fn latency(
    yard: &Yards,
    run: &Run<'_>,
    writes: u64,
    times: fn(&mut Yield) -> [f64; 2],
) -> Result<Measured, Failure> {
    let plain = times(&mut of(yard, run, Store::Eventual, writes));
    let stores = [
        ("isolated, 4 entries", FOUR),
        ("temporal, 8 entries", Shape::Temporal(8)),
        ("structural, 8 entries", Shape::Structural(8)),
        ("one entry, as Pileus", Shape::Temporal(1)),
    ];
    let series = stores.into_iter().map(|(name, shape)| {
        let ours = times(&mut of(yard, run, Store::Occult(shape), writes));
        let points = ours.iter().zip(plain).enumerate().map(|(at, (ours, plain))| (at as f64, ours - plain));
        Series::new(name, simulated(), points)
    });
    let plain = format!("plain Redis: {:.0} and {:.0} microseconds", plain[0], plain[1]);
    Ok(Measured { series: series.collect(), notes: notes([plain]) })
}

fn stale(yard: &Yards, run: &Run<'_>, datacenter: usize) -> Result<Measured, Failure> {
    let series = schemes(run).into_iter().map(|(name, shapes)| {
        let points = shapes.into_iter().map(|(entries, shape)| {
            (entries, 100.0 * of(yard, run, Store::Occult(shape), 5).stale[datacenter])
        });
        Series::new(name, simulated(), points)
    });
    let what = "A read whose first answer is behind counts; it is then repeated, where the paper's sessions took it.";
    Ok(Measured { series: series.collect(), notes: notes([what.to_owned()]) })
}

fn before(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let shapes = [("temporal, 2 entries", Shape::Temporal(2)), ("temporal, 8 entries", Shape::Temporal(8))];
    let series = shapes.into_iter().map(|(name, shape)| {
        let parts = of(yard, run, Store::Occult(shape), 5).before_stale;
        let points = parts.iter().enumerate().map(|(at, part)| (at as f64, 100.0 * part));
        Series::new(name, simulated(), points)
    });
    let what = "The operation just before counts, whether it has changed the timestamp or not.";
    Ok(Measured { series: series.collect(), notes: notes([what.to_owned()]) })
}
