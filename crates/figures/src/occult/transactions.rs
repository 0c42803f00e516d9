//! Figure 4.7: transactions.

use super::{FOUR, NOT_AS_IN_THE_PAPER, PAPER, Yards, setup, simulated};
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_occult::Shape;
use scaledb_occult_bench::yard::{Setup, Store};
use scaledb_occult_bench::{Keys, Yield};
use scaledb_sync::Arc;

const SIZE: Axis = Axis::linear("operations of a transaction");
const ABORTED: Axis = Axis::linear("aborted of 100 transactions");

pub(super) fn figures(yard: &Arc<Yards>) -> Vec<Figure> {
    let figure = |name, title, x, y, measure: fn(&Yards, &Run<'_>) -> Result<Measured, Failure>| {
        let yard = Arc::clone(yard);
        let measure = Box::new(move |run: &Run<'_>| measure(&yard, run));
        Figure { name, title, source: PAPER, x, y, published: Vec::new(), measure }
    };
    vec![
        figure(
            "occult-4.7a",
            "Goodput of transactions, 95 % reads",
            SIZE,
            Axis::linear("goodput as a part of that of single operations"),
            goodput,
        ),
        figure(
            "occult-4.7b",
            "Why transactions of 20 operations abort",
            Axis::linear("entries of a timestamp"),
            ABORTED,
            causes,
        ),
        figure("occult-4.7c", "How many transactions abort", SIZE, ABORTED, aborts),
        figure(
            "occult-4.7d",
            "How long transactions take from their begin to their commit",
            SIZE,
            Axis::linear("milliseconds on average"),
            latency,
        ),
    ]
}

fn sizes(run: &Run<'_>) -> &'static [usize] {
    if run.form == Form::Quick { &[4] } else { &[4, 8, 12, 16, 20] }
}

fn of(yard: &Yards, run: &Run<'_>, size: usize, change: impl FnOnce(Setup) -> Setup) -> Yield {
    let setup = setup(run, Store::Occult(FOUR));
    yard.run(run, change(Setup { transaction: Some(size), ..setup }))
}

fn measured(series: Vec<Series>, note: &str) -> Measured {
    Measured { series, notes: vec![note.to_owned(), NOT_AS_IN_THE_PAPER.to_owned()] }
}

fn goodput(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let single = yard.run(run, setup(run, Store::Occult(FOUR))).goodput;
    let points =
        sizes(run).iter().map(|&size| (size as f64, of(yard, run, size, |setup| setup).goodput / single));
    let series = Series::new("isolated, 4 entries", simulated(), points);
    Ok(measured(
        vec![series],
        "The paper says 0.6 to 0.7 of all sizes, at the most that its servers could do. Here both have the same sessions, \
         which fill the servers with single operations only; and an aborted transaction is followed by another one.",
    ))
}

fn causes(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let entries: &[u8] = if run.form == Form::Quick { &[4] } else { &[4, 8, 16] };
    let of = |n: u8| {
        let all = of(yard, run, 20, |setup| Setup { store: Store::Occult(Shape::Isolated(n / 2)), ..setup });
        let counted = all.counted;
        let tried = (counted.commits + counted.aborts()).max(1) as f64;
        let locked = counted.aborts_locked + counted.aborts_lease;
        [counted.aborts_reads, counted.aborts_overwrites, locked].map(|count| 100.0 * count as f64 / tried)
    };
    let all: Vec<_> = entries.iter().map(|&n| (f64::from(n), of(n))).collect();
    let names = ["reads of several moments", "overwrites of what was missed", "locks"];
    let series = names.iter().enumerate().map(|(at, name)| {
        Series::new(name, simulated(), all.iter().map(|(entries, parts)| (*entries, parts[at])))
    });
    Ok(measured(series.collect(), "The paper says that locks dominate."))
}

fn aborts(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let count = if run.form == Form::Quick { 10_000 } else { 10_000_000 };
    let series = |name: &str, change: &dyn Fn(Setup) -> Setup| {
        let points =
            sizes(run).iter().map(|&size| (size as f64, 100.0 * of(yard, run, size, change).abort_rate()));
        Series::new(name, simulated(), points)
    };
    let series = vec![
        series("skewed keys", &|setup| setup),
        series("skewed keys, locks tried once", &|setup| Setup { lock_retries: 0, ..setup }),
        series("all keys alike", &|setup| Setup { keys: Keys::new(count, false), ..setup }),
    ];
    Ok(measured(series, "The paper says that the rate rises linearly."))
}

fn latency(yard: &Yards, run: &Run<'_>) -> Result<Measured, Failure> {
    let points = sizes(run).iter().map(|&size| {
        let all = of(yard, run, size, |setup| setup);
        (size as f64, all.transactions.mean() / 1_000.0)
    });
    let series = Series::new("isolated, 4 entries", simulated(), points);
    Ok(measured(vec![series], "Operations follow one another, and a commit asks two or three times."))
}
