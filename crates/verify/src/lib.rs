//! Histories, checkers, models and a faulty disk that verify ScaleDB.

pub mod appends;
pub mod conformance;
pub mod disk;
pub mod history;
#[cfg(not(any(loom, shuttle)))]
pub mod level;
pub mod model;
pub mod reference;
pub mod replication;
