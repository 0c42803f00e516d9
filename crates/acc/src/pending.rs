//! A worker's list of records that are not in one tree yet.
//!
//! ```text
//!             start                         tail
//!   ring  ... │ item │ item │ item │ item │ ...          items are numbered without end; slot = number & mask
//!                 ▲                 │
//!                 └──── prev ───────┘    items of one cell form a chain, newest first; `heads[cell]`
//!                                        is the newest
//! ```
//!
//! The owner appends under its lane lock, merges advance `start` under it. Other workers read without a
//! lock: they follow the chain of the cell they care about until it falls behind `start`. A slot is
//! reused only after `start` has passed it, and a reader that finds `start` beyond an item it has read
//! drops that item: it is in the tree by then.

use crate::record::Record;
use scaledb_base::Result;
use scaledb_index::phantomlet::CellId;
use scaledb_memory::Local;
use scaledb_sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use scaledb_sync::names;
use std::ptr::NonNull;

/// The time, and the generation, of a list without items.
pub(crate) const EMPTY: u64 = u64::MAX;
const FIRST_SLOTS: usize = if scaledb_sync::MODEL { 2 } else { 64 };
/// Slots that a list keeps when nothing is on it: more than the batches that merges wait for.
const KEPT_SLOTS: usize = if scaledb_sync::MODEL { 4 } else { 4096 };

struct Item {
    /// The record's address; 0 once its insert was aborted.
    record: AtomicU64,
    /// One more than the number of the cell's item before this one; 0: none.
    prev: AtomicU64,
    cell: AtomicU64,
}

struct Ring {
    mask: u64,
    items: NonNull<Item>,
}

impl Ring {
    fn bytes(slots: usize) -> usize {
        size_of::<Self>().next_multiple_of(16) + slots * size_of::<Item>()
    }

    fn create(local: &mut Local, slots: usize) -> Result<NonNull<Self>> {
        debug_assert!(slots.is_power_of_two(), "a slot is a number's low bits");
        let block = local.alloc(Self::bytes(slots))?;
        // SAFETY: the block has room for the ring and, behind it, its items.
        unsafe {
            let items = block.add(size_of::<Self>().next_multiple_of(16)).cast::<Item>();
            for i in 0..slots {
                items.add(i).write(Item {
                    record: AtomicU64::new(0),
                    prev: AtomicU64::new(0),
                    cell: AtomicU64::new(0),
                });
            }
            let ring = block.cast::<Self>();
            ring.write(Self { mask: slots as u64 - 1, items });
            names::name(block.as_ptr(), Self::bytes(slots), "pending.ring");
            Ok(ring)
        }
    }

    fn slots(&self) -> usize {
        self.mask as usize + 1
    }

    fn item(&self, number: u64) -> &Item {
        // SAFETY: masked to the ring's slots.
        unsafe { self.items.add((number & self.mask) as usize).as_ref() }
    }
}

/// A worker's pending entries of one table: see the head of the file.
pub(crate) struct PendingList {
    ring: AtomicPtr<Ring>,
    start: AtomicU64,
    tail: AtomicU64,
    /// A time, in ticks, before the timestamps of all commits that have items here; [`EMPTY`] without items.
    since: AtomicU64,
    /// A generation at or before that of the tree in which any item's leaf was looked up; [`EMPTY`] without items.
    generation: AtomicU64,
    heads: Box<[AtomicU64]>,
}

impl PendingList {
    pub(crate) fn new(local: &mut Local, cells: usize) -> Result<Self> {
        let heads: Box<[AtomicU64]> = (0..cells).map(|_| AtomicU64::new(0)).collect();
        names::name_all(&heads, "pending.heads");
        Ok(Self {
            ring: AtomicPtr::new(Ring::create(local, FIRST_SLOTS)?.as_ptr()),
            start: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            since: AtomicU64::new(EMPTY),
            generation: AtomicU64::new(EMPTY),
            heads,
        })
    }

    fn ring(&self) -> &Ring {
        // SAFETY: never null; a ring that was replaced is retired, so it outlives this activity. Pairs with
        // the Release in `grow`.
        unsafe { &*self.ring.load(Ordering::Acquire) }
    }

    /// Items that wait for a merge, aborted ones included.
    pub(crate) fn len(&self) -> u64 {
        // without the lane lock each value may be slightly old
        self.tail.load(Ordering::Acquire).saturating_sub(self.start.load(Ordering::Acquire))
    }

    /// The number that the next item gets. Under the lane lock.
    pub(crate) fn tail(&self) -> u64 {
        self.tail.load(Ordering::Relaxed)
    }

    /// The number of the oldest item. Under the lane lock.
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Relaxed)
    }

    /// A time, in ticks, before the timestamps of all commits that have items here; [`EMPTY`] without items. It need
    /// not include items of commits in flight: callers make sure that these do not matter.
    pub(crate) fn since(&self) -> u64 {
        self.since.load(Ordering::Acquire) // pairs with the Release in `remove_before`
    }

    /// A generation at or before that of the tree in which the leaf of any item here was looked up; [`EMPTY`] without
    /// items. Whoever is to rely on it has seen first which commits are in flight: their items may not be seen.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire) // pairs with the Release in `remove_before`
    }

    /// Appends an item of a commit whose timestamp lies after `now`, in ticks, and that looked leaves up in trees of
    /// `generation` or later. Under the lane lock. Returns its number.
    pub(crate) fn push(
        &self,
        local: &mut Local,
        record: Record,
        cell: CellId,
        now: u64,
        generation: u64,
    ) -> Result<u64> {
        let (number, mut ring) = (self.tail(), self.ring());
        if number - self.start() > ring.mask {
            self.grow(local)?;
            ring = self.ring();
        }
        // the owner's own, under the lane lock; others see it at the end of the transaction
        if now < self.since.load(Ordering::Relaxed) {
            self.since.store(now, Ordering::Relaxed); // as above
        }
        if generation < self.generation.load(Ordering::Relaxed) {
            self.generation.store(generation, Ordering::Relaxed); // published by `LaneGuard::end_flight`
        }
        let (item, head) = (ring.item(number), &self.heads[cell.0 as usize]);
        // pairs with the Acquire fence in `for_each_of`: a reader of the new content sees `start` beyond the old
        fence(Ordering::Release);
        item.record.store(record.raw(), Ordering::Relaxed); // published by the head
        item.prev.store(head.load(Ordering::Relaxed), Ordering::Relaxed); // published by the head
        item.cell.store(u64::from(cell.0), Ordering::Relaxed); // published by the head
        // pairs with the Acquire in `for_each_of`
        head.store(number + 1, Ordering::Release);
        self.tail.store(number + 1, Ordering::Release); // pairs with `len`
        Ok(number)
    }

    #[cold]
    fn grow(&self, local: &mut Local) -> Result<()> {
        let old = self.ring();
        let ring = Ring::create(local, old.slots() * 2)?;
        for number in self.start()..self.tail() {
            // SAFETY: just created, and ours.
            let (from, to) = (old.item(number), unsafe { ring.as_ref() }.item(number));
            to.record.store(from.record.load(Ordering::Relaxed), Ordering::Relaxed); // published by `ring`
            to.prev.store(from.prev.load(Ordering::Relaxed), Ordering::Relaxed); // published by `ring`
            to.cell.store(from.cell.load(Ordering::Relaxed), Ordering::Relaxed); // published by `ring`
        }
        self.replace(local, ring);
        Ok(())
    }

    /// Replaces the large ring that a huge transaction has needed, once its items are merged. Under the lane lock.
    pub(crate) fn shrink(&self, local: &mut Local) {
        if self.ring().slots() <= KEPT_SLOTS || self.start() < self.tail() {
            return;
        }
        // no item is copied: readers that still follow a chain find `start` beyond its items, in either ring. Without
        // memory for the small ring, the large one stays
        if let Ok(ring) = Ring::create(local, FIRST_SLOTS) {
            self.replace(local, ring);
        }
    }

    fn replace(&self, local: &mut Local, ring: NonNull<Ring>) {
        // pairs with the Acquire in `ring`
        let old = self.ring.swap(ring.as_ptr(), Ordering::AcqRel);
        // SAFETY: allocated by `Ring::create`; no longer reachable.
        unsafe {
            let bytes = Ring::bytes((*old).slots());
            local.retire(NonNull::new_unchecked(old).cast(), bytes);
        }
    }

    /// Removes an item whose insert was aborted. Under the lane lock.
    pub(crate) fn kill(&self, number: u64) {
        // readers that still see the record find it obsolete
        self.ring().item(number).record.store(0, Ordering::Release);
    }

    /// An item that waits, by number: its record, unless it was aborted, and its cell. Under the lane lock.
    pub(crate) fn item(&self, number: u64) -> (Option<Record>, CellId) {
        let item = self.ring().item(number);
        let raw = item.record.load(Ordering::Relaxed); // under the lane lock
        let cell = CellId(item.cell.load(Ordering::Relaxed) as u32);
        // SAFETY: listed records are reachable.
        ((raw != 0).then(|| unsafe { Record::from_raw(raw) }), cell)
    }

    /// Removes all items before `number`: they are in the tree. Under the lane lock.
    pub(crate) fn remove_before(&self, number: u64) {
        debug_assert!(
            scaledb_sync::MODEL || (self.start()..=self.tail()).contains(&number),
            "start and tail only grow, and do not cross"
        );
        // pairs with the Acquires in `for_each_of`: a reader that misses the items finds them in the tree
        self.start.store(number, Ordering::Release);
        if number == self.tail() {
            // pairs with `generation`
            self.generation.store(EMPTY, Ordering::Release);
            self.since.store(EMPTY, Ordering::Release); // pairs with `since`: the items are in the tree, and in no list
        }
    }

    /// Hands the records of a cell that wait for a merge to `f`, newest first; from number `before` on
    /// they are left out.
    pub(crate) fn for_each_of(&self, cell: CellId, before: u64, mut f: impl FnMut(Record)) {
        let mut next = self.heads[cell.0 as usize].load(Ordering::Acquire);
        let ring = self.ring();
        while next > 0 {
            let number = next - 1;
            if number < self.start.load(Ordering::Acquire) {
                return;
            }
            #[cfg(all(test, not(any(loom, shuttle))))]
            tests::pause();
            let item = ring.item(number);
            // pairs with the Release in `kill`
            let raw = item.record.load(Ordering::Acquire);
            next = item.prev.load(Ordering::Relaxed); // checked below
            fence(Ordering::Acquire);
            if number < self.start.load(Ordering::Acquire) {
                return; // merged meanwhile, and so were the older ones
            }
            if raw != 0 && number < before {
                // SAFETY: the item was listed, so the record was reachable within this activity.
                f(unsafe { Record::from_raw(raw) });
            }
        }
    }
}

// SAFETY: made of atomics; the ring is shared by design.
unsafe impl Send for PendingList {}
// SAFETY: as above.
unsafe impl Sync for PendingList {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use scaledb_memory::Domain;
    use scaledb_sync::Arc;
    use scaledb_sync::clock::Clock;
    use std::cell::RefCell;
    use std::rc::Rc;

    thread_local! {
        /// What others do while a reader is between its first look at `start` and the item.
        static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    pub(super) fn pause() {
        if let Some(meanwhile) = MEANWHILE.take() {
            meanwhile();
        }
    }

    fn record(number: u64) -> Record {
        // SAFETY: an address that nobody follows.
        unsafe { Record::from_raw(64 * (number + 1)) }
    }

    /// An item whose slot was reused for one of another cell: a reader must see neither that item nor its chain.
    #[test]
    fn an_item_that_is_replaced_while_it_is_read_is_left_out() {
        let domain = Domain::new(Arc::new(Clock::new(0)), 1 << 30);
        let mut local = domain.register().unwrap();
        let list = Rc::new(PendingList::new(&mut local, 2).unwrap());
        for number in 0..2 {
            list.push(&mut local, record(number), CellId(0), number, number).unwrap();
        }
        let theirs = list.clone();
        MEANWHILE.set(Some(Box::new(move || {
            theirs.remove_before(2);
            for number in 2..2 + FIRST_SLOTS as u64 {
                theirs.push(&mut local, record(number), CellId(1), number, number).unwrap();
            }
        })));
        let mut found = Vec::new();
        list.for_each_of(CellId(0), u64::MAX, |record| found.push(record.raw()));
        assert_eq!(found, [0; 0]);
        list.for_each_of(CellId(1), u64::MAX, |record| found.push(record.raw()));
        assert_eq!(found.len(), FIRST_SLOTS);
    }

    #[test]
    fn a_list_that_was_long_is_short_again_when_all_of_it_is_merged() {
        let mut local = Domain::new(Arc::new(Clock::new(0)), u64::MAX).register().unwrap();
        local.enter();
        let list = PendingList::new(&mut local, 2).unwrap();
        let record = Record::create(&mut local, 1, b"key", &[1]).unwrap();
        let seen = |cell| {
            let mut seen = 0;
            list.for_each_of(CellId(cell), u64::MAX, |found| seen += u64::from(found == record));
            seen
        };
        for round in 0..3 {
            let first = list.tail();
            for number in 0..10 * KEPT_SLOTS as u64 {
                assert_eq!(
                    list.push(&mut local, record, CellId(number as u32 % 2), number, number).unwrap(),
                    first + number
                );
            }
            list.shrink(&mut local);
            assert_eq!((seen(0), seen(1)), (5 * KEPT_SLOTS as u64, 5 * KEPT_SLOTS as u64), "round {round}");
            assert!(list.ring().slots() > KEPT_SLOTS);
            list.remove_before(list.tail());
            list.shrink(&mut local);
            assert_eq!((seen(0), seen(1), list.len()), (0, 0, 0));
            assert_eq!(list.ring().slots(), FIRST_SLOTS);
            assert_eq!((list.since(), list.generation()), (EMPTY, EMPTY));
            assert_eq!(list.item(list.push(&mut local, record, CellId(0), 5, 7).unwrap()).1, CellId(0));
            assert_eq!((list.since(), list.generation()), (5, 7));
            assert_eq!(seen(0), 1);
            list.remove_before(list.tail());
        }
        local.exit();
    }
}
