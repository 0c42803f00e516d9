//! Figures 8 to 10 and table 2: what each technique of Cicada is worth.

use super::{MACHINE, MOST, PER_SECOND, TWENTIETH};
use crate::curves::{Curve, per_second, point, simulate};
use crate::lab::Lab;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Ask, Shape, Subject, Way};
use scaledb_sync::Arc;

/// The techniques of table 2, as the paper and as the engine calls them.
const TECHNIQUES: [&str; 4] = ["No-wait", "No-latest", "No-sort", "No-precheck"];
const WITHOUT: [&str; 4] = ["wait", "latest", "sort", "precheck"];

pub(super) fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let labs: [Arc<Lab>; 6] = std::array::from_fn(|_| lab.clone());
    let [a, b, c, d, e, f] = labs;
    let percent = Axis::linear("throughput, percent of all techniques together");
    vec![
        Figure {
            name: "cicada-8",
            title: "YCSB on 28 threads, 16 requests, 5 % write, no skew, by the size of records",
            source: "Figure 8 of Cicada (SIGMOD 2017)",
            x: Axis::logarithmic("bytes of a record"),
            y: PER_SECOND,
            published: Vec::new(),
            measure: Box::new(move |run| inlining(&a, run)),
        },
        Figure {
            name: "cicada-9",
            title: "TPC-C on 28 threads by the interval between looks for garbage",
            source: "Figure 9 of Cicada (SIGMOD 2017)",
            x: Axis::logarithmic("microseconds"),
            y: Axis::linear("throughput, percent of that at 10 us"),
            published: vec![
                Series::published("28 warehouses, Cicada", "section 4.6", [(10.0, 100.0), (100_000.0, 64.0)]),
                Series::published("4 warehouses, Cicada", "section 4.6", [(10.0, 100.0), (100_000.0, 72.8)]),
                Series::published("1 warehouse, Cicada", "section 4.6", [(10.0, 100.0), (100_000.0, 97.8)]),
            ],
            measure: Box::new(move |run| quiescence(&b, run)),
        },
        Figure {
            name: "cicada-10a",
            title: "TPC-C on 28 threads and 4 warehouses by the longest pause after a conflict",
            source: "Figure 10 of Cicada (SIGMOD 2017), top",
            x: Axis::linear("longest pause, microseconds"),
            y: PER_SECOND,
            published: Vec::new(),
            measure: Box::new(move |run| backoff(&c, run, Shape::Tpcc)),
        },
        Figure {
            name: "cicada-10b",
            title: "New-Order and Payment on 28 threads and 4 warehouses by the longest pause after a conflict",
            source: "Figure 10 of Cicada (SIGMOD 2017), middle",
            x: Axis::linear("longest pause, microseconds"),
            y: PER_SECOND,
            published: Vec::new(),
            measure: Box::new(move |run| backoff(&d, run, Shape::NewOrderPayment)),
        },
        Figure {
            name: "cicada-10c",
            title: "YCSB on 28 threads, one request, half write, skew 0.99, by the longest pause after a conflict",
            source: "Figure 10 of Cicada (SIGMOD 2017), bottom",
            x: Axis::linear("longest pause, microseconds"),
            y: PER_SECOND,
            published: Vec::new(),
            measure: Box::new(move |run| backoff(&e, run, Shape::Rmw99)),
        },
        Figure {
            name: "cicada-t2",
            title: "YCSB on 28 threads, 16 requests, half of them write, skew 0.99, without a technique",
            source: "Table 2 of Cicada (SIGMOD 2017)",
            x: Axis::names("without", &TECHNIQUES),
            y: percent,
            published: vec![Series::published(
                "Cicada",
                "table 2",
                [86.8, 95.1, 87.3, 90.5].into_iter().enumerate().map(|(x, y)| (x as f64, y)),
            )],
            measure: Box::new(move |run| techniques(&f, run)),
        },
    ]
}

fn cores(run: &Run<'_>) -> usize {
    if run.form == Form::Quick { 2 } else { MOST }
}

fn of_cicada(run: &Run<'_>, shape: Shape) -> Ask {
    point(run, MACHINE, Subject::Workload(shape, Way::Cicada), cores(run))
}

fn inlining(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let sizes: &[usize] = if run.form == Form::Quick { &[100] } else { &[16, 64, 208, 512, 2_000] };
    let curve = |name: &str, inline_bytes: Option<u64>| {
        let asks = sizes.iter().map(|&bytes| {
            let mut ask = of_cicada(run, Shape::Rmw99);
            let tuning = &mut ask.tuning;
            (tuning.theta, tuning.read_percent, tuning.requests) = (Some(0.0), Some(95), Some(16));
            (tuning.record_bytes, tuning.records, tuning.inline_bytes) =
                (Some(bytes), Some(100_000), inline_bytes);
            (bytes as f64, ask)
        });
        Curve { name: name.to_owned(), asks: asks.collect() }
    };
    let curves = [curve("inlined up to 216 bytes", None), curve("not inlined", Some(0))];
    Ok(Measured {
        series: simulate(lab, run, MACHINE, &curves, per_second)?,
        notes: vec!["100,000 records, where the paper has 10 million.".into()],
    })
}

fn quiescence(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let micros: &[u64] = if run.form == Form::Quick { &[10] } else { &[10, 100, 1_000] };
    let curve = |warehouses: u16| {
        let asks = micros.iter().map(|&us| {
            let mut ask = of_cicada(run, Shape::Tpcc);
            (ask.tuning.warehouses, ask.tuning.quiescence_us) = (Some(warehouses), Some(us));
            (us as f64, ask)
        });
        Curve { name: format!("{warehouses} warehouses"), asks: asks.collect() }
    };
    let mut series = simulate(lab, run, MACHINE, &[28, 4, 1].map(curve), per_second)?;
    for Series { points, .. } in &mut series {
        let first = points[0].y.max(f64::MIN_POSITIVE);
        points.iter_mut().for_each(|point| point.y *= 100.0 / first);
    }
    let notes = vec![
        TWENTIETH.to_owned(),
        "Some milliseconds are simulated: longer intervals than one of them would never end.".into(),
    ];
    Ok(Measured { series, notes })
}

fn backoff(lab: &Lab, run: &Run<'_>, shape: Shape) -> Result<Measured, Failure> {
    let micros: &[u64] = if run.form == Form::Quick { &[0] } else { &[0, 2, 5, 10, 20] };
    let ask = |backoff_ns: Option<u64>| {
        let mut ask = of_cicada(run, shape);
        let tuning = &mut ask.tuning;
        match shape {
            Shape::Rmw99 => (tuning.requests, tuning.read_percent) = (Some(1), Some(50)),
            _ => tuning.warehouses = Some(4),
        }
        tuning.backoff_ns = backoff_ns;
        ask
    };
    let fixed = Curve {
        name: "fixed".to_owned(),
        asks: micros.iter().map(|&us| (us as f64, ask(Some(us * 1_000)))).collect(),
    };
    let regulated = Curve {
        name: "regulated".to_owned(),
        asks: micros.iter().map(|&us| (us as f64, ask(None))).collect(),
    };
    let notes = match shape {
        Shape::Rmw99 => "200,000 records, where the paper has 10 million.",
        _ => TWENTIETH,
    };
    let series = simulate(lab, run, MACHINE, &[regulated, fixed], per_second)?;
    Ok(Measured { series, notes: vec![notes.to_owned()] })
}

fn techniques(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let ask = |without: Option<&str>| {
        let mut ask = of_cicada(run, Shape::Rmw99);
        ask.tuning.without = without.map(str::to_owned);
        ask
    };
    let asks: Vec<Ask> = std::iter::once(None).chain(WITHOUT.map(Some)).map(ask).collect();
    let answers = lab.simulated(run, &asks)?;
    let all = answers[0].per_second.max(f64::MIN_POSITIVE);
    let points =
        answers[1..].iter().enumerate().map(|(x, answer)| (x as f64, answer.per_second * 100.0 / all));
    let series = Series::new("ours", crate::lab::simulated_on(MACHINE), points);
    let note =
        format!("With all techniques: {all:.0} per second. 200,000 records, where the paper has 10 million.");
    Ok(Measured { series: vec![series], notes: vec![note] })
}
