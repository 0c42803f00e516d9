//! Random histories on every engine: see [`scaledb_verify::conformance::histories`].
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod engines;

engines_and_reference!(histories);
