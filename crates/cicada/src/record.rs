//! The record of one primary key: the head of its versions (sections 3.2 and 3.3).
//!
//! ```text
//!  word 0   shape   key length, capacity of the inlined version (immutable)
//!       1   latest  the newest version; 0: never one; 1: obsolete
//!       2   items   lock of the clean-up | number of queued clean-up items and of pins | closed
//!       3   rts     the read timestamp of "there was nothing"
//!       4   cut     the timestamp of the last version that a clean-up has cut the chain behind
//!  bytes    key (immutable), padded to a word
//!           the inlined version, if there is room for one: header and row, see `version.rs`
//! ```
//!
//! Versions stand in descending order of `wts`; below the last one there is nothing, which is a state
//! like any other: it can be read, and a writer with a timestamp below `rts` comes too late.
//!
//! ```text
//!  obsolete = has left the indexes, or is about to: look the key up again
//! ```
//!
//! *Validity.* A [`Record`] is a plain address. It may be used by a worker whose activity is published
//! (`Local::enter`) since before it found the address in an index; and by whoever has an item of it in a
//! clean-up queue, for it is not removed before its last item.

use crate::version::{Header, Status, Version};
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::hint::Backoff;
use scaledb_sync::names;
use std::ptr::NonNull;

/// The rts of what no transaction may depend on any more.
pub(crate) const FROZEN: u64 = u64::MAX;

const CAPACITY_AT: u32 = 16;
const LOCK: u64 = 1;
const ITEM: u64 = 2;
const CLOSED: u64 = 1 << 63;

#[repr(C)]
struct Head {
    shape: u64,
    latest: AtomicU64,
    items: AtomicU64,
    rts: AtomicU64,
    cut: AtomicU64,
}

/// The address of a record; see the head of the file for how long it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record(NonNull<Head>);

// SAFETY: an address gives no access by itself; following it is justified where it is done.
unsafe impl Send for Record {}
// SAFETY: as above.
unsafe impl Sync for Record {}

/// A version stayed pending for longer than a reader's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck;

/// What became of the attempt to put a version into a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Installed {
    /// It is there, and no version that may count is later.
    Newest,
    /// It is there, and must be aborted: a later one is there too.
    Late,
    /// It is not there: a later one is, or the record is obsolete.
    Not,
}

/// What a transaction with a timestamp sees of a record (section 3.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    /// The version, or [`Record::NOTHING`], or [`Record::OBSOLETE`].
    pub(crate) version: u64,
    /// The version after it in time, from which a later search may go on (section 3.5); 0: none.
    pub(crate) later: u64,
    /// Whether there is a row.
    pub(crate) live: bool,
    /// Whether a version that may count has a larger timestamp.
    pub(crate) outdated: bool,
}

impl Record {
    /// Below the last version.
    pub(crate) const NOTHING: u64 = 0;
    /// In the place of the newest version of a record that is out of the indexes.
    pub(crate) const OBSOLETE: u64 = 1;

    fn inline_offset(key_len: usize) -> usize {
        size_of::<Head>() + key_len.next_multiple_of(8)
    }

    fn bytes(key_len: usize, capacity: usize) -> usize {
        let inlined = if capacity == 0 { 0 } else { Version::bytes(capacity) };
        Self::inline_offset(key_len) + inlined
    }

    /// Bytes of the record, with the room for an inlined row.
    pub(crate) fn block(self) -> usize {
        Self::bytes(self.key_len(), self.capacity())
    }

    /// A record that no other thread can reach, without versions, with room for an inlined row of `capacity` words
    /// (0: for none).
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    #[inline]
    pub(crate) fn create(local: &mut Local, key: &[u8], capacity: usize) -> Result<Self> {
        let block = local.alloc(Self::bytes(key.len(), capacity))?;
        let zero = || AtomicU64::new(0);
        let shape = key.len() as u64 | (capacity as u64) << CAPACITY_AT;
        // SAFETY: the block has room for the head, the key and the inlined version, by `bytes`.
        unsafe {
            block.cast::<Head>().write(Head {
                shape,
                latest: zero(),
                items: zero(),
                rts: zero(),
                cut: zero(),
            });
            let bytes = block.add(size_of::<Head>());
            std::ptr::copy_nonoverlapping(key.as_ptr(), bytes.as_ptr(), key.len());
            if capacity > 0 {
                Version::inline(block.add(Self::inline_offset(key.len())));
            }
        }
        names::name(block.as_ptr(), Self::bytes(key.len(), capacity), "record");
        Ok(Self(block.cast()))
    }

    /// The record at an address from [`Record::raw`].
    ///
    /// # Safety
    /// It is valid in the sense of the head of this file for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn from_raw(raw: u64) -> Self {
        debug_assert!(raw != 0 && raw.is_multiple_of(8));
        // SAFETY: addresses of records are not null.
        Self(unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(raw as usize)) })
    }

    /// The address, below 2^48.
    #[inline]
    pub(crate) fn raw(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// Asks for the record's first cache lines.
    #[inline]
    pub(crate) fn prefetch(raw: u64) {
        Version::prefetch(raw);
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: the record is valid as long as this name for it is used.
        unsafe { self.0.as_ref() }
    }

    fn key_len(self) -> usize {
        usize::from(self.head().shape as u16)
    }

    fn capacity(self) -> usize {
        (self.head().shape >> CAPACITY_AT) as usize
    }

    /// The key.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        // SAFETY: the record is valid as long as this name for it is used.
        unsafe { self.key_for() }
    }

    /// The key, for as long as the caller likes.
    ///
    /// # Safety
    /// The record is valid for all of `'a`.
    #[inline]
    pub(crate) unsafe fn key_for<'a>(self) -> &'a [u8] {
        // SAFETY: written by `create`, and never changed; for how long it is there the caller promises.
        unsafe {
            let bytes = self.0.add(1).cast::<u8>();
            std::slice::from_raw_parts(bytes.as_ptr(), self.key_len())
        }
    }

    /// The newest version, or [`Record::NOTHING`], or [`Record::OBSOLETE`].
    #[inline]
    pub(crate) fn latest(&self) -> &AtomicU64 {
        &self.head().latest
    }

    /// Whether it is out of the indexes.
    #[inline]
    pub(crate) fn is_obsolete(self) -> bool {
        self.latest().load(Ordering::SeqCst) == Self::OBSOLETE
    }

    /// The read timestamp of what was seen of this record.
    ///
    /// # Safety
    /// `seen` is [`Record::NOTHING`] or a valid version of this record; both are valid for all of `'a`.
    #[inline]
    pub(crate) unsafe fn rts_of<'a>(self, seen: u64) -> &'a AtomicU64 {
        // SAFETY: the caller's promise.
        unsafe {
            if seen == Self::NOTHING { &self.0.as_ref().rts } else { Version::from_raw(seen).rts_for() }
        }
    }

    /// The timestamp of the commit that made what was seen of this record; 0: none did.
    ///
    /// # Safety
    /// `seen` is [`Record::NOTHING`], [`Record::OBSOLETE`], or a valid version of this record.
    #[inline]
    pub(crate) unsafe fn wts_of(self, seen: u64) -> u64 {
        // SAFETY: the caller's promise.
        if seen <= Self::OBSOLETE { 0 } else { unsafe { Version::from_raw(seen) }.wts() }
    }

    /// Whether what was seen of this record is that its row was deleted. An insert over such a record keeps it
    /// (see [`Record::pin`]); so, if it is gone nevertheless, the transaction has nothing of its own there.
    ///
    /// # Safety
    /// As for [`Record::wts_of`].
    pub(crate) unsafe fn was_deleted(self, seen: u64) -> bool {
        // SAFETY: the caller's promise.
        seen > Self::OBSOLETE && unsafe { Version::from_raw(seen) }.status() == Status::Deleted
    }

    /// The place for an inlined version.
    fn inline(self) -> Option<Version> {
        // SAFETY: `create` made one there, if the capacity is not 0; it lives as long as the record.
        (self.capacity() > 0).then(|| unsafe {
            let at = self.0.cast::<u8>().add(Self::inline_offset(self.key_len()));
            Version::from_raw(at.cast::<Header>().as_ptr().expose_provenance() as u64)
        })
    }

    /// Whether an inlined version of so many words would find room now.
    #[inline]
    pub(crate) fn can_inline(self, words: usize) -> bool {
        words <= self.capacity() && self.inline().is_some_and(Version::is_unused)
    }

    /// A pending version for a row: inlined, if the place is free (section 3.3).
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    #[inline]
    pub(crate) fn new_version(self, local: &mut Local, words: usize) -> Result<Version> {
        if words <= self.capacity()
            && let Some(place) = self.inline()
            && place.claim(words)
        {
            return Ok(place);
        }
        Version::create(local, words)
    }

    /// The version that a transaction with timestamp `ts` sees: the newest one with `wts < ts` that was not
    /// aborted (its own has `wts == ts`). Waits for one that is pending, which has a smaller timestamp than
    /// the waiter, so that there is no deadlock. `later` is what an earlier search found, or 0. (Without
    /// `WAIT`, which is for tests, it does not.)
    ///
    /// # Errors
    /// [`Stuck`], after a bounded wait.
    #[inline]
    pub(crate) fn visible<const WAIT: bool>(self, ts: u64, later: u64) -> Result<Visible, Stuck> {
        let mut later = later;
        let mut outdated = false;
        let mut at = match later {
            0 => self.latest().load(Ordering::SeqCst),
            // SAFETY: its timestamp is above that of the running transaction, so it is not reclaimed.
            raw => unsafe { Version::from_raw(raw) }.next().load(Ordering::SeqCst),
        };
        let mut backoff = Backoff::new();
        loop {
            if at <= Self::OBSOLETE {
                return Ok(Visible { version: at, later, live: false, outdated });
            }
            // SAFETY: reached at a timestamp that clean-up waits for.
            let version = unsafe { Version::from_raw(at) };
            let wts = version.wts();
            if wts >= ts {
                outdated |= wts > ts && version.status() != Status::Aborted;
                // a later search may skip only versions that stay above the timestamp
                later = at;
            } else {
                match version.status() {
                    Status::Committed => return Ok(Visible { version: at, later, live: true, outdated }),
                    Status::Deleted => return Ok(Visible { version: at, later, live: false, outdated }),
                    Status::Aborted => {}
                    Status::Pending if !WAIT => {}
                    Status::Pending => {
                        if !backoff.wait() {
                            return Err(Stuck);
                        }
                        continue;
                    }
                }
            }
            at = version.next().load(Ordering::SeqCst);
        }
    }

    /// Puts a pending version with timestamp `ts` where it belongs in the chain: below aborted versions at the
    /// most (section 3.2, *write latest version only*), so that whoever overwrites a version keeps all earlier
    /// writers out without raising its read timestamp.
    ///
    /// Two writers may put their versions in different places at the same time, one above aborted versions and
    /// one below. The lower one looks up again, as the upper one looks down when it checks what it has read.
    #[inline]
    pub(crate) fn install(self, version: Version, ts: u64, look_up: bool) -> Installed {
        loop {
            let mut place = self.latest();
            let mut at = place.load(Ordering::SeqCst);
            let mut below = false;
            loop {
                if at == Self::OBSOLETE {
                    return Installed::Not;
                }
                if at == Self::NOTHING {
                    break;
                }
                // SAFETY: reached at a timestamp that clean-up waits for.
                let above = unsafe { Version::from_raw(at) };
                if above.wts() < ts {
                    break;
                }
                if above.status() != Status::Aborted {
                    return Installed::Not;
                }
                below = true;
                // SAFETY: as above.
                place = unsafe { above.next_for() };
                at = place.load(Ordering::SeqCst);
            }
            // not reachable yet; published by the exchange
            version.next().store(at, Ordering::Relaxed);
            if place.compare_exchange(at, version.raw(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
                continue;
            }
            return if below && look_up && self.has_later(ts) { Installed::Late } else { Installed::Newest };
        }
    }

    /// Whether a version that may count has a larger timestamp.
    #[cold]
    fn has_later(self, ts: u64) -> bool {
        self.later(ts) > 0
    }

    /// The timestamp of the newest version that may count, if it is larger; else 0.
    #[cold]
    pub(crate) fn later(self, ts: u64) -> u64 {
        let mut at = self.latest().load(Ordering::SeqCst);
        while at > Self::OBSOLETE {
            // SAFETY: reached at a timestamp that clean-up waits for.
            let version = unsafe { Version::from_raw(at) };
            let wts = version.wts();
            if wts <= ts {
                return 0;
            }
            if version.status() != Status::Aborted {
                return wts;
            }
            at = version.next().load(Ordering::SeqCst);
        }
        0
    }

    /// Notes that a clean-up queue holds one more item of this record.
    #[inline]
    pub(crate) fn add_item(self) {
        // only the number counts; the record is kept by the caller's activity until this item is counted
        self.head().items.fetch_add(ITEM, Ordering::Relaxed);
    }

    /// Keeps a record whose row was deleted in the indexes, until a clean-up item of the caller's is done. False: it
    /// is on its way out.
    pub(crate) fn pin(self) -> bool {
        let items = &self.head().items;
        let add = |now| (now & CLOSED == 0).then_some(now + ITEM);
        // either `close` comes first, or it sees the pin: both change the one word
        items.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Takes the clean-up lock. False: somebody has it.
    #[inline]
    pub(crate) fn try_lock_items(self) -> bool {
        let items = &self.head().items;
        let now = items.load(Ordering::Relaxed);
        // Acquire pairs with the Release in `unlock_items`
        now & LOCK == 0
            && items.compare_exchange(now, now | LOCK, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// For the holder of the clean-up lock: whether the version of an item that was settled at `wts` is there
    /// still. Notes that the chain is cut behind it.
    #[inline]
    pub(crate) fn note_cut(self, wts: u64) -> bool {
        let cut = &self.head().cut;
        // under the clean-up lock
        let there = wts > cut.load(Ordering::Relaxed);
        if there {
            cut.store(wts, Ordering::Relaxed);
        }
        there
    }

    /// Whether the lock's holder has the only item.
    #[inline]
    pub(crate) fn is_last_item(self) -> bool {
        // others count theirs before the version that they install is settled: see `gc.rs`
        self.head().items.load(Ordering::SeqCst) == LOCK | ITEM
    }

    /// For the lock's holder: lets nobody pin the record any more. False: others than the caller have items.
    pub(crate) fn close(self) -> bool {
        let (items, mine) = (&self.head().items, LOCK | ITEM);
        items.compare_exchange(mine, mine | CLOSED, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Undoes [`Record::close`] when the record cannot be removed after all.
    pub(crate) fn reopen(self) {
        self.head().items.fetch_and(!CLOSED, Ordering::Relaxed);
    }

    /// Gives the clean-up lock back, and takes one item off the count if it is done.
    #[inline]
    pub(crate) fn unlock_items(self, done: bool) {
        self.head().items.fetch_sub(LOCK + if done { ITEM } else { 0 }, Ordering::Release);
    }

    /// Makes a record obsolete that `latest` is the newest version of. False: there is a newer one.
    pub(crate) fn make_obsolete(self, latest: u64) -> bool {
        let obsolete = Self::OBSOLETE;
        self.latest().compare_exchange(latest, obsolete, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Frees a record that no other thread can reach.
    ///
    /// # Safety
    /// It was never in an index, and has no version but an inlined one.
    pub(crate) unsafe fn discard(self, local: &mut Local) {
        // SAFETY: from `create` with these sizes.
        unsafe { local.free(self.0.cast(), Self::bytes(self.key_len(), self.capacity())) };
    }

    /// Frees its memory when no transaction that is active now can use it any more.
    ///
    /// # Safety
    /// It is obsolete, out of all indexes, and in no clean-up queue but the caller's; once.
    pub(crate) unsafe fn retire(self, local: &mut Local) {
        // SAFETY: from `create` with these sizes; the caller's promise.
        unsafe { local.retire(self.0.cast(), Self::bytes(self.key_len(), self.capacity())) };
    }
}
