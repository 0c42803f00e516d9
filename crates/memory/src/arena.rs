//! A worker's arena: blocks in size classes, bump-allocated from chunks and recycled by free lists.

use crate::domain::Domain;
use crate::pages::CHUNK;
use crate::purpose::Purpose;
use scaledb_base::Result;
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ptr::NonNull;

/// Blocks above this size come from the system allocator one by one.
pub const LARGE: usize = 32 << 10;

/// Classes are carved from the chunk in runs of this size, so that blocks of a kind lie together.
const RUN: usize = 32 << 10;

const CLASSES: usize = class_of(LARGE) + 1;

/// The class whose blocks are a run each.
const WHOLE: usize = CLASSES - 1;
const _: () = assert!(class_bytes(WHOLE) == RUN);

/// The size class of a block, counted from the smallest.
///
/// 16-byte steps to 64; 72, 80 and 96, for short rows are many, and wherever such a block begins, it lies on two cache
/// lines; 64-byte steps from 128 to 1 KiB; then eight classes for each doubling: at most an eighth of a larger block
/// is lost, and blocks of 64 bytes or more that fill whole cache lines also start on one.
const fn class_of(bytes: usize) -> usize {
    if bytes <= 64 {
        bytes.div_ceil(16).saturating_sub(1)
    } else if bytes <= 96 {
        4 + (bytes > 72) as usize + (bytes > 80) as usize
    } else if bytes <= 1024 {
        5 + bytes.div_ceil(64)
    } else {
        let log = (usize::BITS - 1 - (bytes - 1).leading_zeros()) as usize; // 2^log < bytes <= 2^(log+1)
        21 + (log - 10) * 8 + (bytes - (1 << log)).div_ceil(1 << (log - 3))
    }
}

const fn class_bytes(class: usize) -> usize {
    match class {
        0..=3 => (class + 1) * 16,
        4 => 72,
        5 => 80,
        6 => 96,
        7..=21 => (class - 5) * 64,
        _ => {
            let log = 10 + (class - 22) / 8;
            (1 << log) + ((class - 22) % 8 + 1) * (1 << (log - 3))
        }
    }
}

/// The memory that a block of `bytes` takes.
pub fn block_bytes(bytes: usize) -> usize {
    if bytes > LARGE { bytes } else { class_bytes(class_of(bytes)) }
}

#[derive(Clone, Copy)]
struct Class {
    free: *mut Free,
    /// Blocks in `free`.
    count: u32,
    bump: *mut u8,
    end: *mut u8,
}

/// The head of a free block.
struct Free {
    next: *mut Free,
}

/// Free blocks of one class, chained, that an arena had too many of.
struct Surplus {
    head: *mut Free,
    count: u32,
}

// SAFETY: the blocks are free, and nobody else has the chain.
unsafe impl Send for Surplus {}

/// Where arenas leave what they have too many of, for those that need it: workers that delete and the
/// background thread free what other workers allocate. A batch at a time, so that the lock is seldom taken.
///
/// What is left here can be *gathered*: a run all of whose blocks are here is free memory again, for blocks of any
/// size, and a chunk of free runs goes back to the system. Only this looks for whole runs: to count a run's blocks
/// at each free would cost every transaction a cache miss.
pub(crate) struct Exchange {
    classes: Mutex<Vec<Vec<Surplus>>>,
    /// Bytes that were left here since the last gathering.
    fresh: AtomicUsize,
    /// One thread gathers at a time; the others wait for what it finds.
    gathering: Mutex<()>,
    /// Free runs.
    runs: Mutex<Vec<Run>>,
    free_runs: AtomicUsize,
    /// Runs that became free as blocks of their own since the last time that free chunks were taken out.
    fresh_runs: AtomicUsize,
    /// Runs of a chunk that is for blocks of a run each. The segments of a growing hash index come and go together:
    /// among rows, they would leave holes in every chunk.
    whole: Mutex<Vec<Run>>,
}

/// A free run.
struct Run(NonNull<u8>);

// SAFETY: nobody else has it.
unsafe impl Send for Run {}

impl Run {
    fn chunk(&self) -> usize {
        self.0.as_ptr().addr() & !(CHUNK - 1)
    }
}

impl Exchange {
    pub(crate) fn new() -> Self {
        Self {
            classes: Mutex::new((0..CLASSES).map(|_| Vec::new()).collect()),
            fresh: AtomicUsize::new(0),
            gathering: Mutex::new(()),
            runs: Mutex::new(Vec::new()),
            free_runs: AtomicUsize::new(0),
            fresh_runs: AtomicUsize::new(0),
            whole: Mutex::new(Vec::new()),
        }
    }

    /// A run for one block.
    fn take_whole(&self, domain: &Domain) -> Option<NonNull<u8>> {
        if let Some(run) = self.take_run() {
            return Some(run);
        }
        let mut whole = self.whole.lock();
        if whole.is_empty() {
            let (start, bytes) = domain.chunk(Purpose::Growth).ok()?;
            // SAFETY: inside the chunk.
            whole.extend((0..bytes / RUN).rev().map(|i| Run(unsafe { start.add(i * RUN) })));
        }
        whole.pop().map(|run| run.0)
    }

    /// Leaves free blocks that are a run each: free memory for blocks of any size at once.
    fn leave_runs(&self, mut surplus: Surplus) {
        let mut runs = self.runs.lock();
        while let Some(block) = NonNull::new(surplus.head) {
            // SAFETY: a free block, and nobody else has the chain.
            surplus.head = unsafe { block.as_ref().next };
            runs.push(Run(block.cast()));
        }
        self.free_runs.store(runs.len(), Ordering::Relaxed); // a hint, written under the lock
        self.fresh_runs.fetch_add(surplus.count as usize, Ordering::Relaxed); // a hint
    }

    /// Runs that became free as blocks of their own since the last [`Exchange::take_free_chunks`].
    pub(crate) fn fresh_runs(&self) -> usize {
        self.fresh_runs.load(Ordering::Relaxed) // a hint
    }

    fn take_run(&self) -> Option<NonNull<u8>> {
        // a hint; the lock decides
        if self.free_runs.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut runs = self.runs.lock();
        let run = runs.pop();
        self.free_runs.store(runs.len(), Ordering::Relaxed); // a hint, written under the lock
        run.map(|run| run.0)
    }

    /// Bytes that were left here since the last gathering.
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.load(Ordering::Relaxed) // a hint
    }

    /// Finds the runs that are free as a whole, if `least` bytes were left here since the last time. O(free blocks).
    #[cold]
    pub(crate) fn gather(&self, least: usize) {
        let _gathering = self.gathering.lock();
        if self.fresh() < least {
            return;
        }
        self.fresh.store(0, Ordering::Relaxed); // a hint
        let mut free = Vec::new();
        for class in 0..CLASSES {
            // taken out, so that nobody waits for the counting
            let batches = std::mem::take(&mut self.classes.lock()[class]);
            let left = gather_class(class, batches, &mut free);
            self.classes.lock()[class].extend(left);
        }
        // the runs of a chunk together, those of chunks with the fewest free ones to be used first
        let mut of_chunk = HashMap::new();
        let mut runs = self.runs.lock();
        runs.append(&mut free);
        runs.iter().for_each(|run| *of_chunk.entry(run.chunk()).or_insert(0_usize) += 1);
        runs.sort_unstable_by_key(|run| (std::cmp::Reverse(of_chunk[&run.chunk()]), run.chunk()));
        self.free_runs.store(runs.len(), Ordering::Relaxed); // a hint, written under the lock
    }

    /// Takes the chunks whose runs are all free out of the pool. Returns their addresses.
    #[cold]
    pub(crate) fn take_free_chunks(&self) -> Vec<usize> {
        let mut of_chunk = HashMap::new();
        self.fresh_runs.store(0, Ordering::Relaxed); // a hint
        let mut runs = self.runs.lock();
        runs.iter().for_each(|run| *of_chunk.entry(run.chunk()).or_insert(0_usize) += 1);
        of_chunk.retain(|_, count| *count == CHUNK / RUN);
        runs.retain(|run| !of_chunk.contains_key(&run.chunk()));
        self.free_runs.store(runs.len(), Ordering::Relaxed); // a hint, written under the lock
        of_chunk.into_keys().collect()
    }
}

/// Moves the runs whose blocks are all in `batches` to `free`. Returns the other blocks.
fn gather_class(class: usize, batches: Vec<Surplus>, free: &mut Vec<Run>) -> Vec<Surplus> {
    let run_of = |block: *mut Free| block.addr() & !(RUN - 1);
    let blocks = RUN / class_bytes(class);
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for batch in &batches {
        let mut at = batch.head;
        while !at.is_null() {
            *counts.entry(run_of(at)).or_insert(0) += 1;
            // SAFETY: free blocks, and nobody else has the chain.
            at = unsafe { (*at).next };
        }
    }
    counts.retain(|_, count| *count == blocks);
    if counts.is_empty() {
        return batches;
    }
    let mut left = Vec::new();
    for batch in batches {
        let (mut kept, mut at) = (Surplus { head: std::ptr::null_mut(), count: 0 }, batch.head);
        while !at.is_null() {
            // SAFETY: as above.
            let next = unsafe { (*at).next };
            let run = run_of(at);
            if !counts.contains_key(&run) {
                // SAFETY: as above.
                unsafe { (*at).next = kept.head };
                (kept.head, kept.count) = (at, kept.count + 1);
            } else if at.addr() == run {
                // the first block of the run has its address, and the right to all of it
                free.push(Run(NonNull::new(at.cast()).expect("not null")));
            }
            at = next;
        }
        if kept.count > 0 {
            left.push(kept);
        }
    }
    left
}

/// Free bytes of one class that an arena keeps for itself.
const KEPT: usize = 64 << 10;

pub(crate) struct Arena {
    classes: [Class; CLASSES],
    bump: *mut u8,
    end: *mut u8,
    /// What its chunks and large blocks are for.
    pub(crate) purpose: Purpose,
}

// SAFETY: an arena owns the free memory that its pointers name; it may move between threads.
unsafe impl Send for Arena {}

impl Arena {
    pub(crate) fn new() -> Self {
        let null = std::ptr::null_mut();
        Self {
            classes: [Class { free: std::ptr::null_mut(), count: 0, bump: null, end: null }; CLASSES],
            bump: null,
            end: null,
            purpose: Purpose::Growth,
        }
    }

    #[inline]
    pub(crate) fn alloc(&mut self, domain: &Domain, bytes: usize) -> Result<NonNull<u8>> {
        if bytes > LARGE || cfg!(any(loom, shuttle, miri)) {
            return large_alloc(domain, bytes, self.purpose);
        }
        let index = class_of(bytes);
        let class = &mut self.classes[index];
        if let Some(free) = NonNull::new(class.free) {
            // SAFETY: a block on the free list holds a `Free` that nobody else can reach.
            class.free = unsafe { free.as_ref().next };
            class.count -= 1;
            return Ok(free.cast());
        }
        let size = class_bytes(index);
        if (class.end as usize) - (class.bump as usize) < size {
            if self.take_surplus(domain, index) {
                return self.alloc(domain, bytes);
            }
            self.refill(domain, index, size)?;
        }
        let class = &mut self.classes[index];
        let block = class.bump;
        // SAFETY: checked above: the run has at least `size` bytes left.
        class.bump = unsafe { block.add(size) };
        // SAFETY: a run never starts at null.
        Ok(unsafe { NonNull::new_unchecked(block) })
    }

    /// Takes a batch of free blocks that another arena has left.
    #[cold]
    fn take_surplus(&mut self, domain: &Domain, index: usize) -> bool {
        let Some(surplus) = domain.exchange().classes.lock()[index].pop() else { return false };
        let class = &mut self.classes[index];
        (class.free, class.count) = (surplus.head, surplus.count);
        true
    }

    #[cold]
    fn leave_surplus(&mut self, domain: &Domain, index: usize) {
        let class = &mut self.classes[index];
        let surplus = Surplus { head: class.free, count: class.count };
        (class.free, class.count) = (std::ptr::null_mut(), 0);
        let bytes = surplus.count as usize * class_bytes(index);
        domain.exchange().fresh.fetch_add(bytes, Ordering::Relaxed); // a hint
        if index == WHOLE {
            return domain.exchange().leave_runs(surplus);
        }
        domain.exchange().classes.lock()[index].push(surplus);
    }

    /// Leaves all free blocks to other arenas: for a worker that frees and does not allocate.
    pub(crate) fn leave_all(&mut self, domain: &Domain) {
        for index in 0..CLASSES {
            if self.classes[index].count > 0 {
                self.leave_surplus(domain, index);
            }
        }
    }

    /// Lets blocks of a class be cut from a run.
    fn take_over(&mut self, index: usize, run: NonNull<u8>) {
        self.classes[index].bump = run.as_ptr();
        // SAFETY: a run has that many bytes.
        self.classes[index].end = unsafe { run.as_ptr().add(RUN) };
    }

    #[cold]
    fn refill(&mut self, domain: &Domain, index: usize, size: usize) -> Result<()> {
        if index == WHOLE
            && self.purpose == Purpose::Growth
            && let Some(start) = domain.exchange().take_whole(domain)
        {
            self.take_over(index, start);
            return Ok(());
        }
        let run = RUN.max(size).next_multiple_of(64);
        if (self.end as usize) - (self.bump as usize) < run {
            if let Some(start) = domain.exchange().take_run() {
                self.take_over(index, start);
                return Ok(());
            }
            let (start, bytes) = match domain.chunk(self.purpose) {
                Ok(chunk) => chunk,
                Err(error) => {
                    let left = domain.exchange().whole.lock().pop();
                    return left.map(|run| self.take_over(index, run.0)).ok_or(error);
                }
            };
            self.bump = start.as_ptr();
            // SAFETY: the chunk has that many bytes.
            self.end = unsafe { self.bump.add(bytes) };
        }
        self.classes[index].bump = self.bump;
        // SAFETY: checked above: the chunk has at least `run` bytes left.
        self.bump = unsafe { self.bump.add(run) };
        self.classes[index].end = self.bump;
        Ok(())
    }

    /// # Safety
    /// `block` came from an arena of the same domain for `bytes`, and nobody refers to it any more.
    #[inline]
    pub(crate) unsafe fn free(&mut self, domain: &Domain, block: NonNull<u8>, bytes: usize) {
        if bytes > LARGE || cfg!(any(loom, shuttle, miri)) {
            // SAFETY: the caller's promise; `alloc` took the same branch.
            return unsafe { large_free(domain, block, bytes) };
        }
        let index = class_of(bytes);
        let class = &mut self.classes[index];
        let free = block.cast::<Free>();
        // SAFETY: the block is at least 16 bytes, aligned to 8, and ours.
        unsafe { free.write(Free { next: class.free }) };
        class.free = free.as_ptr();
        class.count += 1;
        if class.count as usize * class_bytes(index) > KEPT && class.count >= 8 {
            self.leave_surplus(domain, index);
        }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(16), 64).expect("sizes are far below isize::MAX")
}

fn large_alloc(domain: &Domain, bytes: usize, purpose: Purpose) -> Result<NonNull<u8>> {
    domain.charge(bytes, purpose)?;
    // SAFETY: the layout has a size.
    let Some(block) = NonNull::new(unsafe { alloc(layout(bytes)) }) else {
        domain.discharge(bytes);
        return Err(domain.out_of_memory());
    };
    domain.note_large(block, bytes);
    Ok(block)
}

/// # Safety
/// As for [`Arena::free`].
unsafe fn large_free(domain: &Domain, block: NonNull<u8>, bytes: usize) {
    domain.forget_large(block);
    // SAFETY: the caller's promise.
    unsafe { give_back(block, bytes) };
    domain.discharge(bytes);
}

/// # Safety
/// `block` came from `large_alloc` for `bytes`, and nobody refers to it.
pub(crate) unsafe fn give_back(block: NonNull<u8>, bytes: usize) {
    // SAFETY: allocated with the same layout.
    unsafe { dealloc(block.as_ptr(), layout(bytes)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_fits_its_class_and_no_smaller_one() {
        for bytes in 1..=LARGE {
            let class = class_of(bytes);
            assert!(class < CLASSES);
            assert!(class_bytes(class) >= bytes, "{bytes}");
            assert!(class == 0 || class_bytes(class - 1) < bytes, "{bytes}");
            if class_bytes(class) > 1024 {
                assert!(class_bytes(class) - bytes <= bytes / 8, "{bytes}");
            }
        }
        assert_eq!(CLASSES, 62);
        assert_eq!(RUN % 64, 0);
    }

    #[test]
    fn blocks_of_a_line_or_more_touch_no_more_lines_than_they_must() {
        for size in (0..CLASSES).map(class_bytes).filter(|&size| size >= 64) {
            for start in (0..RUN - size + 1).step_by(size) {
                let lines = (start + size - 1) / 64 - start / 64 + 1;
                assert_eq!(lines, size.div_ceil(64), "{size} bytes at {start}");
                assert!(start % 8 == 0 && (size % 64 > 0 || start % 64 == 0), "{size} bytes at {start}");
            }
        }
    }
}
