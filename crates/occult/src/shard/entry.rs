//! What is stored of a key.

use std::sync::Arc;

use crate::codec::{self, Malformed, Reader};
use crate::limits::MAX_VALUE;
use crate::{Stamp, Timestamp};

/// Bytes of a key or a value. A clone shares them.
pub type Value = Arc<[u8]>;

/// A version: the content of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the order of the shard.
    pub stamp: Stamp,
    /// All that it depends on, itself included.
    pub deps: Timestamp,
    /// The value.
    pub value: Value,
}

impl Entry {
    /// Its bytes: stamp, dependencies, and the value up to the end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(56 + self.value.len());
        self.encode(&mut out);
        out
    }

    /// Appends them.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_stamp(out, self.stamp);
        self.deps.encode(out);
        out.extend_from_slice(&self.value);
    }

    /// Appends the part of a reply about a key with a version, of the bytes of that version.
    pub(crate) fn encode_item(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut reader = Reader::new(bytes);
        reader.stamp()?;
        Timestamp::skip(&mut reader)?;
        let value = reader.rest();
        out.reserve(bytes.len() + 16);
        out.extend_from_slice(&bytes[..bytes.len() - value.len()]);
        super::effect::put_content(out, Some(value));
        Ok(())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    ///
    /// If the bytes are none of an entry.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let (stamp, deps, value) = Self::split(bytes)?;
        Ok(Self { stamp, deps, value: value.into() })
    }

    /// The parts of its bytes, without a copy of the value.
    ///
    /// # Errors
    ///
    /// If the bytes are none of an entry.
    pub fn split(bytes: &[u8]) -> Result<(Stamp, Timestamp, &[u8]), Malformed> {
        let mut reader = Reader::new(bytes);
        let stamp = reader.stamp()?;
        let deps = Timestamp::decode(&mut reader)?;
        let value = reader.rest();
        if value.len() > MAX_VALUE {
            return Err(Malformed("a value that is too long"));
        }
        Ok((stamp, deps, value))
    }
}

/// Where a shard keeps its keys: a module of a server, or a map.
pub trait Store {
    /// The version of a key, if it has one.
    fn get(&self, key: &[u8]) -> Option<Entry>;

    /// What a key's version depends on: what a write reads of the version that it replaces.
    fn deps(&self, key: &[u8]) -> Option<Timestamp> {
        self.get(key).map(|entry| entry.deps)
    }

    /// Runs with the bytes of a key's version, if it has one: a store that keeps these need not read them.
    fn with_bytes<R>(&self, key: &[u8], run: impl FnOnce(Option<&[u8]>) -> R) -> R {
        run(self.get(key).map(|entry| entry.to_bytes()).as_deref())
    }

    /// Replaces the version.
    fn put(&mut self, key: &[u8], entry: &Entry);

    /// The same, of the bytes of the new version, which have been read before.
    fn put_bytes(&mut self, key: &[u8], bytes: &[u8]) {
        if let Ok(entry) = Entry::from_bytes(bytes) {
            self.put(key, &entry);
        }
    }

    /// Removes it.
    fn remove(&mut self, key: &[u8]);
}

impl<S: std::hash::BuildHasher> Store for std::collections::HashMap<Value, Entry, S> {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.get(key).cloned()
    }

    fn deps(&self, key: &[u8]) -> Option<Timestamp> {
        self.get(key).map(|entry| entry.deps.clone())
    }

    fn put(&mut self, key: &[u8], entry: &Entry) {
        match self.get_mut(key) {
            Some(old) => old.clone_from(entry),
            None => {
                self.insert(key.into(), entry.clone());
            }
        }
    }

    fn remove(&mut self, key: &[u8]) {
        self.remove(key);
    }
}
