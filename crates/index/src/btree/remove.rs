//! Removal and replacement of single entries.

use super::insert::search_locked;
use super::node::{Leaf, Meta};
use super::parts::Parts;
use super::search::Found;
use super::version::{Guard, Restart};
use super::{BTree, Entry, Position};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Removes `key` if its value is `value`. O(log n); nodes that become nearly empty coalesce with
    /// a neighbour. The object behind the value may be retired after this returns true.
    pub fn remove(&self, local: &mut Local, needed_after: u64, key: &[u8], value: u64) -> bool {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        loop {
            match self.try_remove(needed_after, key, value) {
                Ok(None) => return false,
                Ok(Some(left)) => {
                    // not at each removal: a neighbour that is too full stays so for a while
                    if left < L / 4 && left % (L / 16).max(1) == 0 {
                        self.shrink(local, needed_after, key);
                    }
                    return true;
                }
                Err(Restart) => backoff.wait_forever(),
            }
        }
    }

    /// How many entries the leaf is left with, if the key was there with its value.
    fn try_remove(&self, needed_after: u64, key: &[u8], value: u64) -> Result<Option<usize>, Restart> {
        let Some((leaf, mut guard, slot)) = self.lock_entry(key, value)? else { return Ok(None) };
        guard.change();
        Parts::of(leaf, needed_after).store(leaf);
        let meta = leaf.meta();
        leaf.remove_entry(slot, meta.count);
        let expect = meta.expect - (slot < meta.expect) as usize;
        leaf.set_meta(Meta { count: meta.count - 1, expect, ..meta });
        Ok(Some(meta.count - 1))
    }

    /// Replaces the value of `key` if it is `old`. O(log n). Stamps stay current: no key came or went.
    ///
    /// # Safety
    /// As for [`BTree::insert`], for `new`, whose key is `key`.
    pub unsafe fn replace(&self, local: &Local, key: &[u8], old: u64, new: u64) -> bool {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        loop {
            match self.lock_entry(key, old) {
                Ok(None) => return false,
                Ok(Some((leaf, guard, slot))) => {
                    leaf.swap_value(slot, new);
                    drop(guard);
                    return true;
                }
                Err(Restart) => backoff.wait_forever(),
            }
        }
    }

    /// Locks the leaf that holds `key` with `value`; `None` if none does.
    fn lock_entry(&self, key: &[u8], value: u64) -> Result<Option<(&Leaf<L>, Guard<'_>, usize)>, Restart> {
        let at = self.descend(Position::At(key))?;
        let guard = at.node.version.try_lock(at.version)?;
        match search_locked::<E, L>(at.node, key) {
            Found::At(slot) if at.node.value(slot) == value => Ok(Some((at.node, guard, slot))),
            _ => Ok(None),
        }
    }
}
