//! The groups of an aggregation, and their aggregates at work.
//!
//! ```text
//! hash of a key ─► number of its group ─► key
//!                                         aggregates
//! ```

use super::chunks::Chunks;
use super::gather::{Gathered, Values, Way};
use super::row_weight;
use super::spill::{Division, Partitions};
use hashbrown::HashTable;
use rapidhash::fast::RandomState;
use scaledb_planner::functions::Accumulated;
use scaledb_planner::plan::{Aggregate, SortKey};
use scaledb_types::Value;
use std::hash::{BuildHasher, Hash, Hasher};

/// Bytes of a group besides its key and its aggregates, with what the table of groups leaves free.
const PER_GROUP: usize = 128;

/// An aggregate at work.
pub(super) struct Running {
    pub(super) accumulated: Accumulated,
    /// Its DISTINCT or ordered values; only for aggregates that have such.
    values: Option<Box<Values>>,
}

impl Running {
    fn new(aggregate: &Aggregate) -> Self {
        Self { accumulated: aggregate.function.begin(), values: None }
    }

    /// Its DISTINCT or ordered values.
    pub(super) fn values(&mut self) -> &mut Values {
        self.values.get_or_insert_default()
    }

    /// What has accumulated, and the DISTINCT or ordered values.
    pub(super) fn into_parts(self) -> (Accumulated, Values) {
        (self.accumulated, self.values.map(|values| *values).unwrap_or_default())
    }
}

/// Groups in the order of their first rows.
pub(super) struct Groups<'k, 'a> {
    /// The hash of a key, and the number of its group.
    numbers: HashTable<(u64, usize)>,
    hasher: RandomState,
    keys: Chunks<Value>,
    running: Chunks<Running>,
    /// The group of the last row: the next one is often of the same.
    pub(super) last: Option<usize>,
    /// Whether the rows of a group come one behind another, so that a row is of the last group or of a new one.
    pub(super) together: bool,
    /// Bytes that were taken for them.
    pub(super) weight: usize,
    /// Bytes of the aggregates of a group, and of what else comes with it.
    running_weight: usize,
    pub(super) gathered: Gathered<'k, 'a>,
    /// How to divide what finds no room, and what has found none.
    pub(super) division: Division,
    pub(super) rest: Option<Partitions<'a>>,
}

/// Groups that are complete.
pub(super) struct Parts<'k, 'a, K, R> {
    pub(super) count: usize,
    /// The keys of all groups, and their aggregates.
    pub(super) keys: K,
    pub(super) running: R,
    pub(super) weight: usize,
    pub(super) gathered: Gathered<'k, 'a>,
    pub(super) rest: Option<Partitions<'a>>,
}

impl<'k, 'a> Groups<'k, 'a> {
    pub(super) fn new(
        keys: usize,
        aggregates: &[Aggregate],
        sorts: &'k [Vec<SortKey>],
        division: Division,
    ) -> Self {
        let gathered = Gathered::new(aggregates, sorts);
        let whole = (0..aggregates.len()).filter(|&at| gathered.way(at) != Way::AsTheyCome).count();
        Self {
            numbers: HashTable::new(),
            hasher: RandomState::default(),
            keys: Chunks::new(keys),
            running: Chunks::new(aggregates.len()),
            last: None,
            together: false,
            weight: 0,
            running_weight: aggregates.len() * size_of::<Running>() + whole * size_of::<Values>() + PER_GROUP,
            gathered,
            division,
            rest: None,
        }
    }

    /// The hash that keys are found by; a part of a key may be hashed as [`Value::hash_text`] does.
    #[inline]
    pub(super) fn hash(&self, parts: impl FnOnce(&mut <RandomState as BuildHasher>::Hasher)) -> u64 {
        let mut state = self.hasher.build_hasher();
        parts(&mut state);
        state.finish()
    }

    /// The hash of a key.
    #[inline]
    pub(super) fn hash_of(&self, key: &[Value]) -> u64 {
        if self.together {
            return 0;
        }
        self.hash(|state| key.iter().for_each(|value| value.hash(state)))
    }

    /// The group of a key that has this hash.
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(&[Value]) -> bool) -> Option<usize> {
        if self.together {
            return self.last.filter(|last| is(self.key(*last)));
        }
        let found = self.numbers.find(hash, |(of, number)| *of == hash && is(self.key(*number)));
        found.map(|(_, number)| *number)
    }

    /// What a group with this key takes of memory.
    pub(super) fn weight_of(&self, key: &[Value]) -> usize {
        row_weight(key) + self.running_weight
    }

    /// Begins a group of a key that is not there; its number.
    pub(super) fn begin(&mut self, hash: u64, key: &[Value], aggregates: &[Aggregate]) -> usize {
        let number = self.push(key, aggregates);
        if !self.together {
            self.numbers.insert_unique(hash, (hash, number), |(hash, _)| *hash);
        }
        number
    }

    /// Begins a group that no key leads to; its number.
    pub(super) fn push(&mut self, key: &[Value], aggregates: &[Aggregate]) -> usize {
        self.keys.push(key.iter().cloned());
        self.running.push(aggregates.iter().map(Running::new))
    }

    /// The key of a group.
    #[inline]
    pub(super) fn key(&self, number: usize) -> &[Value] {
        self.keys.row(number)
    }

    /// The aggregates of a group.
    #[inline]
    pub(super) fn running(&mut self, number: usize) -> &mut [Running] {
        self.running.row_mut(number)
    }

    /// The groups in their order, and what has found no room: all that is left of them.
    pub(super) fn into_parts(
        self,
    ) -> Parts<'k, 'a, impl Iterator<Item = Value>, impl Iterator<Item = Running>> {
        Parts {
            count: self.running.len(),
            keys: self.keys.into_values(),
            running: self.running.into_values(),
            weight: self.weight,
            gathered: self.gathered,
            rest: self.rest,
        }
    }
}
