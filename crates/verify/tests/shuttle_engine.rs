//! Every engine under random schedules: see [`scaledb_verify::conformance::schedules`].
//!
//! ```text
//! RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=target/shuttle \
//!     cargo test -p scaledb-verify --release --test shuttle_engine
//! ```
#![cfg(shuttle)]

#[macro_use]
mod engines;

engines!(schedules);
