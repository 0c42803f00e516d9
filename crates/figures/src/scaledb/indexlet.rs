//! Figure 10a: the indexlet by itself.

use super::{CORES, MACHINE};
use crate::curves::{Curve, per_second, point, real_point, simulate, times_the_first};
use crate::lab::Lab;
use crate::machine;
use scaledb_evidence::{Axis, Failure, Figure, Measured, Run, Series};
use scaledb_manycore::{Mechanism, Subject};
use scaledb_sync::Arc;

const MAPS: [(&str, Mechanism); 2] =
    [("indexlet", Mechanism::Indexlet), ("hash index", Mechanism::HashIndex)];

pub(super) fn figure(lab: &Arc<Lab>) -> Figure {
    let lab = lab.clone();
    Figure {
        name: "scaledb-10a",
        title: "Hash structures: half reads, half inserts of 64-bit keys",
        source: "Figure 10a of ScaleDB (OSDI 2023)",
        x: Axis::linear("cores"),
        y: Axis::linear("operations, times those of one core"),
        published: Vec::new(),
        measure: Box::new(move |run| measure(&lab, run)),
    }
}

fn measure(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    for (name, mechanism) in MAPS.into_iter().filter(|_| lab.measures_real_cores()) {
        let mut points = Vec::new();
        for cores in machine::core_counts() {
            let ask = real_point(run, Subject::Mechanism(mechanism), cores);
            // it ends when its keys are used up: half a second is enough, and does not
            let ask = scaledb_manycore::Ask { measured_us: ask.measured_us.min(150_000), ..ask };
            points.push((cores as f64, lab.real(run, &ask)?.per_second));
        }
        measured.series.push(Series::new(&format!("{name}, real cores"), machine::here(), points));
    }
    let curves = MAPS.map(|(name, mechanism)| Curve {
        name: name.to_owned(),
        asks: CORES
            .iter()
            .map(|&n| (n as f64, point(run, MACHINE, Subject::Mechanism(mechanism), n)))
            .collect(),
    });
    match simulate(lab, run, MACHINE, &curves, per_second) {
        Ok(series) => measured.series.extend(series),
        Err(Failure::Missing(what)) => measured.notes.push(format!("Nothing is simulated here: {what}.")),
        Err(other) => return Err(other),
    }
    times_the_first(&mut measured.series, &mut measured.notes);
    measured.notes.push(
        "The paper says nearly 5 times libcuckoo and 25 times the BwTree at 36 cores. Neither is measured here; \
         `bench/compare` measures maps of other crates on real cores."
            .into(),
    );
    Ok(measured)
}
