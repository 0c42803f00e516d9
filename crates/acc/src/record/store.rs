//! Writing a row in place, under the locks of its groups; what is kept of it before: versions for snapshots, and a note
//! for clean-up.

use super::{Overflow, Record, Version, Word};
use scaledb_base::Result;
use scaledb_memory::Local;
use scaledb_row::{ColumnSet, Layout};
use scaledb_sync::atomic::Ordering;

impl Record {
    /// Overwrites the columns of `dirty` with those of `image`. The caller holds the locks of their groups, and the
    /// row fits.
    #[inline]
    pub fn store_columns(self, layout: &Layout, dirty: ColumnSet, image: &[u64]) {
        let shape = self.shape();
        let row = self.row(shape);
        // ordered by the Release in `unlock`
        layout.for_each_word(dirty, |w| row[w].store(image[w], Ordering::Relaxed));
        if layout.any_var(dirty) {
            for w in layout.fixed_words()..image.len() {
                row[w].store(image[w], Ordering::Relaxed);
            }
            self.atomic(0).store(shape.with_row_words(image.len()).0, Ordering::Release);
        }
    }

    /// Overwrites the whole row. The caller holds all locks, or has not published the record; it fits.
    pub fn store_row(self, image: &[u64]) {
        let shape = self.shape();
        for (to, &from) in self.row(shape).iter().zip(image) {
            to.store(from, Ordering::Relaxed); // ordered by the Release in `unlock`
        }
        self.atomic(0).store(shape.with_row_words(image.len()).0, Ordering::Release);
    }

    /// Moves the row to an overflow block, as it is. The caller holds all locks.
    pub fn move_to_overflow(self, local: &mut Local, block: Overflow) {
        let shape = self.shape();
        let row = self.row(shape);
        assert!(shape.row_words() <= block.capacity(), "the block is for a longer row");
        for (i, word) in row[..shape.row_words()].iter().enumerate() {
            // under the locks
            // SAFETY: the block has `capacity` words behind its first one.
            unsafe { block.0.add(i + 1).as_ref() }.store(word.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let address = self.inline(shape);
        let old = shape.overflows().then(|| address.load(Ordering::Relaxed)); // under the locks
        // the address before the flag, each with Release: pairs with the Acquires in `shape` and `row`
        address.store(block.0.as_ptr().expose_provenance() as u64, Ordering::Release);
        self.atomic(0).store(shape.with_overflow().0, Ordering::Release);
        if let Some(old) = old {
            // SAFETY: the record's block until now.
            unsafe { Self::retire_overflow(local, old) };
        }
    }

    /// Notes that a clean-up list has the record; false if one has it already. At most one list may: its
    /// entry is what retires the record, and another one would name memory that is gone. The caller holds
    /// all locks.
    pub fn enlist(self) -> bool {
        let shape = self.shape();
        if shape.is_enlisted() {
            return false;
        }
        // Release, for the sake of the other facts in the word: see `shape`
        self.atomic(0).store(shape.with_enlisted(true).0, Ordering::Release);
        true
    }

    /// Notes that no clean-up list has the record any more. The caller holds all locks.
    pub fn delist(self) {
        let shape = self.shape();
        debug_assert!(shape.is_enlisted());
        self.atomic(0).store(shape.with_enlisted(false).0, Ordering::Release); // as in `enlist`
    }

    /// Copies the current row to a version in front of the record's chain. The caller holds all locks.
    /// Returns the version, for the caller to free when no snapshot needs it.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    pub fn retain(self, local: &mut Local, current: Word) -> Result<Version> {
        let shape = self.shape();
        let row = self.row(shape);
        let words = if current.is_absent() { 0 } else { shape.row_words() };
        let chain = self.chain();
        let next = chain.load(Ordering::Relaxed);
        let version = Version::create(local, current, next, words, |out| {
            for (to, from) in out.iter_mut().zip(row) {
                *to = from.load(Ordering::Relaxed); // under the lock
            }
        })?;
        // pairs with the Acquire in `read_at`
        chain.store(version.raw(), Ordering::Release);
        Ok(version)
    }
}
