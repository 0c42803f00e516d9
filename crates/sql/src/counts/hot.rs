//! Where transactions get into each other's way: conflicts by table, and the keys that have most.
//!
//! As many keys are kept as there is room for. A new one takes the place of the one with the fewest conflicts, and its
//! count as well: no key that has more than a share of all conflicts is missed, and each says by how much it may be too
//! high (Metwally and others, "Efficient computation of frequent and top-k elements in data streams", 2005).

use std::collections::HashMap;

/// Keys that are kept.
const KEYS: usize = 200;
/// Bytes of a key's text.
const MAX_KEY: usize = 120;

/// A key of a table or an index, with its conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotKey {
    /// The table or index.
    pub(crate) oid: u32,
    pub(crate) key: String,
    /// Conflicts at most.
    pub(crate) conflicts: u64,
    /// By how much that may be too high.
    pub(crate) over: u64,
}

#[derive(Debug, Default)]
pub(super) struct Hot {
    /// Conflicts by table or index.
    pub(super) relations: HashMap<u32, u64>,
    keys: Vec<HotKey>,
}

impl Hot {
    pub(super) fn note(&mut self, oid: u32, key: &str) {
        *self.relations.entry(oid).or_default() += 1;
        if key.is_empty() {
            return;
        }
        let key = &key[..key.floor_char_boundary(MAX_KEY)];
        if let Some(known) = self.keys.iter_mut().find(|known| known.oid == oid && known.key == key) {
            known.conflicts += 1;
            return;
        }
        let new = |over| HotKey { oid, key: key.to_owned(), conflicts: over + 1, over };
        if self.keys.len() < KEYS {
            self.keys.push(new(0));
        } else if let Some(least) = self.keys.iter_mut().min_by_key(|known| known.conflicts) {
            *least = new(least.conflicts);
        }
    }

    /// The keys, those with most conflicts first.
    pub(super) fn keys(&self) -> Vec<HotKey> {
        let mut keys = self.keys.clone();
        keys.sort_by_key(|key| std::cmp::Reverse(key.conflicts));
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_key_is_found_among_many_that_are_not() {
        let mut hot = Hot::default();
        for number in 0..10_000 {
            hot.note(1, &number.to_string());
            if number % 10 == 0 {
                hot.note(2, "hot");
            }
        }
        hot.note(1, "");
        let keys = hot.keys();
        assert_eq!((keys.len(), hot.relations[&1], hot.relations[&2]), (KEYS, 10_001, 1_000));
        assert_eq!((keys[0].oid, keys[0].key.as_str()), (2, "hot"));
        assert!(keys[0].conflicts - keys[0].over <= 1_000 && keys[0].conflicts >= 1_000);
    }
}
