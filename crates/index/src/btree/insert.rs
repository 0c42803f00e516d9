//! Insertion, one key or a sorted batch.

use super::boundary::Boundary;
use super::descent::NodeAt;
use super::node::{Leaf, MIXED, Meta};
use super::parts::Parts;
use super::search::{Found, head};
use super::version::{Guard, Restart};
use super::{BTree, Entry, Position};
use scaledb_base::limits::MAX_KEY_BYTES;
use scaledb_base::{Error, Result};
use scaledb_memory::Local;
use scaledb_sync::hint::Backoff;

/// Leaves that are fetched ahead of a batch whose keys lie far apart.
const AHEAD: usize = 8;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchStats {
    /// Keys inserted.
    pub inserted: u64,
    /// Keys that were there.
    pub existing: u64,
    /// Node locks taken.
    pub locks: u64,
    /// Nodes split.
    pub splits: u64,
}

impl std::ops::AddAssign for BatchStats {
    fn add_assign(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.existing += other.existing;
        self.locks += other.locks;
        self.splits += other.splits;
    }
}

/// Why an attempt ended without result.
pub(super) enum Stop {
    Restart,
    Error(Error),
}

impl From<Restart> for Stop {
    fn from(_: Restart) -> Self {
        Self::Restart
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A locked leaf, and where in it a key is or belongs; then there is room for it.
pub(super) struct Held<'t, const L: usize> {
    pub(super) leaf: &'t Leaf<L>,
    pub(super) guard: Guard<'t>,
    pub(super) place: Found,
}

/// How full a leaf at the right end gets before a batch goes on in a new one.
#[derive(Clone, Copy)]
pub(super) struct Fill(pub(super) usize);

impl<E: Entry, const L: usize, const I: usize> BTree<E, L, I> {
    /// Inserts `value` under its key, unless the key is there: then returns the value that it has.
    /// O(log n), one lock unless the leaf splits. Inheritance up to the generation `needed_after` is
    /// forgotten: at most the oldest pin.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::KeyTooLarge`]; nothing is inserted then.
    ///
    /// # Safety
    /// [`Entry::key`] may be called for `value` as long as the tree holds it, and by those who are
    /// active when it is taken out, until they are not.
    pub unsafe fn insert(&self, local: &mut Local, needed_after: u64, value: u64) -> Result<Option<u64>> {
        let mut found = None;
        // SAFETY: the caller's promise.
        unsafe { self.insert_batch(local, needed_after, &[value], |_, existing| found = Some(existing))? };
        Ok(found)
    }

    /// Inserts values that ascend by key. Calls `existing(i, value)` for each key that is there, with
    /// its value; it must not use the tree. One lock per run of keys that fit one leaf, and no descent within the run;
    /// leaves of keys that lie apart are fetched ahead.
    ///
    /// # Errors
    /// As for [`BTree::insert`]; the entries before the one that failed are inserted.
    ///
    /// # Safety
    /// As for [`BTree::insert`], for each value.
    pub unsafe fn insert_batch(
        &self,
        local: &mut Local,
        needed_after: u64,
        sorted: &[u64],
        existing: impl FnMut(usize, u64),
    ) -> Result<BatchStats> {
        // SAFETY: the caller's promise.
        unsafe { self.insert_filling(local, needed_after, sorted, Fill(L), existing) }
    }

    /// [`BTree::insert_batch`] with a fill for leaves that keys are appended to.
    ///
    /// # Safety
    /// As for [`BTree::insert`], for each value.
    pub(super) unsafe fn insert_filling(
        &self,
        local: &mut Local,
        needed_after: u64,
        sorted: &[u64],
        fill: Fill,
        mut existing: impl FnMut(usize, u64),
    ) -> Result<BatchStats> {
        self.assert_protected(local);
        // SAFETY: the promise of those who call `insert` and `insert_batch`.
        let key_of = |i: usize| unsafe { E::key(sorted[i]) };
        let mut stats = BatchStats::default();
        let (mut next, mut fetched, mut far) = (0, 0, true);
        while next < sorted.len() {
            let key = key_of(next);
            if far && next + 1 < sorted.len() {
                for ahead in fetched.max(next)..sorted.len().min(next + AHEAD) {
                    // somebody is in the way: then the descent below fetches it
                    let _ = self.prefetch_leaf(key_of(ahead));
                    fetched = ahead + 1;
                }
            }
            let first = next;
            let mut held = self.lock_for_insert(local, needed_after, key, fill, &mut stats)?;
            let mut key = key;
            loop {
                match held.place {
                    Found::At(slot) => {
                        existing(next, held.leaf.value(slot));
                        stats.existing += 1;
                    }
                    Found::Before(slot) => {
                        held.guard.change();
                        put(held.leaf, slot, key, sorted[next], needed_after);
                        stats.inserted += 1;
                    }
                }
                next += 1;
                if next == sorted.len() {
                    break;
                }
                let previous = std::mem::replace(&mut key, key_of(next));
                debug_assert!(previous <= key, "a batch ascends");
                let below = held.leaf.is_below_high(head(key, 0));
                if key.len() > MAX_KEY_BYTES || !below.unwrap_or_else(|| held.leaf.high().is_above(key)) {
                    break;
                }
                held.place = search_locked::<E, L>(held.leaf, key);
                if matches!(held.place, Found::Before(slot) if !has_room(held.leaf, slot, fill)) {
                    break;
                }
            }
            far = next - first < 3;
        }
        Ok(stats)
    }

    /// Locks the leaf of `key`, with room for it if the key is not there.
    fn lock_for_insert(
        &self,
        local: &mut Local,
        needed_after: u64,
        key: &[u8],
        fill: Fill,
        stats: &mut BatchStats,
    ) -> Result<Held<'_, L>> {
        if key.len() > MAX_KEY_BYTES {
            return Err(Error::KeyTooLarge { got: key.len(), limit: MAX_KEY_BYTES });
        }
        let mut backoff = Backoff::new();
        loop {
            match self.try_lock_for_insert(local, needed_after, key, fill, stats) {
                Ok(held) => return Ok(held),
                Err(Stop::Restart) => backoff.wait_forever(),
                Err(Stop::Error(error)) => return Err(error),
            }
        }
    }

    #[inline(always)]
    fn try_lock_for_insert(
        &self,
        local: &mut Local,
        needed_after: u64,
        key: &[u8],
        fill: Fill,
        stats: &mut BatchStats,
    ) -> Result<Held<'_, L>, Stop> {
        let at = self.descend(Position::At(key))?;
        let guard = at.node.version.try_lock(at.version)?;
        stats.locks += 1;
        let place = search_locked::<E, L>(at.node, key);
        match place {
            Found::Before(slot) if !has_room(at.node, slot, fill) => {
                self.make_room(local, needed_after, at, guard, key, slot, stats)
            }
            _ => Ok(Held { leaf: at.node, guard, place }),
        }
    }

    /// Splits the full leaf, or, when the node above is full too, the nodes above; then the caller
    /// begins again.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the state of one attempt, split off as the cold part")]
    fn make_room<'t>(
        &'t self,
        local: &mut Local,
        needed_after: u64,
        at: NodeAt<'t, Leaf<L>, I>,
        guard: Guard<'t>,
        key: &[u8],
        slot: usize,
        stats: &mut BatchStats,
    ) -> Result<Held<'t, L>, Stop> {
        let above = at.above.version().try_lock(at.above_version)?;
        stats.locks += 1;
        if at.above.count() == I {
            drop((above, guard));
            self.split_above(local, key, stats)?;
            return Err(Stop::Restart);
        }
        stats.splits += 1;
        Ok(self.split_leaf(local, needed_after, at, above, guard, key, slot)?)
    }
}

/// The place of `key` in a leaf that the caller has locked.
#[inline(always)]
pub(super) fn search_locked<E: Entry, const L: usize>(leaf: &Leaf<L>, key: &[u8]) -> Found {
    match leaf.search::<E>(leaf.meta(), key, || Ok(())) {
        Ok(place) => place,
        Err(Restart) => unreachable!("nothing interferes with the holder"),
    }
}

#[inline(always)]
fn has_room<const L: usize>(leaf: &Leaf<L>, slot: usize, fill: Fill) -> bool {
    let count = leaf.meta().count;
    count < L && (count < fill.0 || slot < count || leaf.high() != Boundary::NONE)
}

/// Puts an entry into a locked leaf that has room.
#[inline(always)]
fn put<const L: usize>(leaf: &Leaf<L>, slot: usize, key: &[u8], value: u64, needed_after: u64) {
    let mut meta = leaf.meta();
    if meta.inherited > 0 || leaf.inherit_all() != 0 {
        Parts::of(leaf, needed_after).store(leaf);
        meta = leaf.meta();
    }
    leaf.insert_entry(slot, meta.count, head(key, meta.prefix), value);
    let key_len = if meta.count == 0 || meta.key_len == key.len() { key.len() } else { MIXED };
    let run = if slot == meta.expect && meta.count > 0 { (meta.run + 1).min(u8::MAX as usize) } else { 0 };
    leaf.set_meta(Meta { count: meta.count + 1, key_len, run, expect: slot + 1, ..meta });
}
