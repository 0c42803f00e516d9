//! What a run has yielded.

use scaledb_occult::client::Metrics;

/// Latencies in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Times {
    all: Vec<u32>,
    sorted: bool,
}

impl Times {
    /// Adds one.
    pub fn add(&mut self, micros: u64) {
        self.all.push(u32::try_from(micros).unwrap_or(u32::MAX));
        self.sorted = false;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The mean; zero of none.
    pub fn mean(&self) -> f64 {
        self.all.iter().map(|&micros| f64::from(micros)).sum::<f64>() / self.all.len().max(1) as f64
    }

    /// That part of them is at most so long: 0.5 is the median. Zero of none.
    pub fn quantile(&mut self, part: f64) -> f64 {
        if !self.sorted {
            self.all.sort_unstable();
            self.sorted = true;
        }
        let last = self.all.len().saturating_sub(1);
        self.all.get((part * last as f64).round() as usize).map_or(0.0, |&micros| f64::from(micros))
    }
}

/// What a run has yielded in its measured time.
#[derive(Clone, Debug, Default)]
pub struct Yield {
    /// Operations that have succeeded, in a second: single ones, or those of transactions that have committed.
    pub goodput: f64,
    /// Latencies of single reads.
    pub reads: Times,
    /// Latencies of single writes.
    pub writes: Times,
    /// From the begin of a transaction to its commit.
    pub transactions: Times,
    /// Of the reads that a session in each datacenter has put to a copy, the part whose first answer was stale.
    pub stale: [f64; 2],
    /// What a session whose read was stale had done just before, as parts of all stale reads: used a master in its
    /// datacenter, a replica there, a master elsewhere.
    pub before_stale: [f64; 3],
    /// What sessions have counted.
    pub counted: Metrics,
    /// The part of the time in which the busiest server was busy.
    pub busiest: f64,
}

impl Yield {
    /// Of the transactions that were tried, the part that has aborted.
    pub fn abort_rate(&self) -> f64 {
        let aborts = self.counted.aborts() as f64;
        aborts / (aborts + self.counted.commits as f64).max(1.0)
    }
}
