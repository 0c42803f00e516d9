//! Step C6, the redo record of a commit: its writes, as values.
//!
//! The record is appended after the rows are unlocked. Until [`Writer::end`](scaledb_log::Writer::end) the durable
//! horizon stays before this commit, and no result that depends on it is sent to a client before the horizon has passed
//! it.

use crate::shared::AccShared;
use crate::txn::{Op, Txn};
use scaledb_base::Timestamp;
use scaledb_log::Writer;

/// Bytes that the transaction's record takes, about: for back-pressure.
pub(crate) fn about(txn: &Txn) -> usize {
    txn.images.len() * 8 + txn.keys.len() + txn.writes.len() * 48
}

/// Appends the transaction's record. Index entries are not logged: recovery makes them from the rows.
pub(crate) fn append(log: &mut Writer, shared: &AccShared, txn: &Txn, commit_ts: Timestamp) {
    let mut record = log.append(commit_ts);
    for write in &txn.writes {
        let (Some(row), Ok(table)) = (write.record, shared.tables.get(write.table)) else { continue };
        if table.index_of.is_some() {
            continue;
        }
        let layout = table.schema.layout();
        let image = &txn.images[write.image.clone()];
        match write.op {
            Op::Nothing => {}
            Op::Delete => record.delete(table.id, row.key()),
            Op::Update => {
                record.update(table.id, row.key(), |out| layout.encode_columns(write.dirty, image, out));
            }
            Op::Insert | Op::Replace => {
                record.insert(table.id, row.key(), |out| layout.encode_row(image, out))
            }
        }
    }
    record.finish();
}
