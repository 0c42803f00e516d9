//! Entries of dropped indexes, and records of dropped and cleared tables, are deleted as a transaction deletes rows:
//! snapshots may see them. The log does not hear of it: it has the definition.

use crate::protocol::Protocol;
use crate::table::{EngineTable, IndexSet};
use crate::worker::InstanceWorker;
use scaledb_base::Result;
use scaledb_engine::{TxnKind, Worker};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_memory::Local;
use scaledb_sync::Arc;

/// Records that are deleted in one transaction.
const AT_ONCE: usize = if scaledb_sync::MODEL { 2 } else { 1 << 14 };

/// Deletes some records of a dropped index, or of a dropped or cleared table. Returns whether there are more.
///
/// # Errors
/// [`Error::TooManyWorkers`](scaledb_base::Error::TooManyWorkers) and others: there are more.
pub(crate) fn empty_some<P: Protocol>(engine: &Arc<P>) -> Result<bool> {
    let core = engine.core();
    let Some((id, from)) = core.changes.emptying.lock().first().cloned() else { return Ok(false) };
    let table = core.tables.get(id)?;
    let mut local = core.domain.register()?;
    if from.is_empty() {
        local.enter();
        let merged = engine.merge_all(&mut local, table);
        local.exit();
        merged?;
    }
    let mut worker = InstanceWorker::without_log(engine.clone(), local);
    worker.begin(TxnKind::ReadWrite)?;
    // SAFETY: the transaction runs, and what is chosen is found in the table's structures now.
    let deleted = unsafe { worker.delete_records(table, |local| some_records(local, table, from)) };
    let next = deleted.and_then(|next| worker.commit().map(|_| next));
    worker.rollback();
    drop(worker);
    let mut emptying = core.changes.emptying.lock();
    // another thread that has emptied the same one may have taken it away
    let at = emptying.iter().position(|(other, _)| *other == id);
    match (next, at) {
        (Ok(Some(next)), Some(at)) => emptying[at].1 = next,
        (Ok(None), Some(at)) => {
            if table.index_of.is_none() && !table.is_dropped() {
                // nobody else changes its set: see `check_not_clearing`
                let set = table.indexes.get().clone();
                table.indexes.replace(IndexSet { closed: false, ..set });
            }
            emptying.remove(at);
        }
        (Err(error), _) if !error.is_conflict() => return Err(error),
        _ => {}
    }
    Ok(!emptying.is_empty())
}

/// Records of a table or index from a key on; and the key behind the last, if there may be more.
fn some_records<T: EngineTable>(local: &Local, table: &T, from: Vec<u8>) -> (Vec<u64>, Option<Vec<u8>>) {
    let mut records = Vec::new();
    let Some(tree) = table.ordered() else {
        if let Some(hashed) = table.hash() {
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
