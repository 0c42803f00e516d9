//! Tests of the B+ tree through its public interface.

#[cfg(not(any(loom, shuttle)))]
mod sequential;
mod support;
