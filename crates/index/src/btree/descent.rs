//! The way from the root to a leaf.

use super::node::{Inner, Leaf, Node};
use super::version::{Restart, VersionLock};
use super::{BTree, Entry, Position};
use scaledb_base::Result as DbResult;
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use scaledb_sync::names;
use std::ptr::NonNull;

/// What holds the root: the parent of the topmost node.
pub(super) struct Anchor {
    pub(super) version: VersionLock,
    root: AtomicPtr<Node>,
    height: AtomicU64,
}

impl Anchor {
    pub(super) fn new(root: *mut Node) -> Self {
        Self { version: VersionLock::new(), root: AtomicPtr::new(root), height: AtomicU64::new(0) }
    }

    /// The topmost node, and how many levels of inner nodes there are. Ordered by the version.
    #[inline(always)]
    pub(super) fn root(&self) -> (*mut Node, usize) {
        (self.root.load(Ordering::Relaxed), self.height.load(Ordering::Relaxed) as usize)
    }

    /// Sets the topmost node; the caller holds the lock, which orders it.
    pub(super) fn set_root(&self, root: *mut Node, height: usize) {
        self.root.store(root, Ordering::Relaxed);
        self.height.store(height as u64, Ordering::Relaxed);
    }
}

/// What is above a node.
#[derive(Clone, Copy)]
pub(super) enum Above<'t, const I: usize> {
    Anchor(&'t Anchor),
    Inner(&'t Inner<I>),
}

impl<'t, const I: usize> Above<'t, I> {
    #[inline(always)]
    pub(super) fn version(&self) -> &'t VersionLock {
        match self {
            Self::Anchor(anchor) => &anchor.version,
            Self::Inner(inner) => &inner.version,
        }
    }

    /// The number of nodes below.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Anchor(_) => 1,
            Self::Inner(inner) => inner.count(),
        }
    }
}

/// A node, and where it hangs: as child `slot` of `above`, as long as that has `above_version`.
pub(super) struct NodeAt<'t, T, const I: usize> {
    pub(super) above: Above<'t, I>,
    pub(super) above_version: u64,
    pub(super) slot: usize,
    pub(super) node: &'t T,
    pub(super) version: u64,
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// The leaf behind a pointer.
    ///
    /// # Safety
    /// A node's confirmed version, or a lock, says that the pointer is that of a leaf in this tree,
    /// within the caller's activity; and the reference is not used after the call of the tree.
    #[inline(always)]
    pub(super) unsafe fn leaf(&self, node: *mut Node) -> &Leaf<L> {
        // SAFETY: the caller's promise; leaves consist of atomics.
        unsafe { &*node.cast::<Leaf<L>>() }
    }

    /// The inner node behind a pointer.
    ///
    /// # Safety
    /// As for [`BTree::leaf`], for an inner node.
    #[inline(always)]
    pub(super) unsafe fn inner(&self, node: *mut Node) -> &Inner<I> {
        // SAFETY: the caller's promise; inner nodes consist of atomics.
        unsafe { &*node.cast::<Inner<I>>() }
    }

    /// Goes down to the leaf at a position. O(log n), one round of cache misses per level.
    #[inline(always)]
    pub(super) fn descend(&self, at: Position<'_>) -> Result<NodeAt<'_, Leaf<L>, I>, Restart> {
        let mut above = Above::Anchor(&self.anchor);
        let mut above_version = self.anchor.version.read()?;
        let (mut node, height) = self.anchor.root();
        let mut slot = 0;
        self.anchor.version.validate(above_version)?;
        for level in (0..height).rev() {
            // SAFETY: the version above was confirmed after the pointer was read.
            let inner = unsafe { self.inner(node) };
            let version = inner.version.read()?;
            // the node still hangs there, so it covers the position in the state that we read now
            above.version().validate(above_version)?;
            slot = inner.slot(at, version)?;
            node = inner.child(slot);
            if level > 0 {
                Inner::<I>::prefetch(node.cast());
            } else {
                Leaf::<L>::prefetch(node.cast());
            }
            inner.version.validate(version)?;
            (above, above_version) = (Above::Inner(inner), version);
        }
        // SAFETY: as above; `height` inner levels were passed.
        let leaf = unsafe { self.leaf(node) };
        let version = leaf.version.read()?;
        above.version().validate(above_version)?;
        Ok(NodeAt { above, above_version, slot, node: leaf, version })
    }

    /// Asks for the lines of the leaf of `key`: the inner nodes are read, the leaf is not waited for.
    #[inline]
    pub(super) fn prefetch_leaf(&self, key: &[u8]) -> Result<(), Restart> {
        let mut version = self.anchor.version.read()?;
        let mut above = &self.anchor.version;
        let (mut node, height) = self.anchor.root();
        above.validate(version)?;
        for level in (0..height).rev() {
            // SAFETY: the version above was confirmed after the pointer was read.
            let inner = unsafe { self.inner(node) };
            version = inner.version.read()?;
            node = inner.child(inner.slot(Position::At(key), version)?);
            if level > 0 {
                Inner::<I>::prefetch(node.cast());
            } else {
                Leaf::<L>::prefetch(node.cast());
            }
            above = &inner.version;
            above.validate(version)?;
        }
        Ok(())
    }

    /// A new node in memory of the domain; `make` writes it.
    pub(super) fn create<T>(&self, local: &mut Local, make: impl FnOnce() -> T) -> DbResult<NonNull<T>> {
        let block = local.alloc(size_of::<T>())?.cast::<T>();
        // SAFETY: the block has room for a `T`, is aligned to 64 as nodes ask for, and is ours.
        unsafe { block.write(make()) };
        let leaf = size_of::<T>() == size_of::<Leaf<L>>();
        names::name(block.as_ptr(), size_of::<T>(), if leaf { "tree.leaf" } else { "tree.inner" });
        Ok(block)
    }
}
