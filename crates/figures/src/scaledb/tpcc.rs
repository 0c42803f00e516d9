//! Figures 2, 8 and 9: TPC-C with a warehouse per core, and New-Order with Delivery.

use super::{CORES, MACHINE};
use crate::curves::{Curve, on_real_cores, over_cores, per_second, simulate, times_the_first};
use crate::lab::Lab;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Answer, Ask, Shape, Way};
use scaledb_sync::Arc;

const WAYS: [Way; 4] = [Way::Collected, Way::Measured, Way::Synchronous, Way::Cicada];
const TIMES: Axis = Axis::linear("transactions, times those of one core");
const CORE: Axis = Axis::linear("cores");

pub(super) fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let labs: [Arc<Lab>; 6] = std::array::from_fn(|_| lab.clone());
    let [a, b, c, d, e, f] = labs;
    vec![
        Figure {
            name: "scaledb-2a",
            title: "Cicada in TPC-C, a warehouse per core",
            source: "Figure 2a of ScaleDB (OSDI 2023)",
            x: CORE,
            y: TIMES,
            published: vec![
                Series::published("Cicada, shared indexes", "section 6.2", [(1.0, 1.0), (36.0, 6.4)]),
                Series::published("Cicada, partitioned indexes", "section 6.2", [(1.0, 1.0), (36.0, 20.0)]),
            ],
            measure: Box::new(move |run| scaling(&a, run, Shape::Tpcc, &[Way::Cicada], SHARED)),
        },
        Figure {
            name: "scaledb-2b",
            title: "Cicada's conflicts in TPC-C, a warehouse per core",
            source: "Figure 2b of ScaleDB (OSDI 2023)",
            x: CORE,
            y: Axis::linear("conflicts, percent of attempts"),
            published: Vec::new(),
            measure: Box::new(move |run| aborts(&b, run, Shape::Tpcc, Way::Cicada, &[])),
        },
        Figure {
            name: "scaledb-8a",
            title: "TPC-C, a warehouse per core",
            source: "Figure 8a of ScaleDB (OSDI 2023)",
            x: CORE,
            y: TIMES,
            published: vec![
                Series::published("ScaleDB", "section 6.2", [(1.0, 1.0), (36.0, 22.3)]),
                Series::published("Cicada, shared indexes", "section 6.2", [(1.0, 1.0), (36.0, 6.4)]),
                Series::published("Cicada, partitioned indexes", "section 6.2", [(1.0, 1.0), (36.0, 20.0)]),
            ],
            measure: Box::new(move |run| scaling(&c, run, Shape::Tpcc, &WAYS, SHARED)),
        },
        Figure {
            name: "scaledb-8b",
            title: "New-Order and Delivery, a warehouse per core",
            source: "Figure 8b of ScaleDB (OSDI 2023)",
            x: CORE,
            y: TIMES,
            published: vec![
                Series::published("ScaleDB", "section 6.2", [(1.0, 1.0), (36.0, 24.0)]),
                Series::published("Cicada, shared indexes", "section 6.2", [(1.0, 1.0), (36.0, 1.6)]),
                Series::published("Cicada, partitioned indexes", "section 6.2", [(1.0, 1.0), (36.0, 15.5)]),
            ],
            measure: Box::new(move |run| scaling(&d, run, Shape::NewOrderDelivery, &WAYS, SHARED)),
        },
        Figure {
            name: "scaledb-9a",
            title: "Conflicts in TPC-C, index updates collected",
            source: "Figure 9a of ScaleDB (OSDI 2023)",
            x: CORE,
            y: Axis::linear("conflicts, percent of attempts"),
            published: vec![
                Series::published("Delivery, ScaleDB", "section 6.2", [(20.0, 3.5), (36.0, 3.5)]),
                Series::published("Stock-Level, ScaleDB: less than", "section 6.2", [(36.0, 1.0)]),
            ],
            measure: Box::new(move |run| aborts(&e, run, Shape::Tpcc, Way::Collected, &TPCC)),
        },
        Figure {
            name: "scaledb-9b",
            title: "Conflicts of New-Order and Delivery, index updates collected",
            source: "Figure 9b of ScaleDB (OSDI 2023)",
            x: CORE,
            y: Axis::linear("conflicts, percent of attempts"),
            published: vec![Series::published(
                "Delivery, ScaleDB",
                "section 6.2",
                [(20.0, 3.5), (36.0, 3.5)],
            )],
            measure: Box::new(move |run| aborts(&f, run, Shape::NewOrderDelivery, Way::Collected, &ORDERS)),
        },
    ]
}

const SHARED: &str = "Our engines share all indexes; none of ours is partitioned by warehouse.";

fn scaling(lab: &Lab, run: &Run<'_>, shape: Shape, ways: &[Way], note: &str) -> Result<Measured, Failure> {
    // New-Order and Delivery are a queue: at first the orders that were loaded are delivered, and a worker that
    // measures which way is cheaper learns from that
    let settle = |ask: &mut Ask| {
        if shape == Shape::NewOrderDelivery && run.form == Form::Full {
            (ask.warmup_us, ask.measured_us) = (60_000, 20_000);
        }
    };
    let curves: Vec<_> =
        ways.iter().map(|&way| over_cores(run, MACHINE, &CORES, shape, way, settle)).collect();
    let mut series = simulate(lab, run, MACHINE, &curves, per_second)?;
    for &way in ways {
        series.extend(on_real_cores(lab, run, shape, way, per_second, |_| ())?);
    }
    let mut notes = Vec::new();
    times_the_first(&mut series, &mut notes);
    notes.push(note.to_owned());
    Ok(Measured { series, notes })
}

/// A class of transactions, and what its conflicts are of its attempts.
type Class = (&'static str, fn(&Answer) -> f64);

const TPCC: [Class; 3] = [
    ("New-Order", |answer| answer.abort_percent_of("New-Order").unwrap_or_default()),
    ("Delivery", |answer| answer.abort_percent_of("Delivery").unwrap_or_default()),
    ("Stock-Level", |answer| answer.abort_percent_of("Stock-Level").unwrap_or_default()),
];
const ORDERS: [Class; 2] = [TPCC[0], TPCC[1]];

fn aborts(lab: &Lab, run: &Run<'_>, shape: Shape, way: Way, classes: &[Class]) -> Result<Measured, Failure> {
    let curve =
        |name: &str| Curve { name: name.to_owned(), ..over_cores(run, MACHINE, &CORES, shape, way, |_| ()) };
    let mut series =
        simulate(lab, run, MACHINE, &[curve("all transactions")], |answer| answer.abort_percent)?;
    for (name, percent) in classes {
        series.extend(simulate(lab, run, MACHINE, &[curve(name)], *percent)?);
    }
    Ok(Measured { series, notes: Vec::new() })
}
