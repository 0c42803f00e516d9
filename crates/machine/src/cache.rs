//! Tags of set-associative caches, least recently used out first.

/// The sets of a cache's tags, each ordered by use.
pub(crate) struct Tags {
    tags: Box<[u32]>,
    ways: usize,
    /// Sets less one; a power of two less one.
    mask: u32,
}

impl Tags {
    /// Tags of a cache of so many bytes, rounded down to a power of two of sets.
    pub(crate) fn new(bytes: usize, ways: usize) -> Self {
        let sets = (bytes / 64 / ways).max(1);
        let sets = if sets.is_power_of_two() { sets } else { sets.next_power_of_two() / 2 };
        Self { tags: vec![0; sets * ways].into_boxed_slice(), ways, mask: sets as u32 - 1 }
    }

    fn set(&mut self, line: u32) -> &mut [u32] {
        let start = (line & self.mask) as usize * self.ways;
        &mut self.tags[start..start + self.ways]
    }

    /// Whether the line is there; it is the youngest of its set then.
    pub(crate) fn touch(&mut self, line: u32) -> bool {
        let set = self.set(line);
        let Some(at) = set.iter().position(|&tag| tag == line) else { return false };
        set[..=at].rotate_right(1);
        true
    }

    /// Puts in a line that is not there. Returns the one that had to leave, or 0.
    pub(crate) fn insert(&mut self, line: u32) -> u32 {
        let set = self.set(line);
        set.rotate_right(1);
        std::mem::replace(&mut set[0], line)
    }

    /// Takes a line out.
    pub(crate) fn remove(&mut self, line: u32) {
        let set = self.set(line);
        if let Some(at) = set.iter().position(|&tag| tag == line) {
            set[at..].rotate_left(1);
            *set.last_mut().expect("a set has ways") = 0;
        }
    }
}

const L1_WAYS: usize = 8;
const L1_SETS: usize = 64;

/// The L1 of a core: 32 KiB in 8 ways, by address. The lowest bit of a tag says whether the core may write.
pub(crate) struct L1([[u64; L1_WAYS]; L1_SETS]);

impl L1 {
    pub(crate) fn new() -> Self {
        Self([[0; L1_WAYS]; L1_SETS])
    }

    /// Whether the line is there, and may be written.
    #[inline]
    pub(crate) fn touch(&mut self, line: u64) -> Option<bool> {
        let set = &mut self.0[line as usize % L1_SETS];
        let at = set.iter().position(|&tag| tag >> 1 == line)?;
        let tag = set[at];
        set.copy_within(..at, 1);
        set[0] = tag;
        Some(tag & 1 == 1)
    }

    pub(crate) fn insert(&mut self, line: u64, writable: bool) {
        let set = &mut self.0[line as usize % L1_SETS];
        let at = set.iter().position(|&tag| tag >> 1 == line).unwrap_or(L1_WAYS - 1);
        set.copy_within(..at, 1);
        set[0] = line << 1 | u64::from(writable);
    }

    pub(crate) fn remove(&mut self, line: u64) {
        let set = &mut self.0[line as usize % L1_SETS];
        set.iter_mut().filter(|tag| **tag >> 1 == line).for_each(|tag| *tag = 0);
    }

    /// The line may be read from here on, and not be written.
    pub(crate) fn share(&mut self, line: u64) {
        let set = &mut self.0[line as usize % L1_SETS];
        set.iter_mut().filter(|tag| **tag >> 1 == line).for_each(|tag| *tag &= !1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_leaves_is_the_one_that_was_used_least_recently() {
        let mut tags = Tags::new(2 * 64, 2);
        assert_eq!((tags.insert(1), tags.insert(2)), (0, 0));
        assert!(tags.touch(1));
        assert_eq!(tags.insert(3), 2);
        tags.remove(1);
        assert!(!tags.touch(1) && tags.touch(3));
    }

    #[test]
    fn an_l1_line_may_lose_its_right_to_be_written() {
        let mut l1 = L1::new();
        l1.insert(7, true);
        assert_eq!(l1.touch(7), Some(true));
        l1.share(7);
        assert_eq!(l1.touch(7), Some(false));
        l1.insert(7, true);
        l1.remove(7);
        assert_eq!(l1.touch(7), None);
    }
}
