//! Figure 10b: how many timestamps cores can take.

use super::{CORES, MACHINE};
use crate::curves::{Curve, per_second, point, simulate};
use crate::lab::Lab;
use crate::machine;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Mechanism, Subject};
use scaledb_sync::Arc;
use scaledb_workloads::clocks::{self, SOURCES};
use std::time::Duration;

/// What is simulated; the clock of the system is not.
const SIMULATED: [(&str, Mechanism); 3] = [
    ("time stamp counter", Mechanism::SynchronizedClock),
    ("timing thread", Mechanism::TimingThread),
    ("shared counter", Mechanism::SharedCounter),
];

pub(super) fn figure(lab: &Arc<Lab>) -> Figure {
    let lab = lab.clone();
    Figure {
        name: "scaledb-10b",
        title: "Timestamps: a synchronized clock beside a shared counter",
        source: "Figure 10b of ScaleDB (OSDI 2023)",
        x: Axis::linear("threads"),
        y: Axis::logarithmic("timestamps per second"),
        published: Vec::new(),
        measure: Box::new(move |run| measure(&lab, run)),
    }
}

fn measure(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    let each = Duration::from_millis(if run.form == Form::Quick { 20 } else { 1_000 });
    let mut measured = Measured::default();
    for source in SOURCES.into_iter().filter(|_| lab.measures_real_cores()) {
        let name = clocks::name(source);
        (run.progress)(&format!("real cores: {name}"));
        let rate = |threads| (threads as f64, clocks::measure(source, threads, each).reads_per_second);
        let points = machine::core_counts().into_iter().map(rate);
        measured.series.push(Series::new(&format!("{name}, real cores"), machine::here(), points));
    }
    let curves = SIMULATED.map(|(name, mechanism)| Curve {
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
    let note = "The paper says that the first two scale linearly to 36 cores, and the counter not beyond 4.";
    measured.notes.push(note.into());
    Ok(measured)
}
