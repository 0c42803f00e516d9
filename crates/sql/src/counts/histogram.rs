//! How long statements take, in classes of time.

use scaledb_sync::atomic::{AtomicU64, Ordering};

/// The ends of the classes, in nanoseconds; the last class has all longer ones.
const ENDS: [u64; 19] = [
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];
const CLASSES: usize = ENDS.len() + 1;

/// Times of one session.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    classes: [AtomicU64; CLASSES],
    nanos: AtomicU64,
}

/// Adds to a counter that no other thread writes.
#[inline]
pub(super) fn add(counter: &AtomicU64, by: u64) {
    // for people to look at: nothing is published by it
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

impl Histogram {
    /// A statement took so long. Only the session itself calls this.
    #[inline]
    pub(super) fn note(&self, nanos: u64) {
        // a statement that takes exactly as long as a class ends belongs to it
        let class = ENDS.partition_point(|end| *end < nanos);
        add(&self.classes[class], 1);
        add(&self.nanos, nanos);
    }
}

/// Times of several sessions.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    classes: [u64; CLASSES],
    nanos: u64,
}

impl Times {
    pub(super) fn add(&mut self, histogram: &Histogram) {
        for (sum, class) in self.classes.iter_mut().zip(&histogram.classes) {
            *sum += class.load(Ordering::Relaxed); // as in `add`
        }
        self.nanos += histogram.nanos.load(Ordering::Relaxed); // as in `add`
    }

    pub(super) fn named(&self, kind: &'static str) -> Latency {
        let ends = ENDS.iter().map(|end| *end as f64 / 1e9).chain([f64::INFINITY]);
        let buckets = ends.zip(self.classes).map(|(up_to, count)| LatencyBucket { up_to, count }).collect();
        Latency { kind, buckets, calls: self.classes.iter().sum(), seconds: self.nanos as f64 / 1e9 }
    }
}

/// How long the statements of a kind took since the database was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// `select`, `insert`, `update`, `delete`, `ddl`, `copy`, `transaction`, `other`.
    pub kind: &'static str,
    /// By time, ascending; the last one has no end.
    pub buckets: Vec<LatencyBucket>,
    /// Statements.
    pub calls: u64,
    /// Their times added up.
    pub seconds: f64,
}

/// Statements that took longer than the bucket before, and at most so long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyBucket {
    /// Seconds; infinite for the last one.
    pub up_to: f64,
    /// Statements of this bucket alone.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_in_the_bucket_that_ends_with_it_or_next() {
        let histogram = Histogram::default();
        for nanos in [0, 10_000, 10_001, 10_000_000_000, u64::MAX / 2] {
            histogram.note(nanos);
        }
        let mut times = Times::default();
        times.add(&histogram);
        let latency = times.named("select");
        let counts: Vec<u64> = latency.buckets.iter().map(|bucket| bucket.count).collect();
        assert_eq!((counts[0], counts[1], counts[18], counts[19]), (2, 1, 1, 1));
        assert_eq!((latency.calls, latency.buckets[0].up_to), (5, 1e-5));
        assert!(latency.buckets[19].up_to.is_infinite());
    }
}
