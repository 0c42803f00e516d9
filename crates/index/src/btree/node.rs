//! How nodes lie in memory.
//!
//! ```text
//! Leaf<N>                                             line   Inner<N>                                  line
//! ┌─────────────────────────────────────────────────┐        ┌───────────────────────────────────────┐
//! │ version meta part next low high low8 high8      │ 0      │ version meta high                     │ 0
//! │ inherit_all, inherited: 3 × (part, generation)  │ 1      │ heads: N × u64      (of separators)   │ 1
//! │ heads:  N × u64   8 key bytes behind the prefix │ 2      │ seps: N × boundary  (= child's low)   │
//! │ values: N × u64                                 │ 2+N/8  │ children: N × pointer                 │
//! └─────────────────────────────────────────────────┘        └───────────────────────────────────────┘
//! ```
//!
//! Every field is atomic, is written only by the holder of the node's lock, and is read by anybody
//! under the version protocol; so all plain accesses are Relaxed, and [`VersionLock`] orders them.
//!
//! Invariants of a quiet tree, for a node with fences `low <= k < high` (null: unbounded):
//! - `prefix` = length of the common prefix of `low` and `high`; 0 if one is unbounded.
//! - `heads[i]` = bytes `prefix..prefix+8` of key `i`, big endian, zeros behind the key's end.
//! - keys `0..count` ascend strictly, so `heads` ascend weakly.
//! - leaf: `low8`, `high8` = the first eight bytes of the fences; 0 and all ones where unbounded.
//! - leaf: `key_len` = the length of every key, or [`MIXED`]; `next.low == high`; `low` never changes.
//! - inner: `seps[i] == children[i].low`; `children[i].high == seps[i+1]`, or `high` for the last.

use super::boundary::{Boundary, common};
use super::version::VersionLock;
use scaledb_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use scaledb_sync::hint::prefetch;
use std::array::from_fn;

/// `key_len` of a leaf whose keys differ in length.
pub(super) const MIXED: usize = u16::MAX as usize;

/// Parts that a leaf remembers one by one.
pub(super) const INHERITED: usize = if scaledb_sync::MODEL { 2 } else { 3 };

/// All that is Relaxed here is ordered by the node's [`VersionLock`].
const PLAIN: Ordering = Ordering::Relaxed;

/// Begins on a cache line.
#[repr(C, align(64))]
struct Lines<T>(T);

/// What both kinds of node begin with; the type that untyped child pointers point to.
#[repr(C)]
pub(super) struct Node {
    pub(super) version: VersionLock,
}

/// See `parts`.
struct Inheritance {
    all: AtomicU64,
    list: [(AtomicU64, AtomicU64); INHERITED],
}

/// A node that holds entries.
#[repr(C, align(64))]
pub(super) struct Leaf<const N: usize> {
    pub(super) version: VersionLock,
    meta: AtomicU64,
    part: AtomicU64,
    next: AtomicPtr<Leaf<N>>,
    low: AtomicPtr<u8>,
    high: AtomicPtr<u8>,
    low8: AtomicU64,
    high8: AtomicU64,
    inheritance: Lines<Inheritance>,
    heads: Lines<[AtomicU64; N]>,
    values: [AtomicU64; N],
}

// the arena's classes fit these sizes
const _: () = assert!(scaledb_sync::MODEL || size_of::<Leaf<64>>() == 18 * 64);
const _: () = assert!(scaledb_sync::MODEL || size_of::<Inner<128>>() == 49 * 64);

/// A node that holds children.
#[repr(C, align(64))]
pub(super) struct Inner<const N: usize> {
    pub(super) version: VersionLock,
    meta: AtomicU64,
    high: AtomicPtr<u8>,
    heads: Lines<[AtomicU64; N]>,
    seps: [AtomicPtr<u8>; N],
    children: [AtomicPtr<Node>; N],
}

/// The small numbers of a leaf, packed in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) count: usize,
    pub(super) prefix: usize,
    pub(super) key_len: usize,
    /// Where the next insert would be if inserts ascend.
    pub(super) expect: usize,
    /// How many inserts in a row went where they were expected.
    pub(super) run: usize,
    pub(super) inherited: usize,
}

impl Meta {
    #[inline(always)]
    fn unpack(word: u64) -> Self {
        Self {
            count: word as u8 as usize,
            expect: (word >> 8) as u8 as usize,
            run: (word >> 16) as u8 as usize,
            inherited: (word >> 24) as u8 as usize,
            prefix: (word >> 32) as u16 as usize,
            key_len: (word >> 48) as u16 as usize,
        }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        debug_assert!(
            self.count < 1 << 8 && self.expect < 1 << 8 && self.run < 1 << 8 && self.inherited < 1 << 8
        );
        debug_assert!(self.prefix < 1 << 16 && self.key_len < 1 << 16);
        self.count as u64
            | (self.expect as u64) << 8
            | (self.run as u64) << 16
            | (self.inherited as u64) << 24
            | (self.prefix as u64) << 32
            | (self.key_len as u64) << 48
    }

    /// Whether equal heads of keys of length `key_len` mean equal keys.
    #[inline(always)]
    pub(super) fn heads_are_keys(&self) -> bool {
        self.key_len <= self.prefix + 8
    }
}

impl<const N: usize> Leaf<N> {
    /// An empty leaf in the hands of its maker.
    pub(super) fn new(low: Boundary, high: Boundary, next: *mut Self, part: u64) -> Self {
        const { assert!(N >= 4 && N < 256) };
        let meta =
            Meta { count: 0, prefix: common(low, high), key_len: MIXED, expect: 0, run: 0, inherited: 0 };
        Self {
            version: VersionLock::new_locked(),
            meta: AtomicU64::new(meta.pack()),
            part: AtomicU64::new(part),
            next: AtomicPtr::new(next),
            low: AtomicPtr::new(low.as_ptr()),
            high: AtomicPtr::new(high.as_ptr()),
            low8: AtomicU64::new(low.head(0)),
            high8: AtomicU64::new(high.head_above()),
            inheritance: Lines(Inheritance {
                all: AtomicU64::new(0),
                list: from_fn(|_| (AtomicU64::new(0), AtomicU64::new(0))),
            }),
            heads: Lines(from_fn(|_| AtomicU64::new(0))),
            values: from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Asks for every line that a search touches, in one round.
    #[inline(always)]
    pub(super) fn prefetch(this: *const Self) {
        let base = this.cast::<u8>();
        prefetch(base);
        let mut offset = std::mem::offset_of!(Self, heads);
        while offset < size_of::<Self>() {
            prefetch(base.wrapping_add(offset));
            offset += 64;
        }
    }

    #[inline(always)]
    pub(super) fn meta(&self) -> Meta {
        let mut meta = Meta::unpack(self.meta.load(PLAIN));
        meta.count = meta.count.min(N); // holds anyway; spares the bounds checks
        meta
    }

    #[inline(always)]
    pub(super) fn set_meta(&self, meta: Meta) {
        debug_assert!(meta.count <= N && meta.inherited <= INHERITED);
        self.meta.store(meta.pack(), PLAIN);
    }

    #[inline(always)]
    pub(super) fn part(&self) -> u64 {
        self.part.load(PLAIN)
    }

    pub(super) fn set_part(&self, part: u64) {
        self.part.store(part, PLAIN);
    }

    #[inline(always)]
    pub(super) fn next(&self) -> *mut Self {
        self.next.load(PLAIN)
    }

    pub(super) fn set_next(&self, next: *mut Self) {
        self.next.store(next, PLAIN);
    }

    #[inline(always)]
    pub(super) fn low(&self) -> Boundary {
        Boundary::from_ptr(self.low.load(PLAIN))
    }

    #[inline(always)]
    pub(super) fn high(&self) -> Boundary {
        Boundary::from_ptr(self.high.load(PLAIN))
    }

    pub(super) fn set_high(&self, high: Boundary) {
        self.high.store(high.as_ptr(), PLAIN);
        self.high8.store(high.head_above(), PLAIN);
    }

    /// Whether a key that begins with `head` is not below the low fence; `None` if that takes more
    /// than eight bytes to tell.
    #[inline(always)]
    pub(super) fn is_above_low(&self, head: u64) -> Option<bool> {
        let low = self.low8.load(PLAIN);
        (head != low).then_some(head > low)
    }

    /// Whether a key that begins with `head` is below the high fence, as [`Leaf::is_above_low`].
    #[inline(always)]
    pub(super) fn is_below_high(&self, head: u64) -> Option<bool> {
        let high = self.high8.load(PLAIN);
        (head != high).then_some(head < high)
    }

    #[inline(always)]
    pub(super) fn inherit_all(&self) -> u64 {
        self.inheritance.0.all.load(PLAIN)
    }

    pub(super) fn set_inherit_all(&self, generation: u64) {
        self.inheritance.0.all.store(generation, PLAIN);
    }

    #[inline(always)]
    pub(super) fn inherited(&self, i: usize) -> (u64, u64) {
        let (part, generation) = &self.inheritance.0.list[i];
        (part.load(PLAIN), generation.load(PLAIN))
    }

    pub(super) fn set_inherited(&self, i: usize, (part, generation): (u64, u64)) {
        self.inheritance.0.list[i].0.store(part, PLAIN);
        self.inheritance.0.list[i].1.store(generation, PLAIN);
    }

    #[inline(always)]
    pub(super) fn heads(&self) -> &[AtomicU64; N] {
        &self.heads.0
    }

    #[inline(always)]
    pub(super) fn head(&self, i: usize) -> u64 {
        self.heads.0[i].load(PLAIN)
    }

    #[inline(always)]
    pub(super) fn value(&self, i: usize) -> u64 {
        self.values[i].load(PLAIN)
    }

    /// Replaces a value in place, visible to readers that do not notice the lock.
    pub(super) fn swap_value(&self, i: usize, value: u64) {
        // pairs with the Acquire fence of `VersionLock::validate`: whoever reads the new value sees
        // the object that it points to, although the version does not change
        self.values[i].store(value, Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn set_entry(&self, i: usize, head: u64, value: u64) {
        self.heads.0[i].store(head, PLAIN);
        self.values[i].store(value, PLAIN);
    }

    /// Makes room at `at` among `count` entries, and fills it.
    #[inline(always)]
    pub(super) fn insert_entry(&self, at: usize, count: usize, head: u64, value: u64) {
        shift_up(&self.heads.0, at, count, |from, to| to.store(from.load(PLAIN), PLAIN));
        shift_up(&self.values, at, count, |from, to| to.store(from.load(PLAIN), PLAIN));
        self.set_entry(at, head, value);
        // a model checker would take the loads for steps of the protocol
        debug_assert!(scaledb_sync::MODEL || ascends(&self.heads.0, at, count + 1), "heads ascend weakly");
    }

    /// Closes the gap of entry `at` among `count` entries.
    pub(super) fn remove_entry(&self, at: usize, count: usize) {
        for i in at + 1..count {
            self.set_entry(i - 1, self.head(i), self.value(i));
        }
    }
}

/// Whether head `at` of `count` fits between its neighbours.
fn ascends(heads: &[AtomicU64], at: usize, count: usize) -> bool {
    let around = &heads[at.saturating_sub(1)..count.min(at + 2)];
    around.is_sorted_by_key(|head| head.load(PLAIN))
}

#[inline(always)]
fn shift_up<T>(slots: &[T], at: usize, count: usize, copy: impl Fn(&T, &T)) {
    let slots = &slots[at..=count];
    for i in (1..slots.len()).rev() {
        copy(&slots[i - 1], &slots[i]);
    }
}

impl<const N: usize> Inner<N> {
    /// A node without children, in the hands of its maker.
    pub(super) fn new(high: Boundary) -> Self {
        const { assert!(N >= 4 && N < 256) };
        Self {
            version: VersionLock::new_locked(),
            meta: AtomicU64::new(0),
            high: AtomicPtr::new(high.as_ptr()),
            heads: Lines(from_fn(|_| AtomicU64::new(0))),
            seps: from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
            children: from_fn(|_| AtomicPtr::new(std::ptr::null_mut())),
        }
    }

    /// Asks for every line that a search touches.
    #[inline(always)]
    pub(super) fn prefetch(this: *const Self) {
        let base = this.cast::<u8>();
        let mut offset = 0;
        while offset < std::mem::offset_of!(Self, seps) {
            prefetch(base.wrapping_add(offset));
            offset += 64;
        }
    }

    /// Children, and length of the prefix that all keys share.
    #[inline(always)]
    pub(super) fn meta(&self) -> (usize, usize) {
        let word = self.meta.load(PLAIN);
        ((word as u16 as usize).min(N), (word >> 16) as usize)
    }

    /// The number of children.
    pub(super) fn count(&self) -> usize {
        self.meta().0
    }

    #[inline(always)]
    pub(super) fn heads(&self) -> &[AtomicU64; N] {
        &self.heads.0
    }

    #[inline(always)]
    pub(super) fn child(&self, i: usize) -> *mut Node {
        self.children[i].load(PLAIN)
    }

    /// The low fence of child `i`.
    #[inline(always)]
    pub(super) fn sep(&self, i: usize) -> Boundary {
        Boundary::from_ptr(self.seps[i].load(PLAIN))
    }

    pub(super) fn high(&self) -> Boundary {
        Boundary::from_ptr(self.high.load(PLAIN))
    }

    /// Lets the node end at `high`; [`Inner::set_count`] must follow.
    pub(super) fn set_high(&self, high: Boundary) {
        self.high.store(high.as_ptr(), PLAIN);
    }

    /// Puts a child in place; [`Inner::set_count`] must follow.
    pub(super) fn set_child(&self, i: usize, sep: Boundary, child: *mut Node) {
        self.seps[i].store(sep.as_ptr(), PLAIN);
        self.children[i].store(child, PLAIN);
    }

    /// Sets the number of children, and derives prefix and heads from fences and separators.
    pub(super) fn set_count(&self, count: usize) {
        let prefix = common(self.sep(0), self.high());
        self.meta.store(count as u64 | (prefix as u64) << 16, PLAIN);
        for i in 0..count {
            self.heads.0[i].store(self.sep(i).head(prefix), PLAIN);
        }
        debug_assert!(count <= N);
        debug_assert!(
            scaledb_sync::MODEL || self.heads.0[..count].is_sorted_by_key(|head| head.load(PLAIN)),
            "separators ascend"
        );
    }

    /// Inserts a child that begins at `sep`.
    pub(super) fn insert_child(&self, at: usize, sep: Boundary, child: *mut Node) {
        let (count, prefix) = self.meta();
        shift_up(&self.heads.0, at, count, |from, to| to.store(from.load(PLAIN), PLAIN));
        shift_up(&self.seps, at, count, |from, to| to.store(from.load(PLAIN), PLAIN));
        shift_up(&self.children, at, count, |from, to| to.store(from.load(PLAIN), PLAIN));
        self.heads.0[at].store(sep.head(prefix), PLAIN);
        self.set_child(at, sep, child);
        debug_assert!(scaledb_sync::MODEL || ascends(&self.heads.0, at, count + 1), "separators ascend");
        self.meta.store((count + 1) as u64 | (prefix as u64) << 16, PLAIN);
    }

    /// Takes out child `at`, which is not the first; what it covered falls to the child before it.
    pub(super) fn remove_child(&self, at: usize) {
        let (count, prefix) = self.meta();
        debug_assert!(0 < at && at < count, "the first child stays");
        for i in at + 1..count {
            self.heads.0[i - 1].store(self.heads.0[i].load(PLAIN), PLAIN);
            self.set_child(i - 1, self.sep(i), self.child(i));
        }
        self.meta.store((count - 1) as u64 | (prefix as u64) << 16, PLAIN);
    }
}
