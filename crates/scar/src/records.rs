//! The records of a replica: found by a hash of their key, and kept in the order of keys.
//!
//! ```text
//!   hash of key ──► by_hash ──┐
//!                             ├──► place ──► chunks: key and record, which never move
//!   order of keys ► in_order ─┘
//! ```
//!
//! Most accesses know the key. A search tree compares some twenty keys to find it, each of which may lie elsewhere in
//! memory; the hash table compares one. The tree is for scans and for the neighbours of a gap.
//!
//! Invariant: `in_order` and `by_hash` have the same places, each of which has its key and record in `chunks`; every
//! other place is in `free`.

use super::data::Data;
use super::replica::Record;
use hashbrown::HashTable;
use rapidhash::fast::RandomState;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::RangeBounds;

/// Records of a chunk. One chunk more is allocated at a time, and none is copied.
const CHUNK: usize = 1024;

/// A key's hash, which is kept so that a table that grows reads no keys; and its place.
type Entry = (u64, usize);

type Chunk<D> = Vec<Option<(<D as Data>::Key, Record<D>)>>;

#[derive(Clone)]
pub(super) struct Records<D: Data> {
    by_hash: HashTable<Entry>,
    in_order: BTreeMap<D::Key, usize>,
    chunks: Vec<Chunk<D>>,
    free: Vec<usize>,
    hasher: RandomState,
}

impl<D: Data> Default for Records<D> {
    fn default() -> Self {
        Self {
            by_hash: HashTable::new(),
            in_order: BTreeMap::new(),
            chunks: Vec::new(),
            free: Vec::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<D: Data> Records<D> {
    pub(super) fn len(&self) -> usize {
        self.in_order.len()
    }

    fn place(&self, key: &D::Key) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let its = |&(other, place): &Entry| other == hash && self.record(place).is_some_and(|r| r.0 == key);
        self.by_hash.find(hash, its).map(|&(_, place)| place)
    }

    fn record(&self, place: usize) -> Option<(&D::Key, &Record<D>)> {
        let (key, record) = self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref()?;
        Some((key, record))
    }

    fn record_mut(&mut self, place: usize) -> Option<&mut Record<D>> {
        let (_, record) = self.chunks.get_mut(place / CHUNK)?.get_mut(place % CHUNK)?.as_mut()?;
        Some(record)
    }

    pub(super) fn get(&self, key: &D::Key) -> Option<&Record<D>> {
        self.record(self.place(key)?).map(|(_, record)| record)
    }

    pub(super) fn get_mut(&mut self, key: &D::Key) -> Option<&mut Record<D>> {
        self.record_mut(self.place(key)?)
    }

    pub(super) fn contains(&self, key: &D::Key) -> bool {
        self.place(key).is_some()
    }

    /// Adds a record, or replaces it.
    pub(super) fn insert(&mut self, key: D::Key, record: Record<D>) {
        if let Some(known) = self.get_mut(&key) {
            *known = record;
            return;
        }
        let place = self.new_place();
        let hash = self.hasher.hash_one(&key);
        self.by_hash.insert_unique(hash, (hash, place), |&(hash, _)| hash);
        self.in_order.insert(key.clone(), place);
        if let Some(slot) = self.chunks.get_mut(place / CHUNK).and_then(|chunk| chunk.get_mut(place % CHUNK))
        {
            debug_assert!(slot.is_none(), "a free place has no record");
            *slot = Some((key, record));
        }
        debug_assert_eq!(self.by_hash.len(), self.in_order.len(), "one entry for each record");
    }

    fn new_place(&mut self) -> usize {
        if let Some(place) = self.free.pop() {
            return place;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            // the first grows as it is used: partitions may have few records
            let capacity = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(capacity));
        }
        let before = self.chunks.len().saturating_sub(1);
        match self.chunks.last_mut() {
            Some(chunk) => {
                chunk.push(None);
                before * CHUNK + chunk.len() - 1
            }
            None => 0,
        }
    }

    pub(super) fn remove(&mut self, key: &D::Key) -> Option<Record<D>> {
        let hash = self.hasher.hash_one(key);
        let chunks = &self.chunks;
        let its = |&(other, place): &Entry| {
            let slot = || chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref();
            other == hash && slot().is_some_and(|(known, _)| known == key)
        };
        let (_, place) = self.by_hash.find_entry(hash, its).ok()?.remove().0;
        self.in_order.remove(key);
        let (_, record) = self.chunks.get_mut(place / CHUNK)?.get_mut(place % CHUNK)?.take()?;
        self.free.push(place);
        debug_assert_eq!(self.by_hash.len(), self.in_order.len(), "one entry for each record");
        Some(record)
    }

    /// All in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (&D::Key, &Record<D>)> + Clone {
        self.in_order.iter().filter_map(|(_, &place)| self.record(place))
    }

    /// Some in order; the bounds are not empty.
    pub(super) fn range(
        &self,
        range: impl RangeBounds<D::Key>,
    ) -> impl DoubleEndedIterator<Item = (&D::Key, &Record<D>)> + Clone {
        self.in_order.range(range).filter_map(|(_, &place)| self.record(place))
    }

    /// The last key.
    pub(super) fn last(&self) -> Option<&D::Key> {
        self.in_order.last_key_value().map(|(key, _)| key)
    }

    /// The keys of some, which need no record to be looked at.
    pub(super) fn keys(&self, range: impl RangeBounds<D::Key>) -> impl Iterator<Item = &D::Key> {
        self.in_order.range(range).map(|(key, _)| key)
    }

    /// Changes some, in order; the bounds are not empty.
    pub(super) fn change(&mut self, range: impl RangeBounds<D::Key>, mut f: impl FnMut(&mut Record<D>)) {
        let chunks = &mut self.chunks;
        for (_, &place) in self.in_order.range(range) {
            let slot = chunks.get_mut(place / CHUNK).and_then(|chunk| chunk.get_mut(place % CHUNK));
            if let Some((_, record)) = slot.and_then(Option::as_mut) {
                f(record);
            }
        }
    }

    /// Changes all, in no order.
    pub(super) fn change_all(&mut self, mut f: impl FnMut(&mut Record<D>)) {
        self.chunks.iter_mut().flatten().flatten().for_each(|(_, record)| f(record));
    }
}

/// Places say nothing: replicas with equal records are equal.
impl<D: Data> PartialEq for Records<D> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<D: Data> Eq for Records<D> {}

impl<D: Data> Hash for Records<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|record| record.hash(state));
    }
}

impl<D: Data> fmt::Debug for Records<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Numbers;
    use super::super::ids::{Epoch, Time};
    use super::super::replica::{Gap, Version};
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn record(value: u32) -> Record<Numbers> {
        let now = Version { value: Some(value), wts: Time(0), epoch: Epoch(0) };
        Record::new(now, Time(0), Gap { lower: None, wts: Time(0), rts: Time(0) })
    }

    fn value(record: &Record<Numbers>) -> u32 {
        record.now.value.unwrap_or_default()
    }

    /// Beside a map that is known to be right, over several chunks and with places that are used again.
    #[test]
    fn records_are_those_of_a_map() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut records = Records::<Numbers>::default();
        let mut map = BTreeMap::new();
        for i in 0..40_000_u32 {
            // it grows, shrinks, and grows again
            let more = i / 10_000 % 2 == 0;
            let key = random.random_range(0..4_000);
            if random.random_bool(if more { 0.9 } else { 0.1 }) {
                records.insert(key, record(i));
                map.insert(key, i);
            } else {
                assert_eq!(records.remove(&key).as_ref().map(value), map.remove(&key));
            }
            let key = random.random_range(0..4_000);
            assert_eq!(records.get(&key).map(value), map.get(&key).copied());
            assert_eq!((records.len(), records.last()), (map.len(), map.last_key_value().map(|last| last.0)));
            if i % 64 == 0 {
                let low = random.random_range(0..4_000);
                let range = low..low + 100;
                let found = records.range(range.clone()).map(|(&key, record)| (key, value(record)));
                assert!(found.eq(map.range(range.clone()).map(|(&key, &value)| (key, value))));
                records.change(range.clone(), |record| record.now.value = Some(value(record) + 1));
                map.range_mut(range).for_each(|(_, value)| *value += 1);
            }
        }
        assert!(
            records.iter().map(|(&key, record)| (key, value(record))).eq(map.iter().map(|(&k, &v)| (k, v)))
        );
        assert!(records.chunks.len() * CHUNK <= 4_000 + CHUNK, "places are used again");
        // made in another order, with another hasher and other places
        let mut other = Records::default();
        map.iter().rev().for_each(|(&key, &value)| other.insert(key, record(value)));
        assert_eq!(records, other);
        let hash = |records: &Records<Numbers>| {
            std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(records)
        };
        assert_eq!(hash(&records), hash(&other));
        other.change_all(|record| record.rts = Time(9));
        assert_ne!(records, other);
    }
}
