//! Tests of the B+ tree through its public interface.

#[cfg(not(loom))]
mod interleavings;
#[cfg(not(any(loom, shuttle)))]
mod parts;
#[cfg(not(any(loom, shuttle)))]
mod sequential;
#[cfg(not(loom))]
mod support;
#[cfg(not(any(loom, shuttle)))]
mod threads;
