//! C4: the timestamp, which is the place in the serial order, and how it agrees with real time.

use crate::rules::Rule;
use crate::worker::Ctx;
use scaledb_base::Timestamp;

impl Ctx<'_> {
    /// C4: takes a unique timestamp, after all locks and posts are visible, and later than every commit that was read.
    ///
    /// If something is validated after it, returns only when the clock has left the timestamp's tick. Two commits in
    /// one tick are in the order of their workers' ids. Locks come before timestamps, so a commit that validates in a
    /// later tick knows that no commit with a timestamp of this tick will still lock what it validates. A timestamp
    /// that is ahead of the clock is waited for, too. For the others, see [`leave_tick`](Self::leave_tick).
    pub(super) fn timestamp(&mut self) -> Timestamp {
        let clock = &self.shared.clock;
        let now = clock.now_fenced();
        let ticks = now.max(self.state.last_ticks + 1).max(self.txn.latest.ticks() + 1);
        self.state.last_ticks = ticks;
        if (self.validates() || ticks > now) && !self.skips(Rule::LeaveTick) {
            if ticks > now && !scaledb_sync::MODEL && ticks - now > clock.skew() {
                // this core's counter is behind a timestamp that was seen elsewhere by more than skew explains
                clock.distrust(ticks);
            }
            while clock.now_ordered() <= ticks {
                scaledb_sync::hint::spin_loop();
            }
        }
        Timestamp::new(ticks, self.local.id())
    }

    /// Whether anything but the rows that are written is compared with what it was.
    #[inline]
    fn validates(&self) -> bool {
        let txn = &self.txn;
        !(txn.reads.is_empty() && txn.absents.is_empty() && txn.ranges.is_empty())
    }

    /// The end of a commit that validated nothing: in a later tick than its timestamp's, as it is for the others
    /// already. So whoever begins when this commit has returned gets a later timestamp, whatever its worker's id.
    /// The tick has passed long before this as a rule, and this is one look at the clock.
    #[inline]
    pub(super) fn leave_tick(&self, commit_ts: Timestamp) {
        if self.validates() || self.skips(Rule::LeaveTick) {
            return;
        }
        while self.shared.clock.now() <= commit_ts.ticks() {
            scaledb_sync::hint::spin_loop();
        }
    }
}
