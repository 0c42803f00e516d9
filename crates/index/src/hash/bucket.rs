//! A bucket: one cache line of seven entries and the word that guards them.

use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::hint::Backoff;

/// Entries of a bucket. Seven and the head fill a cache line.
pub(crate) const SLOTS: usize = if scaledb_sync::MODEL { 2 } else { 7 };
/// Buckets that a probe may visit, its home included.
pub(crate) const PROBE: usize = if scaledb_sync::MODEL { 2 } else { 8 };

/// Bits of a hash that an entry's note holds; with the tag, they are all that is left of the hash.
pub(crate) const NOTE_BITS: u32 = 5;
/// Bits of a hash that an entry remembers.
pub(crate) const KNOWN_BITS: u32 = NOTE_BITS + TAG_BITS;
const TAG_BITS: u32 = 16;
const VALUE_BITS: u32 = 48;
const VALUE: u64 = (1 << VALUE_BITS) - 1;

/// ```text
///  byte 0          8          16                                   64
///       ┌──────────┬──────────┬──────────┬─ ... ─┬──────────┐
///       │   head   │  slot 0  │  slot 1  │       │  slot 6  │
///       └──────────┴──────────┴──────────┴─ ... ─┴──────────┘
///  head:  bit 0 locked │ 1 frozen │ 2..8 overflow │ 8 + 8i .. 16 + 8i: note of slot i
///  slot:  bit 48..64 tag │ 0..48 value                            0: free
///  note:  bit 0..3 distance of the entry from its home bucket │ 3..8 the hash's top five bits
/// ```
///
/// - A slot is written only by the holder of the bucket's lock, and read by anybody: it is one word, so
///   there is nothing to tear.
/// - `overflow` = the entries that passed this bucket because it was full: those with
///   `home <= bucket < place`. At most (PROBE - 1) * SLOTS, plus one for each of at most PROBE homes with
///   an operation under way: 57 < 64.
/// - A note belongs to its slot; it means nothing while the slot is free. Only a split reads it.
#[repr(C, align(64))]
pub(crate) struct Bucket {
    head: AtomicU64,
    slots: [AtomicU64; SLOTS],
}

const LOCKED: u64 = 1;
const FROZEN: u64 = 2;
const OVERFLOW_UNIT: u64 = 1 << 2;
const OVERFLOW: u64 = 0x3f << 2;

/// An entry as a slot holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(u64);

impl Word {
    #[inline(always)]
    pub(crate) fn new(hash: u64, value: u64) -> Self {
        debug_assert!(value != 0 && value <= VALUE, "a value is a nonzero 48-bit word");
        Self((hash << NOTE_BITS) & !VALUE | value)
    }

    #[inline(always)]
    pub(crate) fn value(self) -> u64 {
        self.0 & VALUE
    }

    #[inline(always)]
    pub(crate) fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Whether the hash's tag is this word's. (A free word passes for one with tag 0.)
    #[inline(always)]
    fn has_tag_of(self, hash: u64) -> bool {
        (self.0 ^ (hash << NOTE_BITS)) >> VALUE_BITS == 0
    }
}

/// What a bucket's head says about a slot besides its word.
#[derive(Clone, Copy)]
pub(crate) struct Note(u64);

impl Note {
    #[inline(always)]
    pub(crate) fn new(hash: u64, distance: usize) -> Self {
        Self((hash >> (64 - NOTE_BITS)) << 3 | distance as u64)
    }

    pub(crate) fn distance(self) -> usize {
        (self.0 & 7) as usize
    }

    /// The same entry's note at another distance.
    pub(crate) fn moved(self, distance: usize) -> Self {
        Self(self.0 & !7 | distance as u64)
    }

    /// Bit `depth`, counted from the top, of the hash of the entry with this note and `word`.
    pub(crate) fn hash_bit(self, word: Word, depth: u32) -> usize {
        debug_assert!(depth < KNOWN_BITS);
        let known = (self.0 >> 3) << (64 - NOTE_BITS) | (word.0 & !VALUE) >> NOTE_BITS;
        (known >> (63 - depth) & 1) as usize
    }
}

/// What a probe sees of a bucket.
pub(crate) struct Seen {
    words: [u64; SLOTS],
    tagged: u32,
    /// No entry of this home lies behind this bucket.
    pub(crate) last: bool,
}

impl Seen {
    /// The words with the tag that was asked for.
    #[inline(always)]
    pub(crate) fn tagged(&self) -> impl Iterator<Item = Word> + '_ {
        let mut mask = self.tagged;
        std::iter::from_fn(move || {
            while mask != 0 {
                let i = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                // a free slot looks like tag 0
                if self.words[i] != 0 {
                    return Some(Word(self.words[i]));
                }
            }
            None
        })
    }

    #[inline(always)]
    pub(crate) fn any_tagged(&self) -> bool {
        self.tagged != 0
    }

    /// The slot that holds exactly `word`.
    #[inline(always)]
    pub(crate) fn position(&self, word: Word) -> Option<usize> {
        self.words.iter().position(|&w| w == word.0)
    }

    #[inline(always)]
    pub(crate) fn free_slot(&self) -> Option<usize> {
        self.words.iter().position(|&w| w == 0)
    }
}

impl Bucket {
    pub(crate) fn new() -> Self {
        Self { head: AtomicU64::new(0), slots: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Looks at the bucket. The loads are relaxed: the caller puts an acquire fence before it follows a
    /// value, and before it concludes anything from an entry's absence.
    #[inline(always)]
    pub(crate) fn look(&self, hash: u64) -> Seen {
        // relaxed: pair, through the caller's fence, with the release stores in `Locked`
        let words: [u64; SLOTS] = std::array::from_fn(|i| self.slots[i].load(Ordering::Relaxed));
        let mut tagged = 0;
        for (i, &word) in words.iter().enumerate() {
            tagged |= u32::from(Word(word).has_tag_of(hash)) << i;
        }
        let last = self.head.load(Ordering::Relaxed) & OVERFLOW == 0; // as above
        Seen { words, tagged, last }
    }

    /// Takes the lock, or returns `None` if the bucket is frozen.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Option<Locked<'_>> {
        // relaxed: only a guess of what the exchange below will find
        let head = self.head.load(Ordering::Relaxed);
        if head & (LOCKED | FROZEN) == 0 {
            // acquire: pairs with the release store of the last holder
            let taken = self.head.compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(Locked { bucket: self, head });
            }
        }
        self.lock_slowly()
    }

    #[cold]
    fn lock_slowly(&self) -> Option<Locked<'_>> {
        let mut backoff = Backoff::new();
        loop {
            // acquire: pairs with the release store in `freeze`; the new segments are in the directory then
            let head = self.head.load(Ordering::Acquire);
            if head & FROZEN != 0 {
                return None;
            }
            if head & LOCKED == 0 {
                // acquire: as in `lock`
                let taken =
                    self.head.compare_exchange(head, head | LOCKED, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return Some(Locked { bucket: self, head });
                }
            }
            backoff.wait_forever();
        }
    }

    /// Ends the bucket's life: whoever waits for its lock goes back to the directory.
    ///
    /// The caller holds the lock.
    pub(crate) fn freeze(&self) {
        // release: pairs with the acquire load in `lock_slowly`. The overflow stays: readers need it.
        let head = self.head.load(Ordering::Relaxed); // the caller's own: it holds the lock
        self.head.store(head | FROZEN, Ordering::Release);
    }

    /// Undoes a lock whose guard was forgotten.
    pub(crate) fn unlock(&self) {
        let head = self.head.load(Ordering::Relaxed); // the caller's own: it holds the lock
        // release: pairs with the acquire exchange in `lock`
        self.head.store(head & !LOCKED, Ordering::Release);
    }

    /// The entries. Exact when the caller excludes writers, otherwise a moment's look at each slot.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Word, Note)> + '_ {
        let head = self.head.load(Ordering::Relaxed); // the notes: only with writers excluded
        self.slots.iter().enumerate().filter_map(move |(i, slot)| {
            // acquire: pairs with the release store that put the entry there
            let word = Word(slot.load(Ordering::Acquire));
            (!word.is_free()).then_some((word, Note(head >> (8 + 8 * i) & 0xff)))
        })
    }

    /// Adds an entry to a bucket that no other thread can see; false if it is full.
    pub(crate) fn push(&mut self, word: Word, note: Note) -> bool {
        // relaxed throughout: the bucket is published later, by a release store in the directory
        let Some(slot) = self.slots.iter().position(|s| s.load(Ordering::Relaxed) == 0) else {
            return false;
        };
        self.slots[slot].store(word.0, Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        self.head.store(with_note(head, slot, note), Ordering::Relaxed);
        true
    }

    /// Counts an entry that passes this bucket, which no other thread can see.
    pub(crate) fn push_past(&mut self) {
        let head = self.head.load(Ordering::Relaxed); // as in `push`
        self.head.store(head + OVERFLOW_UNIT, Ordering::Relaxed); // as in `push`
    }
}

#[inline(always)]
fn with_note(head: u64, slot: usize, note: Note) -> u64 {
    let at = 8 + 8 * slot;
    head & !(0xff << at) | note.0 << at
}

/// The lock of a bucket. Dropping it publishes the head and unlocks.
pub(crate) struct Locked<'a> {
    bucket: &'a Bucket,
    /// The head without the lock bit.
    head: u64,
}

impl Locked<'_> {
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, word: Word, note: Note) {
        self.head = with_note(self.head, slot, note);
        // release: pairs with the fence of a reader. The record that the word points to was written
        // before, and so were the overflow counts on the way here.
        self.bucket.slots[slot].store(word.0, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self, slot: usize) {
        // release: pairs with the fence of a reader; what the caller did before it removed the entry
        // (such as merging it elsewhere) is visible to whoever misses the entry
        self.bucket.slots[slot].store(0, Ordering::Release);
    }

    /// Counts an entry that is about to be put behind this bucket, at once.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        debug_assert!(self.head & OVERFLOW != OVERFLOW);
        self.head += OVERFLOW_UNIT;
        // relaxed: the release store of the entry's word, later, publishes it
        self.bucket.head.store(self.head | LOCKED, Ordering::Relaxed);
    }

    /// Takes back the count of an entry that is no longer behind this bucket.
    #[inline(always)]
    pub(crate) fn unpass(&mut self) {
        debug_assert!(self.head & OVERFLOW != 0);
        self.head -= OVERFLOW_UNIT;
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // release: pairs with the acquire exchange in `lock`; a reader that misses an entry because it saw
        // a count of zero here also sees what was done before the entry was removed
        self.bucket.head.store(self.head, Ordering::Release);
    }
}
