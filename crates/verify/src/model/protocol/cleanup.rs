//! Clean-up of deletes: once nobody can need the absent record any more, it is unlinked.

use super::rules::Mutation;
use super::state::{Active, Db, Garbage, Word};
use super::{Protocol, Taker};
use crate::model::explorer::Steps;
use crate::model::program::Ts;

impl Protocol {
    /// Looks once at every delete of the own lane.
    pub(super) fn cleanup(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let garbage = cx.step("clean-up: begin", |db| db.lanes[me].garbage.clone())?;
        for item in garbage {
            if self.grace_passed(cx, item.ts)? {
                self.unlink(cx, item)?;
                cx.step("clean-up: done with one", |db| db.lanes[me].garbage.retain(|other| *other != item))?;
            }
        }
        Ok(())
    }

    /// Every active transaction began after `ts`, every snapshot in use or still to come is taken after `ts`, and no
    /// lane is pinned at or before `ts`. The order matters where these are separate reads: actives before pins, because
    /// a lane may have read the clock for its pin long before it publishes the pin, and is active all that time.
    fn grace_passed(&self, cx: &mut Taker<'_>, ts: Ts) -> Steps<bool> {
        if self.breaks(Mutation::NoGrace) {
            return Ok(true);
        }
        let lanes = self.program.workers.len();
        if !self.config.fine {
            return cx.step("clean-up: grace period over?", |db| {
                let lane_permits = |lane| self.active_permits(db, lane, ts) && self.pin_permits(db, lane, ts);
                self.clock_permits(db.clock, ts) && (0..lanes).all(lane_permits)
            });
        }
        if !cx.step("clean-up: clock", |db| self.clock_permits(db.clock, ts))? {
            return Ok(false);
        }
        for pins in if self.breaks(Mutation::CleanupPinsFirst) { [true, false] } else { [false, true] } {
            for lane in 0..lanes {
                let permits = if pins {
                    cx.step("clean-up: pin of a lane", |db| self.pin_permits(db, lane, ts))?
                } else {
                    cx.step("clean-up: active of a lane", |db| self.active_permits(db, lane, ts))?
                };
                if !permits {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The clock, rounded down to the grid as a new snapshot_ts would be, must have passed the delete.
    fn clock_permits(&self, clock: Ts, ts: Ts) -> bool {
        self.breaks(Mutation::CleanupIgnoresNextSnapshot) || ts < self.quantise(clock)
    }

    /// A pin holds back the snapshots to come, and keeps the lane's own items from being cleaned before their merge.
    fn pin_permits(&self, db: &Db, lane: usize, ts: Ts) -> bool {
        if self.breaks(Mutation::CleanupIgnoresPins) {
            return true;
        }
        let quantised = |pin: Ts| if self.breaks(Mutation::CleanupIgnoresNextSnapshot) { pin } else { self.quantise(pin) };
        db.lanes[lane].pin.is_none_or(|(_, pin)| ts < quantised(pin))
    }

    fn active_permits(&self, db: &Db, lane: usize, ts: Ts) -> bool {
        match db.lanes[lane].active {
            None => true,
            Some(Active::Tx(began)) => ts < began || self.breaks(Mutation::CleanupIgnoresActive),
            Some(Active::Snapshot(at)) => ts < at || self.breaks(Mutation::CleanupIgnoresSnapshots),
        }
    }

    /// Lock the record if it is still the same delete; out of the tree, out of the point index, obsolete.
    fn unlink(&self, cx: &mut Taker<'_>, Garbage { rec, ts }: Garbage) -> Steps<()> {
        let locked = cx.step("clean-up: lock the record if it is still this delete", |db| {
            let record = db.record_mut(rec);
            let same = record.word == Word { ts, locker: None, absent: true, obsolete: false };
            (same || (self.breaks(Mutation::CleanupNoRecheck) && record.word.locker.is_none())).then(|| {
                record.word.locker = Some(usize::MAX);
                (record.table, record.key)
            })
        })?;
        let Some((table, key)) = locked else { return Ok(()) };
        cx.step("clean-up: remove from the tree", |db| db.tree_remove(&self.config, table, key, rec))?;
        if self.has_point_index() {
            cx.step("clean-up: remove from the point index", |db| db.point_remove(table, key, rec))?;
        }
        let obsolete = !self.breaks(Mutation::CleanupNoObsolete);
        cx.step("clean-up: obsolete", |db| db.record_mut(rec).word = Word { ts, locker: None, absent: true, obsolete })
    }

    /// Rounds down to the snapshot grid.
    pub(super) fn quantise(&self, ts: Ts) -> Ts {
        ts / self.config.grid * self.config.grid
    }
}
