//! What a cluster's keys and values are: bytes, in the spaces of tables and indexes.

use super::codec::shared;
use scaledb_scar::{Data, PartitionId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rows of tables and entries of indexes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rows;

/// A key: ordered by partition, then space, then bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Where it is kept. Whoever makes the key computes it from the definition of the table.
    pub partition: PartitionId,
    /// The table or index; 0 is the cluster's own catalog.
    pub space: u32,
    /// The encoded columns.
    #[serde(with = "shared")]
    pub bytes: Arc<[u8]>,
}

/// The bytes of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Value(#[serde(with = "shared")] pub Arc<[u8]>);

impl Data for Rows {
    type Key = Key;
    type Value = Value;

    fn partition(key: &Key, _: usize) -> PartitionId {
        key.partition
    }
}
