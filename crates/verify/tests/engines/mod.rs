//! The engines that the conformance suite runs on.

pub(crate) mod acc;
pub(crate) mod cicada;
// its threads wait for each other with timeouts, which models do not have
#[cfg(not(any(loom, shuttle, sim)))]
#[allow(dead_code, reason = "not all test programs run on it")]
pub(crate) mod cluster;
#[allow(dead_code, reason = "not all test programs run on it")]
pub(crate) mod reference;

use scaledb_acc::Durability;
use scaledb_log::LogOptions;
use scaledb_sync::Arc;
use scaledb_verify::disk::SimDisk;

/// A directory whose log is flushed by hand, with checkpoints only when somebody asks for them.
fn by_hand(disk: &SimDisk, log: LogOptions) -> Durability {
    let log = LogOptions { manual: true, ..log };
    Durability { log, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk.clone())) }
}

/// Many groups and segments in few transactions, read by one thread.
fn small_segments(disk: &SimDisk, sync: bool) -> Durability {
    let log = LogOptions { segment_bytes: 24 << 10, sync, ..LogOptions::default() };
    Durability { recovery_threads: 1, ..by_hand(disk, log) }
}

/// Segments of the usual size, read by two threads.
fn default_segments(disk: &SimDisk) -> Durability {
    Durability { recovery_threads: 2, ..by_hand(disk, LogOptions::default()) }
}

/// The engines: a new one is one line here, and gets every test.
macro_rules! engines {
    ($suite:ident) => {
        scaledb_verify::conformance!($suite, acc, crate::engines::acc::OnAcc);
        scaledb_verify::conformance!($suite, cicada, crate::engines::cicada::OnCicada);
    };
}

/// These, and the replicated engine, where no files are asked for.
#[allow(unused_macros, reason = "not all test programs run on the replicated engine")]
macro_rules! engines_and_cluster {
    ($suite:ident) => {
        engines!($suite);
        scaledb_verify::conformance!($suite, cluster, crate::engines::cluster::OnCluster);
    };
}

/// And the reference engine, where one transaction at a time is enough.
#[allow(unused_macros, reason = "not all test programs run on the reference engine")]
macro_rules! engines_and_reference {
    ($suite:ident) => {
        engines_and_cluster!($suite);
        scaledb_verify::conformance!($suite, reference, crate::engines::reference::OnReference);
    };
}
