//! Figures 3 to 5: TPC-C on one warehouse, on four, and on one per thread.

use super::{CORES, MACHINE, PER_SECOND, THREADS, TWENTIETH, WAYS};
use crate::curves::{over_cores, per_second, simulate};
use crate::lab::Lab;
use scaledb_evidence::{Figure, Measured, Series};
use scaledb_manycore::{Shape, Way};
use scaledb_sync::Arc;

/// A figure: name, title, source, the workload, warehouses (else one per thread), ways, published points.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    Shape,
    Option<u16>,
    &'static [Way],
    Option<(&'static str, &'static str, &'static [(f64, f64)])>,
);

/// ACC in the ways in which index updates are deferred.
const DEFERRED: &[Way] = &[Way::Collected, Way::Measured];

#[rustfmt::skip]
const ROWS: [Row; 9] = [
    ("cicada-3a", "TPC-C on one warehouse", "Figure 3a of Cicada (SIGMOD 2017)", Shape::Tpcc, Some(1), &WAYS, None),
    ("cicada-3b", "TPC-C on four warehouses", "Figure 3b of Cicada (SIGMOD 2017)", Shape::Tpcc, Some(4), &WAYS, None),
    ("cicada-3c", "TPC-C, a warehouse per thread", "Figure 3c of Cicada (SIGMOD 2017)", Shape::Tpcc, None, &WAYS,
        Some(("Cicada", "section 4.4", &[(28.0, 2_070_000.0)]))),
    ("cicada-4a", "TPC-C on one warehouse, deferred index updates", "Figure 4a of Cicada (SIGMOD 2017)", Shape::Tpcc,
        Some(1), DEFERRED, Some(("Cicada without phantom avoidance, most", "section 4.4", &[(28.0, 443_000.0)]))),
    ("cicada-4b", "TPC-C on four warehouses, deferred index updates", "Figure 4b of Cicada (SIGMOD 2017)", Shape::Tpcc,
        Some(4), DEFERRED, None),
    ("cicada-4c", "TPC-C, a warehouse per thread, deferred index updates", "Figure 4c of Cicada (SIGMOD 2017)",
        Shape::Tpcc, None, DEFERRED, None),
    ("cicada-5a", "New-Order and Payment on one warehouse", "Figure 5a of Cicada (SIGMOD 2017)",
        Shape::NewOrderPayment, Some(1), &WAYS, None),
    ("cicada-5b", "New-Order and Payment on four warehouses", "Figure 5b of Cicada (SIGMOD 2017)",
        Shape::NewOrderPayment, Some(4), &WAYS, None),
    ("cicada-5c", "New-Order and Payment, a warehouse per thread", "Figure 5c of Cicada (SIGMOD 2017)",
        Shape::NewOrderPayment, None, &WAYS, None),
];

pub(super) fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    ROWS.iter().map(|row| figure(lab.clone(), row)).collect()
}

fn figure(lab: Arc<Lab>, row: &'static Row) -> Figure {
    let (name, title, source, shape, warehouses, ways, published) = *row;
    let published =
        published.map(|(name, place, points)| Series::published(name, place, points.iter().copied()));
    let deferred = ways == DEFERRED;
    Figure {
        name,
        title,
        source,
        x: THREADS,
        y: PER_SECOND,
        published: published.into_iter().collect(),
        measure: Box::new(move |run| {
            let curve =
                |way| over_cores(run, MACHINE, &CORES, shape, way, |ask| ask.tuning.warehouses = warehouses);
            let curves: Vec<_> = ways.iter().map(|&way| curve(way)).collect();
            let mut notes = vec![TWENTIETH.to_owned()];
            if deferred {
                notes.push("Ours avoid phantoms: the paper's systems do not, in this figure.".into());
            }
            Ok(Measured { series: simulate(&lab, run, MACHINE, &curves, per_second)?, notes })
        }),
    }
}
