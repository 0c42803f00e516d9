//! Power cuts and failing disks under every engine: see [`scaledb_verify::conformance::crashes`].
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod engines;

engines!(crashes);
