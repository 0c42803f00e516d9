//! Figures about a tree, and a check of its invariants.

use super::boundary::{Boundary, common};
use super::node::{Inner, Leaf, MIXED, Node};
use super::search::head;
use super::version::Restart;
use super::{BTree, Entry, LeafRead, Position};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;

/// Figures about a tree; exact when nobody changes it meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Levels of inner nodes.
    pub height: usize,
    /// Inner nodes.
    pub inner: usize,
    /// Leaves.
    pub leaves: usize,
    /// Entries.
    pub entries: usize,
    /// Memory of nodes and boundaries, as the arena hands it out.
    pub bytes: usize,
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Counts. O(nodes).
    pub fn stats(&self, local: &Local) -> TreeStats {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        loop {
            if let Ok(stats) = self.try_stats() {
                return stats;
            }
            backoff.wait_forever();
        }
    }

    fn try_stats(&self) -> Result<TreeStats, Restart> {
        let version = self.anchor.version.read()?;
        let (root, height) = self.anchor.root();
        self.anchor.version.validate(version)?;
        let mut stats = TreeStats { height, ..TreeStats::default() };
        // SAFETY: the anchor's version has confirmed the pointer.
        unsafe { self.count_below(root, height, &mut stats) };
        Ok(stats)
    }

    /// Counts what is below a confirmed node; skips nodes that go away meanwhile.
    ///
    /// # Safety
    /// `node` was read in this activity from a node whose version has confirmed it, and stands `level` levels above the
    /// leaves.
    unsafe fn count_below(&self, node: *mut Node, level: usize, stats: &mut TreeStats) {
        if level > 0 {
            // SAFETY: the caller's promise.
            let inner = unsafe { self.inner(node) };
            stats.inner += 1;
            stats.bytes += Local::block_bytes(size_of::<Inner<I>>());
            let children = || {
                let version = inner.version.read()?;
                let children: Vec<_> = (0..inner.count()).map(|i| inner.child(i)).collect();
                inner.version.validate(version).map(|()| children)
            };
            for child in std::iter::repeat_with(children).take(100).find_map(Result::ok).unwrap_or_default() {
                // SAFETY: confirmed by the version of this node, one level above.
                unsafe { self.count_below(child, level - 1, stats) };
            }
        } else {
            // SAFETY: the caller's promise.
            let leaf = unsafe { self.leaf(node) };
            stats.leaves += 1;
            stats.entries += leaf.meta().count;
            stats.bytes += Local::block_bytes(size_of::<Leaf<L>>());
            let header = || {
                let version = leaf.version.read()?;
                let high = leaf.high();
                leaf.version.validate(version).map(|()| high)
            };
            if let Ok(high) = header()
                && high != Boundary::NONE
            {
                stats.bytes += Local::block_bytes(high.block());
            }
        }
    }

    /// What all entries weigh, from those of about so many leaves, evenly spread. `sizes` is from [`BTree::stats`].
    /// O(leaves).
    pub fn estimate(
        &self,
        local: &Local,
        sizes: &TreeStats,
        leaves: usize,
        mut weigh: impl FnMut(u64) -> usize,
    ) -> u64 {
        let step = sizes.leaves.div_ceil(leaves).max(1);
        let mut leaf = LeafRead::new();
        self.open_leaf(local, Position::First, &mut leaf);
        let (mut seen, mut sum) = (0usize, 0usize);
        for number in 0.. {
            if number % step == 0 && self.read_again(local, &mut leaf) {
                seen += leaf.values().len();
                sum += leaf.values().iter().map(|&value| weigh(value)).sum::<usize>();
            }
            if !self.open_next(local, &mut leaf) {
                break;
            }
        }
        if seen == 0 { 0 } else { (sum as f64 / seen as f64 * sizes.entries as f64) as u64 }
    }

    /// Reads the opened leaf, and opens it again some times if it changes.
    fn read_again(&self, local: &Local, leaf: &mut LeafRead) -> bool {
        for _ in 0..100 {
            if self.read_entries(local, leaf) {
                return true;
            }
            let low = leaf.low().to_vec();
            self.open_leaf(local, Position::At(&low), leaf);
        }
        false
    }

    /// Looks for broken invariants, while nobody changes the tree. O(n).
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self, local: &Local) -> Result<(), String> {
        self.assert_protected(local);
        let (root, height) = self.anchor.root();
        let mut last = None;
        self.check_below(root, height, Boundary::NONE, Boundary::NONE, &mut last)?;
        if last.is_some_and(|leaf| !leaf.next().is_null()) {
            return Err("the last leaf has a sibling".into());
        }
        Ok(())
    }

    fn check_below<'t>(
        &'t self,
        node: *mut Node,
        level: usize,
        low: Boundary,
        high: Boundary,
        last: &mut Option<&'t Leaf<L>>,
    ) -> Result<(), String> {
        let ensure = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(format!("level {level}, node {node:?}: {what}")) }
        };
        if level > 0 {
            // SAFETY: nobody changes the tree.
            let inner = unsafe { self.inner(node) };
            let (count, prefix) = inner.meta();
            ensure(inner.version.read().is_ok(), "obsolete")?;
            ensure(count > 0, "no children")?;
            ensure(inner.sep(0) == low && inner.high() == high, "fences")?;
            ensure(prefix == common(low, high), "prefix")?;
            for i in 0..count {
                let (from, to) = (inner.sep(i), if i + 1 < count { inner.sep(i + 1) } else { high });
                if let (Some(from), Some(to)) = (from.bytes(), to.bytes()) {
                    ensure(from < to, "separators do not ascend")?;
                }
                let stored = inner.heads()[i].load(scaledb_sync::atomic::Ordering::SeqCst);
                ensure(stored == from.head(prefix), "head")?;
                self.check_below(inner.child(i), level - 1, from, to, last)?;
            }
            return Ok(());
        }
        // SAFETY: nobody changes the tree.
        let leaf = unsafe { self.leaf(node) };
        let meta = leaf.meta();
        ensure(leaf.version.read().is_ok(), "obsolete")?;
        ensure(leaf.low() == low && leaf.high() == high, "fences")?;
        ensure(meta.prefix == common(low, high), "prefix")?;
        ensure(last.is_none_or(|last| std::ptr::eq(last.next(), leaf)), "sibling link")?;
        // SAFETY: the leaf holds the values, and nobody changes it.
        let keys: Vec<&[u8]> = (0..meta.count).map(|i| unsafe { E::key(leaf.value(i)) }).collect();
        for (i, key) in keys.iter().enumerate() {
            ensure(i == 0 || keys[i - 1] < *key, "keys do not ascend")?;
            ensure(low.bytes().is_none_or(|low| low <= *key), "key below the low fence")?;
            ensure(high.bytes().is_none_or(|high| *key < high), "key above the high fence")?;
            ensure(leaf.head(i) == head(key, meta.prefix), "head")?;
            ensure(meta.key_len == MIXED || meta.key_len == key.len(), "key length")?;
        }
        *last = Some(leaf);
        Ok(())
    }
}
