//! A bucket: one cache line of seven entries and the word that guards them.

use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::hint::Backoff;

/// Entries of a bucket. Seven and the head fill a cache line.
pub(crate) const SLOTS: usize = if scaledb_sync::MODEL { 2 } else { 7 };
/// Buckets that a probe may visit, its home included.
pub(crate) const PROBE: usize = if scaledb_sync::MODEL { 2 } else { 16 };

/// Bits of a hash that an entry's note holds; with the tag, an entry keeps no other bits of the hash.
pub(crate) const NOTE_BITS: u32 = 3;
const DISTANCE_BITS: u32 = 4;
const NOTE: u32 = NOTE_BITS + DISTANCE_BITS;
const NOTES: u32 = 9;
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
///  head:  bit 0 locked │ 1 frozen │ 2..9 overflow │ 9 + 7i .. 16 + 7i: note of slot i
///  slot:  bit 48..64 tag │ 0..48 value                            0: free
///  note:  bit 0..4 distance of the entry from its home bucket │ 4..7 the hash's top three bits
/// ```
///
/// - A slot is written only by the holder of the bucket's lock, and read by anybody: it is one word, so
///   there is nothing to tear.
/// - `overflow` = the entries that passed this bucket because it was full: those with
///   `home <= bucket < place`. At most (PROBE - 1) * SLOTS, plus one for each of at most PROBE homes with
///   an operation under way: 121 < 128.
/// - A note belongs to its slot; it means nothing while the slot is free. Only a split reads it.
#[repr(C, align(64))]
pub(crate) struct Bucket {
    head: AtomicU64,
    slots: [AtomicU64; SLOTS],
}

const LOCKED: u64 = 1;
const FROZEN: u64 = 2;
const OVERFLOW_UNIT: u64 = 1 << 2;
const OVERFLOW: u64 = 0x7f << 2;

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
    #[cfg(any(test, not(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))))]
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
        Self((hash >> (64 - NOTE_BITS)) << DISTANCE_BITS | distance as u64)
    }

    pub(crate) fn distance(self) -> usize {
        (self.0 & ((1 << DISTANCE_BITS) - 1)) as usize
    }

    /// The same entry's note at another distance.
    pub(crate) fn moved(self, distance: usize) -> Self {
        Self(self.0 & !((1 << DISTANCE_BITS) - 1) | distance as u64)
    }

    /// Bit `depth`, counted from the top, of the hash of the entry with this note and `word`.
    pub(crate) fn hash_bit(self, word: Word, depth: u32) -> usize {
        debug_assert!(depth < KNOWN_BITS);
        let known = (self.0 >> DISTANCE_BITS) << (64 - NOTE_BITS) | (word.0 & !VALUE) >> NOTE_BITS;
        (known >> (63 - depth) & 1) as usize
    }
}

/// A set of a bucket's slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slots(u32);

impl Slots {
    #[inline(always)]
    pub(crate) fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let first = self.first()?;
        self.0 &= self.0 - 1;
        Some(first)
    }
}

impl Bucket {
    pub(crate) fn new() -> Self {
        Self { head: AtomicU64::new(0), slots: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// The slots with the hash's tag. (A free slot passes for one with tag 0.)
    ///
    /// This and the two below are relaxed loads: the caller puts an acquire fence before it follows a value,
    /// and before it concludes anything from an entry's absence.
    #[inline(always)]
    pub(crate) fn tagged(&self, hash: u64) -> Slots {
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
        {
            Slots(simd::tagged(self, hash << NOTE_BITS >> VALUE_BITS))
        }
        #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
        self.slots_where(|word| word.has_tag_of(hash))
    }

    /// The free slots.
    #[inline(always)]
    pub(crate) fn free(&self) -> Slots {
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
        {
            Slots(simd::free(self))
        }
        #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
        self.slots_where(Word::is_free)
    }

    #[cfg(any(test, not(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))))]
    fn slots_where(&self, f: impl Fn(Word) -> bool) -> Slots {
        Slots((0..SLOTS).fold(0, |set, i| set | u32::from(f(self.word(i))) << i))
    }

    /// What stands in a slot now.
    #[inline(always)]
    pub(crate) fn word(&self, slot: usize) -> Word {
        // relaxed: pairs, through the caller's fence, with the release stores in `Locked`
        Word(self.slots[slot].load(Ordering::Relaxed))
    }

    /// Whether no entry of this home lies behind this bucket.
    #[inline(always)]
    pub(crate) fn is_last(&self) -> bool {
        // relaxed: as in `word`
        self.head.load(Ordering::Relaxed) & OVERFLOW == 0
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

    /// Whether the bucket's life has ended. The caller has the turn to split the segment, so nobody ends it now.
    pub(crate) fn is_frozen(&self) -> bool {
        // relaxed: the turn's lock orders this behind the splits before
        self.head.load(Ordering::Relaxed) & FROZEN != 0
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
            (!word.is_free()).then_some((word, Note(head >> (NOTES + NOTE * i as u32) & ((1 << NOTE) - 1))))
        })
    }

    /// Puts an entry into a free slot of a bucket that no other thread can see.
    pub(crate) fn fill(&mut self, slot: usize, word: Word, note: Note) {
        // published later, by a release store in the directory
        self.slots[slot] = AtomicU64::new(word.0);
        let head = self.head.load(Ordering::Relaxed); // as above
        self.head.store(with_note(head, slot, note), Ordering::Relaxed); // as above
    }

    /// Counts an entry that passes this bucket, which no other thread can see.
    pub(crate) fn push_past(&mut self) {
        let head = self.head.load(Ordering::Relaxed); // as in `fill`
        self.head.store(head + OVERFLOW_UNIT, Ordering::Relaxed); // as in `fill`
    }
}

#[inline(always)]
fn with_note(head: u64, slot: usize, note: Note) -> u64 {
    let at = NOTES + NOTE * slot as u32;
    head & !(((1 << NOTE) - 1) << at) | note.0 << at
}

/// The eight words of a bucket at once.
///
/// The loads are assembly, because no Rust type says "a vector of atomics". Each 8-byte word of such a load
/// is read whole (AMD and Intel promise 16 aligned bytes on every processor with AVX, and 8 before that), so
/// it is what eight relaxed loads would be; no more is relied on.
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod simd {
    use super::Bucket;
    use std::arch::asm;
    use std::arch::x86_64::*;

    const _: () = assert!(size_of::<Bucket>() == 64 && align_of::<Bucket>() == 64);

    /// From four registers with two words each: bit i is set if the top 16 bits of slot i equal `tag`.
    #[inline(always)]
    pub(super) fn tagged(bucket: &Bucket, tag: u64) -> u32 {
        let (low, high): (__m128, __m128);
        // SAFETY: reads the 64 bytes of the bucket, which are aligned. SSE2 is part of x86-64.
        unsafe {
            // the upper halves of the words: four in each register
            asm!(
                "movaps {low}, [{at}]",
                "movaps {high}, [{at} + 32]",
                "shufps {low}, [{at} + 16], 0xdd",
                "shufps {high}, [{at} + 48], 0xdd",
                at = in(reg) bucket, low = out(xmm_reg) low, high = out(xmm_reg) high,
                options(readonly, nostack, preserves_flags)
            );
            let (low, high) =
                (_mm_srai_epi32::<16>(_mm_castps_si128(low)), _mm_srai_epi32::<16>(_mm_castps_si128(high)));
            let equal = _mm_cmpeq_epi16(_mm_packs_epi32(low, high), _mm_set1_epi16(tag as i16));
            // the first word is the head
            _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())) as u32 >> 1
        }
    }

    /// Bit i is set if slot i is zero.
    #[inline(always)]
    pub(super) fn free(bucket: &Bucket) -> u32 {
        let (a, b, c, d): (__m128i, __m128i, __m128i, __m128i);
        // SAFETY: as above.
        unsafe {
            asm!(
                "movdqa {a}, [{at}]",
                "movdqa {b}, [{at} + 16]",
                "movdqa {c}, [{at} + 32]",
                "movdqa {d}, [{at} + 48]",
                at = in(reg) bucket,
                a = out(xmm_reg) a, b = out(xmm_reg) b, c = out(xmm_reg) c, d = out(xmm_reg) d,
                options(readonly, nostack, preserves_flags)
            );
            let zero = _mm_setzero_si128();
            let is_zero = |x| _mm_castsi128_ps(_mm_cmpeq_epi32(x, zero));
            let (a, b, c, d) = (is_zero(a), is_zero(b), is_zero(c), is_zero(d));
            let low = _mm_and_ps(_mm_shuffle_ps::<0xdd>(a, b), _mm_shuffle_ps::<0x88>(a, b));
            let high = _mm_and_ps(_mm_shuffle_ps::<0xdd>(c, d), _mm_shuffle_ps::<0x88>(c, d));
            (_mm_movemask_ps(low) as u32 | (_mm_movemask_ps(high) as u32) << 4) >> 1
        }
    }
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_a_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
        assert!((PROBE - 1) * SLOTS + PROBE <= (OVERFLOW / OVERFLOW_UNIT) as usize);
        assert!(PROBE <= 1 << DISTANCE_BITS && NOTES + NOTE * SLOTS as u32 <= 64);
    }

    #[test]
    fn the_vector_probe_sees_what_the_scalar_one_sees() {
        let mut seed = 1u64;
        let mut next = move || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            seed >> 20
        };
        for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let bucket = Bucket::new();
            bucket.head.store(next() << 20, Ordering::Relaxed); // one thread
            let hash = if next() % 4 == 0 { 0 } else { next() << 20 };
            for slot in &bucket.slots {
                let value = match next() % 4 {
                    0 => 1,
                    1 => 0xffff_0000_0000,
                    _ => next() << 4 & VALUE | 1,
                };
                let word = match next() % 4 {
                    0 => 0,
                    1 => Word::new(hash, value).0,
                    _ => Word::new(next() << 20, value).0,
                };
                slot.store(word, Ordering::Relaxed); // one thread
            }
            assert_eq!(bucket.tagged(hash), bucket.slots_where(|word| word.has_tag_of(hash)));
            assert_eq!(bucket.free(), bucket.slots_where(Word::is_free));
        }
    }

    #[test]
    fn an_entry_remembers_the_leading_bits_of_its_hash() {
        for hash in [0, u64::MAX, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210] {
            let (word, note) = (Word::new(hash, 1), Note::new(hash, 5));
            for depth in 0..KNOWN_BITS {
                assert_eq!(note.hash_bit(word, depth) as u64, hash >> (63 - depth) & 1);
            }
            assert_eq!((note.distance(), note.moved(2).distance()), (5, 2));
            assert_eq!(note.moved(2).hash_bit(word, 3), note.hash_bit(word, 3));
        }
    }
}
