//! The figures of *ScaleDB: a scalable, asynchronous in-memory database* (OSDI 2023).

mod clocks;
mod indexlet;
mod tpcc;
mod write_to_scan;
mod ycsb;

use crate::lab::Lab;
use scaledb_evidence::Figure;
use scaledb_sync::Arc;

/// Its machine: two sockets of 18 cores.
const MACHINE: &str = "scaledb";
/// Numbers of cores.
const CORES: [usize; 5] = [1, 4, 12, 24, 36];

/// Its figures.
pub fn figures(lab: &Arc<Lab>) -> Vec<Figure> {
    let mut figures = tpcc::figures(lab);
    figures.push(write_to_scan::figure(lab));
    figures.extend(ycsb::figures(lab));
    figures.push(indexlet::figure(lab));
    figures.push(clocks::figure(lab));
    figures
}
