//! Records of an engine, as the kit sees them: addresses that have a key.

use scaledb_base::Timestamp;
use scaledb_index::btree::Entry;
use scaledb_memory::Local;
use std::marker::PhantomData;

/// A record: the stable object of one primary key, or of one entry of a secondary index. Indexes hold its address.
pub trait Record: Copy + PartialEq {
    /// The record at an address from [`Record::raw`].
    ///
    /// # Safety
    /// The record is valid for as long as the result is used: an index holds it, or held it since the caller's worker
    /// became active; or the caller has made it.
    unsafe fn from_raw(raw: u64) -> Self;

    /// The address.
    fn raw(self) -> u64;

    /// The key, which never changes.
    ///
    /// # Safety
    /// The record is valid, in the sense of [`Record::from_raw`], for all of `'a`.
    unsafe fn key_for<'a>(self) -> &'a [u8];

    /// The latest commit that its row shows; one that runs meanwhile may be it. The record is valid, in the sense of
    /// [`Record::from_raw`].
    fn committed(self) -> Timestamp;

    /// Frees it, with its row, when nobody can be reading it any more.
    ///
    /// # Safety
    /// It has left all indexes, and is retired once.
    unsafe fn retire(self, local: &mut Local);

    /// Frees it, with its row, at once.
    ///
    /// # Safety
    /// Nobody but the caller has seen it, and nobody uses it again.
    unsafe fn free(self, local: &mut Local);
}

/// The entries of an engine's trees: addresses of its records, which hold their keys.
#[derive(Debug)]
pub struct RecordEntry<R>(PhantomData<R>);

// SAFETY: a record's key never changes.
unsafe impl<R: Record> Entry for RecordEntry<R> {
    #[inline]
    unsafe fn key<'a>(raw: u64) -> &'a [u8] {
        // SAFETY: the caller's promise: `raw` is a record that an index holds, or held in this activity.
        unsafe { R::from_raw(raw).key_for() }
    }
}
