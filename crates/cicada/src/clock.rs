//! A worker's clock (section 3.1).
//!
//! Timestamps need only be unique, and ascend per worker; the worker's id in the low bits and a clock that
//! never repeats see to that. That clocks agree is for performance: a transaction with a timestamp from the
//! past finds its records read and written by the future, and loses.
//!
//! - *Loose* clocks advance by the time that their worker measures, so that no processor needs to know what
//!   time it is elsewhere; they catch up with a faster one (*one-sided synchronization*: a clock that is
//!   ahead is never set back, for others may know its timestamps).
//! - The *synchronized* clock is the machine's. Then timestamps order transactions as real time does.
//! - After a conflict, the clock is *boosted* until the next commit.

use crate::config::Clocks;

/// The largest number of ticks: 54 bits.
pub(crate) const LAST_TICK: u64 = u64::MAX >> 10;

/// The longest step of a loose clock, in seconds: what is longer is a processor's mistake.
pub(crate) const LONGEST_STEP: u64 = 3600;

/// Ticks that a peer's clock is behind when it is read: the way through the caches.
const ON_ITS_WAY: u64 = 2;

pub(crate) struct WorkerClock {
    kind: Clocks,
    /// The clock, without the boost.
    ticks: u64,
    /// The machine's clock when `ticks` was advanced.
    measured: u64,
    longest_step: u64,
    boost: u64,
    boosted: bool,
    /// The ticks of the last timestamp.
    last: u64,
}

impl WorkerClock {
    /// A clock that begins at `now`, or after `last`, the last timestamp of the worker's id.
    pub(crate) fn new(kind: Clocks, now: u64, last: u64, (boost, longest_step): (u64, u64)) -> Self {
        Self { kind, ticks: now.max(last), measured: now, longest_step, boost, boosted: false, last }
    }

    /// Advances the clock. Returns the least ticks that the next timestamp may have.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) -> u64 {
        match self.kind {
            Clocks::Synchronized => self.ticks = now,
            Clocks::Loose => {
                let step = now.saturating_sub(self.measured).clamp(1, self.longest_step);
                self.ticks += step;
            }
        }
        self.measured = now;
        let boost = if self.boosted { self.boost } else { 0 };
        (self.ticks + boost).max(self.last + 1)
    }

    /// Notes the ticks of a timestamp that was given out.
    #[inline]
    pub(crate) fn used(&mut self, ticks: u64) {
        self.last = ticks;
    }

    /// One-sided synchronization: looks at another worker's clock.
    pub(crate) fn catch_up(&mut self, theirs: u64) {
        if self.kind == Clocks::Loose {
            self.ticks = self.ticks.max(theirs.saturating_add(ON_ITS_WAY).min(LAST_TICK));
        }
    }

    /// The next timestamp is later than this one.
    pub(crate) fn observe(&mut self, ticks: u64) {
        self.last = self.last.max(ticks);
    }

    /// After a conflict, or a commit.
    #[inline]
    pub(crate) fn boost(&mut self, conflict: bool) {
        self.boosted = conflict;
    }

    /// What the clock shows, without a boost.
    pub(crate) fn peek(&self, now: u64) -> u64 {
        match self.kind {
            Clocks::Synchronized => now,
            Clocks::Loose => self.ticks + now.saturating_sub(self.measured).min(self.longest_step),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use scaledb_base::Timestamp;

    #[test]
    fn the_last_tick_is_the_last_that_fits() {
        assert_eq!(Timestamp::MAX.ticks(), LAST_TICK);
    }

    fn clock(kind: Clocks) -> WorkerClock {
        WorkerClock::new(kind, 1000, 0, (40, 500))
    }

    fn next(clock: &mut WorkerClock, now: u64) -> u64 {
        let ticks = clock.advance(now);
        clock.used(ticks);
        ticks
    }

    #[test]
    fn timestamps_ascend_whatever_the_machines_clock_does() {
        for kind in [Clocks::Synchronized, Clocks::Loose] {
            let mut clock = clock(kind);
            let mut last = 0;
            for now in [1001, 1001, 1001, 900, 5000, 2, 6000] {
                let ticks = next(&mut clock, now);
                assert!(ticks > last, "{kind:?} at {now}: {ticks} after {last}");
                last = ticks;
            }
        }
    }

    #[test]
    fn a_slow_clock_catches_up_and_a_fast_one_stays() {
        let (mut slow, mut fast) = (clock(Clocks::Loose), clock(Clocks::Loose));
        let ahead = next(&mut fast, 1400);
        slow.catch_up(ahead);
        assert!(next(&mut slow, 1001) > ahead);
        let before = fast.peek(1400);
        fast.catch_up(10);
        assert_eq!(fast.peek(1400), before);
    }

    #[test]
    fn a_leap_of_the_machines_clock_is_no_leap_of_the_workers() {
        let mut clock = clock(Clocks::Loose);
        assert_eq!(next(&mut clock, 1_000_000_000), 1500);
    }

    #[test]
    fn a_boost_lasts_until_the_next_commit() {
        let mut clock = clock(Clocks::Synchronized);
        clock.boost(true);
        assert_eq!(next(&mut clock, 2000), 2040);
        clock.boost(false);
        assert_eq!(next(&mut clock, 2001), 2041);
        assert_eq!(next(&mut clock, 3000), 3000);
    }

    #[test]
    fn what_was_observed_comes_before() {
        let mut clock = clock(Clocks::Loose);
        clock.observe(9000);
        assert_eq!(next(&mut clock, 1001), 9001);
    }
}
