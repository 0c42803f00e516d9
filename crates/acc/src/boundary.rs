//! Boundaries of snapshots: who needs one asks for it.
//!
//! A snapshot at boundary b sees the commits with a timestamp before b. Commits at b and later keep the rows from
//! before b that they overwrite, and so have to know of b:
//!
//! ```text
//!   ask       b = clock + AHEAD;  announced = max(announced, b)
//!             if the clock is still before b - skew:  confirmed = max(confirmed, b)
//!   commit    takes its timestamp c, then reads `announced`: overwritten rows from before it are kept
//!   so        b ≤ c, b confirmed  →  c was taken when b was announced  →  rows from before b are kept
//! ```
//!
//! Commits between the announcement and b keep rows that no snapshot needs. A boundary is *reached* when first the
//! clocks of all cores and then all pins have passed it: whatever was committed before is installed and merged.
//! (`verify::model::retaining` explores what is here and in `snapshot.rs`, on clocks that differ.)

use crate::rules::{Rule, Rules};
use scaledb_base::Timestamp;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::Clock;
use std::time::Duration;

/// A boundary lies so far ahead of the clock: longer than it takes to announce it, and [`Clock::skew`].
const AHEAD: Duration = Duration::from_micros(5);
/// Boundaries do not lie closer: a row that is updated all the time is kept once for each.
const SPACING: Duration = Duration::from_micros(64);

/// The boundaries of a database, raw timestamps at the start of a tick.
pub(crate) struct Boundaries {
    /// The latest that was announced. Read by all commits while rows are kept.
    announced: CachePadded<AtomicU64>,
    /// The latest that was confirmed.
    ///
    /// ```text
    ///   confirmed ≤ announced
    /// ```
    confirmed: CachePadded<AtomicU64>,
    ahead: u64,
    spacing: u64,
}

impl Boundaries {
    pub(crate) fn new(clock: &Clock) -> Self {
        let ticks = |duration, in_model| if scaledb_sync::MODEL { in_model } else { clock.ticks(duration) };
        Self {
            announced: CachePadded(AtomicU64::new(0)),
            confirmed: CachePadded(AtomicU64::new(0)),
            ahead: ticks(AHEAD, 1),
            spacing: ticks(SPACING, 1),
        }
    }

    /// A commit that has taken its timestamp keeps the rows from before this one that it overwrites.
    #[inline]
    pub(crate) fn announced(&self) -> Timestamp {
        // behind the clock's reading, whose fence keeps this load there; SeqCst: pairs with the announcement, which is
        // before a reading in `ask_once`
        Timestamp::from_raw(self.announced.load(Ordering::SeqCst))
    }

    /// The latest boundary that a snapshot may read at, once it is reached.
    pub(crate) fn confirmed(&self) -> u64 {
        let confirmed = self.confirmed.load(Ordering::SeqCst);
        debug_assert!(confirmed <= self.announced().raw(), "what is confirmed was announced");
        confirmed
    }

    /// A confirmed boundary at or after `least`, which is not after the present time: the latest one, or a new one,
    /// which is up to [`SPACING`] ahead of the clock.
    pub(crate) fn ask(&self, clock: &Clock, rules: &Rules, least: u64) -> u64 {
        loop {
            let confirmed = self.confirmed();
            if confirmed >= least {
                return confirmed;
            }
            if !self.ask_once(clock, rules) {
                scaledb_sync::hint::spin_loop();
            }
        }
    }

    /// Asks for a boundary if the last is older than this many ticks, for those who need one later.
    pub(crate) fn ask_for_later(&self, clock: &Clock, rules: &Rules, age: u64) {
        let is_old = || Timestamp::from_raw(self.confirmed()).ticks() + age < clock.now();
        // one that was passed before it could be confirmed is followed by one that lies farther ahead; once more is
        // enough, for the next who comes here asks, too
        if is_old() && self.ask_once(clock, rules) && is_old() {
            self.ask_once(clock, rules);
        }
    }

    /// Returns whether a boundary was announced: else another thread's will be confirmed, or is passed soon.
    fn ask_once(&self, clock: &Clock, rules: &Rules) -> bool {
        let (now, announced) = (clock.now(), self.announced().ticks());
        if announced > now {
            return false;
        }
        let ticks = (now + self.ahead).max(announced + self.spacing);
        let boundary = Timestamp::start_of(ticks).raw();
        self.announced.fetch_max(boundary, Ordering::SeqCst);
        // whoever reads a clock that has reached the boundary, on whatever core, does so behind this reading, and sees
        // it announced
        let now = clock.now_fenced();
        if now + clock.skew() < ticks || !rules.on(Rule::ConfirmBoundary) {
            self.confirmed.fetch_max(boundary, Ordering::SeqCst);
        }
        true
    }
}
