//! Records into empty indexes, sorted by their keys.

use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::table::Table;
use scaledb_base::{Error, Result};
use scaledb_index::indexlet::Inserted;
use scaledb_memory::Local;

/// A record and the first bytes of its key, which nearly always decide the order.
pub(crate) type Headed<R> = (u64, R);

/// The first eight bytes of a key, as a number that is ordered as they are.
#[inline]
pub fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// The key of a record.
pub(crate) fn key<'a, R: Record>(record: R) -> &'a [u8] {
    // SAFETY: recovery, or who builds an index, holds the record, and nobody removes any meanwhile.
    unsafe { record.key_for() }
}

pub(crate) fn headed<R: Record>(record: R) -> Headed<R> {
    (head(key(record)), record)
}

pub(crate) fn sort<R: Record>(records: &mut [Headed<R>]) {
    records.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
}

/// The first key that stands twice among sorted records.
pub(crate) fn duplicate<'a, R: Record>(sorted: &[Headed<R>]) -> Option<&'a [u8]> {
    let twice = sorted.windows(2).find(|pair| key(pair[0].1) == key(pair[1].1));
    twice.map(|pair| key(pair[0].1))
}

/// Loads all structures of an empty index. Returns the entries that were inserted in its tree. An error leaves a part
/// of them in it.
pub(crate) fn load_index<P: Records>(
    engine: &P,
    local: &mut Local,
    index: &P::Table,
    sorted: &[Headed<RecordOf<P>>],
) -> Result<u64> {
    if let Some(hashed) = index.hash() {
        for &(_, record) in sorted {
            let key = key(record);
            // SAFETY: the index holds records.
            let same = |other: u64| unsafe { RecordOf::<P>::from_raw(other).key_for() } == key;
            match hashed.insert(local, engine.core().hasher.hash(key), record.raw(), same)? {
                Inserted::New => {}
                _ => return Err(Error::OutOfMemory { budget: local.domain().budget() }),
            }
        }
    }
    load_tree(local, index, sorted)
}

/// Loads the tree of a table or index alone.
pub(crate) fn load_tree<T: Table>(local: &mut Local, table: &T, sorted: &[Headed<T::Record>]) -> Result<u64> {
    let Some(tree) = table.ordered() else { return Ok(0) };
    // SAFETY: records are retired only after they have left the tree.
    unsafe { tree.bulk_load(local, sorted.iter().map(|(_, record)| record.raw()))? };
    Ok(sorted.len() as u64)
}
