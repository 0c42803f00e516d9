//! The inner rows of a hash join.
//!
//! ```text
//! hash of a key ─► key, first row ─► next row of the key ─► .. ─► last row
//! ```

use super::chunks::Chunks;
use crate::memory::Memory;
use hashbrown::HashTable;
use rapidhash::fast::RandomState;
use scaledb_planner::plan::HashJoin;
use scaledb_types::{Result, Value, row_weight};
use std::hash::{BuildHasher, Hash, Hasher};

/// The number of no row.
const NONE: usize = usize::MAX;

/// Bytes of a row besides its values and those of its key.
const PER_ROW: usize = 32;

/// The rows of a key.
struct Entry {
    hash: u64,
    key: usize,
    first: usize,
    last: usize,
    count: usize,
}

/// What comes with a row.
struct Link {
    key: usize,
    next: usize,
    /// Whether it has found an outer row.
    matched: bool,
}

/// The rows of the inner side by their keys, and those of a key in their order.
pub(super) struct Inners {
    entries: HashTable<Entry>,
    hasher: RandomState,
    keys: Chunks<Value>,
    rows: Chunks<Value>,
    links: Vec<Link>,
    /// Rows with a NULL in their key match nothing.
    lonely: Chunks<Value>,
    /// Bytes that were taken for them.
    pub(super) weight: usize,
}

impl Inners {
    pub(super) fn new(join: &HashJoin) -> Self {
        let (keys, row) = (join.inner_keys.len(), join.inner_slots.len());
        Self {
            entries: HashTable::new(),
            hasher: RandomState::default(),
            keys: Chunks::new(keys),
            rows: Chunks::new(row),
            links: Vec::new(),
            lonely: Chunks::new(row),
            weight: 0,
        }
    }

    #[inline]
    fn hash(&self, key: &[Value]) -> u64 {
        let mut state = self.hasher.build_hasher();
        key.iter().for_each(|value| value.hash(&mut state));
        state.finish()
    }

    /// Adds a row; false, and nothing is added, if there is no room for it.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(super) fn add<'v>(
        &mut self,
        memory: &mut Memory<'_>,
        key: &[Value],
        row: impl Iterator<Item = &'v Value> + Clone,
    ) -> Result<bool> {
        let bytes = row_weight(key) + row.clone().map(scaledb_types::weight).sum::<usize>() + 2 * PER_ROW;
        if !memory.take_or_spill(bytes, self.weight)? {
            return Ok(false);
        }
        self.weight += bytes;
        let row = row.cloned();
        if key.iter().any(Value::is_null) {
            self.lonely.push(row);
            return Ok(true);
        }
        let hash = self.hash(key);
        let number = self.rows.push(row);
        let entry =
            self.entries.find_mut(hash, |entry| entry.hash == hash && self.keys.row(entry.key) == key);
        let key = if let Some(entry) = entry {
            self.links[entry.last].next = number;
            entry.last = number;
            entry.count += 1;
            entry.key
        } else {
            let key = self.keys.push(key.iter().cloned());
            let entry = Entry { hash, key, first: number, last: number, count: 1 };
            self.entries.insert_unique(hash, entry, |entry| entry.hash);
            key
        };
        self.links.push(Link { key, next: NONE, matched: false });
        Ok(true)
    }

    /// Whether no outer row can match.
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether nearly all rows have one key: to divide them by a hash does not help.
    pub(super) fn is_skewed(&self) -> bool {
        let most = self.entries.iter().map(|entry| entry.count).max().unwrap_or(0);
        let all = self.links.len();
        most >= all - all / 16
    }

    /// The first row of a key without NULLs.
    #[inline]
    pub(super) fn first(&self, key: &[Value]) -> Option<usize> {
        let hash = self.hash(key);
        let entry = self.entries.find(hash, |entry| entry.hash == hash && self.keys.row(entry.key) == key);
        entry.map(|entry| entry.first)
    }

    /// The row of the same key behind one.
    #[inline]
    pub(super) fn next(&self, row: usize) -> Option<usize> {
        Some(self.links[row].next).filter(|next| *next != NONE)
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> &[Value] {
        self.rows.row(row)
    }

    /// Notes that a row has found an outer one.
    #[inline]
    pub(super) fn note_match(&mut self, row: usize) {
        self.links[row].matched = true;
    }

    /// The rows that have found no outer one.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = &[Value]> {
        let keyed = self.links.iter().enumerate().filter(|(_, link)| !link.matched);
        keyed.map(|(row, _)| self.rows.row(row)).chain(self.lonely())
    }

    /// The rows with keys that may match.
    pub(super) fn keyed(&self) -> impl Iterator<Item = (&[Value], &[Value])> {
        self.links.iter().enumerate().map(|(row, link)| (self.keys.row(link.key), self.rows.row(row)))
    }

    /// The rows that match nothing.
    pub(super) fn lonely(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.lonely.len()).map(|row| self.lonely.row(row))
    }
}
