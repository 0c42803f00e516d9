//! What a scan asks for.

use serde::{Deserialize, Serialize};
use std::ops::Bound::{self, Excluded, Included};

/// A range of a partition's keys, in one direction, up to so many rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Range<K> {
    /// Its lower end.
    pub low: Bound<K>,
    /// Its upper end.
    pub high: Bound<K>,
    /// From the upper end down.
    pub backward: bool,
    /// The most rows to hand out; a scan that stops there depends on nothing behind the last row.
    pub limit: u32,
}

impl<K> Range<K> {
    /// All keys between two ends, upwards.
    pub fn new(low: Bound<K>, high: Bound<K>) -> Self {
        Self { low, high, backward: false, limit: u32::MAX }
    }
}

impl<K: Ord> Range<K> {
    /// Whether no key can be in it, or no row is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.limit == 0
            || match (&self.low, &self.high) {
                (Included(low), Included(high)) => low > high,
                (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low >= high,
                _ => false,
            }
    }
}
