//! Contention regulation (section 3.9): after a conflict a worker waits a random time, up to a limit that one
//! leader moves towards the best throughput of commits.

use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::{hint, thread};
use std::time::Duration;

/// The leader looks at the throughput this often.
pub(crate) const PERIOD: Duration = Duration::from_millis(5);

pub(crate) struct Contention {
    /// The limit of the backoff, in ticks.
    limit: CachePadded<AtomicU64>,
    climb: Mutex<Climb>,
    step: u64,
    most: u64,
    /// The limit is given, and never moves.
    fixed: bool,
}

/// The last step of the hill climbing.
struct Climb {
    commits: u64,
    at: u64,
    throughput: f64,
    limit: u64,
    random: u64,
}

impl Contention {
    pub(crate) fn new(clock: &Clock, fixed: Option<Duration>) -> Self {
        let climb = Climb { commits: 0, at: clock.now(), throughput: 0.0, limit: 0, random: 1 };
        Self {
            limit: CachePadded(AtomicU64::new(fixed.map_or(0, |limit| clock.ticks(limit)))),
            fixed: fixed.is_some(),
            climb: Mutex::new(climb),
            step: clock.ticks(Duration::from_nanos(500)),
            most: clock.ticks(Duration::from_millis(1)),
        }
    }

    /// The present limit, in ticks.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) // a hint
    }

    /// One step: further in the same direction if the throughput grew with the last step, else back; at
    /// random if it does not say.
    pub(crate) fn climb(&self, commits: u64, now: u64) {
        if self.fixed {
            return;
        }
        let mut climb = self.climb.lock();
        let elapsed = now.saturating_sub(climb.at);
        if elapsed == 0 {
            return;
        }
        let throughput = commits.saturating_sub(climb.commits) as f64 / elapsed as f64;
        let limit = self.limit();
        let gradient = (throughput - climb.throughput) * (limit as f64 - climb.limit as f64);
        climb.random = climb.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let up = if gradient == 0.0 { climb.random >> 40 & 1 == 1 } else { gradient > 0.0 };
        let next = if up { (limit + self.step).min(self.most) } else { limit.saturating_sub(self.step) };
        *climb = Climb { commits, at: now, throughput, limit, random: climb.random };
        drop(climb);
        self.limit.store(next, Ordering::Relaxed); // a hint
    }

    /// Waits after a conflict. A transaction that lost often waits longer, with whatever limit, so that
    /// others get out of its way.
    pub(crate) fn wait(&self, clock: &Clock, attempt: u32, random: &mut u64) {
        /// Attempts after which the limit begins to double.
        const PATIENCE: u32 = 8;
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let least = if self.fixed { 0 } else { self.step / 4 };
        let limit = self.limit().max(least) << attempt.saturating_sub(PATIENCE).min(6);
        let wait = ((u128::from(*random >> 32) * u128::from(limit)) >> 32) as u64;
        let end = clock.now() + wait;
        let mut spins = 0u32;
        while clock.now() < end {
            spins += 1;
            // with more workers than cores, the one that we wait for may need this core
            if spins.is_multiple_of(64) { thread::yield_now() } else { hint::spin_loop() }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use scaledb_sync::clock::Source;

    #[test]
    fn the_limit_climbs_to_where_the_throughput_is_best() {
        let clock = Clock::with_source(Source::Counter, 0);
        let contention = Contention::new(&clock, None);
        let best = contention.step * 20;
        let (mut commits, mut now) = (0, clock.now());
        for _ in 0..2000 {
            let distance = contention.limit().abs_diff(best) / contention.step;
            commits += 10_000 - 100 * distance.min(90);
            now += 1000;
            contention.climb(commits, now);
        }
        let distance = contention.limit().abs_diff(best) / contention.step;
        assert!(distance < 10, "{distance} steps from the best limit");
    }
}
