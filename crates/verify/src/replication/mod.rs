//! The replicated protocol (`scaledb-scar`), explored: a few nodes, their network, clients, crashes, changes of view.
//!
//! ```text
//!   data      keys and values: numbers
//!   cases     programs of a few transactions, and what may go wrong meanwhile
//!   disk      what a node has written down, and what a crash leaves of it
//!   world     the nodes as they are built, messages in flight, clients, a metadata store that makes views
//!   random    programs made of a seed
//!   search    all runs that deviate from the usual one at most so often; random runs
//!   history   what was answered and what remains, against serial executions
//! ```
//!
//! `docs/internals/scar-model.md` says what it has found; `tests/scar_model.rs` runs it.

pub mod cases;
pub mod data;
mod disk;
pub mod history;
pub mod random;
pub mod search;
pub mod simulated;
pub mod world;
