//! An ordered index: memcomparable keys to words, for many threads.
//!
//! A B+ tree with optimistic lock coupling (Leis et al., "The ART of Practical Synchronization") and
//! sibling links. Readers take no locks and write nothing: every node has a version, and a reader that
//! finds it changed begins again. Writers lock the one leaf they change; a split or a coalescence also
//! locks the node above. All locks are tried, never waited for while holding another one, so there is
//! no deadlock.
//!
//! The tree does not hold keys. A value is a pointer to an object that holds its key ([`Entry`]);
//! a node keeps eight bytes of each key behind the prefix that all its keys share, which decides
//! nearly every comparison, and all of them when keys are that short.
//!
//! Leaves carry what serializable scans need: a version that changes exactly when a key comes or goes
//! ([`LeafStamp`]), fences, and the parts for which the leaf answers (see [`LeafRead`]).
//!
//! ```text
//!   anchor ── root ─┬─ inner ─┬─ leaf [low, high) ─┐
//!                   │         └─ leaf ◄────────────┘ next
//!                   └─ inner ──── ...
//! ```
//!
//! Whoever calls the tree is active ([`Local::enter`]) from before until after; nodes and boundaries
//! that were taken out are reused only when everybody who was active then has left.

mod boundary;
mod bulk;
mod coalesce;
mod cursor;
mod descent;
mod free;
mod insert;
mod lookup;
mod node;
mod parts;
mod remove;
mod search;
mod split;
mod stats;
mod version;

pub use cursor::LeafRead;
pub use insert::BatchStats;
pub use lookup::{Finger, Found, LeafStamp};
pub use stats::TreeStats;

use boundary::Boundary;
use descent::Anchor;
use node::Leaf;
use scaledb_base::Result;
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::{Arc, CachePadded};
use std::marker::PhantomData;

/// Entries of a leaf. Few enough that one overlapped round of cache misses fetches all of it.
pub const LEAF_ENTRIES: usize = if scaledb_sync::MODEL { 4 } else { 64 };
/// Children of an inner node. Inner nodes stay in caches; more children make fewer levels.
pub const INNER_CHILDREN: usize = if scaledb_sync::MODEL { 4 } else { 128 };

/// How a tree reads the key of a value.
///
/// # Safety
/// For one value, `key` always returns the same bytes, at most
/// [`MAX_KEY_BYTES`](scaledb_base::limits::MAX_KEY_BYTES) of them.
pub unsafe trait Entry {
    /// The key of the object that `raw` stands for.
    ///
    /// # Safety
    /// `raw` was inserted into a tree of this kind of entry, the caller is active since a time when the
    /// tree held it, and does not use the slice after that activity.
    unsafe fn key<'a>(raw: u64) -> &'a [u8];
}

/// Where a scan looks.
#[derive(Clone, Copy, Debug)]
pub enum Position<'a> {
    /// The leaf of the least keys.
    First,
    /// The leaf of the greatest keys.
    Last,
    /// The leaf that covers the key: `low <= key < high`.
    At(&'a [u8]),
    /// The leaf that covers what is just below the key: `low < key <= high`.
    Before(&'a [u8]),
}

/// An ordered index from keys to words; see the module. `L` entries in a leaf, `I` children in an
/// inner node.
pub struct BTree<E, const L: usize = LEAF_ENTRIES, const I: usize = INNER_CHILDREN> {
    anchor: CachePadded<Anchor>,
    domain: Arc<Domain>,
    generation: Arc<CachePadded<AtomicU64>>,
    /// Unlike any other tree of the generation counter.
    id: u64,
    entry: PhantomData<fn() -> E>,
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// An empty tree in the domain of `local`. `generation` counts splits and coalescences, and names
    /// parts; all trees of a database share it.
    ///
    /// # Errors
    /// [`OutOfMemory`](scaledb_base::Error::OutOfMemory).
    pub fn new(local: &mut Local, generation: Arc<CachePadded<AtomicU64>>) -> Result<Self> {
        let id = generation.fetch_add(1, Ordering::SeqCst) + 1;
        let block = local.alloc(size_of::<Leaf<L>>())?.cast::<Leaf<L>>();
        // SAFETY: the block has room for a leaf, is aligned to 64, and is ours.
        let leaf = unsafe {
            block.write(Leaf::new(Boundary::NONE, Boundary::NONE, std::ptr::null_mut(), id));
            block.as_ref()
        };
        scaledb_sync::names::name_of(leaf, "tree.leaf");
        drop(leaf.version.adopt());
        let anchor = CachePadded(Anchor::new(block.as_ptr().cast()));
        Ok(Self { anchor, domain: local.domain().clone(), generation, id, entry: PhantomData })
    }

    /// Panics unless pointers of this tree are protected by the caller's activity.
    #[inline(always)]
    fn assert_protected(&self, local: &Local) {
        local.assert_active();
        assert!(Arc::ptr_eq(&self.domain, local.domain()), "a worker of another database");
    }

    /// The next generation. The caller holds the locks of the leaves that change: whoever reads the
    /// counter afterwards finds them locked or changed.
    fn next_generation(&self) -> u64 {
        self.generation.fetch_add(1, Ordering::SeqCst) + 1
    }
}
