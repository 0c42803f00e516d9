//! The records of a table whose keys are in no hash index: needed while the log is replayed.

use hashbrown::HashTable;
use scaledb_sync::lock::Mutex;

const SHARDS: usize = if scaledb_sync::MODEL { 2 } else { 64 };

/// Addresses of records by the hash of their keys, in shards.
#[derive(Debug)]
pub struct Staged {
    shards: Box<[Mutex<HashTable<u64>>]>,
}

impl Default for Staged {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::new(HashTable::new())).collect() }
    }
}

impl Staged {
    fn shard(&self, hash: u64) -> &Mutex<HashTable<u64>> {
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// The record that `eq` accepts.
    pub fn find(&self, hash: u64, eq: impl Fn(u64) -> bool) -> Option<u64> {
        self.shard(hash).lock().find(hash, |&raw| eq(raw)).copied()
    }

    /// Adds a record whose key is not there. `hasher` tells the hash of any record's key.
    pub fn insert(&self, hash: u64, raw: u64, hasher: impl Fn(u64) -> u64) {
        self.shard(hash).lock().insert_unique(hash, raw, |&raw| hasher(raw));
    }

    /// Removes a record.
    pub fn remove(&self, hash: u64, raw: u64) {
        if let Ok(entry) = self.shard(hash).lock().find_entry(hash, |&there| there == raw) {
            entry.remove();
        }
    }

    /// Calls `f` with every record.
    pub fn for_each(&self, mut f: impl FnMut(u64)) {
        for shard in &self.shards {
            shard.lock().iter().for_each(|&raw| f(raw));
        }
    }
}
