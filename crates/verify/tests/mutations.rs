//! Each rule of each engine's protocol is needed: see [`scaledb_verify::conformance::mutations`].
//!
//! ```text
//! cargo test -p scaledb-verify --features mutations --test mutations
//! ```
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod engines;

engines!(mutations);
