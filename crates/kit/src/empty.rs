//! Entries of dropped indexes are deleted as a transaction deletes rows: snapshots may see them.

use crate::protocol::Protocol;
use crate::table::Table;
use scaledb_base::Result;
use scaledb_engine::{TxnKind, Worker};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_memory::Local;
use scaledb_sync::Arc;

/// Entries that are deleted in one transaction.
const AT_ONCE: usize = if scaledb_sync::MODEL { 2 } else { 1 << 14 };

/// Deletes some entries of a dropped index. Returns whether there are more.
///
/// # Errors
/// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers) and others: there are more.
pub(crate) fn empty_some<P: Protocol>(engine: &Arc<P>) -> Result<bool> {
    let core = engine.core();
    let Some((id, from)) = core.changes.dropped.lock().first().cloned() else { return Ok(false) };
    let index = core.tables.get(id)?;
    let mut local = core.domain.register()?;
    if from.is_empty() {
        local.enter();
        let merged = engine.merge_all(&mut local, index);
        local.exit();
        merged?;
    }
    let mut worker = engine.worker_without_log(local);
    worker.begin(TxnKind::ReadWrite)?;
    let deleted = P::delete_entries(&mut worker, index, |local| some_entries(local, index, from));
    let next = deleted.and_then(|next| worker.commit().map(|_| next));
    worker.rollback();
    drop(worker);
    let mut dropped = core.changes.dropped.lock();
    // another thread that has emptied the same index may have taken it away
    let at = dropped.iter().position(|(other, _)| *other == id);
    match (next, at) {
        (Ok(Some(next)), Some(at)) => dropped[at].1 = next,
        (Ok(None), Some(at)) => {
            dropped.remove(at);
        }
        (Err(error), _) if !error.is_conflict() => return Err(error),
        _ => {}
    }
    Ok(!dropped.is_empty())
}

/// Records of an index from a key on; and the key behind the last, if there may be more.
fn some_entries<T: Table>(local: &Local, index: &T, from: Vec<u8>) -> (Vec<u64>, Option<Vec<u8>>) {
    let mut records = Vec::new();
    let Some(tree) = index.ordered() else {
        if let Some(hashed) = index.hash() {
            hashed.for_each(local, |raw| records.push(raw));
        }
        return (records, None);
    };
    let mut next = Some(from);
    let mut leaf = LeafRead::new();
    while let Some(from) = next.take_if(|_| records.len() < AT_ONCE) {
        tree.open_leaf(local, Position::At(&from), &mut leaf);
        while !tree.read_entries(local, &mut leaf) {
            tree.open_leaf(local, Position::At(&from), &mut leaf);
        }
        records.extend_from_slice(leaf.values());
        next = leaf.high().map(<[u8]>::to_vec);
    }
    (records, next)
}
