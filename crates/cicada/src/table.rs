//! A table, or a secondary index: records under one id, and the structures that find them.
//!
//! Entries of a secondary index are versioned, read and validated exactly as rows are, so that a secondary index is a
//! multi-version index (section 3.6). What is single-version is only the way from a key to its record: an index holds
//! each key that has a record, whatever its versions, and guards (`guard.rs`) watch the keys that have none.

use crate::config::Config;
use crate::guard::Guards;
use crate::record::Record;
use scaledb_base::{Error, Result};
use scaledb_engine::{Access, TableOptions};
use scaledb_index::btree::{BTree, Entry};
use scaledb_index::hash::HashIndex;
use scaledb_kit::{Core, EngineTable, TableCore};
use scaledb_memory::Local;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::AtomicU64;
use std::ops::{Deref, DerefMut};

/// The entries of the trees: addresses of records.
pub(crate) type RecordEntry = scaledb_kit::RecordEntry<Record>;

pub(crate) type Tree = BTree<RecordEntry>;

pub struct CicadaTable {
    core: TableCore,
    /// All keys, for point reads; without it the tree serves them.
    pub(crate) hash: Option<Box<HashIndex>>,
    /// All keys, in order.
    pub(crate) tree: Option<Tree>,
    /// Read timestamps of keys without a record, by hash.
    pub(crate) absent: Guards,
    /// Read timestamps of scanned leaves, by part.
    pub(crate) leaves: Guards,
    /// Records that clean-up removed.
    pub(crate) cleaned: CachePadded<AtomicU64>,
}

impl Deref for CicadaTable {
    type Target = TableCore;

    #[inline(always)]
    fn deref(&self) -> &TableCore {
        &self.core
    }
}

impl DerefMut for CicadaTable {
    fn deref_mut(&mut self) -> &mut TableCore {
        &mut self.core
    }
}

impl EngineTable for CicadaTable {
    type Record = Record;

    fn hash(&self) -> Option<&HashIndex> {
        self.hash.as_deref()
    }

    fn ordered(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }
}

impl CicadaTable {
    pub(crate) fn new(
        local: &mut Local,
        database: &Core<Self>,
        config: &Config,
        core: TableCore,
        options: &TableOptions,
    ) -> Result<Self> {
        let guards = config.guards;
        let hash = match options.access {
            Access::Hashed | Access::HashOnly => Some(Box::new(HashIndex::new(local)?)),
            Access::Ordered => None,
        };
        let tree = match options.access {
            Access::HashOnly => None,
            _ => Some(Tree::new(local, database.generation.clone())?),
        };
        Ok(Self {
            core,
            hash,
            absent: Guards::new(guards),
            leaves: Guards::new(if tree.is_some() { guards } else { 2 }),
            tree,
            cleaned: CachePadded(AtomicU64::new(0)),
        })
    }

    /// The range index.
    ///
    /// # Errors
    /// [`Error::NotOrdered`].
    #[inline]
    pub(crate) fn tree(&self) -> Result<&Tree> {
        self.tree.as_ref().ok_or(Error::NotOrdered(self.id))
    }

    /// The record of a key, live or not.
    #[inline]
    pub(crate) fn find(&self, local: &Local, hash: u64, key: &[u8]) -> Option<Record> {
        let raw = match (&self.hash, &self.tree) {
            // SAFETY: the index holds records.
            (Some(index), _) => index.get(local, hash, |raw| unsafe { RecordEntry::key(raw) } == key),
            (None, Some(tree)) => tree.get(local, key),
            (None, None) => None,
        };
        // SAFETY: as above.
        raw.map(|raw| unsafe { Record::from_raw(raw) })
    }

    /// Asks for the memory that a look-up touches first.
    #[inline]
    pub(crate) fn prefetch(&self, local: &Local, hash: u64, key: &[u8]) {
        match (&self.hash, &self.tree) {
            (Some(index), _) => index.prefetch(local, hash),
            (None, Some(tree)) => tree.prefetch(local, key),
            (None, None) => {}
        }
    }

    /// Asks for the records that a look-up would compare keys with.
    #[inline]
    pub(crate) fn prefetch_record(&self, local: &Local, hash: u64) {
        if let Some(index) = &self.hash {
            // the closure refuses all: it is called with the address of each that has the hash's tag
            index.get(local, hash, |raw| {
                Record::prefetch(raw);
                false
            });
        }
    }
}
