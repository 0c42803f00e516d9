//! Workloads: TPC-C, YCSB, SmallBank, SEATS and Epinions against the engine interface, and the driver that runs them.
//!
//! Each workload is made of the same parts: a configuration, a schema, a loader, a client that prepares
//! and executes transactions (one per thread, without an allocation per transaction), and checks that the
//! database is what it must be after the run.

#![allow(clippy::inconsistent_digit_grouping, reason = "amounts are in cents: 10_00 is 10.00")]

use scaledb_engine::{Access, TableOptions};

pub mod clocks;
mod cpu;
pub mod driver;
pub mod epinions;
pub mod load;
pub mod report;
pub mod rng;
pub mod seats;
pub mod smallbank;
pub mod staleness;
pub mod table;
pub mod tpcc;
pub mod ycsb;
pub mod zipf;

/// A table of a workload. A synchronous one updates its range indexes at each commit; only an engine that could do so
/// later knows the word.
pub(crate) fn table_options(access: Access, synchronous: bool) -> TableOptions {
    let options = TableOptions::new(access);
    if synchronous { options.with("merge_batch", 0) } else { options }
}
