//! M1 to M6: bring a lane's pending items into the trees.

use super::rules::{Mutation, PointIndex};
use super::state::Item;
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};

impl Protocol {
    /// Merges a lane, the own one or another's, under its lock.
    pub(super) fn merge(&self, cx: &mut Taker<'_>, lane: usize) -> Steps<()> {
        // M1. A merge that finds the lane locked or empty has nothing to do.
        let items = cx.step("M1 lock the lane, sort", |db| {
            let lane = &mut db.lanes[lane];
            let busy = lane.locked && !self.breaks(Mutation::NoLaneLock);
            let mut items = if busy { vec![] } else { lane.pending.clone() };
            items.sort_unstable();
            lane.locked |= !items.is_empty();
            items
        })?;
        if items.is_empty() {
            return Ok(());
        }
        if self.breaks(Mutation::DecBeforeMerge) {
            for item in &items {
                cx.step("(mutant) count-1, clear bit", |db| {
                    db.cells[item.cell as usize].count -= 1;
                    db.cells[item.cell as usize].owners &= !(1 << lane);
                })?;
            }
        }
        let mut merged = Vec::new();
        for item in items {
            if self.breaks(Mutation::EvictBeforeTreeInsert) {
                self.evict(cx, item)?;
            }
            if self.insert(cx, item)? {
                merged.push(item);
            }
        }
        for &item in &merged {
            if !self.breaks(Mutation::EvictBeforeTreeInsert) {
                self.evict(cx, item)?;
            }
        }
        for item in merged {
            self.forget(cx, lane, item)?;
        }
        cx.step("M6 unpin, unlock the lane", |db| {
            if self.breaks(Mutation::HelperUnpinsInFlight) && db.lanes[lane].pending.is_empty() {
                db.lanes[lane].pin = None;
                db.lanes[lane].flight = None;
            }
            db.unpin_if_idle(lane);
            db.lanes[lane].locked = false;
        })
    }

    /// M2. Under the key there may be another's placeholder, claimed in the tree after this key was claimed in the
    /// indexlet; it will be backed out when its owner looks into the indexlet, so this key must stay there till then.
    fn insert(&self, cx: &mut Taker<'_>, item: Item) -> Steps<bool> {
        let done = cx.step("M2 tree insert", |db| {
            let found = db.tables[item.table].tree.get(item.key);
            match found {
                Some(other) if self.breaks(Mutation::MergeOverwritesPlaceholder) => {
                    db.tree_remove(&self.config, item.table, item.key, other);
                }
                Some(other) if other == item.rec => return Err(format!("{item:?} is in the tree already")),
                Some(_) => return Ok(false),
                None => {}
            }
            db.tree_insert(&self.config, item.table, item.key, item.rec);
            Ok(true)
        })?;
        done.map_err(Stop::Bug)
    }

    /// M3.
    fn evict(&self, cx: &mut Taker<'_>, item: Item) -> Steps<()> {
        if matches!(self.config.point_index, PointIndex::Bounded(_)) {
            cx.step("M3 evict from the indexlet", |db| db.point_remove(item.table, item.key, item.rec))?;
        }
        Ok(())
    }

    /// M4 and M5: the item leaves the list (and the lane, with its last item there, the cell's owners: the engine's
    /// M6), then the count.
    fn forget(&self, cx: &mut Taker<'_>, lane: usize, item: Item) -> Steps<()> {
        if self.breaks(Mutation::DecBeforeRemove) {
            cx.step("M5 count-1", |db| db.cells[item.cell as usize].count -= 1)?;
        }
        cx.step("M4 remove the item, clear the owner bit", |db| {
            db.lanes[lane].pending.retain(|other| *other != item);
            db.clear_owner(lane, item.cell);
        })?;
        if !self.breaks(Mutation::DecBeforeMerge) && !self.breaks(Mutation::DecBeforeRemove) {
            cx.step("M5 count-1", |db| db.cells[item.cell as usize].count -= 1)?;
        }
        Ok(())
    }
}
