//! What keys and values are.

use scaledb_scar::{Data, PartitionId};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// A key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Where it is kept.
    pub partition: u16,
    /// Which of the partition's.
    pub number: u64,
}

/// A value: who has written it, and its row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Value {
    /// Unique among all writes of a run; 0 is what was loaded.
    pub writer: u64,
    /// The row.
    pub row: Row,
}

/// Bytes, encoded as one string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Row(pub Arc<[u8]>);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Row, E> {
                Ok(Row(bytes.into()))
            }
        }

        from.deserialize_bytes(Any)
    }
}

/// Keys and values of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Rows;

impl Data for Rows {
    type Key = Key;
    type Value = Value;

    fn partition(key: &Key, _: usize) -> PartitionId {
        PartitionId(key.partition)
    }
}
