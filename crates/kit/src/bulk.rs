//! Records into empty indexes, sorted by their keys.

use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::table::EngineTable;
use scaledb_base::{Error, Result};
use scaledb_index::indexlet::Inserted;
use scaledb_memory::Local;

/// The first eight bytes of a key, as a number that is ordered as they are.
#[inline]
pub fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// A record and the first bytes of its key, which nearly always decide the order.
#[derive(Clone, Copy)]
pub(crate) struct Headed<R> {
    head: u64,
    record: R,
}

impl<R: Record> Headed<R> {
    /// A record with the head of its key.
    ///
    /// # Safety
    /// The record is valid, in the sense of [`Record::from_raw`], for as long as the result is used.
    pub(crate) unsafe fn new(record: R) -> Self {
        // SAFETY: the caller's promise.
        Self { head: head(unsafe { record.key_for() }), record }
    }

    /// The record.
    pub(crate) fn record(&self) -> R {
        self.record
    }

    /// Its key.
    pub(crate) fn key(&self) -> &[u8] {
        // SAFETY: promised to `new`.
        unsafe { self.record.key_for() }
    }
}

pub(crate) fn sort<R: Record>(records: &mut [Headed<R>]) {
    records.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| a.key().cmp(b.key())));
}

/// The first key that stands twice among sorted records.
pub(crate) fn duplicate<R: Record>(sorted: &[Headed<R>]) -> Option<&[u8]> {
    let twice = sorted.windows(2).find(|pair| pair[0].key() == pair[1].key());
    twice.map(|pair| pair[0].key())
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
        for entry in sorted {
            let key = entry.key();
            // SAFETY: the index holds records.
            let same = |other: u64| unsafe { RecordOf::<P>::from_raw(other).key_for() } == key;
            match hashed.insert(local, engine.core().hasher.hash(key), entry.record.raw(), same)? {
                Inserted::New => {}
                _ => return Err(Error::OutOfMemory { budget: local.domain().budget() }),
            }
        }
    }
    load_tree(local, index, sorted)
}

/// Loads the tree of a table or index alone.
pub(crate) fn load_tree<T: EngineTable>(
    local: &mut Local,
    table: &T,
    sorted: &[Headed<T::Record>],
) -> Result<u64> {
    let Some(tree) = table.ordered() else { return Ok(0) };
    debug_assert!(sorted.is_sorted_by(|a, b| a.key() < b.key()), "the keys of a table ascend");
    // SAFETY: records are retired only after they have left the tree.
    unsafe { tree.bulk_load(local, sorted.iter().map(|entry| entry.record.raw()))? };
    Ok(sorted.len() as u64)
}
