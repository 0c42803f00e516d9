//! The merge batch, found by the engine itself.
//!
//! The paper sizes a table's batch as write rate times write-to-range-scan latency (section 4.1), figures
//! that an expert has to measure. Both are there already when a worker merges: the entries of the batch,
//! and how often scans had to look at entries that were still pending. A pending entry that is looked at
//! costs a scan some 10 ns, its record being warm; merging in small batches costs a descent per entry,
//! some 200 ns. So the batch doubles while scans look at each entry less than once before it is merged,
//! and halves when they do so more than four times. The epoch bounds the time that entries wait when
//! writes are rare.

use crate::table::Table;
use scaledb_sync::atomic::Ordering;

/// The batch of a new table.
pub(crate) const FIRST_BATCH: u32 = if scaledb_sync::MODEL { 2 } else { 128 };
const LEAST_BATCH: u32 = if scaledb_sync::MODEL { 2 } else { 16 };
/// More would not be cheaper: a batch's records are still in the cache when they are merged.
const GREATEST_BATCH: u32 = if scaledb_sync::MODEL { 4 } else { 256 };

/// Adapts a table's batch after a merge of `entries`.
pub(crate) fn after_merge(table: &Table, entries: u64) {
    let tuning = &table.tuning;
    if tuning.fixed || entries == 0 {
        return;
    }
    // all of these are only hints to later merges
    let visited = tuning.visited.swap(0, Ordering::Relaxed);
    let batch = tuning.batch.load(Ordering::Relaxed);
    let next = if visited > 4 * entries {
        (batch / 2).max(LEAST_BATCH)
    } else if visited < entries && entries >= u64::from(batch) {
        (batch * 2).min(GREATEST_BATCH)
    } else {
        batch
    };
    if next != batch {
        tuning.batch.store(next, Ordering::Relaxed); // a hint
    }
}
