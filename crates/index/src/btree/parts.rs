//! Which parts a leaf answers for.
//!
//! A writer posts a pending key under the `part` of the leaf that it found for the key; it has read
//! the generation before the look-up. Leaves move on: they split and coalesce before the key is merged. So each
//! leaf lists the other parts under which a key of its range may still be posted, each with the
//! generation of the split or coalescence that brought it here:
//!
//! ```text
//!   for each key k posted under part p with generation g0, and not merged yet, the leaf that covers k has
//!   part == p,  or (p, g) in inherited with g > g0,  or inherit_all > g0
//! ```
//!
//! `needed_after` is at most the generation of every key of this tree that is posted and not merged,
//! so an entry with `generation <= needed_after` has nothing left to say. When the list overflows, its
//! oldest entry turns into the flag `inherit_all`: then a scan must look at every part, until that
//! generation expires too.

use super::node::{INHERITED, Leaf};

/// The inherited parts of one leaf, outside of the leaf.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    list: [(u64, u64); INHERITED],
    count: usize,
    all: u64,
}

impl Parts {
    /// What a locked leaf still needs.
    pub(super) fn of<const N: usize>(leaf: &Leaf<N>, needed_after: u64) -> Self {
        let all = leaf.inherit_all();
        let mut parts =
            Self { list: [(0, 0); INHERITED], count: 0, all: if all > needed_after { all } else { 0 } };
        for i in 0..leaf.meta().inherited {
            let entry = leaf.inherited(i);
            if entry.1 > needed_after {
                parts.list[parts.count] = entry;
                parts.count += 1;
            }
        }
        parts
    }

    /// Adds a part that was inherited in a generation.
    pub(super) fn add(&mut self, part: u64, generation: u64) {
        if let Some(entry) = self.list[..self.count].iter_mut().find(|entry| entry.0 == part) {
            entry.1 = entry.1.max(generation);
        } else if self.count < INHERITED {
            self.list[self.count] = (part, generation);
            self.count += 1;
        } else {
            let oldest = self.list.iter_mut().min_by_key(|entry| entry.1).expect("INHERITED > 0");
            let dropped = if oldest.1 < generation {
                std::mem::replace(oldest, (part, generation))
            } else {
                (part, generation)
            };
            self.all = self.all.max(dropped.1);
        }
    }

    /// Adds all that another leaf inherited.
    pub(super) fn add_all(&mut self, other: &Self) {
        for &(part, generation) in &other.list[..other.count] {
            self.add(part, generation);
        }
        self.all = self.all.max(other.all);
    }

    /// Makes it the inheritance of a locked leaf.
    pub(super) fn store<const N: usize>(&self, leaf: &Leaf<N>) {
        for (i, &entry) in self.list[..self.count].iter().enumerate() {
            leaf.set_inherited(i, entry);
        }
        leaf.set_inherit_all(self.all);
        let mut meta = leaf.meta();
        meta.inherited = self.count;
        leaf.set_meta(meta);
    }
}
