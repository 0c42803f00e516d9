//! V5, the log: what a commit wrote, as values (section 3.7).
//!
//! The record is appended when the versions are settled already: until [`Writer::end`](scaledb_log::Writer::end) the
//! durable horizon stays before this commit, and nobody's result that depends on it leaves before the horizon
//! has passed it.

use crate::shared::CicadaShared;
use crate::txn::{Op, Txn};
use scaledb_base::Timestamp;
use scaledb_log::Writer;
use scaledb_row::ColumnSet;

/// Bytes that the transaction's record takes, about: for back-pressure.
pub(crate) fn about(txn: &Txn) -> usize {
    txn.images.len() * 8 + txn.keys.len() + txn.writes.len() * 48
}

/// Appends the transaction's record: new rows, and the changed columns of others. Index entries are not logged:
/// recovery makes them from the rows.
pub(crate) fn append(log: &mut Writer, shared: &CicadaShared, txn: &Txn, commit_ts: Timestamp) {
    let mut record = log.append(commit_ts);
    for write in &txn.writes {
        let (Some(row), Ok(table)) = (write.record, shared.tables.get(write.table)) else { continue };
        if table.index_of.is_some() {
            continue;
        }
        match write.op {
            Op::Nothing => {}
            Op::Delete => record.delete(table.id, row.key()),
            Op::Update if write.dirty != ColumnSet::ALL => {
                // one without any is a promotion
                if !write.dirty.is_empty() {
                    let image = &txn.images[write.image.clone()];
                    let layout = table.schema.layout();
                    record.update(table.id, row.key(), |out| layout.encode_columns(write.dirty, image, out));
                }
            }
            Op::Insert | Op::Update => {
                let image = &txn.images[write.image.clone()];
                record.insert(table.id, row.key(), |out| table.schema.layout().encode_row(image, out));
            }
        }
    }
    record.finish();
}
