//! C3: new keys that this commit does not insert in the trees go on the worker's pending lists, and are counted in the
//! phantomlets, so that scans find them.

use crate::lane::LaneGuard;
use crate::pending::EMPTY;
use crate::rules::Rule;
use crate::tune::{Timer, is_timed};
use crate::worker::Ctx;
use scaledb_base::Result;
use scaledb_kit::count;

impl Ctx<'_> {
    /// Posts each key that is new, and in no tree. List before bit before count and seq. `now`: a time before the
    /// commit's timestamp, in ticks.
    pub(super) fn post(&mut self, lane: &LaneGuard<'_>, now: u64) -> Result<()> {
        let shared = self.shared;
        let timed = self.txn.writes.has_inserts() && is_timed(self.state.until_chores);
        let timer = timed.then(|| Timer::start(&shared.clock));
        let generation = if self.skips(Rule::GenerationOfLists) { EMPTY } else { lane.flight_generation() };
        for number in 0..self.txn.writes.len() {
            let (write, held) = (&self.txn.writes[number], &self.txn.held[number]);
            if !held.created || held.in_tree {
                continue;
            }
            let table = shared.tables.get(write.table)?;
            if table.tree.is_none() {
                continue;
            }
            let record = write.record.expect("created");
            let leaf = match held.leaf {
                Some(leaf) => Some(leaf),
                None => table.find_in_tree(self.local, record.key(), &mut self.txn.finger).leaf,
            };
            let (_, part) = leaf.expect("the tree was asked");
            let cell = table.phantomlet.cell_of(part);
            let mine = table.of_me(self.local)?;
            let item = mine.list.push(self.local, record, cell, now, generation)?;
            lane.mark(table.id);
            self.txn.held[number].item = Some((item, cell));
            match self.txn.posts.iter_mut().rev().find(|p| p.0 == table.id && p.1 == cell) {
                Some(post) => post.2 += 1,
                None => self.txn.posts.push((table.id, cell, 1)),
            }
        }
        for &(table, cell, n) in &self.txn.posts {
            let table = shared.tables.get(table)?;
            count(&table.of_me(self.local)?.counters.posted, n);
            table.phantomlet.post(cell, self.local.id(), n);
            self.txn.posted += 1;
        }
        if let Some(timer) = timer {
            let ticks = timer.ticks(&shared.clock);
            let entries = self.txn.posts.iter().map(|&(_, _, n)| n).sum::<u64>();
            for &(table, ..) in &self.txn.posts {
                shared.tables.get(table)?.of_me(self.local)?.way.posted(entries, ticks);
            }
        }
        Ok(())
    }
}
