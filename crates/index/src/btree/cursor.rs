//! Leaf-by-leaf reading, for scans.
//!
//! A scan reads a leaf in two steps, so that the caller can look elsewhere in between:
//! [`BTree::open_leaf`] takes the header (stamp, fences, parts); [`BTree::read_entries`] takes the
//! entries, and confirms that the header still stands.

use super::lookup::{Activity, Address, LeafStamp};
use super::node::Leaf;
use super::search::Found;
use super::version::Restart;
use super::{BTree, Entry, Position};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;
use std::ops::Bound;

/// What was read of one leaf. Reused from leaf to leaf, it allocates nothing.
#[derive(Debug, Default)]
pub struct LeafRead {
    header: Option<Header>,
    inherited: Vec<(u64, u64)>,
    low: Vec<u8>,
    high: Vec<u8>,
    values: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    stamp: LeafStamp,
    part: u64,
    inherit_all: u64,
    bounded: bool,
    next: Address,
}

impl LeafRead {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn header(&self) -> &Header {
        self.header.as_ref().expect("a leaf is opened before it is looked at")
    }

    /// The leaf and its version.
    pub fn stamp(&self) -> LeafStamp {
        self.header().stamp
    }

    /// The leaf's own part.
    pub fn part(&self) -> u64 {
        self.header().part
    }

    /// Other parts under which keys of the leaf may be posted, with the generations since which.
    pub fn inherited(&self) -> &[(u64, u64)] {
        &self.inherited
    }

    /// If set: keys of the leaf that were posted under pins older than this generation may be posted
    /// under any part.
    pub fn inherit_all(&self) -> Option<u64> {
        Some(self.header().inherit_all).filter(|&generation| generation != 0)
    }

    /// The least key that the leaf covers; empty if it covers the least keys of all.
    pub fn low(&self) -> &[u8] {
        &self.low
    }

    /// The least key above the leaf, if it does not cover the greatest keys of all.
    pub fn high(&self) -> Option<&[u8]> {
        self.header().bounded.then_some(&self.high)
    }

    /// The values that [`BTree::read_entries`] read, in the order of their keys.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Whether the leaf covers `key`.
    pub fn covers(&self, key: &[u8]) -> bool {
        *self.low <= *key && self.high().is_none_or(|high| key < high)
    }
}

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Reads the header of the leaf at a position: O(log n).
    pub fn open_leaf(&self, local: &Local, at: Position<'_>, out: &mut LeafRead) {
        self.assert_protected(local);
        let mut backoff = Backoff::new();
        while self.try_open(local, at, out).is_err() {
            backoff.wait_forever();
        }
    }

    /// Goes on to the leaf of the keys from the opened leaf's high fence on; false at the end. O(1)
    /// unless that leaf has been coalesced away.
    pub fn open_next(&self, local: &Local, out: &mut LeafRead) -> bool {
        self.assert_protected(local);
        let header = *out.header();
        if !header.bounded {
            return false;
        }
        if header.stamp.activity == Activity::of(local) {
            // SAFETY: a confirmed sibling link, read in this activity.
            let next = unsafe { header.next.leaf::<L>() };
            // a leaf's low fence never changes: if it is still in use, it begins at the high fence
            if next.version.read().and_then(|version| self.read_header(local, next, version, out)).is_ok() {
                Leaf::prefetch(next.next());
                return true;
            }
        }
        let high = std::mem::take(&mut out.high);
        self.open_leaf(local, Position::At(&high), out);
        true
    }

    /// Goes back to the leaf of the keys just below the opened leaf; false at the end. O(log n).
    pub fn open_previous(&self, local: &Local, out: &mut LeafRead) -> bool {
        if out.low.is_empty() {
            return false;
        }
        let low = std::mem::take(&mut out.low);
        self.open_leaf(local, Position::Before(&low), out);
        true
    }

    fn try_open(&self, local: &Local, at: Position<'_>, out: &mut LeafRead) -> Result<(), Restart> {
        let place = self.descend(at)?;
        self.read_header(local, place.node, place.version, out)
    }

    fn read_header(
        &self,
        local: &Local,
        leaf: &Leaf<L>,
        version: u64,
        out: &mut LeafRead,
    ) -> Result<(), Restart> {
        let (part, inherit_all, next) = (leaf.part(), leaf.inherit_all(), Address::of(leaf.next()));
        let (low, high) = (leaf.low(), leaf.high());
        out.inherited.clear();
        out.inherited.extend((0..leaf.meta().inherited).map(|i| leaf.inherited(i)));
        leaf.version.validate(version)?;
        out.low.clear();
        out.low.extend_from_slice(low.bytes().unwrap_or_default());
        out.high.clear();
        out.high.extend_from_slice(high.bytes().unwrap_or_default());
        out.values.clear();
        let (stamp, bounded) = (LeafStamp::new(leaf, version, local), high.bytes().is_some());
        out.header = Some(Header { stamp, part, inherit_all, bounded, next });
        Ok(())
    }

    /// Reads all entries of the opened leaf. False if a key has come or gone since it was opened: then
    /// it must be opened again. O(L).
    pub fn read_entries(&self, local: &Local, out: &mut LeafRead) -> bool {
        self.read_range(local, out, Bound::Unbounded, Bound::Unbounded)
    }

    /// As [`BTree::read_entries`], only the entries within bounds. O(log L + entries).
    pub fn read_range(
        &self,
        local: &Local,
        out: &mut LeafRead,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> bool {
        self.assert_protected(local);
        let stamp = out.stamp();
        if stamp.activity != Activity::of(local) {
            return false;
        }
        // SAFETY: taken in this activity.
        let leaf = unsafe { stamp.leaf.leaf::<L>() };
        // waits for a holder: one that changes nothing leaves the stamp current
        if !leaf.version.read().is_ok_and(|version| version == stamp.version) {
            return false;
        }
        self.try_read_range(leaf, out, from, to).is_ok()
    }

    fn try_read_range(
        &self,
        leaf: &Leaf<L>,
        out: &mut LeafRead,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<(), Restart> {
        let version = out.stamp().version;
        let count = leaf.meta().count;
        let start = match from {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rank(leaf, version, out, key, false)?,
            Bound::Excluded(key) => self.rank(leaf, version, out, key, true)?,
        };
        let end = match to {
            Bound::Unbounded => count,
            Bound::Included(key) => self.rank(leaf, version, out, key, true)?,
            Bound::Excluded(key) => self.rank(leaf, version, out, key, false)?,
        };
        out.values.clear();
        out.values.extend((start..end.min(L)).map(|i| leaf.value(i)));
        leaf.version.validate(version)
    }

    /// How many entries of a leaf are below `key`, or not above it if `inclusive`.
    fn rank(
        &self,
        leaf: &Leaf<L>,
        version: u64,
        read: &LeafRead,
        key: &[u8],
        inclusive: bool,
    ) -> Result<usize, Restart> {
        let meta = leaf.meta();
        if *key < *read.low {
            return Ok(0);
        }
        if read.high().is_some_and(|high| high <= key) {
            return Ok(meta.count);
        }
        // only now: heads compare within the fences
        Ok(match leaf.search::<E>(meta, key, || leaf.version.validate(version))? {
            Found::At(slot) => slot + inclusive as usize,
            Found::Before(slot) => slot,
        })
    }
}
