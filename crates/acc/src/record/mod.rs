//! The record of one primary key.
//!
//! ```text
//!  words        shape: row words, capacity, key length, groups, overflow flag
//!               header word of each conflict group (1 to 4)      commit_ts | flags, see `Word`
//!               chain: newest version that snapshots need        0: none
//!  bytes        key (immutable), padded to a word
//!  words        the row, in place; or the address of an overflow block if it outgrew its capacity
//! ```
//!
//! Rows are updated in place under the lock bits of their groups; a reader copies the words it wants and
//! then looks at the header words again (a seqlock per group). That needs no allocation, no version to
//! reclaim, and no second cache miss, which is what decides on these machines; the price is the copy,
//! which is of the columns asked for only.
//!
//! *Validity.* A [`Record`] is a plain address. It may be used by a worker whose activity is published
//! (`Local::enter`) since before it found the address in an index, because a record is retired only
//! after it left all indexes; or by whoever created it and has not published it.

mod block;
mod read;
mod store;
mod version;
mod word;

pub use block::Overflow;
use block::Shape;
pub use version::Version;
pub use word::Word;

use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Result, Timestamp};
use scaledb_memory::Local;
use scaledb_row::{Layout, Projection};
use scaledb_sync::atomic::{AtomicU64, Ordering, fence};
use scaledb_sync::hint::Backoff;
use scaledb_sync::names;
use std::ptr::NonNull;

/// The longest row that is kept inside its record, in words.
const MAX_INLINE: usize = 2_048;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A row of this many words.
    Live(usize),
    /// No row.
    Absent,
}

/// A lock was held for longer than the reader's or writer's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck;

/// The address of a record; see the head of the file for how long it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record(NonNull<AtomicU64>);

impl Record {
    fn header_words(groups: usize) -> usize {
        groups + 2
    }

    fn block_bytes(groups: usize, key_len: usize, capacity: usize) -> usize {
        (Self::header_words(groups) + capacity) * size_of::<AtomicU64>() + key_len.next_multiple_of(8)
    }

    /// A record that nobody else knows: a placeholder, locked and absent, holding `row`.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`].
    #[inline]
    pub fn create(local: &mut Local, groups: usize, key: &[u8], row: &[u64]) -> Result<Self> {
        let inline = row.len() <= MAX_INLINE;
        let capacity = if inline { row.len().max(1) } else { 1 };
        let overflow = if inline { None } else { Some(Overflow::create(local, row.len())?) };
        let block = match local.alloc(Self::block_bytes(groups, key.len(), capacity)) {
            Ok(block) => block.cast::<AtomicU64>(),
            Err(error) => {
                if let Some(overflow) = overflow {
                    overflow.discard(local);
                }
                return Err(error);
            }
        };
        let record = Self(block);
        let mut shape = Shape::new(row.len(), capacity, key.len(), groups);
        if overflow.is_some() {
            shape = shape.with_overflow();
        }
        // SAFETY: the block has room for the header, the key and the row, by `block_bytes`.
        unsafe {
            block.write(AtomicU64::new(shape.0));
            for group in 0..groups {
                block.add(1 + group).write(AtomicU64::new(Word::PLACEHOLDER.0));
            }
            block.add(1 + groups).write(AtomicU64::new(0));
            let bytes = block.add(Self::header_words(groups)).cast::<u8>();
            std::ptr::copy_nonoverlapping(key.as_ptr(), bytes.as_ptr(), key.len());
            let words = bytes.add(key.len().next_multiple_of(8)).cast::<AtomicU64>();
            if let Some(overflow) = &overflow {
                let address = overflow.0.as_ptr().expose_provenance() as u64;
                words.write(AtomicU64::new(address));
            } else {
                for (i, &word) in row.iter().enumerate() {
                    words.add(i).write(AtomicU64::new(word));
                }
                if row.is_empty() {
                    words.write(AtomicU64::new(0));
                }
            }
        }
        if overflow.is_some() {
            record.store_row(row);
        }
        names::name(block.as_ptr(), Self::block_bytes(groups, key.len(), capacity), "record");
        Ok(record)
    }

    /// The record at an address from [`Record::raw`].
    ///
    /// # Safety
    /// The record is valid in the sense of the head of this file for as long as the result is used.
    #[inline]
    pub unsafe fn from_raw(raw: u64) -> Self {
        debug_assert!(raw != 0 && raw.is_multiple_of(8));
        // SAFETY: addresses of records are not null.
        Self(unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(raw as usize)) })
    }

    /// The address, below 2^48.
    #[inline]
    pub fn raw(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// Asks for the record's first cache lines.
    #[inline]
    pub fn prefetch(raw: u64) {
        let p: *const u8 = std::ptr::without_provenance(raw as usize);
        scaledb_sync::hint::prefetch(p);
        scaledb_sync::hint::prefetch(p.wrapping_add(64));
    }

    /// The cache lines of a record that hold its header and the fixed columns of `cols`, one bit each.
    #[inline]
    pub fn lines(groups: usize, key_len: usize, cols: &Projection) -> u64 {
        const WORDS: usize = 64 / size_of::<u64>();
        let row = Self::header_words(groups) + key_len.div_ceil(size_of::<u64>());
        cols.spans().iter().fold(1, |lines, span| {
            let first = (row + span.start as usize) / WORDS;
            let last = (row + (span.start + span.words) as usize - 1) / WORDS;
            (first..=last.min(63)).fold(lines, |lines, line| lines | 1 << line)
        })
    }

    /// The cache lines of a record that a scan reads, one bit each: as [`Record::lines`] for a key of a word, and the
    /// first two of the columns of variable length, if it reads any.
    pub fn lines_of_scan(layout: &Layout, cols: &Projection) -> u64 {
        const WORDS: usize = 64 / size_of::<u64>();
        let lines = Self::lines(layout.groups(), size_of::<u64>(), cols);
        let first = (Self::header_words(layout.groups()) + 1 + layout.fixed_words()) / WORDS;
        if cols.var() { lines | 3 << first.min(62) } else { lines }
    }

    /// The first word of the row as it is now, which may be any word of a row that is being written: a hint.
    #[inline]
    pub fn first_word(self) -> Option<u64> {
        let shape = self.shape();
        if shape.overflows() {
            return None;
        }
        self.row(shape).first().map(|word| word.load(Ordering::Relaxed)) // a hint
    }

    /// Asks for some cache lines of a record.
    #[inline]
    pub fn prefetch_lines(raw: u64, lines: u64) {
        let p: *const u8 = std::ptr::without_provenance(raw as usize);
        let mut rest = lines;
        while rest != 0 {
            scaledb_sync::hint::prefetch(p.wrapping_add(rest.trailing_zeros() as usize * 64));
            rest &= rest - 1;
        }
    }

    #[inline]
    fn atomic(&self, i: usize) -> &AtomicU64 {
        // SAFETY: callers stay within the header, by the immutable parts of the shape.
        unsafe { self.0.add(i).as_ref() }
    }

    #[inline]
    fn shape(self) -> Shape {
        // pairs with the Release in `move_to_overflow`: a reader that sees the flag sees the address
        Shape(self.atomic(0).load(Ordering::Acquire))
    }

    #[inline]
    fn group_word(&self, group: usize) -> &AtomicU64 {
        // a model checker would take the load for a step of the protocol
        debug_assert!(scaledb_sync::MODEL || group < self.shape().groups());
        self.atomic(1 + group)
    }

    /// Only lock holders write the chain.
    fn chain(&self) -> &AtomicU64 {
        self.atomic(1 + self.shape().groups())
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        // SAFETY: the record is valid as long as this name for it is used.
        unsafe { self.key_for() }
    }

    /// The key, for as long as the caller likes.
    ///
    /// # Safety
    /// The record is valid in the sense of the head of this file for all of `'a`.
    #[inline]
    pub unsafe fn key_for<'a>(self) -> &'a [u8] {
        let shape = self.shape();
        // SAFETY: the key lies behind the header, was written before the record was published, and never
        // changes; for how long it is there the caller promises.
        unsafe {
            let bytes = self.0.add(Self::header_words(shape.groups())).cast::<u8>();
            std::slice::from_raw_parts(bytes.as_ptr(), shape.key_len())
        }
    }

    /// The inline area: the row, or its overflow block's address.
    #[inline]
    fn inline_at(&self, shape: Shape) -> NonNull<AtomicU64> {
        // SAFETY: the inline area has at least one word, behind the padded key.
        unsafe {
            let key = shape.key_len().next_multiple_of(8);
            self.0.add(Self::header_words(shape.groups())).cast::<u8>().add(key).cast()
        }
    }

    #[inline]
    fn inline(&self, shape: Shape) -> &AtomicU64 {
        // SAFETY: as in `inline_at`.
        unsafe { self.inline_at(shape).as_ref() }
    }

    /// The place of the row's words and how many there are room for.
    #[inline]
    fn row(&self, shape: Shape) -> &[AtomicU64] {
        // SAFETY: the inline area has `capacity` words behind the padded key. An overflow block's first
        // word is its capacity; its address was stored before the flag that `shape` shows, and a block that
        // was replaced is retired, not freed, so that it outlives this worker's activity.
        unsafe {
            let words = self.inline_at(shape);
            if !shape.overflows() {
                return std::slice::from_raw_parts(words.as_ptr(), shape.capacity());
            }
            // pairs with the Release store of the address
            let block = words.as_ref().load(Ordering::Acquire);
            let block: *const AtomicU64 = std::ptr::with_exposed_provenance(block as usize);
            let capacity = (*block).load(Ordering::Relaxed) as usize; // immutable
            std::slice::from_raw_parts(block.add(1), capacity)
        }
    }

    /// The header word of a group.
    #[inline]
    pub fn word(self, group: usize) -> Word {
        // pairs with the Release in `unlock`: a reader that sees a commit's timestamp sees its row
        Word(self.group_word(group).load(Ordering::Acquire))
    }

    /// Locks a group whose word is still `seen`; false if it is not.
    #[inline]
    pub fn try_lock(self, group: usize, seen: Word) -> bool {
        self.exchange(group, seen, seen.locked())
    }

    /// [`Record::try_lock`] for clean-up, which waits for nobody until it has unlocked the group again.
    pub fn try_lock_to_clean(self, group: usize, seen: Word) -> bool {
        debug_assert!(!seen.is_obsolete());
        self.exchange(group, seen, seen.cleaned())
    }

    #[inline]
    fn exchange(self, group: usize, seen: Word, locked: Word) -> bool {
        debug_assert!(!seen.is_locked());
        let locked = self
            .group_word(group)
            // SeqCst: the lock must be visible to other commits before this one reads the clock
            .compare_exchange(seen.0, locked.0, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if locked {
            // a seqlock's write side: no row word may be written before the lock can be seen; pairs with the
            // Acquire fence in `read`
            fence(Ordering::Release);
        }
        locked
    }

    /// Waits a bounded time for the group's lock, unless clean-up has it, and takes it. Returns the word before.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn lock(self, group: usize) -> Result<Word, Stuck> {
        let mut backoff = Backoff::new();
        loop {
            let word = self.after_clean_up(group);
            if !word.is_locked() && self.try_lock(group, word) {
                return Ok(word);
            }
            if !backoff.wait() {
                return Err(Stuck);
            }
        }
    }

    /// The header word of a group, once clean-up does not hold its lock: it has it for moments, if its thread
    /// runs, and waits for nobody meanwhile.
    #[inline]
    pub fn after_clean_up(self, group: usize) -> Word {
        let word = self.word(group);
        if word.is_cleaned() { self.wait_for_clean_up(group) } else { word }
    }

    #[cold]
    fn wait_for_clean_up(self, group: usize) -> Word {
        let mut backoff = Backoff::new();
        loop {
            let word = self.word(group);
            if !word.is_cleaned() {
                return word;
            }
            backoff.wait_forever();
        }
    }

    /// Ends the lock of a group by storing its next word, which must not be locked.
    #[inline]
    pub fn unlock(self, group: usize, word: Word) {
        debug_assert!(!word.is_locked() && self.word(group).is_locked());
        // pairs with the Acquire in `word`
        self.group_word(group).store(word.0, Ordering::Release);
    }

    /// Stores a group's word without having locked it: while the database is opened, when nobody else is there.
    pub fn set_word(self, group: usize, word: Word) {
        // pairs with the Acquire in `word`
        self.group_word(group).store(word.0, Ordering::Release);
    }

    /// The whole row into `out`. The caller holds all locks, or has not published the record.
    pub fn copy_locked(self, out: &mut Vec<u64>) {
        let shape = self.shape();
        let row = self.row(shape);
        out.clear();
        out.extend(row[..shape.row_words()].iter().map(|w| w.load(Ordering::Relaxed))); // under the lock
    }

    /// Whether a row of `words` words fits without an overflow block. May change while the groups are not
    /// all locked.
    pub fn fits(self, words: usize) -> bool {
        self.row(self.shape()).len() >= words
    }

    /// The latest commit on any group of a locked record, given the words before the locks.
    pub fn current(words: &[Word; MAX_GROUPS], groups: usize) -> Word {
        words[..groups].iter().copied().max_by_key(|w| w.ts()).expect("at least one group")
    }

    /// Frees an overflow block when nobody can be reading it any more.
    ///
    /// # Safety
    /// It came from `Overflow::create`, no record refers to it any more, and it is retired once.
    unsafe fn retire_overflow(local: &mut Local, address: u64) {
        let block: *mut AtomicU64 = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the caller's promise.
        unsafe {
            let capacity = (*block).load(Ordering::Relaxed) as usize; // immutable
            local.retire(NonNull::new_unchecked(block).cast(), Overflow::bytes(capacity));
        }
    }

    /// Bytes of the record, its overflow block included.
    pub fn bytes(self) -> usize {
        let shape = self.shape();
        let block = Self::block_bytes(shape.groups(), shape.key_len(), shape.capacity());
        block + if shape.overflows() { Overflow::bytes(self.row(shape).len()) } else { 0 }
    }

    fn take_overflow(self) -> Option<u64> {
        let shape = self.shape();
        if !shape.overflows() {
            return None;
        }
        Some(self.inline(shape).load(Ordering::Relaxed)) // the record is the caller's alone
    }

    /// Frees a record that nobody else has seen.
    ///
    /// # Safety
    /// It was created by a worker of the same domain, was never published, and is not used again.
    pub unsafe fn free(self, local: &mut Local) {
        let shape = self.shape();
        if let Some(address) = self.take_overflow() {
            let block: *mut AtomicU64 = std::ptr::with_exposed_provenance_mut(address as usize);
            // SAFETY: the record's own block.
            Overflow(unsafe { NonNull::new_unchecked(block) }).discard(local);
        }
        let bytes = Self::block_bytes(shape.groups(), shape.key_len(), shape.capacity());
        // SAFETY: the caller's promise.
        unsafe { local.free(self.0.cast(), bytes) };
    }

    /// Frees a record once nobody can see it any more.
    ///
    /// # Safety
    /// It is obsolete and has left all indexes and lists; it is retired once.
    pub unsafe fn retire(self, local: &mut Local) {
        let shape = self.shape();
        if let Some(address) = self.take_overflow() {
            // SAFETY: the record's own block, and nobody finds the record any more.
            unsafe { Self::retire_overflow(local, address) };
        }
        let bytes = Self::block_bytes(shape.groups(), shape.key_len(), shape.capacity());
        // SAFETY: the caller's promise.
        unsafe { local.retire(self.0.cast(), bytes) };
    }
}

impl scaledb_kit::Record for Record {
    #[inline]
    unsafe fn from_raw(raw: u64) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(raw) }
    }

    #[inline]
    fn raw(self) -> u64 {
        self.raw()
    }

    #[inline]
    unsafe fn key_for<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { self.key_for() }
    }

    fn committed(self) -> Timestamp {
        let groups = 0..self.shape().groups();
        groups.map(|group| self.word(group).ts()).max().unwrap_or(Timestamp::ZERO)
    }

    unsafe fn retire(self, local: &mut Local) {
        // SAFETY: the caller's promise.
        unsafe { self.retire(local) }
    }

    unsafe fn free(self, local: &mut Local) {
        // SAFETY: the caller's promise.
        unsafe { self.free(local) }
    }
}

// SAFETY: a block of atomics, owned by whoever holds the value.
unsafe impl Send for Overflow {}
// SAFETY: a record is shared by design: all its mutable parts are atomics.
unsafe impl Send for Record {}
// SAFETY: as above.
unsafe impl Sync for Record {}
