//! Boundaries between leaves: immutable key bytes in a block of their own.
//!
//! A boundary is made when a leaf splits, and is then, by the same pointer, the high fence of the
//! left leaf, the low fence of the right one, one separator above them, and the fences of the inner
//! nodes that begin or end there. All of them vanish together when the two leaves coalesce, so a
//! boundary has one owner, the leaf that it is the high fence of, and is retired then.

use super::search::head;
use scaledb_base::Result;
use scaledb_memory::Local;
use std::ptr::NonNull;

/// A pointer to a boundary's length (`u16`) and bytes, or null: beyond every key.
///
/// Invariant: whoever has one that a node's version has confirmed may read it, within the activity
/// in which the node was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary(*mut u8);

const LENGTH: usize = size_of::<u16>();

impl Boundary {
    /// No bound.
    pub(super) const NONE: Self = Self(std::ptr::null_mut());

    pub(super) fn new(local: &mut Local, bytes: &[u8]) -> Result<Self> {
        let block = local.alloc(LENGTH + bytes.len())?.as_ptr();
        // SAFETY: the block has room for length and bytes, is aligned to 8, and nobody else has it.
        unsafe {
            block.cast::<u16>().write(bytes.len() as u16);
            block.add(LENGTH).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        scaledb_sync::names::name(block, LENGTH + bytes.len(), "tree.boundary");
        Ok(Self(block))
    }

    #[inline(always)]
    pub(super) fn from_ptr(pointer: *mut u8) -> Self {
        Self(pointer)
    }

    #[inline(always)]
    pub(super) fn as_ptr(self) -> *mut u8 {
        self.0
    }

    /// The bytes, unless there is no bound. The caller has confirmed the boundary, see the type; the
    /// slice must not outlive the call of the tree that it is made in.
    #[inline(always)]
    pub(super) fn bytes<'t>(self) -> Option<&'t [u8]> {
        let block = NonNull::new(self.0)?;
        // SAFETY: made by `new`, immutable since, and not reclaimed within the caller's activity.
        unsafe {
            let length = block.cast::<u16>().read() as usize;
            Some(std::slice::from_raw_parts(block.as_ptr().add(LENGTH), length))
        }
    }

    /// The head of a low fence or separator behind a prefix; 0 where there is no bound.
    pub(super) fn head(self, prefix: usize) -> u64 {
        self.bytes().map_or(0, |bytes| head(bytes, prefix))
    }

    /// The head of a high fence, without prefix: all ones where there is no bound.
    pub(super) fn head_above(self) -> u64 {
        self.bytes().map_or(u64::MAX, |bytes| head(bytes, 0))
    }

    /// Whether this, as a low fence, lets `key` in.
    pub(super) fn is_at_most(self, key: &[u8]) -> bool {
        self.bytes().is_none_or(|bytes| bytes <= key)
    }

    /// Whether this, as a high fence, lets `key` in.
    pub(super) fn is_above(self, key: &[u8]) -> bool {
        self.bytes().is_none_or(|bytes| key < bytes)
    }

    /// The size of its block.
    pub(super) fn block(self) -> usize {
        self.bytes().map_or(0, |bytes| LENGTH + bytes.len())
    }

    /// Gives the block back once nobody can see it any more.
    ///
    /// # Safety
    /// No node that can be reached has it any more.
    pub(super) unsafe fn retire(self, local: &mut Local) {
        if let Some(block) = NonNull::new(self.0) {
            // SAFETY: allocated by `new` for as many bytes; the rest is the caller's promise.
            unsafe { local.retire(block, self.block()) };
        }
    }

    /// Gives the block back at once.
    ///
    /// # Safety
    /// Nobody has it any more.
    pub(super) unsafe fn free(self, local: &mut Local) {
        if let Some(block) = NonNull::new(self.0) {
            // SAFETY: allocated by `new` for as many bytes; the rest is the caller's promise.
            unsafe { local.free(block, self.block()) };
        }
    }
}

/// Length of the prefix that all keys between two boundaries share: `low < high`.
pub(super) fn common(low: Boundary, high: Boundary) -> usize {
    match (low.bytes(), high.bytes()) {
        (Some(low), Some(high)) => {
            debug_assert!(low < high, "between two fences are keys");
            low.iter().zip(high).take_while(|(l, h)| l == h).count()
        }
        _ => 0,
    }
}
