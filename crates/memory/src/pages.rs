//! Chunks of huge pages from the system.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Bytes of a chunk, and its alignment: one huge page of x86-64.
pub(crate) const CHUNK: usize = 2 << 20;

/// The system's allocator keeps pages between what is in use, which may be many after a huge transaction: has it give
/// them to the system.
pub(crate) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: asks for nothing; what is in use stays where it is.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// One chunk; given back to the system when dropped.
pub(crate) struct Chunk(NonNull<u8>);

// SAFETY: a chunk is plain memory, owned by whoever holds this value.
unsafe impl Send for Chunk {}

impl Chunk {
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: the layout has a size.
        let chunk = NonNull::new(unsafe { alloc(Self::layout()) })?;
        #[cfg(all(target_os = "linux", not(miri)))]
        // SAFETY: the range is ours. The advice may fail (no huge pages): small ones do then.
        unsafe {
            libc::madvise(chunk.as_ptr().cast(), CHUNK, libc::MADV_HUGEPAGE);
        }
        Some(Self(chunk))
    }

    /// Has the system provide all pages of the chunk now, so that the first use of each does not wait.
    pub(crate) fn touch(&self) {
        for page in (0..CHUNK).step_by(4096) {
            // SAFETY: inside the chunk, which nobody else knows yet.
            unsafe { self.0.add(page).write_volatile(0) };
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0
    }

    fn layout() -> Layout {
        Layout::from_size_align(CHUNK, CHUNK).expect("a constant layout")
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.0.as_ptr(), Self::layout()) }
    }
}
