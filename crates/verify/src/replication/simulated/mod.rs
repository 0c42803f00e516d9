//! A simulated cluster: the state machines that nodes are built of, on a network, clocks and a metadata store that are
//! made of a seed.
//!
//! ```text
//!   plan        what kind of cluster a seed gives: nodes, network, timers, troubles, what clients do
//!   queue       what happens next: virtual time, in microseconds
//!   network     delay, loss, repeats, disorder, cut links (in one direction, too)
//!   metadata    views by compare-and-set, leases; out of reach for a while
//!   host        a node, its links, its own clock, whom it takes for dead
//!   workload    sessions and their transactions
//!   troubles    crashes, restarts, pauses, cuts, the end of all of them
//!   moves       replicas, primaries and the lead move, nodes are taken out
//!   cluster     all of it, and the loop
//!   history     what was answered and what remains, against a replay by (epoch, cts)
//! ```
//!
//! A run depends on its seed and on nothing else. `tests/scar_simulated.rs` runs thousands of them.

mod cluster;
mod history;
mod host;
mod metadata;
mod moves;
mod network;
mod plan;
mod queue;
mod troubles;
mod workload;

pub use cluster::{Cluster, Report};
pub use history::Broken;
pub use plan::Plan;
