//! The resident hash index: every key of a table, growing without a stop (extendible hashing).
//!
//! ```text
//!   root ──► directory (2^depth entries, by the hash's leading bits)
//!            ├─ 00 ──► segment ┌────────┬────────┬─ ... ─┬────────┐  16 KiB, a huge page's part
//!            ├─ 01 ──►         │bucket 0│bucket 1│       │  254   │
//!            ├─ 10 ─┬► segment └────────┴────────┴─ ... ─┴────────┘
//!            └─ 11 ─┘
//! ```
//!
//! A point read costs the directory entry (small enough to stay in the cache), one bucket, and the
//! record. A full segment is replaced by two. Readers never wait, and nobody else waits but for the
//! buckets of the one segment that is being split. An index never shrinks.
//!
//! Why it is atomic: see `segment.rs`.

pub(crate) mod bucket;
mod directory;
pub(crate) mod segment;

use crate::indexlet::Inserted;
use directory::Directory;
use scaledb_base::Result;
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, CachePadded};
use segment::{NEAR, Put, Segment};
use std::ptr::NonNull;

/// A concurrent map from 64-bit hashes to 48-bit values (pointers to records), for any number of keys.
///
/// The caller computes the hash: all 64 bits must be well mixed. The value is a nonzero word below 2^48,
/// and what it points to stays valid while a worker that may have got it is active. Equal keys are told
/// by a closure `eq`, which is called with the values of entries whose 16-bit tags match; it must not use
/// the index.
pub struct HashIndex {
    /// Read by everybody, written when the directory doubles.
    root: CachePadded<AtomicPtr<Directory>>,
    /// Held while entries of the directory change.
    growth: CachePadded<Mutex<()>>,
    segments: AtomicU64,
    domain: Arc<Domain>,
}

impl HashIndex {
    /// An empty index.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(local: &mut Local) -> Result<Self> {
        let segment = Segment::create(local, 0)?;
        let directory = Directory::create(local, 1, |_| segment).inspect_err(|_| {
            // SAFETY: created above, seen by nobody.
            unsafe { local.free(segment.cast(), Segment::BYTES) }
        })?;
        Ok(Self {
            root: CachePadded(AtomicPtr::new(directory.as_ptr())),
            growth: CachePadded(Mutex::new(())),
            segments: AtomicU64::new(1),
            domain: local.domain().clone(),
        })
    }

    #[inline(always)]
    fn directory(&self) -> NonNull<Directory> {
        // acquire: pairs with the release store when the directory doubles
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: the root is never null.
        unsafe { NonNull::new_unchecked(root) }
    }

    #[inline(always)]
    fn segment_at(&self, local: &Local, hash: u64) -> NonNull<Segment> {
        local.assert_active();
        // SAFETY: the directory was reachable while this worker is active, so neither it nor its segments
        // are freed before the worker goes idle.
        unsafe { Directory::segment(self.directory(), hash) }
    }

    #[inline(always)]
    fn segment<'a>(&'a self, local: &'a Local, hash: u64) -> &'a Segment {
        // SAFETY: as in `segment_at`.
        unsafe { self.segment_at(local, hash).as_ref() }
    }

    /// The value of the entry whose key is equal. Lock-free; never misses a key that is present during the
    /// whole call.
    #[inline]
    pub fn get(&self, local: &Local, hash: u64, eq: impl Fn(u64) -> bool) -> Option<u64> {
        self.segment(local, hash).get(hash, eq)
    }

    /// Asks for the cache line where the key's entry would be.
    #[inline]
    pub fn prefetch(&self, local: &Local, hash: u64) {
        self.segment(local, hash).prefetch(hash);
    }

    /// Asks for that line to write it.
    #[inline]
    pub fn prefetch_to_write(&self, local: &Local, hash: u64) {
        self.segment(local, hash).prefetch_to_write(hash);
    }

    /// Adds an entry unless there is one with an equal key. [`Inserted::Full`] means that more than a thousand keys
    /// share the first 19 bits of their hashes: there are some 650 million, or the hash is not one.
    ///
    /// # Errors
    /// `OutOfMemory`, when the index has to grow and cannot.
    #[inline]
    pub fn insert(
        &self,
        local: &mut Local,
        hash: u64,
        value: u64,
        eq: impl Fn(u64) -> bool,
    ) -> Result<Inserted> {
        loop {
            let at = self.segment_at(local, hash);
            // SAFETY: as in `segment_at`.
            let segment = unsafe { at.as_ref() };
            match segment.insert::<NEAR>(hash, value, &eq) {
                Put::New => return Ok(Inserted::New),
                Put::Existing(value) => return Ok(Inserted::Existing(value)),
                Put::Full if segment.can_split() => self.split(local, hash, at)?,
                Put::Full => return Ok(Inserted::Full),
                Put::Frozen => {}
            }
        }
    }

    /// Removes the entry with exactly this value. False if there is none.
    #[inline]
    pub fn remove(&self, local: &Local, hash: u64, value: u64) -> bool {
        loop {
            if let Some(removed) = self.segment(local, hash).remove(hash, value) {
                return removed;
            }
        }
    }

    /// Replaces a segment by two, or waits until another worker has done so.
    #[cold]
    fn split(&self, local: &mut Local, hash: u64, old: NonNull<Segment>) -> Result<()> {
        // SAFETY: reachable while this worker is active, which it is until after this call.
        let segment = unsafe { old.as_ref() };
        let Some(_turn) = segment.begin_split() else { return Ok(()) };
        let depth = segment.depth() + 1;
        let low = Segment::create(local, depth)?;
        let high = Segment::create(local, depth).inspect_err(|_| {
            // SAFETY: created above, seen by nobody.
            unsafe { local.free(low.cast(), Segment::BYTES) }
        })?;
        segment.lock_all();
        // SAFETY: created above; nobody else can see them.
        unsafe { segment.divide(&mut *low.as_ptr(), &mut *high.as_ptr()) };
        if let Err(error) = self.replace(local, hash, depth, [low, high]) {
            segment.unlock_all();
            for unused in [low, high] {
                // SAFETY: created above, seen by nobody.
                unsafe { local.free(unused.cast(), Segment::BYTES) }
            }
            return Err(error);
        }
        segment.freeze();
        // SAFETY: the directory no longer names the segment, which stays until this worker is idle.
        unsafe { local.retire(old.cast(), Segment::BYTES) };
        Ok(())
    }

    /// Makes the directory name `pair` instead of the segment of depth `depth - 1` that holds `hash`.
    fn replace(&self, local: &mut Local, hash: u64, depth: u32, pair: [NonNull<Segment>; 2]) -> Result<()> {
        let _growth = self.growth.lock();
        let mut directory = self.directory();
        // SAFETY: this worker is active.
        let old_depth = unsafe { Directory::depth(directory) };
        if old_depth < depth {
            // SAFETY: as above.
            let entries = unsafe { Directory::entries(directory) };
            let twice = Directory::create(local, old_depth + 1, |i| {
                // relaxed: entries change only under the growth lock
                let segment = entries[i / 2].load(Ordering::Relaxed);
                NonNull::new(segment).expect("entries are never null")
            })?;
            // release: pairs with the acquire load of the root
            self.root.store(twice.as_ptr(), Ordering::Release);
            // SAFETY: the root no longer names it.
            unsafe { local.retire(directory.cast(), Directory::bytes(old_depth)) };
            directory = twice;
        }
        // SAFETY: this worker is active, and the growth lock keeps the directory in place.
        let (entries, width) = unsafe {
            let width = Directory::depth(directory) - depth;
            (Directory::entries(directory), width)
        };
        let first = ((hash >> (64 - depth)) as usize & !1) << width;
        for (i, entry) in entries[first..first + (2 << width)].iter().enumerate() {
            // release: pairs with the acquire load in `Directory::segment`
            entry.store(pair[i >> width].as_ptr(), Ordering::Release);
        }
        self.segments.fetch_add(1, Ordering::Relaxed); // a statistic
        Ok(())
    }

    /// Calls `f` with every segment, in the order of hashes.
    fn for_each_segment(&self, local: &Local, mut f: impl FnMut(NonNull<Segment>)) {
        let mut from = 0u64;
        loop {
            let segment = self.segment_at(local, from);
            // SAFETY: as in `segment_at`.
            let depth = unsafe { segment.as_ref() }.depth();
            f(segment);
            // the segment holds the hashes from `from` up to the next multiple of this step
            let Some(step) = 1u64.checked_shl(64 - depth) else { return };
            let Some(next) = from.checked_add(step) else { return };
            from = next;
        }
    }

    /// Calls `f` with the values of the segment that holds the hash `from`. Returns where the next segment
    /// begins, or `None` after the last: a walk that may pause, and end its activity, between segments. An entry
    /// that is there during the whole walk is seen, and twice if its segment splits meanwhile.
    pub fn walk(&self, local: &Local, from: u64, f: impl FnMut(u64)) -> Option<u64> {
        let segment = self.segment_at(local, from);
        // SAFETY: as in `segment_at`.
        let segment = unsafe { segment.as_ref() };
        segment.values().for_each(f);
        let step = 1u64.checked_shl(64 - segment.depth())?;
        (from & !(step - 1)).checked_add(step)
    }

    /// Calls `f` with the value of every entry. An entry that is there during the whole call is seen once;
    /// one that comes or goes meanwhile may be seen or not.
    pub fn for_each(&self, local: &Local, mut f: impl FnMut(u64)) {
        // SAFETY: as in `segment_at`.
        self.for_each_segment(local, |segment| unsafe { segment.as_ref() }.values().for_each(&mut f));
    }

    /// About how many entries there are, by counting up to 16 segments.
    pub fn len(&self, local: &Local) -> usize {
        const SAMPLE: u64 = 16;
        let segments = self.segments();
        if segments <= SAMPLE {
            let mut len = 0;
            self.for_each(local, |_| len += 1);
            return len;
        }
        // each sampled segment stands for the same part of the hashes
        let estimate = (0..SAMPLE).map(|i| {
            let segment = self.segment(local, i * (u64::MAX / SAMPLE));
            segment.values().count() as f64 * (1u64 << segment.depth()) as f64 / SAMPLE as f64
        });
        estimate.sum::<f64>() as usize
    }

    /// Whether there is no entry (at some moment of the call, for each segment).
    pub fn is_empty(&self, local: &Local) -> bool {
        let mut empty = true;
        self.for_each(local, |_| empty = false);
        empty
    }

    /// Segments in use.
    pub fn segments(&self) -> u64 {
        self.segments.load(Ordering::Relaxed) // a statistic
    }

    /// Slots: entries that would fit if each found its place.
    pub fn slots(&self) -> u64 {
        self.segments() * segment::CAPACITY as u64
    }

    /// Memory in use.
    pub fn bytes(&self, local: &Local) -> u64 {
        local.assert_active();
        // SAFETY: this worker is active.
        let depth = unsafe { Directory::depth(self.directory()) };
        self.segments() * Segment::BYTES as u64 + Directory::bytes(depth) as u64
    }
}

impl Drop for HashIndex {
    /// Frees the memory through a worker of its own; when all workers are taken, leaves it to the domain.
    fn drop(&mut self) {
        let Ok(mut local) = self.domain.register() else { return };
        local.enter();
        let mut segments = Vec::new();
        self.for_each_segment(&local, |segment| segments.push(segment));
        local.exit();
        let directory = self.directory();
        // SAFETY: nobody else has a reference to the index, so nobody can reach its memory.
        unsafe {
            for segment in segments {
                local.free(segment.cast(), Segment::BYTES);
            }
            local.free(directory.cast(), Directory::bytes(Directory::depth(directory)));
        }
    }
}
