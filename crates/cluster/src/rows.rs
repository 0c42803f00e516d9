//! What keys and values are in a cluster: bytes, in spaces.
//!
//! ```text
//!   partition │ space │ bytes          a space is a table or an index; 0 is the cluster's own catalog
//!   0           0       definitions    partition 0 is kept by all nodes
//!   0           7       ...            a table that is replicated everywhere
//!   1 ..        8       ...            rows of a table, in the partitions that their keys hash to
//!   0           last    announcements  no rows: handed out at all nodes when their epoch has committed
//! ```

use super::codec::shared;
use scaledb_scar::{Data, PartitionId, TxnId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Keys and values of a cluster's database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rows;

/// A key: keys of a partition are ordered by space, and by bytes within it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Where it is kept. Whoever makes the key computes it from the definition of the table: `engine/spread.rs`.
    pub partition: PartitionId,
    /// The table or index, or the catalog.
    pub space: u32,
    /// Its encoded columns.
    #[serde(with = "shared")]
    pub bytes: Arc<[u8]>,
}

/// A value: a row as `scaledb-row` encodes it, the primary key that an index entry stands for, or a definition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Value(#[serde(with = "shared")] pub Arc<[u8]>);

impl Data for Rows {
    type Key = Key;
    type Value = Value;

    fn partition(key: &Key, _: usize) -> PartitionId {
        key.partition
    }

    fn bytes(key: &Key, value: Option<&Value>) -> usize {
        // with lengths, times and epochs
        64 + key.bytes.len() + value.map_or(0, |value| value.0.len())
    }

    fn is_announcement(key: &Key) -> bool {
        key.space == Key::ANNOUNCEMENTS
    }
}

impl Key {
    /// The catalog's space.
    pub const CATALOG: u32 = 0;

    /// The space of announcements: there are not as many tables and indexes.
    pub const ANNOUNCEMENTS: u32 = u32::MAX;

    /// The key of an announcement, in the partition that every node keeps: those of a transaction are in the order of
    /// their numbers, and beside each other.
    pub fn of_announcement(txn: TxnId, number: u32) -> Self {
        let mut bytes = [0; 13];
        bytes[0] = txn.node.0;
        bytes[1..9].copy_from_slice(&txn.number.to_be_bytes());
        bytes[9..].copy_from_slice(&number.to_be_bytes());
        Self::new(PartitionId(0), Self::ANNOUNCEMENTS, &bytes)
    }

    /// A key.
    pub fn new(partition: PartitionId, space: u32, bytes: &[u8]) -> Self {
        Self { partition, space, bytes: bytes.into() }
    }
}
