//! How the writes of a large transaction are found: by the record, or by the hash of the key of an insert.

use hashbrown::HashTable;
use scaledb_base::limits::MAX_WRITES;

/// The numbers of writes by what they are found by, a 64-bit *identity*.
///
/// An entry is 40 bits of the spread identity and the number, so that neither growth nor nearly any mismatch looks at
/// the writes, each of which is a cache miss.
#[derive(Default)]
pub(crate) struct WriteFinder(HashTable<u64>);

/// Bits of a number.
const NUMBER_BITS: u32 = 24;
const _: () = assert!(MAX_WRITES <= 1 << NUMBER_BITS);

/// The part of an entry that comes from the identity.
fn spread(identity: u64) -> u64 {
    identity.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> NUMBER_BITS << NUMBER_BITS
}

/// Of an entry, the hash in the table: both its ends depend on all bits of the spread identity.
fn hash(entry: &u64) -> u64 {
    let spread = entry >> NUMBER_BITS;
    (spread ^ spread >> 20).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn number(entry: u64) -> usize {
    (entry & ((1 << NUMBER_BITS) - 1)) as usize
}

impl WriteFinder {
    /// Whether no write was added.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a write.
    pub(crate) fn add(&mut self, identity: u64, number: usize) {
        let entry = spread(identity) | number as u64;
        self.0.insert_unique(hash(&entry), entry, hash);
    }

    /// The number of a write with this identity, of which `is_it` says that it is the one.
    pub(crate) fn find(&self, identity: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let wanted = spread(identity);
        let may_be = |entry: u64| entry >> NUMBER_BITS == wanted >> NUMBER_BITS;
        let found = self.0.find(hash(&wanted), |&entry| may_be(entry) && is_it(number(entry)));
        found.map(|&entry| number(entry))
    }

    /// Removes a write.
    pub(crate) fn remove(&mut self, identity: u64, number: usize) {
        let wanted = spread(identity) | number as u64;
        let entry = self.0.find_entry(hash(&wanted), |&entry| entry == wanted);
        debug_assert!(entry.is_ok(), "each write was added under this identity");
        if let Ok(entry) = entry {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few identities, some of which differ in what an entry has not room for only.
        #[test]
        fn finds_what_was_added_and_not_removed(steps in prop::collection::vec((0..40_u64, any::<bool>()), 1..300)) {
            let identity = |n: u64| (n % 8) << (n / 8 * 12);
            let (mut finder, mut kept) = (WriteFinder::default(), HashMap::<u64, Vec<usize>>::new());
            for (next, &(n, add)) in steps.iter().enumerate() {
                let of = kept.entry(identity(n)).or_default();
                if add {
                    finder.add(identity(n), next);
                    of.push(next);
                } else if let Some(last) = of.pop() {
                    finder.remove(identity(n), last);
                }
                for n in 0..40 {
                    let of = kept.get(&identity(n)).map_or(&[][..], |of| of);
                    for &number in of {
                        prop_assert_eq!(finder.find(identity(n), |found| found == number), Some(number));
                    }
                    prop_assert_eq!(finder.find(identity(n), |found| of.contains(&found)).is_some(), !of.is_empty());
                }
                prop_assert_eq!(finder.is_empty(), kept.values().all(Vec::is_empty));
            }
        }
    }
}
