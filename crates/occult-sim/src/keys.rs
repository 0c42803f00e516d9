//! The keys of a simulated server.

use std::collections::HashMap;

use scaledb_occult::{Entry, Stamp, Store, Timestamp, Value};

/// What a server keeps of the keys, and the version of each that it has, deletions among them.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// The entries.
    pub entries: HashMap<Value, Entry>,
    /// The newest stamp of each key, deletions among them.
    pub newest: HashMap<Value, Stamp>,
}

impl Store for Keys {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.entries.get(key).cloned()
    }

    fn deps(&self, key: &[u8]) -> Option<Timestamp> {
        Store::deps(&self.entries, key)
    }

    fn put(&mut self, key: &[u8], entry: &Entry) {
        self.newest.insert(key.into(), entry.stamp);
        self.entries.put(key, entry);
    }

    fn remove(&mut self, key: &[u8]) {
        Store::remove(&mut self.entries, key);
    }
}
