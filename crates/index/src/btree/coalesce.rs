//! How the tree shrinks: neighbours under one parent become one node, and a root with one child goes.

use super::boundary::common;
use super::descent::Above;
use super::node::{Inner, Leaf, MIXED, Meta, Node};
use super::parts::Parts;
use super::version::Restart;
use super::{BTree, Entry, Position};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;
use std::ptr::NonNull;

/// Two neighbours, and the node above in whose slots `slot` and `slot + 1` they hang.
struct Pair<'t, T, const I: usize> {
    above: &'t Inner<I>,
    above_version: u64,
    slot: usize,
    left: &'t T,
    right: &'t T,
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Coalesces what is nearly empty on the way to `key`. Gives up under contention: the next
    /// removal tries again.
    #[cold]
    pub(super) fn shrink(&self, local: &mut Local, needed_after: u64, key: &[u8]) {
        let mut backoff = Backoff::new();
        loop {
            match self.try_shrink(local, needed_after, key) {
                Ok(true) => {}
                Ok(false) => return,
                Err(Restart) if backoff.wait() => {}
                Err(Restart) => return,
            }
        }
    }

    /// Coalesces the topmost pair on the way to `key` that asks for it; false if none does.
    fn try_shrink(&self, local: &mut Local, needed_after: u64, key: &[u8]) -> Result<bool, Restart> {
        let mut above: Above<'_, I> = Above::Anchor(&self.anchor);
        let mut above_version = self.anchor.version.read()?;
        let (mut node, height) = self.anchor.root();
        self.anchor.version.validate(above_version)?;
        for level in (0..height).rev() {
            // SAFETY: the version above was confirmed after the pointer was read.
            let inner = unsafe { self.inner(node) };
            let version = inner.version.read()?;
            above.version().validate(above_version)?;
            let count = inner.count();
            if matches!(above, Above::Anchor(_)) && count == 1 {
                return self.lower_root(local, above_version, inner, version).map(|()| true);
            }
            let slot = inner.slot(Position::At(key), version)?;
            for slot in [Some(slot), slot.checked_sub(1)].into_iter().flatten() {
                if slot + 1 >= count {
                    continue;
                }
                let (left, right) = (inner.child(slot), inner.child(slot + 1));
                inner.version.validate(version)?;
                // SAFETY: just confirmed; the level says which kind of node they are.
                let coalesced = unsafe {
                    if level == 0 {
                        let (left, right) = (self.leaf(left), self.leaf(right));
                        let pair = Pair { above: inner, above_version: version, slot, left, right };
                        self.coalesce_leaves(local, needed_after, pair)?
                    } else {
                        let (left, right) = (self.inner(left), self.inner(right));
                        let pair = Pair { above: inner, above_version: version, slot, left, right };
                        self.coalesce_inner(local, pair)?
                    }
                };
                if coalesced {
                    return Ok(true);
                }
            }
            node = inner.child(slot);
            inner.version.validate(version)?;
            (above, above_version) = (Above::Inner(inner), version);
        }
        Ok(false)
    }

    /// Takes out a root that has one child.
    fn lower_root(
        &self,
        local: &mut Local,
        anchor_version: u64,
        root: &Inner<I>,
        version: u64,
    ) -> Result<(), Restart> {
        let mut anchor = self.anchor.version.try_lock(anchor_version)?;
        let guard = root.version.try_lock(version)?;
        let (node, height) = self.anchor.root();
        anchor.change();
        self.anchor.set_root(root.child(0), height - 1);
        guard.bury();
        drop(anchor);
        self.retire::<Inner<I>>(local, node);
        Ok(())
    }

    fn coalesce_leaves(
        &self,
        local: &mut Local,
        needed_after: u64,
        pair: Pair<'_, Leaf<L>, I>,
    ) -> Result<bool, Restart> {
        let Pair { above, above_version, slot, left, right } = pair;
        let (left_version, right_version) = (left.version.read()?, right.version.read()?);
        above.version.validate(above_version)?;
        if !worth(left.meta().count, right.meta().count, L, 0) {
            return Ok(false);
        }
        let mut above_guard = above.version.try_lock(above_version)?;
        let mut left_guard = left.version.try_lock(left_version)?;
        let right_guard = right.version.try_lock(right_version)?;

        let (left_meta, right_meta) = (left.meta(), right.meta());
        let boundary = right.low();
        debug_assert!(
            scaledb_sync::MODEL
                || (left.high() == boundary
                    && above.sep(slot + 1) == boundary
                    && std::ptr::eq(left.next(), right)),
            "neighbours share a fence, which is the separator above them"
        );
        let prefix = common(left.low(), right.high());
        for i in 0..left_meta.count {
            left.set_entry(i, longer_head(left, i, &left_meta, prefix), left.value(i));
        }
        for i in 0..right_meta.count {
            left.set_entry(left_meta.count + i, longer_head(right, i, &right_meta, prefix), right.value(i));
        }
        let key_len = match (left_meta.count, right_meta.count) {
            (0, _) => right_meta.key_len,
            (_, 0) => left_meta.key_len,
            _ if left_meta.key_len == right_meta.key_len => left_meta.key_len,
            _ => MIXED,
        };
        let mut parts = Parts::of(left, needed_after);
        parts.add_all(&Parts::of(right, needed_after));
        parts.add(right.part(), self.next_generation());
        let count = left_meta.count + right_meta.count;
        left.set_meta(Meta { count, prefix, key_len, expect: count, run: 0, inherited: 0 });
        left.set_high(right.high());
        left.set_next(right.next());
        parts.store(left);

        let node = above.child(slot + 1);
        above.remove_child(slot + 1);
        left_guard.change();
        above_guard.change();
        right_guard.bury();
        drop((left_guard, above_guard));
        self.retire::<Leaf<L>>(local, node);
        // SAFETY: it was the high fence of `left`, the low fence of `right` and a separator above.
        unsafe { boundary.retire(local) };
        Ok(true)
    }

    fn coalesce_inner(&self, local: &mut Local, pair: Pair<'_, Inner<I>, I>) -> Result<bool, Restart> {
        let Pair { above, above_version, slot, left, right } = pair;
        let (left_version, right_version) = (left.version.read()?, right.version.read()?);
        above.version.validate(above_version)?;
        if !worth(left.count(), right.count(), I, 1) {
            return Ok(false);
        }
        let mut above_guard = above.version.try_lock(above_version)?;
        let mut left_guard = left.version.try_lock(left_version)?;
        let right_guard = right.version.try_lock(right_version)?;

        let (left_count, right_count) = (left.count(), right.count());
        debug_assert!(
            scaledb_sync::MODEL || (left.high() == right.sep(0) && above.sep(slot + 1) == right.sep(0)),
            "neighbours share a fence, which is the separator above them"
        );
        for i in 0..right_count {
            left.set_child(left_count + i, right.sep(i), right.child(i));
        }
        left.set_high(right.high());
        left.set_count(left_count + right_count);
        let node = above.child(slot + 1);
        above.remove_child(slot + 1);
        left_guard.change();
        above_guard.change();
        right_guard.bury();
        drop((left_guard, above_guard));
        self.retire::<Inner<I>>(local, node);
        Ok(true)
    }

    /// Gives a node of type `T` back that was just buried and unlinked.
    fn retire<T>(&self, local: &mut Local, node: *mut Node) {
        let block = NonNull::new(node).expect("a node was there").cast();
        // SAFETY: made by `create` as a `T`; its version says for ever that it is obsolete, and the
        // node above no longer names it.
        unsafe { local.retire(block, size_of::<T>()) }
    }
}

/// Whether one node of `left + right` is better than two: one is less than a quarter full, and both
/// make three quarters at most. One that has only `nothing` may even make the other one full.
fn worth(left: usize, right: usize, capacity: usize, nothing: usize) -> bool {
    let (fewer, sum) = (left.min(right), left + right);
    (fewer < capacity / 4 && sum <= capacity / 4 * 3) || (fewer <= nothing && sum <= capacity)
}

/// The head of entry `i` behind a prefix that is not longer than the leaf's.
fn longer_head<const L: usize>(leaf: &Leaf<L>, i: usize, meta: &Meta, prefix: usize) -> u64 {
    if prefix == meta.prefix {
        return leaf.head(i);
    }
    let low = leaf.low().bytes().expect("a leaf without low fence has no prefix");
    let shared = &low[prefix..meta.prefix];
    match shared.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => shared.iter().rev().fold(leaf.head(i), |head, &byte| head >> 8 | (byte as u64) << 56),
    }
}
