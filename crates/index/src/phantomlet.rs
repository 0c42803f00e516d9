//! The phantomlet: which parts of an index have keys that are not merged yet (design: ACC, steps Read 2,
//! C3, C5, M5 and M6).
//!
//! A *cell* speaks for the partitions whose ids hash to it; two that share one only cause a false check.
//!
//! # What the protocol needs, and who gives it
//! A worker that inserts a key does, in this order: **list** (append the item to its pending list), **bit**
//! (its owner bit), **count and seq** at once; then the fence of C4 and its timestamp. A merge does: tree
//! insert, item off the list, **count** down, **bit** off. A scan reads **count and seq**, **owners** and then
//! the leaf: the opposite of the order in which they are written. So
//!
//! - a scan that sees a post's seq sees its count, unless that was merged; a scan that sees the count without the seq
//!   sees the owner's bit and the owner's list with the item, unless that was merged;
//! - whoever sees a number from after the merge sees the leaf with the key, since it reads the leaf later;
//! - a scan that does not see a post's seq sees another seq when it validates, if the post came before the
//!   scan's timestamp: both sides have a full fence between their post and their validation (C4).
//!
//! `seq` never falls, so a seq that has not changed means that nothing was posted.
//!
//! # Orderings
//! Each step of a post is a release operation, each step of a read an acquire load, and so are the steps
//! back. With several writers to one word, the release sequence is kept up because every write is a
//! read-modify-write.

use scaledb_base::WorkerId;
use scaledb_base::limits::MAX_WORKERS;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::hint;

const OWNER_WORDS: usize = MAX_WORKERS / 64;

/// One cache line.
///
/// ```text
/// posts   63 .................. 24   23 ............ 0
///         seq, modulo 2^40           count
/// ```
/// - `count` = posts - unposts - merges: items that are on pending lists, or about to be. Far below 2^24: a
///   worker merges when it has some thousand.
/// - `seq` = posts ever. A transaction would have to last for 2^40 posts to one cell to take it for unchanged.
/// - bit `w` of `owners` is set if worker `w` has items on its list that are counted here.
#[repr(C, align(64))]
struct Cell {
    posts: AtomicU64,
    owners: [AtomicU64; OWNER_WORDS],
}

const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// One post: one more in `seq` and in `count`.
const POST: u64 = 1 << COUNT_BITS | 1;

/// A cell's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u32);

/// What a scan reads of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CellState {
    /// Items posted ever. The seqnos up to this one are taken.
    pub seq: u64,
    /// Items posted and not merged.
    pub count: u64,
    /// Workers that may have such items.
    pub owners: Owners,
}

/// A set of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Owners([u64; OWNER_WORDS]);

impl Owners {
    /// Whether the worker is one.
    pub fn contains(self, worker: WorkerId) -> bool {
        self.0[worker.index() / 64] >> (worker.index() % 64) & 1 != 0
    }

    /// The workers, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = WorkerId> {
        let mut words = self.0;
        std::iter::from_fn(move || {
            let at = words.iter().position(|&w| w != 0)?;
            let bit = words[at].trailing_zeros();
            words[at] &= words[at] - 1;
            Some(WorkerId((at * 64) as u8 + bit as u8))
        })
    }
}

/// The cells of one range index.
pub struct Phantomlet {
    cells: Box<[Cell]>,
    shift: u32,
}

impl Phantomlet {
    /// At least `cells` cells (a power of two), all empty.
    pub fn new(cells: usize) -> Self {
        let cells = cells.max(2).next_power_of_two();
        assert!(cells <= 1 << 31, "a phantomlet has a cell for each busy leaf, not for each key");
        let cell = || Cell { posts: AtomicU64::new(0), owners: std::array::from_fn(|_| AtomicU64::new(0)) };
        let shift = 64 - cells.trailing_zeros();
        let cells: Box<[Cell]> = (0..cells).map(|_| cell()).collect();
        scaledb_sync::names::name_all(&cells, "phantomlet.cell");
        Self { cells, shift }
    }

    /// The cell of a partition.
    #[inline]
    pub fn cell_of(&self, part: u64) -> CellId {
        // multiplicative hashing: ids that follow each other land far apart
        CellId((part.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as u32)
    }

    #[inline(always)]
    fn cell(&self, cell: CellId) -> &Cell {
        &self.cells[cell.0 as usize]
    }

    /// Step C3, after the items are on the worker's pending list. Returns the first of `n` seqnos; the
    /// others follow it. Called by the worker itself, or with its lane locked.
    #[inline]
    pub fn post(&self, cell: CellId, worker: WorkerId, n: u64) -> u64 {
        let cell = self.cell(cell);
        let (word, bit) = (&cell.owners[worker.index() / 64], 1 << (worker.index() % 64));
        // relaxed: only this worker, or who holds its lane, changes the bit
        if word.load(Ordering::Relaxed) & bit == 0 {
            // release: pairs with the acquire load in `read`: a scan that sees the bit sees the list
            word.fetch_or(bit, Ordering::Release);
        }
        // release: pairs with the acquire load in `read`: a scan that sees the count and the seq sees list and bit
        let before = cell.posts.fetch_add(n * POST, Ordering::Release);
        debug_assert!((before & COUNT) + n <= COUNT, "the count stays below its bits");
        (before >> COUNT_BITS) + 1
    }

    /// An abort takes `n` posts back. Their seqnos stay taken.
    #[inline]
    pub fn unpost(&self, cell: CellId, n: u64) {
        // release: pairs with the acquire load in `read`; nothing needs to be seen with it but order
        let before = self.cell(cell).posts.fetch_sub(n, Ordering::Release);
        assert!(before & COUNT >= n, "what is taken back was counted");
    }

    /// Step M5: `n` items are in the tree. (They have left the pending list before: M4.)
    #[inline]
    pub fn merged(&self, cell: CellId, n: u64) {
        // release: pairs with the acquire load in `read`: a scan that misses them in the count sees them in the tree
        let before = self.cell(cell).posts.fetch_sub(n, Ordering::Release);
        // a count that is too low would hide keys from scans; once for each run of a merge, this costs nothing
        assert!(before & COUNT >= n, "what is merged was counted");
    }

    /// Step M6: the worker has no more items here. Called by the worker itself, or with its lane locked.
    #[inline]
    pub fn clear_owner(&self, cell: CellId, worker: WorkerId) {
        let bit = 1u64 << (worker.index() % 64);
        // release: pairs with the acquire load in `read`: a scan that misses the bit sees the items in the tree
        self.cell(cell).owners[worker.index() / 64].fetch_and(!bit, Ordering::Release);
    }

    /// Steps Read (2) and C5: the numbers first, owners last. What is read of the leaf afterwards is at least as
    /// new as what the result says.
    #[inline]
    pub fn read(&self, cell: CellId) -> CellState {
        let cell = self.cell(cell);
        // acquire, all: pair with the release operations above, and keep this order
        let posts = cell.posts.load(Ordering::Acquire);
        let owners = Owners(std::array::from_fn(|i| cell.owners[i].load(Ordering::Acquire)));
        CellState { seq: posts >> COUNT_BITS, count: posts & COUNT, owners }
    }

    /// The cell's seq alone: all that step C5 needs when nothing happened.
    #[inline]
    pub fn seq(&self, cell: CellId) -> u64 {
        // acquire: pairs with the release in `post`; the leaf is read later
        self.cell(cell).posts.load(Ordering::Acquire) >> COUNT_BITS
    }

    /// Asks for the cell's cache line.
    #[inline]
    pub fn prefetch(&self, cell: CellId) {
        hint::prefetch(self.cell(cell));
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Memory in use.
    pub fn bytes(&self) -> u64 {
        size_of_val(&*self.cells) as u64
    }
}
