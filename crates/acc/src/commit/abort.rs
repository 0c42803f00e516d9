//! A commit that fails takes back what it has done so far.

use super::claim::take_back;
use crate::worker::Ctx;

impl Ctx<'_> {
    /// Takes back what the commit did so far: posts, then placeholders and locks.
    pub(super) fn abort(&mut self) {
        let shared = self.shared;
        for &(table, cell, n) in &self.txn.posts[..self.txn.posted] {
            if let Ok(table) = shared.tables.get(table) {
                table.phantomlet.unpost(cell, n);
            }
        }
        for number in (0..self.txn.held.len()).rev() {
            let (write, held) = (&self.txn.writes[number], &mut self.txn.held[number]);
            if let Some(overflow) = held.overflow.take() {
                overflow.discard(self.local);
            }
            let (Some(record), Ok(table)) = (write.record, shared.tables.get(write.table)) else { continue };
            if !held.created {
                for group in held.groups.iter() {
                    record.unlock(group, held.before[group]);
                }
                continue;
            }
            if let (Some((item, _)), Some(mine)) = (held.item, table.of_worker(self.local.id())) {
                mine.list.kill(item);
            }
            let (hash, in_tree) = (write.hash, held.in_tree);
            // the tree first: a look-up that misses the key in the hash index misses it in the tree, too
            if in_tree {
                self.remove_from_tree(table, record);
            }
            table.remove_point(self.local, hash, record);
            // SAFETY: it has left the indexes and the list.
            unsafe { take_back(self.local, table, record) };
        }
    }
}
