//! Search within a node.

use super::node::{Inner, Leaf, MIXED, Meta};
use super::version::Restart;
use super::{Entry, Position};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use std::cmp::Ordering::{Equal, Greater, Less};
use std::hint::select_unpredictable;

/// Where a key is, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    At(usize),
    Before(usize),
}

/// Eight bytes of a key behind a prefix, as an integer that orders as they do; zeros behind the end.
#[inline(always)]
pub(super) fn head(key: &[u8], prefix: usize) -> u64 {
    if let Some(bytes) = key.get(prefix..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_be_bytes(*bytes);
    }
    let rest = key.len().saturating_sub(prefix);
    if rest == 0 {
        return 0;
    }
    match key.last_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes) << (64 - 8 * rest),
        None => key[prefix..].iter().rev().fold(0, |head, &byte| head >> 8 | (byte as u64) << 56),
    }
}

/// How many of the first `count` heads are below `head`. No branch depends on the data.
#[inline(always)]
pub(super) fn lower_bound(heads: &[AtomicU64], count: usize, head: u64) -> usize {
    let heads = &heads[..count];
    let (mut base, mut length) = (0, count);
    while length > 1 {
        let half = length / 2;
        // Relaxed: the node's version is validated afterwards
        let below = heads[base + half - 1].load(Ordering::Relaxed) < head;
        base = select_unpredictable(below, base + half, base);
        length -= half;
    }
    // Relaxed: as above
    base + (length == 1 && heads[base].load(Ordering::Relaxed) < head) as usize
}

/// How many of the first `count` heads are not above `head`, given how many are below.
fn upper_bound(heads: &[AtomicU64], count: usize, below: usize, head: u64) -> usize {
    match head.checked_add(1) {
        Some(next) => below + lower_bound(&heads[below..], count - below, next),
        None => count,
    }
}

impl<const N: usize> Leaf<N> {
    /// Finds the place of `key`. O(log N); follows pointers only for keys whose heads are equal.
    ///
    /// `validate` confirms what was read so far; a holder of the lock passes one that always does.
    #[inline(always)]
    pub(super) fn search<E: Entry>(
        &self,
        meta: Meta,
        key: &[u8],
        validate: impl Fn() -> Result<(), Restart>,
    ) -> Result<Found, Restart> {
        let head = head(key, meta.prefix);
        let below = lower_bound(self.heads(), meta.count, head);
        if below == meta.count || self.head(below) != head {
            return Ok(Found::Before(below));
        }
        if meta.key_len == key.len() && meta.heads_are_keys() {
            return Ok(Found::At(below));
        }
        self.search_equal::<E>(meta, key, head, below, validate)
    }

    /// The place of `key` if it is there. Unlike [`Leaf::search`], follows no pointer when the key's
    /// length alone says that it is absent.
    #[inline(always)]
    pub(super) fn lookup<E: Entry>(
        &self,
        meta: Meta,
        key: &[u8],
        validate: impl Fn() -> Result<(), Restart>,
    ) -> Result<Option<usize>, Restart> {
        let head = head(key, meta.prefix);
        let below = lower_bound(self.heads(), meta.count, head);
        if below == meta.count || self.head(below) != head {
            return Ok(None);
        }
        if meta.key_len == key.len() {
            if meta.heads_are_keys() {
                return Ok(Some(below));
            }
        } else if meta.key_len != MIXED {
            return Ok(None);
        }
        match self.search_equal::<E>(meta, key, head, below, validate)? {
            Found::At(slot) => Ok(Some(slot)),
            Found::Before(_) => Ok(None),
        }
    }

    fn search_equal<E: Entry>(
        &self,
        meta: Meta,
        key: &[u8],
        head: u64,
        below: usize,
        validate: impl Fn() -> Result<(), Restart>,
    ) -> Result<Found, Restart> {
        let (mut from, mut to) = (below, upper_bound(self.heads(), meta.count, below, head));
        while from < to {
            let middle = from + (to - from) / 2;
            let value = self.value(middle);
            validate()?;
            // SAFETY: the leaf held the value within this activity: it is not reclaimed.
            match unsafe { E::key(value) }.cmp(key) {
                Equal => return Ok(Found::At(middle)),
                Less => from = middle + 1,
                Greater => to = middle,
            }
        }
        Ok(Found::Before(from))
    }
}

impl<const N: usize> Inner<N> {
    /// The child that covers a position. O(log N); follows pointers only to separators whose heads
    /// equal the key's.
    #[inline(always)]
    pub(super) fn slot(&self, at: Position<'_>, version: u64) -> Result<usize, Restart> {
        let (count, prefix) = self.meta();
        let (key, inclusive) = match at {
            Position::At(key) => (key, true),
            Position::Before(key) => (key, false),
            Position::First => return Ok(0),
            Position::Last => return Ok(count.saturating_sub(1)),
        };
        let head = head(key, prefix);
        let below = lower_bound(self.heads(), count, head);
        // Relaxed: validated by the caller, or in `slot_equal`
        if below < count && self.heads()[below].load(Ordering::Relaxed) == head {
            return self.slot_equal(key, inclusive, head, below, version);
        }
        Ok(below.saturating_sub(1))
    }

    #[cold]
    fn slot_equal(
        &self,
        key: &[u8],
        inclusive: bool,
        head: u64,
        below: usize,
        version: u64,
    ) -> Result<usize, Restart> {
        let count = self.count();
        let to = upper_bound(self.heads(), count.max(below), below, head);
        // the first separator is the node's own low fence, which the position is not below
        let (mut from, mut to) = (below.max(1), to.max(1));
        while from < to {
            let middle = from + (to - from) / 2;
            let sep = self.sep(middle);
            self.version.validate(version)?;
            let sep = sep.bytes().expect("only a first separator is unbounded");
            if sep < key || (inclusive && sep == key) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from - 1)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn heads_order_as_their_bytes_do() {
        let key = b"abcdefghijkl";
        assert_eq!(head(key, 0), u64::from_be_bytes(*b"abcdefgh"));
        assert_eq!(head(key, 4), u64::from_be_bytes(*b"efghijkl"));
        assert_eq!(head(key, 10), u64::from_be_bytes(*b"kl\0\0\0\0\0\0"));
        assert_eq!(head(key, 12), 0);
        assert_eq!(head(key, 40), 0);
        assert_eq!(head(b"abc", 1), u64::from_be_bytes(*b"bc\0\0\0\0\0\0"));
        assert_eq!(head(b"", 0), 0);
    }

    #[test]
    fn bounds_are_those_of_a_sorted_slice() {
        let sorted = [1u64, 1, 4, 4, 4, 9, u64::MAX, u64::MAX];
        let heads: Vec<_> = sorted.iter().map(|&h| AtomicU64::new(h)).collect();
        for count in 0..=sorted.len() {
            for probe in [0, 1, 2, 4, 5, 9, 10, u64::MAX] {
                let below = lower_bound(&heads, count, probe);
                assert_eq!(below, sorted[..count].partition_point(|&h| h < probe));
                let above = upper_bound(&heads, count, below, probe);
                assert_eq!(above, sorted[..count].partition_point(|&h| h <= probe));
            }
        }
    }
}
