//! Splits.
//!
//! The node above is locked first and has room. Both halves stay locked until they are linked; the
//! new node is born locked, so that nobody reads it before.

use super::boundary::{Boundary, common};
use super::descent::{Above, NodeAt};
use super::insert::{BatchStats, Held, Stop, search_locked};
use super::node::{Inner, Leaf, Meta, Node};
use super::parts::Parts;
use super::search::head;
use super::version::Guard;
use super::{BTree, Entry, Position};
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_sync::hint::{Backoff, prefetch};
use std::ptr::NonNull;

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Splits a full leaf to make room for `key`, which belongs before entry `slot`; returns the half
    /// that the key belongs to, still locked.
    #[expect(clippy::too_many_arguments, reason = "the state of one insert attempt")]
    pub(super) fn split_leaf<'t>(
        &'t self,
        local: &mut Local,
        needed_after: u64,
        at: NodeAt<'t, Leaf<L>, I>,
        above: Guard<'t>,
        guard: Guard<'t>,
        key: &[u8],
        slot: usize,
    ) -> Result<Held<'t, L>> {
        let left = at.node;
        let meta = left.meta();
        let middle = split_point(&meta, slot, left.high());
        let separator = self.separator(left, middle, key);

        // every step that can fail comes before the first change
        let boundary = Boundary::new(local, separator)?;
        let high = left.high();
        let block = match self.create(local, || Leaf::<L>::new(boundary, high, left.next(), 0)) {
            Ok(block) => block,
            Err(error) => {
                // SAFETY: made above, seen by nobody.
                unsafe { boundary.free(local) };
                return Err(error);
            }
        };
        let node = block.as_ptr().cast::<Node>();
        if let Err(error) = self.link(local, at.above, above, at.slot, left, boundary, node) {
            // SAFETY: made above, seen by nobody.
            unsafe {
                local.free(block.cast(), size_of::<Leaf<L>>());
                boundary.free(local);
            }
            return Err(error);
        }

        // SAFETY: just made; it is a leaf of this tree.
        let right = unsafe { self.leaf(node) };
        let (mut left_guard, mut right_guard) = (guard, right.version.adopt());
        left_guard.change();
        right_guard.change();
        self.move_entries(left, right, middle, boundary);
        left.set_high(boundary);
        left.set_next(block.as_ptr());
        self.divide_parts(left, right, needed_after, middle == meta.count);
        debug_assert!(
            scaledb_sync::MODEL
                || (left.high() == right.low()
                    && right.high() == high
                    && left.meta().count + right.meta().count == meta.count),
            "the halves share a fence, and each entry is in one of them"
        );

        let (leaf, guard) = if key < separator { (left, left_guard) } else { (right, right_guard) };
        let place = search_locked::<E, L>(leaf, key);
        Ok(Held { leaf, guard, place })
    }

    /// The shortest key that is above entry `middle - 1` and not above entry `middle`, or `key` if
    /// there is none.
    fn separator<'k>(&self, leaf: &Leaf<L>, middle: usize, key: &'k [u8]) -> &'k [u8] {
        // SAFETY: the locked leaf holds the values.
        let key_of = |i: usize| unsafe { E::key(leaf.value(i)) };
        let left = key_of(middle - 1);
        let right = if middle < leaf.meta().count { key_of(middle) } else { key };
        let shared = left.iter().zip(right).take_while(|(l, r)| l == r).count();
        &right[..shared + 1]
    }

    /// Moves the entries from `middle` on to `right`, and lets `left` end at `boundary`.
    fn move_entries(&self, left: &Leaf<L>, right: &Leaf<L>, middle: usize, boundary: Boundary) {
        let meta = left.meta();
        let left_prefix = common(left.low(), boundary);
        let right_prefix = right.meta().prefix;
        if !meta.heads_are_keys() && left_prefix.max(right_prefix) > meta.prefix {
            // the keys are needed for their new heads
            (0..meta.count).for_each(|i| prefetch(left.value(i) as *const u8));
        }
        for i in middle..meta.count {
            let head = self.head_behind(left, &meta, i, right_prefix);
            right.set_entry(i - middle, head, left.value(i));
        }
        if left_prefix != meta.prefix {
            for i in 0..middle {
                left.set_entry(i, self.head_behind(left, &meta, i, left_prefix), left.value(i));
            }
        }
        let ascending = Meta { expect: meta.expect.saturating_sub(middle), run: 0, ..meta };
        right.set_meta(Meta { count: meta.count - middle, prefix: right_prefix, ..ascending });
        left.set_meta(Meta { count: middle, prefix: left_prefix, expect: meta.expect, ..meta });
    }

    /// The head of entry `i` behind a prefix that is not shorter than the leaf's.
    fn head_behind(&self, leaf: &Leaf<L>, meta: &Meta, i: usize, prefix: usize) -> u64 {
        if prefix == meta.prefix {
            leaf.head(i)
        } else if meta.heads_are_keys() {
            leaf.head(i).checked_shl(8 * (prefix - meta.prefix) as u32).unwrap_or(0)
        } else {
            // SAFETY: the locked leaf holds the value.
            head(unsafe { E::key(leaf.value(i)) }, prefix)
        }
    }

    /// Gives both halves the old leaf's inheritance, and the half that gets a new part the old part.
    ///
    /// When keys are appended, the new leaf takes the old part over: the end of the key space keeps
    /// its part, and leaves behind it inherit one entry instead of an ever longer list.
    fn divide_parts(&self, left: &Leaf<L>, right: &Leaf<L>, needed_after: u64, appending: bool) {
        let generation = self.next_generation();
        let (part, parts) = (left.part(), Parts::of(left, needed_after));
        let (keeper, heir) = if appending { (right, left) } else { (left, right) };
        keeper.set_part(part);
        parts.store(keeper);
        let mut inherited = parts;
        inherited.add(part, generation);
        heir.set_part(generation);
        inherited.store(heir);
    }

    /// Hangs `right` beside the node in `slot`, under a locked node with room; below the anchor, under
    /// a new root.
    #[expect(clippy::too_many_arguments, reason = "one link has two ends")]
    fn link<T>(
        &self,
        local: &mut Local,
        above: Above<'_, I>,
        mut guard: Guard<'_>,
        slot: usize,
        left: &T,
        boundary: Boundary,
        right: *mut Node,
    ) -> Result<()> {
        match above {
            Above::Inner(inner) => {
                guard.change();
                inner.insert_child(slot + 1, boundary, right);
            }
            Above::Anchor(anchor) => {
                let block = self.create(local, || Inner::<I>::new(Boundary::NONE))?;
                // SAFETY: just made; it is an inner node of this tree.
                let root = unsafe { self.inner(block.as_ptr().cast()) };
                let (old, height) = anchor.root();
                debug_assert!(std::ptr::eq(old.cast(), left));
                root.set_child(0, Boundary::NONE, old);
                root.set_child(1, boundary, right);
                root.set_count(2);
                drop(root.version.adopt());
                guard.change();
                anchor.set_root(block.as_ptr().cast(), height + 1);
            }
        }
        Ok(())
    }

    /// Splits every full inner node on the way to `key`.
    #[cold]
    pub(super) fn split_above(&self, local: &mut Local, key: &[u8], stats: &mut BatchStats) -> Result<()> {
        let mut backoff = Backoff::new();
        loop {
            match self.try_split_above(local, key, stats) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(Stop::Restart) => backoff.wait_forever(),
                Err(Stop::Error(error)) => return Err(error),
            }
        }
    }

    /// Splits the topmost full node on the way to `key`; false if there is none.
    fn try_split_above(&self, local: &mut Local, key: &[u8], stats: &mut BatchStats) -> Result<bool, Stop> {
        let mut above = Above::Anchor(&self.anchor);
        let mut above_version = self.anchor.version.read()?;
        let (mut node, height) = self.anchor.root();
        let mut slot = 0;
        self.anchor.version.validate(above_version)?;
        for _ in 0..height {
            // SAFETY: the version above was confirmed after the pointer was read.
            let inner = unsafe { self.inner(node) };
            let version = inner.version.read()?;
            above.version().validate(above_version)?;
            if inner.count() == I {
                let above_guard = above.version().try_lock(above_version)?;
                let guard = inner.version.try_lock(version)?;
                stats.locks += 2;
                stats.splits += 1;
                self.split_inner(
                    local,
                    NodeAt { above, above_version, slot, node: inner, version },
                    above_guard,
                    guard,
                    key,
                )?;
                return Ok(true);
            }
            let child = inner.slot(Position::At(key), version)?;
            node = inner.child(child);
            inner.version.validate(version)?;
            (above, above_version, slot) = (Above::Inner(inner), version, child);
        }
        Ok(false)
    }

    fn split_inner(
        &self,
        local: &mut Local,
        at: NodeAt<'_, Inner<I>, I>,
        above: Guard<'_>,
        mut guard: Guard<'_>,
        key: &[u8],
    ) -> Result<()> {
        let left = at.node;
        let count = left.count();
        // keys that are appended leave full nodes behind
        let appending =
            left.high() == Boundary::NONE && left.sep(count - 1).bytes().is_some_and(|sep| key >= sep);
        let middle = if appending { count - 1 } else { count / 2 };
        let boundary = left.sep(middle);
        let high = left.high();
        let block: NonNull<Inner<I>> = self.create(local, || Inner::new(high))?;
        // SAFETY: just made; it is an inner node of this tree.
        let right = unsafe { self.inner(block.as_ptr().cast()) };
        for i in middle..count {
            right.set_child(i - middle, left.sep(i), left.child(i));
        }
        right.set_count(count - middle);
        if let Err(error) = self.link(local, at.above, above, at.slot, left, boundary, block.as_ptr().cast())
        {
            // SAFETY: made above, seen by nobody.
            unsafe { local.free(block.cast(), size_of::<Inner<I>>()) };
            return Err(error);
        }
        guard.change();
        left.set_high(boundary);
        left.set_count(middle);
        debug_assert!(
            scaledb_sync::MODEL || (left.high() == right.sep(0) && left.count() + right.count() == count),
            "the halves share a fence, and each child is in one of them"
        );
        drop(right.version.adopt());
        Ok(())
    }
}

/// How many entries of a full leaf stay: half of them, unless inserts ascend, at the end of the key
/// space or within it; then those before the new key.
fn split_point(meta: &Meta, slot: usize, high: Boundary) -> usize {
    let ascending = slot == meta.expect && meta.run >= meta.count / 4;
    if slot > 0 && (ascending || (slot == meta.count && high == Boundary::NONE)) {
        slot
    } else {
        meta.count / 2
    }
}
