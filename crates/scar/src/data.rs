//! What keys and values are.

use super::ids::PartitionId;
use std::fmt::Debug;
use std::hash::Hash;

/// The types of keys and values, and the partition of a key. The protocol compares keys and copies both: large ones
/// should be cheap to copy, as behind an `Arc`.
pub trait Data: Copy + Eq + Hash + Debug + Default + Send + Sync + 'static {
    /// A key. Those of a partition are in order.
    type Key: Clone + Ord + Hash + Debug + Send + Sync + 'static;
    /// A value.
    type Value: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// The partition of a key, among so many. One that is not below their number is of no partition.
    fn partition(key: &Self::Key, partitions: usize) -> PartitionId;

    /// About how many bytes a record takes in a message, so that what is copied comes in chunks of a size.
    fn bytes(key: &Self::Key, value: Option<&Self::Value>) -> usize {
        let _ = (key, value);
        64
    }

    /// Whether what is written under the key is no record but an announcement: see `announced.rs`. Each transaction has
    /// keys of its own for what it announces.
    fn is_announcement(key: &Self::Key) -> bool {
        let _ = key;
        false
    }
}

/// Numbers in one partition, for tests.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Numbers;

#[cfg(test)]
impl Data for Numbers {
    type Key = u32;
    type Value = u32;

    fn partition(_: &u32, _: usize) -> PartitionId {
        PartitionId(0)
    }
}
