//! Benchmarks through SQL: the same statements in process, and over the wire to any server that speaks PostgreSQL's
//! protocol.
//!
//! ```text
//!   tpcc/ ── transactions, loader, conditions, written against ──► Client
//!                                                         ┌───────────┴───────────┐
//!                                              Embedded: a session       Wire: a connection
//!                                              of scaledb-sql            of our own
//! ```
//!
//! Values travel in the protocol's binary format on both ways, so that both run the same code of the database.

mod client;
mod conflict;
mod embedded;
pub mod point;
pub mod retwis;
mod rows;
pub mod tpcc;
mod values;
mod wire;

pub use client::{Client, Failure};
pub use embedded::Embedded;
pub use rows::{Answer, Rows};
pub use values::Param;
pub use wire::Wire;
