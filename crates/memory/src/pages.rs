//! Chunks of huge pages from the system.

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
        let chunk = map()?;
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
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: from `map`, and nobody has a part of it any more.
        unsafe { unmap(self.0) }
    }
}

/// A chunk's worth of memory, aligned to a chunk. From the system itself: the allocator would keep what it is given
/// back among what is in use.
#[cfg(all(target_os = "linux", not(miri)))]
fn map() -> Option<NonNull<u8>> {
    let map = |bytes: usize| {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new range, wherever the system likes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast::<u8>()) }
    };
    let give_back = |start: NonNull<u8>, bytes: usize| {
        if bytes > 0 {
            // SAFETY: a part of a range that was mapped here, which nobody uses.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        }
    };
    // beside the last one, where it is aligned, too: so are most
    let start = map(CHUNK)?;
    if start.addr().get().is_multiple_of(CHUNK) {
        return Some(start);
    }
    give_back(start, CHUNK);
    let start = map(2 * CHUNK)?;
    let before = start.addr().get().next_multiple_of(CHUNK) - start.addr().get();
    // SAFETY: both are inside of the range.
    let (chunk, behind) = unsafe { (start.add(before), start.add(before + CHUNK)) };
    give_back(start, before);
    give_back(behind, CHUNK - before);
    Some(chunk)
}

/// Gives the memory of a chunk back to the system.
///
/// # Safety
/// It is from [`map`], and nobody uses it any more.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn unmap(chunk: NonNull<u8>) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(chunk.as_ptr().cast(), CHUNK) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
const LAYOUT: std::alloc::Layout = match std::alloc::Layout::from_size_align(CHUNK, CHUNK) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// A chunk's worth of memory, aligned to a chunk.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn map() -> Option<NonNull<u8>> {
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { std::alloc::alloc(LAYOUT) })
}

/// Gives the memory of a chunk back.
///
/// # Safety
/// It is from [`map`], and nobody uses it any more.
#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn unmap(chunk: NonNull<u8>) {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(chunk.as_ptr(), LAYOUT) }
}
