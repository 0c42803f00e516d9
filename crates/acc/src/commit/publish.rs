//! C6: installs rows and unlocks them. Before that, versions that snapshots need are retained.

use crate::lane::{Deleted, LaneGuard};
use crate::record::{Record, Word};
use crate::rules::Rule;
use crate::txn::Op;
use crate::worker::Ctx;
use scaledb_base::{Result, Timestamp};
use scaledb_memory::Purpose;

impl Ctx<'_> {
    /// Keeps the rows from before `announced`, the latest snapshot boundary announced, that this commit overwrites.
    pub(super) fn retain(
        &mut self,
        lane: &mut LaneGuard<'_>,
        commit_ts: Timestamp,
        announced: Timestamp,
    ) -> Result<()> {
        if self.skips(Rule::Retain) {
            return Ok(());
        }
        // versions are whole rows, and not even a delete may exceed the memory budget for them
        let purpose = self.local.set_purpose(Purpose::Relief);
        let retained = self.retain_rows(lane, commit_ts, announced);
        self.local.set_purpose(purpose);
        retained
    }

    fn retain_rows(
        &mut self,
        lane: &mut LaneGuard<'_>,
        commit_ts: Timestamp,
        announced: Timestamp,
    ) -> Result<()> {
        let shared = self.shared;
        for (write, held) in self.txn.writes.iter().zip(&self.txn.held) {
            let (Some(record), false) = (write.record, held.created || held.groups.0 == 0) else { continue };
            let groups = shared.tables.get(write.table)?.schema.layout().groups();
            let current = Record::current(&held.before, groups);
            if current.ts() < announced {
                let version = record.retain(self.local, current)?;
                lane.versions.push_back((commit_ts.raw(), version));
            }
        }
        Ok(())
    }

    /// Installs the rows and unlocks them by storing the timestamp; rows that other transactions may wait for come
    /// first. Nothing can fail from here on.
    pub(super) fn publish(&mut self, lane: &mut LaneGuard<'_>, commit_ts: Timestamp) {
        for new in [false, true] {
            for number in 0..self.txn.writes.len() {
                if self.txn.held[number].created == new {
                    self.publish_write(lane, number, commit_ts);
                }
            }
        }
    }

    #[inline]
    fn publish_write(&mut self, lane: &mut LaneGuard<'_>, number: usize, commit_ts: Timestamp) {
        let shared = self.shared;
        let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
        let (Some(record), Ok(table)) = (write.record, shared.tables.get(write.table)) else { return };
        let layout = table.schema.layout();
        if let Some(overflow) = held.overflow.take() {
            record.move_to_overflow(self.local, overflow);
        }
        let changed = write.groups(layout);
        let mut next = Word::live(commit_ts);
        match write.op {
            Op::Nothing => return,
            Op::Delete => {
                // a record that was deleted, inserted and deleted again may still be in a clean-up list, perhaps
                // another lane's
                if record.enlist() {
                    lane.deleted.push_back(Deleted { table: write.table, record, ts: commit_ts.raw() });
                }
                next = Word::absent(commit_ts);
            }
            Op::Update => {
                record.store_columns(layout, write.dirty, &self.txn.images[write.image.clone()]);
            }
            Op::Insert | Op::Replace if !held.created => match write.base {
                Some(base) => {
                    let target = self.txn.writes[base].record.expect("rows are locked before their entries");
                    record.store_row(&[target.raw()]);
                }
                None => record.store_row(&self.txn.images[write.image.clone()]),
            },
            Op::Insert | Op::Replace => {}
        }
        for group in held.groups.iter() {
            record.unlock(group, if changed.has(group) { next } else { held.before[group] });
        }
    }
}
