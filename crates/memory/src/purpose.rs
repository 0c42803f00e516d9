//! What memory is asked for, and how far the budget goes for it.
//!
//! ```text
//!  0 ............................ budget - reserve ...... budget ......
//!  ◄────────── Growth ──────────────────►
//!  ◄────────── Relief ──────────────────────────────────────►
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
    Relief,
    /// What was committed gets to where it belongs. As it cannot be refused, it may go beyond the budget, by what
    /// is committed and not there yet.
    Upkeep,
}

impl Purpose {
    /// What a commit's memory is for, by what it writes: words of inserted rows, words of updated rows for which
    /// memory is needed, and deleted rows. A commit that does next to nothing but delete is never refused: its list
    /// of writes takes more memory than what it asks for here, and it ends with less.
    pub fn of_commit(inserted: usize, updated: usize, deleted: usize) -> Self {
        // the words of the smallest records
        let released = deleted * 8;
        if (inserted + updated) * 16 <= released {
            Self::Upkeep
        } else if inserted <= released {
            Self::Relief
        } else {
            Self::Growth
        }
    }
}

/// The part of a budget that is kept for [`Purpose::Relief`]: a sixteenth, in whole chunks. Budgets of a few chunks
/// have none.
pub(crate) fn reserve_of(budget: u64) -> u64 {
    const CHUNK_BYTES: u64 = CHUNK as u64;
    const GREATEST: u64 = 256 << 20;
    if budget < 6 * CHUNK_BYTES {
        return 0;
    }
    (budget / 16 / CHUNK_BYTES * CHUNK_BYTES).clamp(CHUNK_BYTES, GREATEST)
}
