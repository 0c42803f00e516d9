//! The interface that every engine implements, so that the layers above (the embedded library, SQL, the workloads) run
//! on any of them by choosing a type: dispatch is static.
//!
//! # A transaction's life
//!
//! ```text
//!   worker.begin(options)            a snapshot for read-only ones, nothing shared for the others
//!      │
//!      ├─ get / scan                 what is read is remembered, to be validated
//!      ├─ insert / update / delete   what is written stays private until the commit
//!      ├─ savepoint / rollback_to    private writes are undone, reads are kept
//!      │
//!      ├─ worker.commit() ──► lock ─ timestamp ─ validate ─ publish ──► Ok(commit_ts)
//!      │                       └──────── Err(Conflict): nothing happened, run it again
//!      └─ worker.rollback() ─► nothing happened
//! ```
//!
//! A [`Worker`] runs one transaction at a time; each thread has its own. An operation that fails with a
//! [`Conflict`](scaledb_base::Conflict) has ended the transaction; any other error has changed nothing,
//! and the transaction goes on.

mod catalog;
mod checks;
mod cuts;
mod def;
mod metric;
mod options;
mod reach;
mod shared;
mod stats;
mod worker;

pub use catalog::CatalogEntry;
pub use checks::{check_key, check_row, check_update};
pub use cuts::Cuts;
pub use def::{Access, IndexDef, IndexInfo, TableDef, TableInfo, TableOptions};
pub use metric::{Labelled, Metric, MetricKind, Metrics};
pub use options::{EngineOptions, OptionSpec, OptionType, OptionValue};
pub use reach::{Keys, Reach, Reached, Site};
pub use stats::{LogStats, Memory, Reclamation, Stats, TableStats, WriteToScan};
pub use worker::{
    Closure, Ear, Engine, Order, PREFETCH, Range, ReadMark, RowId, Savepoint, SerializationPoint, Statements,
    TxnKind, Worker,
};
