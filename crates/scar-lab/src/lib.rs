//! SCAR beside the protocols that it is compared with: the same workloads on clusters of threads that speak TCP.
//!
//! ```text
//!   workload ── Program ──► Machine ─── Scar, Occ, ReadCommitted: the state machines of `scaledb-scar`
//!                              │    └── two-phase locking: `locking.rs`
//!                           messages
//!                              ▼
//!   node: one thread for each, its clients' transactions, and sockets to the others, which deliver after a delay
//! ```
//!
//! A node's clients begin their next transaction when the last one has its place, as results leave with the epoch.

mod data;
pub mod figures;
mod history;
mod locking;
mod machine;
mod node;
mod optimistic;
mod ping;
mod run;
mod socket;
mod workload;

pub use data::{Key, Value};
pub use history::{Anomaly, History, check};
pub use machine::{Competitor, Operation, Program};
pub use run::{Failed, Measured, Setup, round_trips, run};
pub use workload::{Retwis, TpcC, Workload, Ycsb};
