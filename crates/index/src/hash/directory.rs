//! The directory of a hash index: which segment holds the hashes with which leading bits.

use super::segment::Segment;
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicPtr, Ordering};
use scaledb_sync::names;
use std::ptr::NonNull;

/// A power-of-two array of segments, behind this head in one block. A segment whose depth is less than
/// the directory's stands in a run of neighbouring entries.
#[repr(C)]
pub(crate) struct Directory {
    /// Leading bits of a hash that name an entry: 1 or more.
    depth: u32,
}

impl Directory {
    const HEAD: usize = size_of::<Self>().next_multiple_of(align_of::<AtomicPtr<Segment>>());

    /// The size of the block of a directory.
    pub(crate) fn bytes(depth: u32) -> usize {
        Self::HEAD + (size_of::<AtomicPtr<Segment>>() << depth)
    }

    /// A directory of `1 << depth` entries that nobody can see yet.
    pub(crate) fn create(
        local: &mut Local,
        depth: u32,
        segment: impl Fn(usize) -> NonNull<Segment>,
    ) -> Result<NonNull<Self>> {
        let block = local.alloc(Self::bytes(depth))?.cast::<Self>();
        // SAFETY: the block is large enough for the head and the entries, aligned to 8, and ours.
        unsafe {
            block.write(Self { depth });
            let entries = block.byte_add(Self::HEAD).cast::<AtomicPtr<Segment>>();
            for i in 0..1 << depth {
                entries.add(i).write(AtomicPtr::new(segment(i).as_ptr()));
            }
        }
        names::name(block.as_ptr(), Self::bytes(depth), "hash.directory");
        Ok(block)
    }

    /// The directory's depth.
    ///
    /// # Safety
    /// `this` is from `create` and not freed.
    #[inline(always)]
    pub(crate) unsafe fn depth(this: NonNull<Self>) -> u32 {
        // SAFETY: the caller's promise; the field never changes.
        unsafe { (*this.as_ptr()).depth }
    }

    /// The entries.
    ///
    /// # Safety
    /// `this` is from `create` and not freed while the slice is in use.
    #[inline(always)]
    pub(crate) unsafe fn entries<'a>(this: NonNull<Self>) -> &'a [AtomicPtr<Segment>] {
        // SAFETY: `create` wrote that many entries behind the head.
        unsafe {
            let entries = this.byte_add(Self::HEAD).cast::<AtomicPtr<Segment>>();
            std::slice::from_raw_parts(entries.as_ptr(), 1 << Self::depth(this))
        }
    }

    /// The segment that holds `hash`: with the pointer that it was made with, so that whoever replaces it
    /// may free it.
    ///
    /// # Safety
    /// As for `entries`; the caller may use the segment as long as it is active.
    #[inline(always)]
    pub(crate) unsafe fn segment(this: NonNull<Self>, hash: u64) -> NonNull<Segment> {
        // SAFETY: the index has at most `depth` bits. Entries are never null, and a segment that was
        // replaced is retired, not freed.
        unsafe {
            let at = (hash >> (64 - Self::depth(this))) as usize;
            let entry = Self::entries(this).get_unchecked(at);
            // acquire: pairs with the release store that put the segment there
            NonNull::new_unchecked(entry.load(Ordering::Acquire))
        }
    }
}
