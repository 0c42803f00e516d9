use std::ops::{Deref, DerefMut};

/// Keeps `T` on cache lines of its own. Two lines, because the adjacent-line prefetcher of x86-64
/// fetches lines in pairs and would make neighbours share all the same.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
