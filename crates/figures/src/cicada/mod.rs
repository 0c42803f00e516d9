//! The figures of *Cicada: dependably fast multi-core in-memory transactions* (SIGMOD 2017).

mod factors;
mod tpcc;
mod ycsb;

use crate::lab::Lab;
use scaledb_evidence::{Axis, Figure};
use scaledb_manycore::Way;
use scaledb_sync::Arc;

/// Its machine: two sockets of 14 cores.
const MACHINE: &str = "cicada";
/// Numbers of cores.
const CORES: [usize; 4] = [1, 7, 14, 28];
/// All of them.
const MOST: usize = 28;
const WAYS: [Way; 2] = [Way::Cicada, Way::Measured];
const THREADS: Axis = Axis::linear("threads");
const PER_SECOND: Axis = Axis::linear("transactions per second");

/// Its figures and its second table.
pub fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let mut figures = tpcc::figures(lab);
    figures.extend(ycsb::figures(lab));
    figures.extend(factors::figures(lab));
    figures
}

/// How all of them are simulated.
const TWENTIETH: &str =
    "TPC-C has a twentieth of its items and customers; others of the paper's systems are not measured.";
