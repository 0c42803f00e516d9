//! Figures 6, 7 and 11: YCSB by threads and by skew.

use super::{CORES, MACHINE, MOST, PER_SECOND, THREADS, WAYS};
use crate::curves::{Curve, over_cores, per_second, point, simulate};
use crate::lab::Lab;
use scaledb_evidence::{Axis, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Shape, Subject, Way};
use scaledb_sync::Arc;

const SKEW: Axis = Axis::linear("Zipf skew");

/// Requests of a transaction, and the percentage of them that read; the others read and write.
#[derive(Clone, Copy)]
struct Requests {
    number: usize,
    reads: u32,
}

pub(super) fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let published = |points: &[(&str, f64)]| -> Vec<Series> {
        points.iter().map(|(name, y)| Series::published(name, "section 4.6", [(28.0, *y)])).collect()
    };
    let of_7 = published(&[("Cicada", 56.5e6), ("Cicada, shared counter", 6.22e6), ("Hekaton, most", 5.1e6)]);
    let write = |number| Requests { number, reads: 50 };
    let read = |number| Requests { number, reads: 95 };
    let (by_threads, by_skew) = ((THREADS, threads as Curves), (SKEW, skews as Curves));
    vec![
        figure(
            lab,
            "cicada-6a",
            "YCSB, 16 requests, half of them write, skew 0.99",
            "6a",
            by_threads,
            write(16),
            vec![],
        ),
        figure(
            lab,
            "cicada-6b",
            "YCSB on 28 threads, 16 requests, half of them write",
            "6b",
            by_skew,
            write(16),
            vec![],
        ),
        figure(
            lab,
            "cicada-6c",
            "YCSB on 28 threads, 16 requests, 5 % write",
            "6c",
            by_skew,
            read(16),
            vec![],
        ),
        figure(lab, "cicada-7", "YCSB, one request, 5 % write, skew 0.99", "7", by_threads, read(1), of_7),
        figure(
            lab,
            "cicada-11a",
            "YCSB, one request, half write, skew 0.99",
            "11a",
            by_threads,
            write(1),
            vec![],
        ),
        figure(
            lab,
            "cicada-11b",
            "YCSB on 28 threads, one request, half write",
            "11b",
            by_skew,
            write(1),
            vec![],
        ),
        figure(
            lab,
            "cicada-11c",
            "YCSB on 28 threads, one request, 5 % write",
            "11c",
            by_skew,
            read(1),
            vec![],
        ),
    ]
}

/// The curve of a way.
type Curves = fn(&Run<'_>, Way, Requests) -> Curve;

fn figure(
    lab: &Arc<Lab>,
    name: &'static str,
    title: &'static str,
    number: &str,
    (x, curve): (Axis, Curves),
    requests: Requests,
    published: Vec<Series>,
) -> Figure {
    let lab = lab.clone();
    Figure {
        name,
        title,
        source: source(number),
        x,
        y: PER_SECOND,
        published,
        measure: Box::new(move |run| {
            let curves = WAYS.map(|way| curve(run, way, requests));
            let series = simulate(&lab, run, MACHINE, &curves, per_second)?;
            Ok(Measured {
                series,
                notes: vec!["200,000 records of 100 bytes, where the paper has 10 million.".into()],
            })
        }),
    }
}

/// Where a figure is published.
fn source(number: &str) -> &'static str {
    match number {
        "6a" => "Figure 6a of Cicada (SIGMOD 2017)",
        "6b" => "Figure 6b of Cicada (SIGMOD 2017)",
        "6c" => "Figure 6c of Cicada (SIGMOD 2017)",
        "7" => "Figure 7 of Cicada (SIGMOD 2017)",
        "11a" => "Figure 11a of Cicada (SIGMOD 2017)",
        "11b" => "Figure 11b of Cicada (SIGMOD 2017)",
        _ => "Figure 11c of Cicada (SIGMOD 2017)",
    }
}

fn threads(run: &Run<'_>, way: Way, requests: Requests) -> Curve {
    over_cores(run, MACHINE, &CORES, Shape::Rmw99, way, |ask| {
        (ask.tuning.requests, ask.tuning.read_percent) = (Some(requests.number), Some(requests.reads));
    })
}

fn skews(run: &Run<'_>, way: Way, requests: Requests) -> Curve {
    let (cores, skews): (_, &[f64]) = match run.form {
        Form::Quick => (2, &[0.99]),
        Form::Full => (MOST, &[0.0, 0.6, 0.9, 0.99]),
    };
    let asks = skews.iter().map(|&theta| {
        let mut ask = point(run, MACHINE, Subject::Workload(Shape::Rmw99, way), cores);
        (ask.tuning.requests, ask.tuning.read_percent) = (Some(requests.number), Some(requests.reads));
        ask.tuning.theta = Some(theta);
        (theta, ask)
    });
    Curve { name: way.name().to_owned(), asks: asks.collect() }
}
