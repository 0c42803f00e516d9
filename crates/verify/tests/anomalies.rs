//! What single transactions do, and the classical anomalies, step by step: see [`scaledb_verify::conformance`].
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod engines;

/// One transaction at a time.
mod basics {
    engines_and_reference!(basics);
}

/// Definitions and rows that are refused.
mod definitions {
    engines_and_reference!(definitions);
}

/// Beside the reference engine.
mod oracle {
    engines_and_cluster!(oracle);
}

engines_and_cluster!(anomalies);
