//! Directories that are opened again, on every engine: see [`scaledb_verify::conformance::durable`]. With the feature
//! `mutations` also: not so without the rules.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod engines;

engines!(durable);
