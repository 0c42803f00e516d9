//! Reclamation by timestamp: since when each worker has been active, and which retired blocks may be reused.

mod local;

pub use local::Local;

use crate::arena::{Arena, Exchange, LARGE};
use crate::faults::Faults;
use crate::pages::{CHUNK, Chunk, trim_heap};
use crate::private::PrivateBudget;
use crate::purpose::{Purpose, reserve_of};
use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Error, Result, WorkerId};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use scaledb_sync::clock::Clock;
use scaledb_sync::lock::Mutex;
use scaledb_sync::names;
use scaledb_sync::{Arc, CachePadded};
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::time::Duration;

/// The activity of a worker that looks at nothing.
pub const IDLE: u64 = u64::MAX;

/// Retired blocks are stamped with the time in groups of this size: one clock read each.
const STAMP: usize = if scaledb_sync::MODEL { 1 } else { 64 };

/// A worker leaves larger blocks that it retires to others, with all that it has retired: one that rests collects
/// nothing. (Not in models, where each lock multiplies the interleavings.)
const LEFT: usize = if scaledb_sync::MODEL { usize::MAX } else { 64 << 10 };

/// Free memory below this is not looked through to give some of it back to the system.
const TRIMMED: usize = 16 << 20;
/// Runs that were left as a whole need no looking through: so many may make free chunks.
const FRESH_RUNS: usize = 128;
/// Nor to serve other sizes at the budget.
const RETRIED: u64 = 64 << 10;

/// The memory of one database: its workers' activity, its chunks and its budget.
pub struct Domain {
    clock: Arc<Clock>,
    slots: Box<[CachePadded<Slot>]>,
    /// One more than the highest worker id ever.
    workers: AtomicU64,
    /// Workers that ever registered.
    registrations: AtomicU64,
    used: AtomicU64,
    budget: u64,
    /// See [`Domain::is_short`].
    short_from: u64,
    /// Chunks in use, by address.
    chunks: Mutex<HashMap<usize, Chunk>>,
    /// Chunks that were provided ahead; not part of `used`.
    ready: Mutex<Vec<Chunk>>,
    /// Large blocks in use, so that a database that goes gives them back.
    large: Mutex<HashMap<usize, usize>>,
    /// What workers that are gone left: the next worker takes it over.
    orphans: Mutex<Vec<Orphan>>,
    /// What workers have left that are there, and what it becomes.
    left: Mutex<Orphan>,
    /// Somebody trims the domain now and then: what is left is collected.
    is_trimmed: AtomicBool,
    exchange: Exchange,
    /// What is taken beyond the limit of growth.
    reserved: Mutex<Arena>,
    private: PrivateBudget,
    faults: Faults,
    /// Whether a huge transaction has given memory back to the system's allocator, which keeps it.
    heap_is_loose: AtomicBool,
}

struct Slot {
    taken: AtomicBool,
    /// The tick at which the worker began to look at shared memory, or [`IDLE`].
    active: AtomicU64,
    /// [`Local::waiting`], for reports.
    waiting: AtomicU64,
}

struct Orphan {
    arena: Arena,
    /// In order of time, or nearly so: then some wait longer than they need.
    limbo: VecDeque<Retired>,
    /// Bytes in `limbo`.
    waiting: u64,
}

impl Orphan {
    fn new() -> Self {
        Self { arena: Arena::new(), limbo: VecDeque::new(), waiting: 0 }
    }

    /// Takes over what a worker has retired, all of it stamped.
    fn take_over(&mut self, limbo: &mut VecDeque<Retired>, waiting: u64) {
        debug_assert!(limbo.iter().all(|retired| retired.at != IDLE), "stamped");
        self.limbo.append(limbo);
        self.waiting += waiting;
    }

    /// Makes free memory, for all, of what nobody can see any more.
    fn collect(&mut self, domain: &Domain) {
        let horizon = domain.horizon();
        while let Some(retired) = self.limbo.pop_front_if(|retired| retired.at < horizon) {
            self.waiting -= retired.bytes as u64;
            // SAFETY: `retire`'s contract, and every active worker began after it was unlinked.
            unsafe { self.arena.free(domain, retired.block, retired.bytes) };
        }
        debug_assert!(!self.limbo.is_empty() || self.waiting == 0, "all bytes are of blocks in limbo");
        self.arena.leave_all(domain);
    }
}

struct Retired {
    block: NonNull<u8>,
    bytes: usize,
    /// Unlinked before this tick.
    at: u64,
}

// SAFETY: a retired block belongs to whoever holds the entry.
unsafe impl Send for Retired {}

impl Domain {
    /// An empty domain whose chunks and large blocks may take `budget` bytes in all.
    pub fn new(clock: Arc<Clock>, budget: u64) -> Arc<Self> {
        let slot = || {
            let (taken, active) = (AtomicBool::new(false), AtomicU64::new(IDLE));
            CachePadded(Slot { taken, active, waiting: AtomicU64::new(0) })
        };
        let domain = Arc::new(Self {
            clock,
            slots: (0..if scaledb_sync::MODEL { 6 } else { MAX_WORKERS }).map(|_| slot()).collect(),
            workers: AtomicU64::new(0),
            registrations: AtomicU64::new(0),
            used: AtomicU64::new(0),
            budget,
            short_from: (budget - reserve_of(budget)).saturating_sub((budget / 32).max(2 * CHUNK as u64)),
            chunks: Mutex::new(HashMap::new()),
            ready: Mutex::new(Vec::new()),
            large: Mutex::new(HashMap::new()),
            orphans: Mutex::new(Vec::new()),
            left: Mutex::new(Orphan::new()),
            is_trimmed: AtomicBool::new(false),
            exchange: Exchange::new(),
            reserved: Mutex::new(Arena::new()),
            private: PrivateBudget::new(budget),
            faults: Faults::new(),
            heap_is_loose: AtomicBool::new(false),
        });
        names::name_all(&domain.slots, "memory.active");
        names::name_of(&*domain, "memory.domain");
        domain
    }

    pub(crate) fn private(&self) -> &PrivateBudget {
        &self.private
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Registers a worker, with the lowest id that is free.
    pub fn register(self: &Arc<Self>) -> Result<Local> {
        for (id, slot) in self.slots.iter().enumerate() {
            // the winner owns the slot until it is dropped; pairs with the Release store there
            if slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                let orphan = self.orphans.lock().pop();
                let Orphan { arena, limbo, waiting } = orphan.unwrap_or_else(Orphan::new);
                // before the worker does anything; pairs with the load in `workers`
                self.workers.fetch_max(id as u64 + 1, Ordering::SeqCst);
                let id = WorkerId(id as u8);
                let activity = self.registrations.fetch_add(1, Ordering::Relaxed) << 40; // unique, no more
                let domain = self.clone();
                let purpose = Purpose::Growth;
                let active = false;
                let local = Local { domain, id, active, activity, arena, purpose, limbo, fresh: 0, waiting };
                local.publish_waiting();
                return Ok(local);
            }
        }
        Err(Error::TooManyWorkers { limit: self.slots.len() })
    }

    /// The clock.
    #[inline]
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Bytes taken from the system.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed) // a statistic
    }

    /// The budget in bytes.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The highest worker id ever plus one: bounds loops over what workers have, and have left behind.
    pub fn workers(&self) -> usize {
        // a worker that registers after this load has seen nothing yet that the caller could miss
        self.workers.load(Ordering::SeqCst) as usize
    }

    /// For tests: after `after` more allocations, the next `fails` ones fail. Without effect in builds without debug
    /// assertions.
    pub fn fail_allocations(&self, after: u64, fails: u64) {
        self.faults.set(after, fails);
    }

    /// Ends what [`Domain::fail_allocations`] began. Returns whether an allocation has failed.
    pub fn stop_failing(&self) -> bool {
        self.faults.clear()
    }

    /// Whether a worker is registered under `id`.
    pub fn is_registered(&self, id: WorkerId) -> bool {
        self.slots[id.index()].taken.load(Ordering::Acquire)
    }

    /// The tick at which the worker began to look at shared memory, or [`IDLE`].
    pub fn active_since(&self, id: WorkerId) -> u64 {
        self.slots[id.index()].active.load(Ordering::Acquire)
    }

    /// Workers that look at shared memory, and for how long each does; the longest first.
    pub fn active(&self) -> Vec<(WorkerId, Duration)> {
        let now = self.clock.now();
        let slots = self.slots[..self.workers()].iter().enumerate();
        // for people to look at, and for who decides between transactions: nothing is freed by it
        let since = slots.map(|(id, slot)| (WorkerId(id as u8), slot.active.load(Ordering::Relaxed)));
        let mut active: Vec<_> = since
            .filter(|(_, since)| *since != IDLE)
            .map(|(id, since)| (id, self.clock.duration(now.saturating_sub(since))))
            .collect();
        active.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        active
    }

    /// Bytes of blocks that are out of all structures, and wait for workers that may see them yet. The last few
    /// of each worker are not among them.
    pub fn waiting_bytes(&self) -> u64 {
        let left: u64 = self.orphans.lock().iter().map(|orphan| orphan.waiting).sum();
        let left = left + self.left.lock().waiting;
        let waiting = self.slots[..self.workers()].iter().map(|slot| slot.waiting.load(Ordering::Relaxed)); // a statistic
        left + waiting.sum::<u64>()
    }

    /// All that was unlinked before this tick is out of everybody's sight: the earliest tick at which an
    /// active worker began, or now.
    pub fn horizon(&self) -> u64 {
        // ordered: the time is read before the slots are
        let now = self.clock.now_fenced();
        // Dekker with `Local::enter`: either this sees the worker's activity, or the worker's reads see
        // what was unlinked before this fence.
        fence(Ordering::SeqCst);
        // every slot: a worker may register while this loop runs, and its activity must not be missed
        self.slots.iter().map(|s| s.active.load(Ordering::Acquire)).fold(now, u64::min)
    }

    /// Whether the clock that this thread reads is behind none that a worker has read before, on whatever core: whoever
    /// sees a worker's activity has to see a later time. If it is not, the processors do not agree about the time;
    /// then the clock [is replaced](Clock::distrust). Called now and then, by a thread that the system moves about.
    pub fn check_clock(&self) {
        for slot in &*self.slots {
            // pairs with the Release in `enter_at`: the time that is stored was read before
            let since = slot.active.load(Ordering::Acquire);
            if since != IDLE && self.clock.now_fenced() < since {
                self.clock.distrust(since);
            }
        }
    }

    /// Takes memory from the system ahead of its use, so that no transaction has to wait for it: until
    /// `bytes` are ready, or the system has no more. The first touch of a page costs about 2 us.
    pub fn reserve(&self, bytes: u64) {
        while (self.ready.lock().len() * CHUNK) as u64 + (CHUNK as u64) <= bytes {
            let Some(chunk) = Chunk::new() else { return };
            chunk.touch();
            self.ready.lock().push(chunk);
        }
    }

    /// The bytes that may be in use after an allocation.
    fn limit(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Growth => self.budget - reserve_of(self.budget),
            Purpose::Relief => self.budget,
            Purpose::Upkeep => u64::MAX,
        }
    }

    /// Whether growth will soon be refused, so that what can be freed should be.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.used() > self.short_from
    }

    /// Gives free memory back to the system, if much was freed lately.
    pub fn trim(&self) {
        self.is_trimmed.store(true, Ordering::Relaxed); // a hint
        self.collect_orphans();
        self.collect_left();
        let fresh = self.exchange.fresh();
        if fresh >= TRIMMED && fresh as u64 >= self.used() / 16 {
            self.exchange.gather(TRIMMED);
            self.give_back();
        } else if self.exchange.fresh_runs() >= FRESH_RUNS {
            self.give_back();
        }
        // a hint
        if self.heap_is_loose.swap(false, Ordering::Relaxed) {
            trim_heap();
        }
    }

    /// The next [`Domain::trim`] has the system's allocator give back what it keeps.
    pub fn loosen(&self) {
        self.heap_is_loose.store(true, Ordering::Relaxed); // a hint
    }

    /// What deletes took from the reserve comes back out of what they freed, before rows take it.
    pub fn restore_reserve(&self) {
        if self.used() > self.limit(Purpose::Growth) && self.exchange.fresh() >= self.worth() {
            self.exchange.gather(self.worth());
            self.give_back();
        }
    }

    /// At the budget, at most so many free bytes are left unused because there are not enough for a look.
    fn worth(&self) -> usize {
        (self.budget / 256).clamp(RETRIED, TRIMMED as u64) as usize
    }

    fn give_back(&self) {
        for address in self.exchange.take_free_chunks() {
            let chunk = self.chunks.lock().remove(&address);
            debug_assert!(chunk.is_some(), "runs are of chunks in use");
            drop(chunk);
            self.discharge(CHUNK);
        }
    }

    /// When memory is out: free blocks of all sizes become memory for this one. Waits for a thread that gathers
    /// already: the blocks that it counts are nowhere else meanwhile.
    #[cold]
    fn gather(&self, bytes: usize) {
        self.leave_orphans();
        self.collect_left();
        self.exchange.gather(self.worth());
        if bytes > LARGE || self.used() > self.limit(Purpose::Growth) {
            self.give_back();
        }
    }

    /// What workers that are gone had retired: the next worker, which would collect it, may be long in coming.
    fn collect_orphans(&self) {
        for orphan in self.orphans.lock().iter_mut().filter(|orphan| !orphan.limbo.is_empty()) {
            orphan.collect(self);
        }
    }

    /// What workers have left that are there.
    fn collect_left(&self) {
        let mut left = self.left.lock();
        if !left.limbo.is_empty() {
            left.collect(self);
        }
    }

    /// The free blocks of workers that are gone.
    fn leave_orphans(&self) {
        for orphan in &mut *self.orphans.lock() {
            orphan.arena.leave_all(self);
        }
    }

    pub(crate) fn charge(&self, bytes: usize, purpose: Purpose) -> Result<()> {
        let before = self.used.fetch_add(bytes as u64, Ordering::Relaxed); // only a sum
        if before + bytes as u64 > self.limit(purpose) {
            self.discharge(bytes);
            return Err(self.out_of_memory());
        }
        Ok(())
    }

    pub(crate) fn discharge(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes as u64, Ordering::Relaxed); // only a sum
        // once for each chunk or large block; a sum below zero would be a budget without end
        assert!(before >= bytes as u64, "only what was charged is discharged");
    }

    /// Notes a large block. (Not under loom, where each lock multiplies the interleavings.)
    pub(crate) fn note_large(&self, block: NonNull<u8>, bytes: usize) {
        if !cfg!(loom) {
            self.large.lock().insert(block.as_ptr().expose_provenance(), bytes);
        }
    }

    pub(crate) fn forget_large(&self, block: NonNull<u8>) {
        if !cfg!(loom) {
            self.large.lock().remove(&block.as_ptr().addr());
        }
    }

    #[cold]
    pub(crate) fn out_of_memory(&self) -> Error {
        Error::OutOfMemory { budget: self.budget }
    }

    #[cold]
    pub(crate) fn chunk(&self, purpose: Purpose) -> Result<(NonNull<u8>, usize)> {
        self.charge(CHUNK, purpose)?;
        let ready = self.ready.lock().pop();
        let Some(chunk) = ready.or_else(Chunk::new) else {
            self.discharge(CHUNK);
            return Err(self.out_of_memory());
        };
        let start = chunk.start();
        self.chunks.lock().insert(start.as_ptr().addr(), chunk);
        Ok((start, CHUNK))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // no worker is left that could refer to a block; those from chunks go with their chunks
        for (address, bytes) in std::mem::take(&mut *self.large.lock()) {
            let block = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: noted when it was allocated, forgotten when it was freed.
            unsafe { crate::arena::give_back(NonNull::new_unchecked(block), bytes) };
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::arena::block_bytes;

    fn domain(budget: u64) -> Arc<Domain> {
        Domain::new(Arc::new(Clock::new(0)), budget)
    }

    /// A core whose counter is ahead of this one's: what a worker read there lies in the future here.
    #[test]
    fn processors_that_do_not_agree_about_the_time_are_not_asked_for_it_any_more() {
        let domain = domain(u64::MAX);
        let clock = domain.clock().clone();
        let (mut here, mut there) = (domain.register().unwrap(), domain.register().unwrap());
        here.enter();
        domain.check_clock();
        assert!(!clock.is_replaced());
        let half = clock.ticks(std::time::Duration::from_millis(500));
        // SAFETY: no block is ever retired here.
        unsafe { there.enter_at(clock.now_fenced() + half) };
        domain.check_clock();
        assert_eq!(clock.is_replaced(), clock.source() == scaledb_sync::clock::Source::Tsc);
        if clock.is_replaced() {
            // time goes on behind the core that was ahead
            assert!(clock.now_fenced() >= domain.active_since(there.id()));
        }
    }

    #[test]
    fn a_block_is_not_reused_while_a_worker_that_could_see_it_is_active() {
        let domain = domain(u64::MAX);
        let (mut reader, mut writer) = (domain.register().unwrap(), domain.register().unwrap());
        let block = writer.alloc(100).unwrap();
        reader.enter();
        // SAFETY: allocated above, reachable from nowhere.
        unsafe { writer.retire(block, 100) };
        writer.collect();
        assert_eq!(writer.limbo(), 1);
        assert_eq!(domain.waiting_bytes(), 100);
        reader.exit();
        // a tick must pass
        while writer.limbo() > 0 {
            writer.collect();
        }
        assert_eq!(domain.waiting_bytes(), 0);
        if !cfg!(miri) {
            assert_eq!(writer.alloc(100).unwrap(), block);
        }
    }

    #[test]
    fn a_block_that_went_in_the_tick_in_which_a_worker_began_is_not_reused_before_it_ends() {
        let domain = domain(u64::MAX);
        let (mut reader, mut writer) = (domain.register().unwrap(), domain.register().unwrap());
        reader.enter();
        let block = writer.alloc(100).unwrap();
        // SAFETY: allocated above, reachable from nowhere.
        unsafe { writer.retire(block, 100) };
        writer.collect();
        let at = writer.limbo.front().expect("the reader is active").at;
        reader.exit();
        // SAFETY: nothing is read.
        unsafe { reader.enter_at(at) };
        while domain.clock().now() <= at {}
        writer.collect();
        assert_eq!(writer.limbo(), 1);
        // nor when its worker has gone
        drop(writer);
        let left = || domain.orphans.lock().iter().map(|orphan| orphan.limbo.len()).sum::<usize>();
        domain.collect_orphans();
        assert_eq!(left(), 1);
        reader.exit();
        domain.collect_orphans();
        assert_eq!(left(), 0);
    }

    #[test]
    #[cfg(not(miri))]
    fn what_a_worker_has_retired_that_rests_goes_without_it() {
        let domain = domain(u64::MAX);
        let (mut reader, mut writer) = (domain.register().unwrap(), domain.register().unwrap());
        let retired = |writer: &mut Local, bytes| {
            let block = writer.alloc(bytes).unwrap();
            // SAFETY: allocated above, reachable from nowhere.
            unsafe { writer.retire(block, bytes) };
            bytes as u64
        };
        // as long as nobody trims the domain, they collect for themselves
        retired(&mut writer, LEFT);
        assert_eq!(writer.limbo(), 1);
        while writer.limbo() > 0 {
            writer.collect();
        }
        domain.trim();
        reader.enter();
        // large blocks go at once, with what was retired before
        let mut waiting = retired(&mut writer, 100) + retired(&mut writer, LEFT);
        assert_eq!((writer.limbo(), domain.waiting_bytes()), (0, waiting));
        // others when the worker says that it may rest
        waiting += retired(&mut writer, 200);
        assert_eq!(writer.limbo(), 1);
        writer.give_back();
        assert_eq!((writer.limbo(), domain.waiting_bytes()), (0, waiting));
        domain.trim();
        assert_eq!(domain.waiting_bytes(), waiting, "the reader may see all of it");
        reader.exit();
        while domain.waiting_bytes() > 0 {
            domain.trim();
        }
    }

    #[test]
    fn who_is_not_active_is_kept_from_shared_memory() {
        let mut local = domain(u64::MAX).register().unwrap();
        let asserted =
            |local: &Local| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| local.assert_active()));
        local.enter();
        assert!(local.is_active() && asserted(&local).is_ok());
        local.exit();
        assert!(!local.is_active() && asserted(&local).is_err());
    }

    #[test]
    fn who_is_active_is_told_with_the_oldest_first() {
        let domain = domain(u64::MAX);
        let (mut first, mut second) = (domain.register().unwrap(), domain.register().unwrap());
        let _idle = domain.register().unwrap();
        assert_eq!(domain.active(), []);
        second.enter();
        let since = domain.clock().now();
        while domain.clock().now() == since {}
        first.enter();
        let ids: Vec<_> = domain.active().into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [second.id(), first.id()]);
        second.exit();
        assert_eq!(domain.active().len(), 1);
    }

    #[test]
    fn the_budget_is_an_error_not_a_crash() {
        let domain = domain(CHUNK as u64);
        let mut local = domain.register().unwrap();
        let mut blocks = Vec::new();
        let error = loop {
            match local.alloc(1000) {
                Ok(block) => blocks.push(block),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::OutOfMemory { .. }));
        assert!(blocks.len() >= CHUNK / 1024 - 64);
        for block in blocks {
            // SAFETY: from `alloc(1000)`, seen by nobody.
            unsafe { local.free(block, 1000) };
        }
        let again = local.alloc(1000).unwrap();
        // SAFETY: as above.
        unsafe { local.free(again, 1000) };
    }

    #[test]
    fn worker_ids_are_reused_and_bounded() {
        let domain = domain(u64::MAX);
        let mut all: Vec<_> = (0..MAX_WORKERS).map(|_| domain.register().unwrap()).collect();
        assert!(matches!(domain.register(), Err(Error::TooManyWorkers { .. })));
        let gone = all.swap_remove(5).id();
        assert_eq!(domain.register().unwrap().id(), gone);
    }

    #[test]
    fn a_worker_that_leaves_hands_its_memory_on() {
        let domain = domain(u64::MAX);
        let mut first = domain.register().unwrap();
        let block = first.alloc(64).unwrap();
        // SAFETY: seen by nobody.
        unsafe { first.retire(block, 64) };
        drop(first);
        assert_eq!(domain.waiting_bytes(), 64);
        let mut second = domain.register().unwrap();
        assert_eq!(domain.waiting_bytes(), 64);
        assert_eq!(second.limbo(), 1);
        while second.limbo() > 0 {
            second.collect();
        }
    }

    /// Fills `local` with blocks of a size until memory is out.
    fn fill(local: &mut Local, bytes: usize) -> Vec<NonNull<u8>> {
        std::iter::from_fn(|| local.alloc(bytes).ok()).collect()
    }

    fn free(local: &mut Local, blocks: Vec<NonNull<u8>>, bytes: usize) {
        for block in blocks {
            // SAFETY: from `alloc`, seen by nobody.
            unsafe { local.free(block, bytes) };
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn freed_blocks_serve_other_sizes_and_other_workers() {
        let domain = domain(32 << 20);
        let (mut first, mut second) = (domain.register().unwrap(), domain.register().unwrap());
        let bytes = |blocks: &[NonNull<u8>], size| blocks.len() * block_bytes(size);
        let all = fill(&mut first, 500);
        let full = bytes(&all, 500);
        assert!(full > 28 << 20);
        free(&mut first, all, 500);
        for size in [100, 3000, 10_000, 24, 40_000, 500] {
            let blocks = fill(&mut second, size);
            let got = bytes(&blocks, size);
            // a large block needs whole chunks, and workers keep some free blocks for themselves
            let least = if size > LARGE { full / 2 } else { full / 10 * 9 };
            assert!(got > least, "{got} of {full} bytes in blocks of {size}");
            free(&mut second, blocks, size);
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn what_is_free_goes_back_to_the_system_and_what_is_not_stays() {
        let domain = domain(u64::MAX);
        let mut local = domain.register().unwrap();
        let blocks: Vec<_> = (0..400_000).map(|_| local.alloc(200).unwrap()).collect();
        let used = domain.used();
        // SAFETY: 200 bytes each, ours.
        blocks.iter().enumerate().for_each(|(i, b)| unsafe { b.cast::<usize>().write(i) });
        let (kept, freed) = blocks.split_at(100_000);
        free(&mut local, freed.to_vec(), 200);
        local.share();
        domain.trim();
        assert!(domain.used() < used / 3, "{} of {used}", domain.used());
        // SAFETY: as above.
        assert!(kept.iter().enumerate().all(|(i, b)| unsafe { b.cast::<usize>().read() } == i));
        free(&mut local, kept.to_vec(), 200);
    }

    /// As a hash index does that grows while rows come: blocks of a run each, replaced by twice as many.
    #[test]
    #[cfg(not(miri))]
    fn large_blocks_that_die_among_rows_leave_no_holes() {
        let domain = domain(u64::MAX);
        let (mut writer, mut local) = (domain.register().unwrap(), domain.register().unwrap());
        let mut rows = Vec::new();
        let mut live = Vec::new();
        for generation in 0..10 {
            for old in std::mem::take(&mut live) {
                // SAFETY: allocated below, seen by nobody.
                unsafe { local.retire(old, LARGE) };
            }
            live.extend((0..1 << generation).map(|_| local.alloc(LARGE).unwrap()));
            rows.extend((0..1 << (generation + 8)).map(|_| writer.alloc(72).unwrap()));
            rows.extend((0..1 << (generation + 8)).map(|_| local.alloc(72).unwrap()));
        }
        let (dead, used) = (511 * LARGE as u64, domain.used());
        // gone, with all of it retired
        drop(local);
        let mut after = used;
        for _ in 0..1000 {
            domain.trim();
            after = domain.used();
            if after < used {
                break;
            }
        }
        assert!(after <= used - dead / 4 * 3, "{after} of {used} bytes, with {dead} in dead blocks");
        free(&mut writer, rows, 72);
    }

    #[test]
    #[cfg(not(miri))]
    fn the_last_chunk_serves_blocks_of_all_sizes() {
        let domain = domain(CHUNK as u64);
        let mut local = domain.register().unwrap();
        let large = local.alloc(LARGE).unwrap();
        let small = fill(&mut local, 100);
        assert!(small.len() * 128 >= CHUNK - 4 * LARGE);
        free(&mut local, small, 100);
        free(&mut local, vec![large], LARGE);
        local.share();
        assert!(fill(&mut local, LARGE).len() >= 60);
    }

    #[test]
    #[cfg(not(miri))]
    fn growth_leaves_a_reserve_that_deletes_may_use() {
        let domain = domain(64 << 20);
        let mut local = domain.register().unwrap();
        let rows = fill(&mut local, 1000);
        assert!(domain.used() <= 60 << 20 && domain.is_short());
        local.set_purpose(Purpose::Relief);
        let more = fill(&mut local, 48);
        assert!(more.len() * 48 > 3 << 20 && domain.used() == 64 << 20);
        local.set_purpose(Purpose::Upkeep);
        more.iter().for_each(|_| assert!(local.alloc(48).is_ok()));
        // what is left of the reserve's chunks is not for rows
        local.set_purpose(Purpose::Growth);
        assert!(local.alloc(1000).is_err());
        free(&mut local, rows, 1000);
        assert!(local.alloc(48).is_ok());
    }
}
