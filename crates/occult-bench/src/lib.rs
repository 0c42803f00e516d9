//! Occult beside what it is measured against: eventual consistency, a single timestamp, and a causal store whose
//! replicas wait for dependencies.
//!
//! ```text
//!  yard ──── a cluster of the paper's size: the shards and sessions of `scaledb-occult`, unchanged, on servers that take
//!            the time that real ones took ([`Costs`]), in virtual time
//!  cascade ─ replicas that wait (`pessimistic`) beside replicas that do not, when one of them is slow
//!  real ──── redis-servers on this machine, plain and with the module by turns
//! ```
//!
//! A single timestamp, as Pileus has it, is [`Shape::Temporal(1)`](scaledb_occult::Shape::Temporal): the same sessions
//! and shards with one entry.

pub mod cascade;
mod costs;
mod keys;
pub mod pessimistic;
pub mod real;
mod tally;
pub mod yard;

pub use costs::Costs;
pub use keys::Keys;
pub use tally::{Times, Yield};
