//! Figure 3a: how long after a row was written a range scan finds it.
//!
//! From a sample that the engine takes of its scans: a row's record says when it was committed. Rows that were not
//! written since the run began are left out: how old they are says when they were loaded.

use crate::curves::real_point;
use crate::lab::Lab;
use crate::machine;
use scaledb_evidence::{Axis, Failure, Figure, Form, Measured, Run, Series};
use scaledb_manycore::{Ask, Shape, Subject, Way};
use scaledb_sync::Arc;
use scaledb_sync::thread::cores;
use scaledb_workloads::report::{Ago, TableReport};
use std::collections::BTreeMap;

/// The tables and indexes whose scans are curves of their own; the others of a workload are one.
const ALONE: [&str; 4] = ["order_line", "new_order", "orders_by_customer", "customer_by_name"];

/// Workloads, and their customers or users: those of table 1 of the paper, in the full form.
const WORKLOADS: [(&str, Shape, u64); 3] =
    [("TPC-C", Shape::Tpcc, 0), ("SEATS", Shape::Seats, 100_000), ("Epinions", Shape::Epinions, 200_000)];

pub(super) fn figure(lab: &Arc<Lab>) -> Figure {
    let lab = lab.clone();
    let published =
        |name, points: &[(f64, f64)]| Series::published(name, "section 3.2", points.iter().copied());
    Figure {
        name: "scaledb-3a",
        title: "From the last write of a row to a range scan that finds it",
        source: "Figure 3a of ScaleDB (OSDI 2023)",
        x: Axis::logarithmic("milliseconds, at most"),
        y: Axis::linear("scanned rows, percent"),
        published: vec![
            published("TPC-C, DelivSumOrderAmt", &[(1.0, 50.0)]),
            published("SEATS and Epinions, the shortest", &[(500.0, 5.0), (8_000.0, 50.0)]),
            published("SEATS and Epinions, the longest", &[(85_000.0, 50.0)]),
        ],
        measure: Box::new(move |run| measure(&lab, run)),
    }
}

fn measure(lab: &Lab, run: &Run<'_>) -> Result<Measured, Failure> {
    if !lab.measures_real_cores() {
        return Err(Failure::Missing("the cores of this machine are left out".to_owned()));
    }
    let mut measured = Measured::default();
    for (workload, shape, people) in WORKLOADS {
        let mut ask = real_point(run, Subject::Workload(shape, Way::Measured), cores());
        if run.form == Form::Full {
            ask = Ask { warmup_us: 1_000_000, measured_us: 30_000_000, ..ask };
            ask.tuning.full = true;
            ask.tuning.records = (people > 0).then_some(people);
        } else {
            ask.measured_us = 300_000;
            ask.tuning.records = (people > 0).then_some(people / 100);
        }
        let answer = lab.real(run, &ask)?;
        let report = answer.report.ok_or_else(|| Failure::Missing(format!("{workload} has no report")))?;
        let ran_us = ask.warmup_us + ask.measured_us;
        for (name, scanned) in by_curve(workload, &report.tables) {
            let (points, written, all) = distribution(&scanned, ran_us);
            let share = 100.0 * written as f64 / all.max(1) as f64;
            measured.notes.push(format!(
                "{name}: {all} rows of a sample of scans, of which {share:.0} % had been written since the run began."
            ));
            if !points.is_empty() {
                measured.series.push(Series::new(&name, machine::here(), points));
            }
        }
        measured.notes.push(format!(
            "{workload}: {:.0} transactions per second on {} for {:.1} s.",
            report.commits_per_second,
            if ask.cores == 1 { "1 core".to_owned() } else { format!("{} cores", ask.cores) },
            ran_us as f64 / 1e6,
        ));
    }
    measured.notes.push(
        "The paper ran these on MySQL, where all of them take longer; the shorter a transaction, the sooner a row that it \
         wrote is scanned. What a transaction has written itself is not counted here: in the paper, Delivery scans the \
         lines that it has just changed. Of rows that were not written in the run all that is known is that it took longer."
            .into(),
    );
    Ok(measured)
}

/// The rows that were scanned, by their age, for each curve of a workload.
fn by_curve(workload: &str, tables: &[TableReport]) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let mut curves: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for table in tables.iter().filter(|table| !table.write_to_scan.is_empty()) {
        let name = match ALONE.contains(&table.name.as_str()) {
            true => format!("{workload}, {}", table.name),
            false => format!("{workload}, all scans"),
        };
        let curve = curves.entry(name).or_default();
        for &Ago { below_us, rows } in &table.write_to_scan {
            *curve.entry(below_us.unwrap_or(u64::MAX)).or_default() += rows;
        }
    }
    curves
}

/// What part of the rows that were written within the run was scanned by when; how many these are, and all.
fn distribution(scanned: &BTreeMap<u64, u64>, ran_us: u64) -> (Vec<(f64, f64)>, u64, u64) {
    let written: u64 = scanned.range(..=ran_us).map(|(_, rows)| rows).sum();
    let mut sum = 0;
    let points = scanned.range(..=ran_us).map(|(&below, rows)| {
        sum += rows;
        (below as f64 / 1e3, 100.0 * sum as f64 / written as f64)
    });
    (points.collect(), written, scanned.values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_from_before_the_run_are_left_out() {
        let scanned = BTreeMap::from([(1_000, 10), (4_000, 30), (1 << 25, 500), (u64::MAX, 60)]);
        let (points, written, all) = distribution(&scanned, 10_000_000);
        assert_eq!(points, [(1.0, 25.0), (4.0, 100.0)]);
        assert_eq!((written, all), (40, 600));
        assert_eq!(distribution(&BTreeMap::new(), 1), (Vec::new(), 0, 0));
    }
}
