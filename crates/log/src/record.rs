//! What a commit leaves in the log: one record.
//!
//! ```text
//!  transaction  0         8        12
//!               ┌─────────┬────────┬──────────────┐     length: of the ops
//!               │commit_ts│ length │ ops ...      │     both little-endian
//!               └─────────┴────────┴──────────────┘
//!  op           1 byte varint   varint          varint
//!               ┌─────┬───────┬─────────┬─────┬─────┬───────┐
//!               │ tag │ table │ key len │ key │ len │ bytes │
//!               └─────┴───────┴─────────┴─────┴─────┴───────┘
//!               1 insert: table, key, row       3 delete:  table, key (ends with the key)
//!               2 update: table, key, columns   4 catalog: entry      (starts with len)
//! ```
//! In a transaction of small rows there are as many of these integers as bytes of data: hence varints.
//! A transaction beyond [`SPLIT`] bytes is several records in a row, with one commit_ts.

use crate::bytes::Bytes;
use crate::error::{LogError, Result};
use crate::name;
use scaledb_base::{TableId, Timestamp};

/// Bytes of a transaction record before its ops.
pub(crate) const RECORD_HEADER: usize = 12;
/// Bytes of ops after which a transaction goes on in another record. With a row on top of it, a length still
/// fits 32 bits.
pub(crate) const SPLIT: usize = if cfg!(debug_assertions) { 64 << 10 } else { 1 << 30 };

pub(crate) const INSERT: u8 = 1;
pub(crate) const UPDATE: u8 = 2;
pub(crate) const DELETE: u8 = 3;
pub(crate) const CATALOG: u8 = 4;

/// One change by a transaction. Keys and values are bytes that the engine gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// A row that was not there.
    Insert {
        /// Its table.
        table: TableId,
        /// Its key.
        key: &'a [u8],
        /// All of it.
        row: &'a [u8],
    },
    /// A change of a row.
    Update {
        /// Its table.
        table: TableId,
        /// Its key.
        key: &'a [u8],
        /// What has changed, and to what.
        columns: &'a [u8],
    },
    /// The end of a row.
    Delete {
        /// Its table.
        table: TableId,
        /// Its key.
        key: &'a [u8],
    },
    /// A change of the catalog.
    Catalog {
        /// What the engine says of it.
        entry: &'a [u8],
    },
}

/// Where in the log something was read, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPosition {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

impl RecordPosition {
    pub(crate) fn damaged(self, what: impl Into<String>) -> LogError {
        LogError::damaged(name::segment(self.segment), self.offset, what)
    }
}

/// A transaction as the log has it.
#[derive(Debug, Clone, Copy)]
pub struct LoggedTransaction<'a> {
    /// Its place in the serial order.
    pub ts: Timestamp,
    pub(crate) ops: &'a [u8],
    pub(crate) place: RecordPosition,
}

impl<'a> LoggedTransaction<'a> {
    /// What it did, in its order. The first error is the last item.
    pub fn ops(&self) -> Ops<'a> {
        Ops { rest: Bytes(self.ops), place: self.place }
    }
}

/// The ops of a transaction. [`LoggedTransaction::ops`] makes it.
#[derive(Debug, Clone)]
pub struct Ops<'a> {
    rest: Bytes<'a>,
    place: RecordPosition,
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<Op<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.0.is_empty() {
            return None;
        }
        let op = op(&mut self.rest);
        if op.is_none() {
            self.rest = Bytes(&[]);
        }
        Some(op.ok_or_else(|| self.place.damaged("an operation of a transaction has no known form")))
    }
}

fn op<'a>(from: &mut Bytes<'a>) -> Option<Op<'a>> {
    let tag = from.u8()?;
    if tag == CATALOG {
        return Some(Op::Catalog { entry: value(from)? });
    }
    let table = TableId(from.varint()?);
    let key = value(from)?;
    match tag {
        INSERT => Some(Op::Insert { table, key, row: value(from)? }),
        UPDATE => Some(Op::Update { table, key, columns: value(from)? }),
        DELETE => Some(Op::Delete { table, key }),
        _ => None,
    }
}

fn value<'a>(from: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let len = from.varint()?;
    from.take(usize::try_from(len).ok()?)
}

/// The records of a block, one after the other: commit_ts, and where the ops lie. The first error is the
/// last item.
#[derive(Debug, Clone)]
pub(crate) struct Records<'a> {
    rest: Bytes<'a>,
    at: usize,
}

impl<'a> Records<'a> {
    pub(crate) fn new(block: &'a [u8]) -> Self {
        Self { rest: Bytes(block), at: 0 }
    }
}

impl Iterator for Records<'_> {
    type Item = Option<(Timestamp, std::ops::Range<usize>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.0.is_empty() {
            return None;
        }
        let mut record = || {
            let ts = self.rest.timestamp()?;
            let len = usize::try_from(self.rest.u32()?).ok()?;
            self.rest.take(len)?;
            let start = self.at + RECORD_HEADER;
            self.at = start + len;
            Some((ts, start..self.at))
        };
        let record = record();
        if record.is_none() {
            self.rest = Bytes(&[]);
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_records_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut ends = 0;
            for record in Records::new(&bytes) {
                match record {
                    Some((_, range)) => {
                        prop_assert!(range.start >= ends + RECORD_HEADER && range.end <= bytes.len());
                        ends = range.end;
                    }
                    None => ends = usize::MAX / 2,
                }
            }
        }

        #[test]
        fn any_bytes_are_operations_or_an_error(
            mut bytes in prop::collection::vec(prop_oneof![0..6u8, any::<u8>()], 0..300)
        ) {
            if let Some(tag) = bytes.first_mut() {
                *tag %= 6;
            }
            let place = RecordPosition { segment: 1, offset: 4096 };
            let transaction = LoggedTransaction { ts: Timestamp::ZERO, ops: &bytes, place };
            let errors = transaction.ops().filter(|op| op.is_err()).count();
            prop_assert!(errors <= 1);
            prop_assert!(transaction.ops().last().is_none_or(|last| last.is_err() == (errors == 1)));
        }
    }
}
