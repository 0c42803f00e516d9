//! The indexlet: recent keys of a table, in a hash table of fixed size (ScaleDB sections 4.1 and 5.1).
//!
//! It holds keys that a commit has made and that no merge has moved to the tree yet, so it never needs to
//! grow: whoever gets [`Inserted::Full`] merges first. It is made of the segments that
//! [`crate::hash`] is made of, but their number is fixed, and none is ever split.
//!
//! Why each operation is atomic (two inserts of one key, a get among inserts and removes of other keys,
//! a remove by a merge against an insert of the same key) is argued at the head of `hash/segment.rs`.
//! In short: an operation that changes a key holds the lock of the key's home bucket; entries never move; a
//! bucket counts the entries that passed it from before their words appear until after they are gone; so a
//! reader, which takes no lock and writes nothing, cannot pass by an entry.

use crate::hash::bucket::PROBE;
use crate::hash::segment::{CAPACITY, Put, Segment};
use scaledb_base::Result;
use scaledb_memory::{Domain, Local};
use scaledb_sync::Arc;
use std::ptr::NonNull;

/// What became of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Inserted {
    /// The entry is in.
    New,
    /// There is an entry with an equal key; this is its value. Nothing was changed.
    Existing(u64),
    /// There is no room for this key. Nothing was changed.
    Full,
}

/// A concurrent map from 64-bit hashes to 48-bit values (pointers to records), for a bounded number of keys.
///
/// The caller computes the hash: all 64 bits must be well mixed. The value is a nonzero word below 2^48,
/// and what it points to stays valid while a worker that may have got it is active. Equal keys are told
/// by a closure `eq`, which is called with the values of entries whose 16-bit tags match; it must not use
/// the indexlet.
pub struct Indexlet {
    segments: Box<[NonNull<Segment>]>,
    domain: Arc<Domain>,
}

// SAFETY: segments are made of atomics, and owned by the indexlet until it is dropped.
unsafe impl Send for Indexlet {}
// SAFETY: as above.
unsafe impl Sync for Indexlet {}

impl Indexlet {
    /// An empty indexlet of at least `capacity_slots` slots. With random hashes, the first key that finds no
    /// place comes at about four fifths of a small indexlet, and at half of one with millions of slots.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(local: &mut Local, capacity_slots: usize) -> Result<Self> {
        let count = capacity_slots.div_ceil(CAPACITY).max(1);
        assert!(count <= u32::MAX as usize, "an indexlet of that size would not be one");
        let mut segments = Vec::with_capacity(count);
        while segments.len() < count {
            match Segment::create(local, 0) {
                Ok(segment) => segments.push(segment),
                Err(error) => {
                    for segment in segments {
                        // SAFETY: created above, seen by nobody.
                        unsafe { local.free(segment.cast(), Segment::BYTES) };
                    }
                    return Err(error);
                }
            }
        }
        Ok(Self { segments: segments.into(), domain: local.domain().clone() })
    }

    #[inline(always)]
    fn segment(&self, hash: u64) -> &Segment {
        // bits 16 to 48, scaled to the number of segments; the tag and the home come from others
        let at = ((hash >> 16 & 0xffff_ffff) as usize * self.segments.len()) >> 32;
        // SAFETY: below the number of segments; they live as long as the indexlet.
        unsafe { self.segments.get_unchecked(at).as_ref() }
    }

    /// The value of the entry whose key is equal. Lock-free; never misses a key that is present during the
    /// whole call.
    #[inline]
    pub fn get(&self, local: &Local, hash: u64, eq: impl Fn(u64) -> bool) -> Option<u64> {
        local.assert_active();
        self.segment(hash).get(hash, eq)
    }

    /// Asks for the cache line where the key's entry would be.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.segment(hash).prefetch(hash);
    }

    /// Asks for that line to write it.
    #[inline]
    pub fn prefetch_to_write(&self, hash: u64) {
        self.segment(hash).prefetch_to_write(hash);
    }

    /// Adds an entry unless there is one with an equal key.
    #[inline]
    pub fn insert(&self, local: &Local, hash: u64, value: u64, eq: impl Fn(u64) -> bool) -> Inserted {
        local.assert_active();
        match self.segment(hash).insert::<PROBE>(hash, value, eq) {
            Put::New => Inserted::New,
            Put::Existing(value) => Inserted::Existing(value),
            Put::Full => Inserted::Full,
            Put::Frozen => unreachable!("segments of an indexlet are never split"),
        }
    }

    /// Removes the entry with exactly this value. False if there is none.
    #[inline]
    pub fn remove(&self, local: &Local, hash: u64, value: u64) -> bool {
        local.assert_active();
        self.segment(hash).remove(hash, value).expect("segments of an indexlet are never split")
    }

    /// The number of entries, each slot looked at once: a scan of the whole indexlet.
    pub fn len(&self) -> usize {
        let mut len = 0;
        self.for_each(|_| len += 1);
        len
    }

    /// Whether there is no entry: a scan until one is found.
    pub fn is_empty(&self) -> bool {
        // SAFETY: they live as long as the indexlet.
        self.segments.iter().all(|s| unsafe { s.as_ref() }.values().next().is_none())
    }

    /// Calls `f` with the value of every entry. An entry that is there during the whole call is seen once;
    /// one that comes or goes meanwhile may be seen or not.
    pub fn for_each(&self, mut f: impl FnMut(u64)) {
        for segment in &self.segments {
            // SAFETY: they live as long as the indexlet.
            unsafe { segment.as_ref() }.values().for_each(&mut f);
        }
    }

    /// Slots: entries that would fit if each found its place.
    pub fn slots(&self) -> usize {
        self.segments.len() * CAPACITY
    }

    /// Memory in use.
    pub fn bytes(&self) -> u64 {
        (self.segments.len() * (Segment::BYTES + size_of::<NonNull<Segment>>())) as u64
    }
}

impl Drop for Indexlet {
    /// Frees the memory through a worker of its own; when all workers are taken, leaves it to the domain.
    fn drop(&mut self) {
        let Ok(mut local) = self.domain.register() else { return };
        for segment in &self.segments {
            // SAFETY: nobody else has a reference to the indexlet, so nobody can reach its memory.
            unsafe { local.free(segment.cast(), Segment::BYTES) };
        }
    }
}
