//! What came of a run.

use crate::cluster::Broken;
use scaledb_occult::client::Metrics;
use std::collections::HashMap;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Single operations and transactions that were begun.
    pub operations: u64,
    /// Events.
    pub events: u64,
    /// What clients have counted.
    pub metrics: Metrics,
    /// Failovers.
    pub failovers: u64,
    /// Moves of slots.
    pub moves: u64,
    /// Moves that a failover has interrupted.
    pub interrupted: u64,
    /// Clients that died.
    pub deaths: u64,
    /// Operations that failed, by the error's first word.
    pub errors: HashMap<&'static str, u64>,
    /// What must not happen, and did.
    pub broken: Vec<(Broken, String)>,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.events += other.events;
        self.metrics += other.metrics;
        self.failovers += other.failovers;
        self.moves += other.moves;
        self.interrupted += other.interrupted;
        self.deaths += other.deaths;
        for (name, count) in other.errors {
            *self.errors.entry(name).or_default() += count;
        }
        self.broken.extend(other.broken);
    }
}
