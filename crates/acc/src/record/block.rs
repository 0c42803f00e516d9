//! The memory of a record: what its first word says of it, and the block for a row that has outgrown it.

use super::MAX_INLINE;
use scaledb_base::Result;
use scaledb_base::limits::{MAX_GROUPS, MAX_KEY_BYTES, MAX_ROW_BYTES};
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use std::ptr::NonNull;

/// What a shape has room for, in bits.
const ROW_BITS: u32 = 32;
const CAPACITY_BITS: u32 = 16;
const KEY_BITS: u32 = 11;

// what is checked where keys and rows enter fits a shape
const _: () = assert!(MAX_ROW_BYTES / 8 < 1 << ROW_BITS && MAX_INLINE < 1 << CAPACITY_BITS);
const _: () = assert!(MAX_KEY_BYTES < 1 << KEY_BITS && MAX_GROUPS <= 4);

/// The immutable and the guarded facts about a record's memory.
///
/// ```text
///  63   62         61         60 .. 59     58 ...... 48   47 ..... 32   31 ...... 0
///       enlisted   overflow   groups - 1   key length     capacity      row words
/// ```
#[derive(Clone, Copy)]
pub(super) struct Shape(pub(super) u64);

impl Shape {
    pub(super) fn new(row_words: usize, capacity: usize, key_len: usize, groups: usize) -> Self {
        debug_assert!(row_words < 1 << ROW_BITS && capacity < 1 << CAPACITY_BITS && key_len < 1 << KEY_BITS);
        debug_assert!((1..=MAX_GROUPS).contains(&groups));
        Self(row_words as u64 | (capacity as u64) << 32 | (key_len as u64) << 48 | (groups as u64 - 1) << 59)
    }
    pub(super) fn row_words(self) -> usize {
        self.0 as u32 as usize
    }
    pub(super) fn capacity(self) -> usize {
        usize::from((self.0 >> 32) as u16)
    }
    pub(super) fn key_len(self) -> usize {
        (self.0 >> 48) as usize & 0x7FF
    }
    pub(super) fn groups(self) -> usize {
        ((self.0 >> 59) as usize & 3) + 1
    }
    pub(super) fn overflows(self) -> bool {
        self.0 >> 61 & 1 == 1
    }
    pub(super) fn with_row_words(self, row_words: usize) -> Self {
        debug_assert!(row_words < 1 << ROW_BITS);
        Self(self.0 & !0xFFFF_FFFF | row_words as u64)
    }
    pub(super) fn with_overflow(self) -> Self {
        Self(self.0 | 1 << 61)
    }
    pub(super) fn is_enlisted(self) -> bool {
        self.0 >> 62 & 1 == 1
    }
    pub(super) fn with_enlisted(self, enlisted: bool) -> Self {
        Self(self.0 & !(1 << 62) | u64::from(enlisted) << 62)
    }
}

/// A block for a row that outgrew its record: its capacity in words, then the row.
#[derive(Debug)]
pub struct Overflow(pub(super) NonNull<AtomicU64>);

impl Overflow {
    pub(super) fn bytes(capacity: usize) -> usize {
        (capacity + 1) * size_of::<AtomicU64>()
    }

    /// A block for rows of up to `capacity` words.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    pub fn create(local: &mut Local, capacity: usize) -> Result<Self> {
        let block = local.alloc(Self::bytes(capacity))?.cast::<AtomicU64>();
        for i in 0..=capacity {
            // SAFETY: the block has capacity + 1 words.
            unsafe { block.add(i).write(AtomicU64::new(if i == 0 { capacity as u64 } else { 0 })) };
        }
        Ok(Self(block))
    }

    /// The words that a row may have.
    pub(super) fn capacity(&self) -> usize {
        // SAFETY: the block is ours.
        unsafe { self.0.as_ref() }.load(Ordering::Relaxed) as usize // immutable
    }

    /// Gives back a block that no record refers to.
    pub fn discard(self, local: &mut Local) {
        let bytes = Self::bytes(self.capacity());
        // SAFETY: the block is ours.
        unsafe { local.free(self.0.cast(), bytes) };
    }
}
