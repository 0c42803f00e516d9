//! Read timestamps of what has no record (section 3.6).
//!
//! Records have read timestamps, so that a transaction with a smaller timestamp cannot change afterwards
//! what was read. So must the gaps between them: a key that was found absent, a leaf that was
//! scanned. The paper keeps both timestamps in the index nodes. Here the write timestamp of a node is the
//! stamp of the tree's leaf, and the read timestamps stand beside the index, in cells by the hash of a key
//! or of a leaf's part; cells are shared, which costs an unnecessary conflict now and then.
//!
//! ```text
//!  reader    read ........ raise the cell ─ look at the index again: nothing came?
//!  inserter  insert in the index ─ look at the cell: did nobody with a larger timestamp read?
//! ```
//! One of the two sees the other. A leaf that splits, or swallows another, hands its part down (the tree's
//! `inherited`, see `scaledb_index::btree`), and an inserter asks the cells of all parts of its leaf.

use crate::record::FROZEN;
use scaledb_index::btree::LeafRead;
use scaledb_sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Guards {
    cells: Box<[AtomicU64]>,
    shift: u32,
}

impl Guards {
    /// Guards with so many cells, a power of two, all zero.
    pub(crate) fn new(cells: usize) -> Self {
        let cells = cells.next_power_of_two().max(2);
        Self { shift: 64 - cells.trailing_zeros(), cells: (0..cells).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    pub(crate) fn cell(&self, of: u64) -> &AtomicU64 {
        &self.cells[(of.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize]
    }

    /// Raises the read timestamp of a key's hash or a leaf's part. The index is looked at after it.
    #[inline]
    pub(crate) fn raise(&self, of: u64, ts: u64) {
        raise(self.cell(of), ts);
    }

    /// The read timestamp of a key's hash or a leaf's part. The index was written before.
    #[inline]
    pub(crate) fn rts(&self, of: u64) -> u64 {
        self.cell(of).load(Ordering::SeqCst)
    }

    /// The largest read timestamp of the parts that a leaf answers for; what came to it up to the generation
    /// `needed_after` is forgotten.
    pub(crate) fn rts_of_leaf(&self, leaf: &LeafRead, needed_after: u64) -> u64 {
        if leaf.inherit_all().is_some_and(|generation| generation > needed_after) {
            return self.cells.iter().map(|cell| cell.load(Ordering::SeqCst)).fold(0, u64::max);
        }
        let inherited = leaf.inherited().iter().filter(|(_, generation)| *generation > needed_after);
        inherited.map(|&(part, _)| self.rts(part)).fold(self.rts(leaf.part()), u64::max)
    }

    /// Memory in use.
    pub(crate) fn bytes(&self) -> u64 {
        (self.cells.len() * size_of::<AtomicU64>()) as u64
    }
}

/// Raises a read timestamp to `ts`. Conditional, so that hot records are read without writing (section 3.4).
/// False: it is frozen, its record is gone.
#[inline]
pub(crate) fn raise(rts: &AtomicU64, ts: u64) -> bool {
    let mut now = rts.load(Ordering::SeqCst);
    while now < ts {
        match rts.compare_exchange_weak(now, ts, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(other) => now = other,
        }
    }
    now != FROZEN
}
