//! Contention control: randomized backoff with a globally coordinated limit (Cicada section 3.9), and
//! priority for a transaction that keeps losing.

use crate::shared::Shared;
use crate::worker::Ctx;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::{CachePadded, hint, thread};
use std::time::Duration;

/// A transaction that has lost this often asks for priority.
const PATIENCE: u32 = 12;

/// How long others wait, at most, for a transaction with priority.
const WAY: Duration = Duration::from_millis(500);

/// The leader looks at the throughput this often.
pub(crate) const PERIOD: Duration = Duration::from_millis(5);

pub(crate) struct Contention {
    /// The limit of the backoff, in ticks.
    limit: CachePadded<AtomicU64>,
    /// A transaction has priority: other commits wait.
    privileged: CachePadded<AtomicBool>,
    climb: Mutex<Climb>,
    step: u64,
    most: u64,
    way: u64,
}

/// Hill climbing towards the limit with the best throughput.
#[derive(Default)]
struct Climb {
    commits: u64,
    aborts: u64,
    at: u64,
    throughput: f64,
    limit: u64,
    random: u64,
}

impl Contention {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            limit: CachePadded(AtomicU64::new(0)),
            privileged: CachePadded(AtomicBool::new(false)),
            climb: Mutex::new(Climb { random: 1, ..Climb::default() }),
            step: clock.ticks(Duration::from_nanos(500)),
            most: clock.ticks(Duration::from_micros(500)),
            way: clock.ticks(WAY),
        }
    }

    /// Waits while another transaction has priority, for a bounded time.
    #[inline]
    pub(crate) fn give_way(&self, clock: &Clock) {
        // a hint: who misses it commits once more
        if self.privileged.load(Ordering::Relaxed) {
            self.wait_for_privileged(clock);
        }
    }

    #[cold]
    fn wait_for_privileged(&self, clock: &Clock) {
        let end = clock.now() + self.way;
        // a hint, as in `give_way`
        while self.privileged.load(Ordering::Relaxed) && clock.now() < end {
            thread::yield_now();
        }
    }

    /// Takes the priority if nobody has it.
    fn take(&self) -> bool {
        self.privileged.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives the priority back.
    pub(crate) fn release(&self) {
        self.privileged.store(false, Ordering::Release);
    }

    /// The present limit of the backoff, in ticks.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed) // a statistic
    }

    /// One step of the leader: moves the limit in the direction in which the throughput of commits grew
    /// since the last step; at random when it does not say. Without conflicts there is nothing to find.
    pub(crate) fn climb(&self, shared: &Shared) {
        let load = |c: &AtomicU64| c.load(Ordering::Relaxed); // statistics
        let commits = shared.counters.iter().map(|c| load(&c.commits)).sum::<u64>();
        let aborts = shared.counters.iter().flat_map(|c| &c.conflicts).map(load).sum::<u64>();
        let now = shared.clock.now();
        let mut climb = self.climb.lock();
        let elapsed = now.saturating_sub(climb.at).max(1);
        let throughput = (commits - climb.commits) as f64 / elapsed as f64;
        let new_aborts = aborts - climb.aborts;
        let contended = new_aborts * 50 > commits - climb.commits;
        let limit = self.limit();
        let (more, higher) = (throughput - climb.throughput, limit as f64 - climb.limit as f64);
        climb.random = climb.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let up = if more * higher == 0.0 { climb.random >> 40 & 1 == 1 } else { more * higher > 0.0 };
        let next = if !contended {
            limit.saturating_sub(self.step)
        } else if up {
            (limit + self.step).min(self.most)
        } else {
            limit.saturating_sub(self.step)
        };
        let (random, at) = (climb.random, now);
        *climb = Climb { commits, aborts, at, throughput, limit, random };
        drop(climb);
        self.limit.store(next, Ordering::Relaxed); // a hint
    }
}

impl Ctx<'_> {
    /// Waits after a conflict: for a random time up to the limit, doubled with each further attempt; or not
    /// at all, with priority, when the transaction has lost too often.
    pub(crate) fn back_off(&mut self, attempt: u32) {
        let contention = &self.shared.contention;
        if attempt >= PATIENCE && !self.state.privileged && contention.take() {
            self.state.privileged = true;
        }
        if self.state.privileged {
            return;
        }
        let random = &mut self.state.random;
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let limit = contention.limit().max(contention.step / 4) << attempt.min(6) >> 1;
        let wait = ((u128::from(*random >> 32) * u128::from(limit)) >> 32) as u64;
        let end = self.shared.clock.now() + wait;
        let mut spins = 0;
        while self.shared.clock.now() < end {
            spins += 1;
            // with more workers than cores, the one that we wait for may need this core
            if spins % 64 == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
    }
}
