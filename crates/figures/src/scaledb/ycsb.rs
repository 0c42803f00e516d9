//! Figures 7a and 7b: reads and inserts on one range index.

use super::{CORES, MACHINE};
use crate::curves::{Curve, on_real_cores, over_cores, per_second, point, simulate, times_the_first};
use crate::lab::Lab;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Ask, Shape, Subject, Way};
use scaledb_sync::Arc;

const WAYS: [Way; 3] = [Way::Collected, Way::Synchronous, Way::Cicada];

pub(super) fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let (a, b) = (lab.clone(), lab.clone());
    vec![
        Figure {
            name: "scaledb-7a",
            title: "YCSB, reads and inserts: 95 to 5, and 50 to 50",
            source: "Figure 7a of ScaleDB (OSDI 2023)",
            x: Axis::linear("cores"),
            y: Axis::linear("transactions, times those of one core"),
            published: Vec::new(),
            measure: Box::new(move |run| cores(&a, run)),
        },
        Figure {
            name: "scaledb-7b",
            title: "YCSB on 36 cores by the percentage of inserts",
            source: "Figure 7b of ScaleDB (OSDI 2023)",
            x: Axis::linear("percentage of inserts"),
            y: Axis::linear("transactions, percent of the most"),
            published: vec![Series::published(
                "ScaleDB, over a network",
                "section 6.1: it loses 46 % of its peak when all are inserts",
                [(100.0, 54.0)],
            )],
            measure: Box::new(move |run| inserts(&b, run)),
        },
    ]
}

fn cores(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let mut curves = Vec::new();
    for (shape, shares) in [(Shape::ReadInsert95, "95-5"), (Shape::ReadInsert50, "50-50")] {
        for way in WAYS {
            let curve = over_cores(run, MACHINE, &CORES, shape, way, |_| ());
            curves.push(Curve { name: format!("{}, {shares}", curve.name), ..curve });
        }
    }
    let mut series = simulate(lab, run, MACHINE, &curves, per_second)?;
    let real = on_real_cores(lab, run, Shape::ReadInsert50, Way::Collected, per_second, |_| ())?;
    series.extend(real.map(|real| Series { name: "collected, 50-50, real cores".into(), ..real }));
    let mut notes = Vec::new();
    times_the_first(&mut series, &mut notes);
    notes.push(
        "The paper has clients on four machines and up to 160 terminals; here cores call the engine. It says that \
         ScaleDB makes 9.5 times as many as Peloton at 50-50; Peloton is not measured here."
            .into(),
    );
    Ok(Measured { series, notes })
}

fn inserts(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let (cores, shares): (_, &[u32]) = match run.form {
        Form::Quick => (2, &[5, 100]),
        Form::Full => (36, &[0, 10, 20, 50, 100]),
    };
    let curve = |way: Way| {
        let asks = shares.iter().map(|&share| {
            let mut ask = Ask { ..point(run, MACHINE, Subject::Workload(Shape::ReadInsert50, way), cores) };
            ask.tuning.read_percent = Some(100 - share);
            (f64::from(share), ask)
        });
        Curve { name: way.name().to_owned(), asks: asks.collect() }
    };
    let mut series = simulate(lab, run, MACHINE, &WAYS.map(curve), per_second)?;
    let mut notes = Vec::new();
    for Series { name, points, .. } in &mut series {
        let most = points.iter().map(|point| point.y).fold(f64::MIN_POSITIVE, f64::max);
        notes.push(format!("{name}: at most {most:.0} per second"));
        points.iter_mut().for_each(|point| point.y *= 100.0 / most);
    }
    notes.push("A read is many times cheaper than an insert here, as there is no network between.".into());
    Ok(Measured { series, notes })
}
