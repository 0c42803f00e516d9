//! Curves of points that are asked for.

use crate::lab::{Lab, simulated_on};
use crate::machine;
use scaledb_evidence::{Failure, Form, Run, Series};
use scaledb_manycore::{Answer, Ask, Shape, Subject, Way};

/// A curve: its name, and what is asked for at each x.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) asks: Vec<(f64, Ask)>,
}

/// What the y of a point is.
pub(crate) type Y = fn(&Answer) -> f64;

/// Transactions per second.
pub(crate) fn per_second(answer: &Answer) -> f64 {
    answer.per_second
}

/// A point of a workload; `full` and `quick` differ in how long is counted.
pub(crate) fn point(run: &Run<'_>, machine: &str, subject: Subject, cores: usize) -> Ask {
    // the fewer cores, the longer: they all cost as much to simulate then
    let (warmup_us, measured_us) = match run.form {
        Form::Quick => (200, 400),
        Form::Full => (4_000, (120 / cores as u64).clamp(4, 24) * 1_000),
    };
    Ask {
        subject,
        cores,
        machine: machine.to_owned(),
        warmup_us,
        measured_us,
        seed: run.seed,
        ..Ask::default()
    }
}

/// The same on real cores, where a second passes quickly.
pub(crate) fn real_point(run: &Run<'_>, subject: Subject, cores: usize) -> Ask {
    let (warmup_us, measured_us) = match run.form {
        Form::Quick => (10_000, 50_000),
        Form::Full => (500_000, 2_000_000),
    };
    Ask { warmup_us, measured_us, ..point(run, "scaledb", subject, cores) }
}

/// A curve of a workload over cores.
pub(crate) fn over_cores(
    run: &Run<'_>,
    machine: &str,
    cores: &[usize],
    shape: Shape,
    way: Way,
    tune: impl Fn(&mut Ask),
) -> Curve {
    let cores = if run.form == Form::Quick { &[1, 2] } else { cores };
    let asks = cores.iter().map(|&cores| {
        let mut ask = point(run, machine, Subject::Workload(shape, way), cores);
        tune(&mut ask);
        (cores as f64, ask)
    });
    Curve { name: way.name().to_owned(), asks: asks.collect() }
}

/// Measures curves on simulated cores.
///
/// # Errors
/// Those of the simulator.
pub(crate) fn simulate(
    lab: &Lab,
    run: &Run<'_>,
    machine: &str,
    curves: &[Curve],
    y: Y,
) -> Result<Vec<Series>, Failure> {
    let asks: Vec<Ask> = curves.iter().flat_map(|curve| &curve.asks).map(|(_, ask)| ask.clone()).collect();
    let mut answers = lab.simulated(run, &asks)?.into_iter();
    let series = curves.iter().map(|curve| {
        let points = curve.asks.iter().zip(&mut answers).map(|((x, _), answer)| (*x, y(&answer)));
        Series::new(&curve.name, simulated_on(machine), points)
    });
    Ok(series.collect())
}

/// Measures a workload on 1, 2, 4 ... cores of this machine, if they are to measure anything.
///
/// # Errors
/// What the engine returns.
pub(crate) fn on_real_cores(
    lab: &Lab,
    run: &Run<'_>,
    shape: Shape,
    way: Way,
    y: Y,
    tune: impl Fn(&mut Ask),
) -> Result<Option<Series>, Failure> {
    if !lab.measures_real_cores() {
        return Ok(None);
    }
    let mut points = Vec::new();
    for cores in machine::core_counts() {
        let mut ask = real_point(run, Subject::Workload(shape, way), cores);
        tune(&mut ask);
        points.push((cores as f64, y(&lab.real(run, &ask)?)));
    }
    Ok(Some(Series::new(&format!("{}, real cores", way.name()), machine::here(), points)))
}

/// Each series in multiples of its first point; what that was is noted.
pub(crate) fn times_the_first(series: &mut [Series], notes: &mut Vec<String>) {
    for Series { name, points, .. } in series {
        let Some(first) = points.first().map(|point| point.y).filter(|&first| first > 0.0) else { continue };
        let last = points[points.len() - 1];
        notes.push(format!(
            "{name}: {:.0} per second with {}, {:.0} with {}",
            first, points[0].x, last.y, last.x
        ));
        points.iter_mut().for_each(|point| point.y /= first);
    }
}
