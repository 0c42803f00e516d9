//! Loading of much sorted data at once.

use super::insert::{BatchStats, Fill};
use super::{BTree, Entry};
use scaledb_base::Result;
use scaledb_memory::Local;

/// Values that are inserted at a time.
const CHUNK: usize = 1024;

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Inserts values that ascend by key, and leaves an eighth of each new leaf free for later keys.
    /// O(1) per value when all keys are above those in the tree, as in an empty one. Keys that are
    /// there keep their values, and count as existing.
    ///
    /// # Errors
    /// As for [`BTree::insert`]; the entries before the one that failed are inserted.
    ///
    /// # Safety
    /// As for [`BTree::insert`], for each value.
    pub unsafe fn bulk_load(
        &self,
        local: &mut Local,
        sorted: impl IntoIterator<Item = u64>,
    ) -> Result<BatchStats> {
        let mut sorted = sorted.into_iter();
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut sum = BatchStats::default();
        loop {
            chunk.clear();
            chunk.extend(sorted.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return Ok(sum);
            }
            // SAFETY: the caller's promise.
            sum += unsafe { self.insert_filling(local, 0, &chunk, Fill(L - L / 8), |_, _| {})? };
        }
    }
}
