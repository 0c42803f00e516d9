//! What memory is asked for, and how far the budget goes for it.
//!
//! ```text
//!  0 ............................ budget - reserve ...... budget ......
//!  ◄────────── Growth ──────────────────►
//!  ◄────────── Release ─────────────────────────────────────►
//!  ◄────────── Upkeep ────────────────────────────────────────────────
//! ```
//!
//! What is taken beyond the limit of growth comes from an arena that all workers share, so that rows do not grow
//! into what is left of its chunks.

use crate::pages::CHUNK;

/// What memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Purpose {
    /// More rows, or larger ones: ends before the reserve.
    #[default]
    Growth,
    /// What frees memory, or takes as much as it frees: deletes, and updates in place. Has the reserve as well.
    Release,
    /// What was committed gets to where it belongs. As it cannot be refused, it may go beyond the budget, by what
    /// is committed and not there yet.
    Upkeep,
}

/// The part of a budget that is kept for [`Purpose::Release`]: a sixteenth, in whole chunks. Budgets of a few chunks
/// have none.
pub(crate) fn reserve_of(budget: u64) -> u64 {
    const CHUNK_BYTES: u64 = CHUNK as u64;
    const GREATEST: u64 = 256 << 20;
    if budget < 6 * CHUNK_BYTES {
        return 0;
    }
    (budget / 16 / CHUNK_BYTES * CHUNK_BYTES).clamp(CHUNK_BYTES, GREATEST)
}
