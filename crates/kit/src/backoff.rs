//! Contention regulation (Cicada, section 3.9): after a conflict a worker waits a random time, up to a limit that one
//! leader moves towards the best throughput of commits.

use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::{hint, thread};
use std::time::Duration;

/// How far the limit moves in a step.
const STEP: Duration = Duration::from_nanos(500);

/// How an engine's backoff is regulated.
#[derive(Clone, Copy, Debug)]
pub struct Regulation {
    /// The limit is given, and never moves.
    pub fixed: Option<Duration>,
    /// The largest limit.
    pub most: Duration,
    /// The limit falls while fewer than one commit in fifty has conflicted: there is nothing to find then.
    pub falls_without_conflicts: bool,
}

/// The backoff of a database.
pub struct Backoff {
    /// In ticks.
    limit: CachePadded<AtomicU64>,
    climb: Mutex<Climb>,
    step: u64,
    most: u64,
    fixed: bool,
    falls_without_conflicts: bool,
}

/// The last step of the hill climbing.
struct Climb {
    commits: u64,
    aborts: u64,
    at: u64,
    throughput: f64,
    limit: u64,
    random: u64,
}

impl Backoff {
    /// A backoff whose limit begins at nothing, or is the given one.
    pub fn new(clock: &Clock, regulation: Regulation) -> Self {
        let Regulation { fixed, most, falls_without_conflicts } = regulation;
        let climb = Climb { commits: 0, aborts: 0, at: clock.now(), throughput: 0.0, limit: 0, random: 1 };
        Self {
            limit: CachePadded(AtomicU64::new(fixed.map_or(0, |limit| clock.ticks(limit)))),
            climb: Mutex::new(climb),
            step: clock.ticks(STEP),
            most: clock.ticks(most),
            fixed: fixed.is_some(),
            falls_without_conflicts,
        }
    }

    /// The present limit, in ticks.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) // a hint
    }

    /// The least time that is worth a random choice, in ticks; none for a limit that is given.
    pub fn least(&self) -> u64 {
        if self.fixed { 0 } else { self.step / 4 }
    }

    /// One step of the leader: moves the limit in the direction in which the throughput of commits grew with the last
    /// step; at random if it does not say. `commits` and `aborts` are those so far.
    pub(crate) fn climb(&self, commits: u64, aborts: u64, now: u64) {
        if self.fixed {
            return;
        }
        let mut climb = self.climb.lock();
        let elapsed = now.saturating_sub(climb.at);
        if elapsed == 0 {
            return;
        }
        let new_commits = commits.saturating_sub(climb.commits);
        let new_aborts = aborts.saturating_sub(climb.aborts);
        let throughput = new_commits as f64 / elapsed as f64;
        let limit = self.limit();
        let gradient = (throughput - climb.throughput) * (limit as f64 - climb.limit as f64);
        climb.random = climb.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let up = if gradient == 0.0 { climb.random >> 40 & 1 == 1 } else { gradient > 0.0 };
        let calm = self.falls_without_conflicts && new_aborts * 50 <= new_commits;
        let next =
            if up && !calm { (limit + self.step).min(self.most) } else { limit.saturating_sub(self.step) };
        *climb = Climb { commits, aborts, at: now, throughput, limit, random: climb.random };
        drop(climb);
        self.limit.store(next, Ordering::Relaxed); // a hint
    }

    /// Waits for a random time up to `limit` ticks.
    pub fn wait(&self, clock: &Clock, limit: u64, random: &mut u64) {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
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

    fn regulated(falls_without_conflicts: bool) -> Regulation {
        Regulation { fixed: None, most: Duration::from_millis(1), falls_without_conflicts }
    }

    #[test]
    fn the_limit_climbs_to_where_the_throughput_is_best() {
        let clock = Clock::with_source(Source::Counter, 0);
        for falls_without_conflicts in [false, true] {
            let backoff = Backoff::new(&clock, regulated(falls_without_conflicts));
            let best = backoff.step * 20;
            let (mut commits, mut aborts, mut now) = (0, 0, clock.now());
            for _ in 0..2000 {
                let distance = backoff.limit().abs_diff(best) / backoff.step;
                commits += 10_000 - 100 * distance.min(90);
                aborts += 1000;
                now += 1000;
                backoff.climb(commits, aborts, now);
            }
            let distance = backoff.limit().abs_diff(best) / backoff.step;
            assert!(distance < 10, "{distance} steps from the best limit");
        }
    }

    #[test]
    fn without_conflicts_the_limit_falls_if_it_is_to() {
        let clock = Clock::with_source(Source::Counter, 0);
        let backoff = Backoff::new(&clock, regulated(true));
        backoff.limit.store(backoff.step * 20, Ordering::Relaxed); // a test of one thread
        let mut now = clock.now();
        for commits in 1..=20 {
            now += 1000;
            backoff.climb(commits * 1000, 0, now);
        }
        assert_eq!(backoff.limit(), 0);
    }
}
