//! Waits of schema changes, which `scaledb_kit` makes, for commits in flight and for merges.

use crate::shared::AccShared;
use crate::table::AccTable;
use scaledb_base::{Result, WorkerId};
use scaledb_memory::Local;

impl AccShared {
    /// Waits until every commit that is in flight now has ended.
    pub(crate) fn await_commits(&self) {
        for lane in &self.lanes {
            // a commit locks its lane before it reads the count of schema changes, and holds it until it ends
            drop(lane.lock());
        }
    }

    /// Merges what all workers have pending in a table.
    pub(crate) fn merge_all(&self, local: &mut Local, table: &AccTable) -> Result<()> {
        for (id, lane) in self.lanes.iter().enumerate() {
            let id = WorkerId(id as u8);
            if table.of_worker(id).is_some_and(|theirs| theirs.list.len() > 0) {
                let guard = lane.lock();
                crate::merge::merge(self, local, &guard, table, id)?;
                if guard.is_clean() {
                    guard.unpin();
                }
            }
        }
        Ok(())
    }
}
