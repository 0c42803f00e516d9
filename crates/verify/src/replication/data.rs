//! The explorer's keys and values: numbers.

use scaledb_scar::{Data, PartitionId};
use std::fmt;

/// A key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub u64);

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Value(pub u64);

impl Key {
    /// The key of what a transaction announces, by its number: in partition 0, of six at most.
    pub fn of_announcement(number: u64) -> Self {
        Self(60 * ((1 << 40) + number))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// Keys and values are numbers; a key's partition is the key modulo the number of partitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numbers;

impl Data for Numbers {
    type Key = Key;
    type Value = Value;

    fn partition(key: &Key, partitions: usize) -> PartitionId {
        PartitionId((key.0 % partitions.max(1) as u64) as u16)
    }

    fn is_announcement(key: &Key) -> bool {
        *key >= Key::of_announcement(0)
    }
}
