//! Clean-up of deletes: once nobody can need the absent record any more, it is unlinked.

use super::rules::Mutation;
use super::state::{Active, CLEANER, Db, Garbage, Word};
use super::{Protocol, Taker};
use crate::model::explorer::Steps;
use crate::model::program::Ts;

impl Protocol {
    /// Looks once at every delete of the own lane.
    pub(super) fn cleanup(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let garbage = cx.step("clean-up: begin", |db| db.lanes[me].garbage.clone())?;
        for item in garbage {
            if self.grace_passed(cx, item)? {
                self.unlink(cx, item)?;
                cx.step("clean-up: done with one", |db| db.lanes[me].garbage.retain(|other| *other != item))?;
            }
        }
        Ok(())
    }

    /// Every active transaction began after the delete, and the record is on no pending list. Where there are
    /// snapshots, the snapshot horizon has passed the delete (so every snapshot to come is taken after it), and every
    /// snapshot in use was taken after it. The horizon is read before the actives: a snapshot announces itself before
    /// it reads it. The lists are read after the actives: a transaction that is not active yet inserts after the
    /// delete.
    fn grace_passed(&self, cx: &mut Taker<'_>, Garbage { rec, ts }: Garbage) -> Steps<bool> {
        if self.breaks(Mutation::NoGrace) {
            return Ok(true);
        }
        let lanes = self.program.workers.len();
        let actives_first = self.breaks(Mutation::CleanupActivesFirst);
        if actives_first && !self.actives_permit(cx, lanes, ts)? {
            return Ok(false);
        }
        // without snapshots nothing is retained for them, and clean-up asks no horizon
        if self.program.has_snapshots() {
            let horizon = self.raise_horizon(cx)?;
            if ts >= horizon && !self.breaks(Mutation::CleanupIgnoresHorizon) {
                return Ok(false);
            }
        }
        if !actives_first && !self.actives_permit(cx, lanes, ts)? {
            return Ok(false);
        }
        if self.breaks(Mutation::CleanupIgnoresLists) {
            return Ok(true);
        }
        for lane in 0..lanes {
            let listed = |db: &mut Db| db.lanes[lane].pending.iter().any(|item| item.rec == rec);
            if cx.step("clean-up: the pending list of a lane", listed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn actives_permit(&self, cx: &mut Taker<'_>, lanes: usize, ts: Ts) -> Steps<bool> {
        if !self.config.fine {
            return cx
                .step("clean-up: actives", |db| (0..lanes).all(|lane| self.active_permits(db, lane, ts)));
        }
        for lane in 0..lanes {
            if !cx.step("clean-up: active of a lane", |db| self.active_permits(db, lane, ts))? {
                return Ok(false);
            }
        }
        Ok(true)
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
                record.word.locker = Some(CLEANER);
                (record.table, record.key)
            })
        })?;
        let Some((table, key)) = locked else { return Ok(()) };
        cx.step("clean-up: remove from the tree", |db| db.tree_remove(&self.config, table, key, rec))?;
        if self.has_point_index() {
            cx.step("clean-up: remove from the point index", |db| db.point_remove(table, key, rec))?;
        }
        let obsolete = !self.breaks(Mutation::CleanupNoObsolete);
        cx.step("clean-up: obsolete", |db| {
            db.record_mut(rec).word = Word { ts, locker: None, absent: true, obsolete }
        })
    }
}
