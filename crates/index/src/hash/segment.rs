//! A segment: a fixed run of buckets, and the three operations on it.
//!
//! An entry lives in its *home* bucket, which its hash names, or in one of the PROBE - 1 buckets behind
//! it. Each bucket counts the entries that passed it (its *overflow*), so a probe ends at the first
//! bucket whose count is zero. The last PROBE - 1 buckets are nobody's home: nothing wraps around.
//!
//! # Rules
//! 1. Whoever inserts or removes a key holds the lock of its home bucket from before it looks until it
//!    is done.
//! 2. Whoever changes a bucket holds that bucket's lock, too.
//! 3. Locks are taken in ascending order (the home first, then at most one more at a time; a split takes
//!    all homes from the first to the last). So nobody waits in a circle.
//! 4. An insert raises the overflow counts of the buckets that it passes *before* it stores its word; a remove lowers
//!    them *after* it has cleared the word.
//!
//! # Why it is atomic
//! *Two inserts of one key* have one home, so rule 1 orders them: the second finds the word of the first,
//! whose counts were raised under the same lock (rule 4), or finds that it was removed in between.
//!
//! *A get takes no lock.* By rule 4, while a word stands in a slot, every bucket between its home and it
//! counts it. So a get that began after the insert was done (or after anybody saw the entry: the word's
//! release store carries the counts along) finds no zero count in the buckets that it passes, and loads the slot
//! itself, whatever happens to other keys meanwhile: entries never move within a segment. So it misses the entry
//! only if the remove had begun to clear it. Nor can it find the entry again after a miss: the word is
//! gone before any count falls. A hit is true because `eq` compared the key in memory that stays valid
//! while the caller is active.
//!
//! *Remove, then insert of the same key at another place*: a get between the two may miss both. It ran
//! while the key was absent, and says so. It then sees everything that happened before the remove: it
//! missed because it loaded either the cleared slot (or a successor), or a count lowered after that; both
//! are release stores, and the stores that may follow them are ordered behind them by the bucket's lock.
//!
//! *A split* holds all home locks, so by rule 1 nothing changes while it copies. It leaves the old
//! segment as it was, *frozen*: readers that still look at it see the truth as of the freeze. No key can
//! be inserted into or removed from the new segments before the directory names them, so a get that
//! took the old segment from the directory began before any such change was done. Readers therefore need
//! no second look; writers find the bucket frozen and start over.

use super::bucket::{Bucket, KNOWN_BITS, Note, PROBE, SLOTS, Word};
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_sync::{hint, names};
use std::ptr::NonNull;

/// Buckets of a segment; with the segment's first cache line a power of two in bytes.
pub(crate) const BUCKETS: usize = if scaledb_sync::MODEL { 3 } else { 255 };
/// Buckets that can be a home.
pub(crate) const HOMES: usize = BUCKETS - (PROBE - 1);
/// Buckets behind its home, the home included, where a key of a growing index may be put: less than a probe
/// may visit, because beyond four fifths of the slots long probes cost more than a split.
pub(crate) const NEAR: usize = if scaledb_sync::MODEL { 2 } else { 8 };
/// How many buckets before its turn a bucket is asked for by a split, which others wait for.
const AHEAD: usize = 16;
/// Entries that fit a segment at the very best.
pub(crate) const CAPACITY: usize = BUCKETS * SLOTS;

#[repr(C, align(64))]
pub(crate) struct Segment {
    /// The number of leading hash bits that all entries share.
    depth: u32,
    /// Held by the worker that splits it.
    splitting: Mutex<()>,
    buckets: [Bucket; BUCKETS],
}

/// What became of an insert.
#[derive(Debug)]
pub(crate) enum Put {
    New,
    Existing(u64),
    Full,
    Frozen,
}

impl Segment {
    pub(crate) const BYTES: usize = size_of::<Self>();

    /// An empty segment that nobody can see yet.
    pub(crate) fn create(local: &mut Local, depth: u32) -> Result<NonNull<Self>> {
        let block = local.alloc(Self::BYTES)?.cast::<Self>();
        let at = block.as_ptr();
        // SAFETY: the block is large enough, aligned to 64, and ours; every field is written.
        unsafe {
            (&raw mut (*at).depth).write(depth);
            (&raw mut (*at).splitting).write(Mutex::new(()));
            let buckets = (&raw mut (*at).buckets).cast::<Bucket>();
            for i in 0..BUCKETS {
                buckets.add(i).write(Bucket::new());
            }
            names::name(buckets, size_of::<[Bucket; BUCKETS]>(), "hash.bucket");
        }
        Ok(block)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    #[inline(always)]
    fn home(hash: u64) -> usize {
        // the low 32 bits, scaled to 0..HOMES
        ((hash & 0xffff_ffff) as usize * HOMES) >> 32
    }

    #[inline(always)]
    fn bucket(&self, at: usize) -> &Bucket {
        debug_assert!(at < BUCKETS);
        // SAFETY: `home` is below HOMES, and a probe goes at most PROBE - 1 buckets further: below BUCKETS.
        unsafe { self.buckets.get_unchecked(at) }
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        hint::prefetch(self.bucket(Self::home(hash)));
    }

    #[inline(always)]
    pub(crate) fn prefetch_to_write(&self, hash: u64) {
        hint::prefetch_to_write(self.bucket(Self::home(hash)));
    }

    #[inline(always)]
    pub(crate) fn get(&self, hash: u64, eq: impl Fn(u64) -> bool) -> Option<u64> {
        let home = Self::home(hash);
        for distance in 0..PROBE {
            let bucket = self.bucket(home + distance);
            if let Some(value) = find(bucket, hash, &eq) {
                return Some(value);
            }
            if bucket.is_last() {
                break;
            }
        }
        // acquire: pairs with the release stores of a word's removal and of the counts after it
        fence(Ordering::Acquire);
        None
    }

    /// Adds an entry in one of the `LIMIT` buckets from its home on, unless there is one with an equal key.
    #[inline(always)]
    pub(crate) fn insert<const LIMIT: usize>(&self, hash: u64, value: u64, eq: impl Fn(u64) -> bool) -> Put {
        let home = Self::home(hash);
        let Some(mut first) = self.bucket(home).lock() else { return Put::Frozen };
        for distance in 0..PROBE {
            let bucket = self.bucket(home + distance);
            if let Some(value) = find(bucket, hash, &eq) {
                return Put::Existing(value);
            }
            if bucket.is_last() {
                break;
            }
        }
        if let Some(slot) = self.bucket(home).free().first() {
            first.put(slot, Word::new(hash, value), Note::new(hash, 0));
            return Put::New;
        }
        if (1..LIMIT).all(|distance| self.bucket(home + distance).free().first().is_none()) {
            return Put::Full;
        }
        first.pass();
        for distance in 1..LIMIT {
            let mut next = self.lock_behind(home + distance);
            if let Some(slot) = self.bucket(home + distance).free().first() {
                next.put(slot, Word::new(hash, value), Note::new(hash, distance));
                return Put::New;
            }
            next.pass();
        }
        // others took the room meanwhile
        for distance in 1..LIMIT {
            self.lock_behind(home + distance).unpass();
        }
        first.unpass();
        Put::Full
    }

    /// Removes the entry; `None` if the segment is frozen.
    #[inline(always)]
    pub(crate) fn remove(&self, hash: u64, value: u64) -> Option<bool> {
        let home = Self::home(hash);
        let word = Word::new(hash, value);
        let mut first = self.bucket(home).lock()?;
        for distance in 0..PROBE {
            let bucket = self.bucket(home + distance);
            if let Some(slot) = bucket.tagged(hash).find(|&slot| bucket.word(slot) == word) {
                if distance == 0 {
                    first.clear(slot);
                    return Some(true);
                }
                // still there: only the holder of the home's lock removes it
                self.lock_behind(home + distance).clear(slot);
                for between in 1..distance {
                    self.lock_behind(home + between).unpass();
                }
                first.unpass();
                return Some(true);
            }
            if bucket.is_last() {
                break;
            }
        }
        Some(false)
    }

    /// Locks a bucket behind the caller's home bucket.
    #[inline(always)]
    fn lock_behind(&self, at: usize) -> super::bucket::Locked<'_> {
        self.bucket(at).lock().expect("a split needs the home's lock, which the caller holds")
    }

    /// The turn to split the segment, for which others wait that find it full; `None` if it was split meanwhile.
    pub(crate) fn begin_split(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.splitting.lock();
        (!self.bucket(0).is_frozen()).then_some(turn)
    }

    /// Locks the whole segment. The caller has the turn to split it.
    pub(crate) fn lock_all(&self) {
        for (at, bucket) in self.buckets[..HOMES].iter().enumerate() {
            if let Some(soon) = self.buckets.get(at + AHEAD) {
                hint::prefetch_to_write(soon);
            }
            let locked = bucket.lock().expect("only the holder of the turn freezes buckets");
            std::mem::forget(locked); // `unlock_all` or `freeze` ends it
        }
    }

    pub(crate) fn unlock_all(&self) {
        self.buckets[..HOMES].iter().for_each(Bucket::unlock);
    }

    /// Sends all who wait for a lock of this segment back to the directory. The caller has locked it.
    pub(crate) fn freeze(&self) {
        self.buckets[..HOMES].iter().for_each(Bucket::freeze);
    }

    /// Whether the entries remember enough of their hashes to be divided.
    pub(crate) fn can_split(&self) -> bool {
        self.depth < KNOWN_BITS
    }

    /// Copies the entries to two segments by the next bit of their hashes. The caller has locked the whole
    /// segment.
    ///
    /// Each entry finds a place no further from its home than it was: taken in ascending order of their old
    /// places, entries only ever fill buckets up to their own, and at most SLOTS of them come from it.
    pub(crate) fn divide(&self, low: &mut Self, high: &mut Self) {
        // slots in use of each new bucket: they fill from the first on
        let mut used = [[0u8; BUCKETS]; 2];
        let halves = [low, high];
        for (at, bucket) in self.buckets.iter().enumerate() {
            for (word, note) in bucket.entries() {
                let home = at - note.distance();
                let half = note.hash_bit(word, self.depth);
                let (to, used) = (&mut halves[half].buckets, &mut used[half]);
                let place = (home..=at)
                    .find(|&place| usize::from(used[place]) < SLOTS)
                    .expect("an entry's old place is free until its turn");
                to[place].fill(usize::from(used[place]), word, note.moved(place - home));
                used[place] += 1;
                to[home..place].iter_mut().for_each(Bucket::push_past);
            }
        }
    }

    /// The values of all entries, each as it is at some moment of the call.
    pub(crate) fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.iter().flat_map(|b| b.entries().map(|(word, _)| word.value()))
    }
}

/// The value of the bucket's entry whose key is equal.
#[inline(always)]
fn find(bucket: &Bucket, hash: u64, eq: &impl Fn(u64) -> bool) -> Option<u64> {
    for slot in bucket.tagged(hash) {
        let word = bucket.word(slot);
        // acquire: pairs with the release store of the word; the record behind it is complete
        fence(Ordering::Acquire);
        if !word.is_free() && eq(word.value()) {
            return Some(word.value());
        }
    }
    None
}
