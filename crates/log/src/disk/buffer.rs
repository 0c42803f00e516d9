//! Memory that is written from.

use aligned_vec::{AVec, ConstAlign};
use std::ops::{Deref, DerefMut};

/// The size of a huge page, where there are some.
const HUGE: usize = 2 << 20;

/// From so many bytes on a buffer takes a huge page.
const LARGE: usize = 256 << 10;

/// Bytes that lie in huge pages, if they are many and the system has such pages: then a write past the page cache is
/// one piece of memory for the disk, and not one for each 4096 bytes, all of which have to be looked up and held.
/// They start at a multiple of [`ALIGNMENT`](super::ALIGNMENT).
#[derive(Debug)]
pub struct Buffer {
    bytes: AVec<u8, ConstAlign<HUGE>>,
}

impl Buffer {
    /// An empty buffer without memory.
    pub fn new() -> Self {
        Self { bytes: AVec::new(HUGE) }
    }

    /// Makes room for `more` bytes.
    #[inline]
    fn reserve(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let mut wanted = needed.max(2 * self.bytes.capacity());
        if wanted >= LARGE {
            wanted = wanted.next_multiple_of(HUGE);
        }
        // before there is content: its pages would be there already
        let mut grown = AVec::with_capacity(HUGE, wanted);
        if wanted >= LARGE {
            in_huge_pages(&mut grown);
        }
        grown.extend_from_slice(&self.bytes);
        self.bytes = grown;
    }

    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes it so long, with zeros behind its content.
    pub fn resize(&mut self, len: usize) {
        self.reserve(len.saturating_sub(self.bytes.len()));
        self.bytes.resize(len, 0);
    }

    /// Makes it empty; it keeps its memory, up to so many bytes.
    pub fn clear(&mut self, kept: usize) {
        if self.bytes.capacity() > kept {
            *self = Self::new();
        }
        self.bytes.clear();
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Asks for huge pages, before the memory is used. Whether there are any is the system's affair.
fn in_huge_pages(bytes: &mut AVec<u8, ConstAlign<HUGE>>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::mm::{Advice, madvise};
        // SAFETY: the range is that of the allocation, which is exclusively borrowed. It begins with a page, and the
        // advice changes neither its content nor that of what may follow in its last page.
        let _ = unsafe { madvise(bytes.as_mut_ptr().cast(), bytes.capacity(), Advice::LinuxHugepage) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_put_into_it() {
        let mut buffer = Buffer::new();
        let mut model = Vec::new();
        for round in 0..3u8 {
            for (len, byte) in [(1, 7), (4096, 1), (3 << 20, 2), (17, 3)] {
                let bytes = vec![byte + round; len];
                buffer.extend_from_slice(&bytes);
                model.extend_from_slice(&bytes);
                buffer.resize(model.len().next_multiple_of(4096));
                model.resize(model.len().next_multiple_of(4096), 0);
            }
            assert!(*buffer == *model && buffer.as_ptr().addr().is_multiple_of(super::super::ALIGNMENT));
            buffer.clear(if round == 0 { usize::MAX } else { 1 << 20 });
            model.clear();
        }
    }
}
