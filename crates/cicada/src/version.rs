//! The versions of a record (section 3.2).
//!
//! ```text
//!  word 0   wts     the timestamp of the transaction that wrote it
//!       1   rts     the largest timestamp of a transaction that has (possibly) committed having read it
//!       2   next    the version before; 0: there was nothing
//!       3   state   status | inlined | number of row words
//!       4…  the row
//! ```
//!
//! All but `rts`, `next` and the status is written before the version can be reached, and never changes while
//! it can be. So readers use rows where they are, without a copy.
//!
//! *Validity.* A [`Version`] is a plain address. It may be used by a worker since before it was reached from
//! its record until the worker's transaction ends: clean-up waits for both, for the transactions that began
//! before a version was superseded, and for those with a timestamp that could see it (`horizon.rs`).

use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use std::ptr::NonNull;

/// What became of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Status {
    /// Its transaction is being validated: who needs to know waits.
    Pending = 1,
    /// It counts.
    Committed = 2,
    /// It counts, and says that there is no row.
    Deleted = 3,
    /// It does not count.
    Aborted = 4,
}

const STATUS: u64 = 7;
const INLINED: u64 = 8;
const WORDS_AT: u32 = 32;

/// The head of a version; the row follows.
#[repr(C)]
pub(crate) struct Header {
    wts: AtomicU64,
    rts: AtomicU64,
    next: AtomicU64,
    state: AtomicU64,
}

/// The address of a version; see the head of the file for how long it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(NonNull<Header>);

// SAFETY: an address gives no access by itself; following it is justified where it is done.
unsafe impl Send for Version {}
// SAFETY: as above.
unsafe impl Sync for Version {}

impl Version {
    /// Bytes of a version with a row of so many words.
    pub(crate) const fn bytes(words: usize) -> usize {
        size_of::<Header>() + words * size_of::<u64>()
    }

    /// A version of its own, pending and unreachable, with room for so many words.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    #[inline]
    pub(crate) fn create(local: &mut Local, words: usize) -> Result<Self> {
        let block = local.alloc(Self::bytes(words))?.cast::<Header>();
        // SAFETY: the block is large enough, aligned, and ours.
        Ok(unsafe { Self::place(block, (words as u64) << WORDS_AT) })
    }

    /// An unused place for an inlined version.
    ///
    /// # Safety
    /// `at` has room for a header and the words that later versions there have, and is aligned to 8.
    #[inline]
    pub(crate) unsafe fn inline(at: NonNull<u8>) -> Self {
        // SAFETY: the caller's promise.
        let this = unsafe { Self::place(at.cast(), 0) };
        this.header().state.store(INLINED, Ordering::Relaxed); // seen by nobody yet
        this
    }

    /// # Safety
    /// `at` has room for a header, is aligned to 8, and nobody else uses it.
    unsafe fn place(at: NonNull<Header>, state: u64) -> Self {
        let zero = || AtomicU64::new(0);
        let state = AtomicU64::new(state | Status::Pending as u64);
        // SAFETY: the caller's promise.
        unsafe { at.write(Header { wts: zero(), rts: zero(), next: zero(), state }) };
        Self(at)
    }

    /// The version at an address from [`Version::raw`].
    ///
    /// # Safety
    /// It is valid in the sense of the head of this file for as long as the result is used.
    #[inline]
    pub(crate) unsafe fn from_raw(raw: u64) -> Self {
        debug_assert!(raw > 1 && raw.is_multiple_of(8));
        // SAFETY: addresses of versions are not null.
        Self(unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(raw as usize)) })
    }

    /// The address, a multiple of 8.
    #[inline]
    pub(crate) fn raw(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the version is valid as long as this name for it is used.
        unsafe { self.0.as_ref() }
    }

    /// The timestamp of its transaction.
    #[inline]
    pub(crate) fn wts(self) -> u64 {
        // published with the version's address
        self.header().wts.load(Ordering::Relaxed)
    }

    /// The read timestamp.
    ///
    /// # Safety
    /// The version is valid in the sense of the head of this file for all of `'a`.
    #[inline]
    pub(crate) unsafe fn rts_for<'a>(self) -> &'a AtomicU64 {
        // SAFETY: the caller's promise.
        unsafe { &self.0.as_ref().rts }
    }

    /// The address of the version before.
    #[inline]
    pub(crate) fn next(&self) -> &AtomicU64 {
        &self.header().next
    }

    /// [`Version::next`], for as long as the caller likes.
    ///
    /// # Safety
    /// As for [`Version::rts_for`].
    #[inline]
    pub(crate) unsafe fn next_for<'a>(self) -> &'a AtomicU64 {
        // SAFETY: the caller's promise.
        unsafe { &self.0.as_ref().next }
    }

    /// The status.
    #[inline]
    pub(crate) fn status(self) -> Status {
        // pairs with the Release in `settle`: a reader that sees a commit sees all versions that it installed
        match self.header().state.load(Ordering::Acquire) & STATUS {
            1 => Status::Pending,
            2 => Status::Committed,
            3 => Status::Deleted,
            _ => Status::Aborted,
        }
    }

    /// Settles the status. Only the transaction that wrote the version does so, and clean-up.
    #[inline]
    pub(crate) fn settle(self, status: Status) {
        let state = &self.header().state;
        // only this worker writes the state of its version; pairs with the load in `status`
        state.store(state.load(Ordering::Relaxed) & !STATUS | status as u64, Ordering::Release);
    }

    /// Takes an unused inlined place (section 3.3). False: it is in use.
    #[inline]
    pub(crate) fn claim(self, words: usize) -> bool {
        let taken = INLINED | Status::Pending as u64 | (words as u64) << WORDS_AT;
        let state = &self.header().state;
        // a look first, which does not take the line from readers; Acquire pairs with the Release in `free`:
        // its last readers are gone
        state.load(Ordering::Relaxed) == INLINED
            && state.compare_exchange(INLINED, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether the inlined place is free.
    #[inline]
    pub(crate) fn is_unused(self) -> bool {
        self.header().state.load(Ordering::Relaxed) == INLINED // a hint: `claim` decides
    }

    /// Words of its row.
    #[inline]
    pub(crate) fn words(self) -> usize {
        // immutable since before the version was published
        (self.header().state.load(Ordering::Relaxed) >> WORDS_AT) as usize
    }

    /// Whether it lies in its record.
    #[inline]
    pub(crate) fn is_inlined(self) -> bool {
        self.header().state.load(Ordering::Relaxed) & INLINED != 0 // immutable
    }

    /// Fills a pending version that nobody else can reach.
    #[inline]
    pub(crate) fn fill(self, wts: u64, row: &[u64]) {
        assert!(row.len() == self.words(), "made for a row of this length");
        let header = self.header();
        // published with the version's address
        header.wts.store(wts, Ordering::Relaxed);
        header.rts.store(wts, Ordering::Relaxed);
        header.next.store(0, Ordering::Relaxed);
        // SAFETY: the version has that many words behind its header, and only its maker knows it.
        unsafe {
            let words = self.0.add(1).cast::<u64>();
            std::ptr::copy_nonoverlapping(row.as_ptr(), words.as_ptr(), row.len());
        }
    }

    /// The row.
    ///
    /// # Safety
    /// The version is valid in the sense of the head of this file for as long as the slice is used.
    #[inline]
    pub(crate) unsafe fn row<'a>(self) -> &'a [u64] {
        // SAFETY: written by `fill` before it was published, unchanged since.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast::<u64>().as_ptr(), self.words()) }
    }

    /// Asks for the memory of the first rows' words.
    #[inline]
    pub(crate) fn prefetch(raw: u64) {
        let p: *const u8 = std::ptr::without_provenance(raw as usize);
        scaledb_sync::hint::prefetch(p);
        scaledb_sync::hint::prefetch(p.wrapping_add(64));
    }

    /// Gives its memory back: an inlined place is free again.
    ///
    /// # Safety
    /// It is unreachable, and nobody uses it any more.
    #[inline]
    pub(crate) unsafe fn free(self, local: &mut Local) {
        if self.is_inlined() {
            let state = &self.header().state;
            // pairs with the Acquire in `claim`
            state.store(INLINED, Ordering::Release);
        } else {
            // SAFETY: from `create` with as many words.
            unsafe { local.free(self.0.cast(), Self::bytes(self.words())) };
        }
    }

    /// Frees its memory when no transaction that is active now can use it any more. An inlined place goes with
    /// its record.
    ///
    /// # Safety
    /// It is unreachable for whoever becomes active from now on; once.
    pub(crate) unsafe fn retire(self, local: &mut Local) {
        if !self.is_inlined() {
            // SAFETY: from `create` with as many words; the caller's promise.
            unsafe { local.retire(self.0.cast(), Self::bytes(self.words())) };
        }
    }
}
