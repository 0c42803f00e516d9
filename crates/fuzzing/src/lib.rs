//! What hostile bytes are fed to: one function per way into the database, for a fuzzer and for tests.
//!
//! ```text
//!  fuzz/ (libFuzzer, coverage) ──┐
//!                                ├──► targets::* ──► protocol, SQL, COPY, values, files of the log
//!  tests/targets.rs (mutator) ───┘        ▲
//!                                       seeds
//! ```
//!
//! A target returns, or panics where the database has a bug. Nothing is faked: sessions run on an engine in memory,
//! behind the protocol that the server speaks.

mod copy;
mod database;
mod log;
pub mod mutator;
pub mod seeds;
mod session;
mod sql;
mod values;

/// The ways in.
pub mod targets {
    pub use crate::copy::copy;
    pub use crate::log::log;
    pub use crate::session::{session, startup};
    pub use crate::sql::sql;
    pub use crate::values::values;
}
