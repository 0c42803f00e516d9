//! A worker's access to a domain: when it looks at shared memory, the blocks that it allocates, and those that it has
//! retired.

use super::{Domain, IDLE, LEFT, Orphan, Retired, STAMP};
use crate::arena::{Arena, block_bytes};
use crate::purpose::Purpose;
use scaledb_base::{Result, WorkerId};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{Ordering, fence};
use std::collections::VecDeque;
use std::ptr::NonNull;

/// A worker's part of the domain. Structures take it to allocate, to retire, and as the proof that
/// the caller's activity is published.
pub struct Local {
    pub(super) domain: Arc<Domain>,
    pub(super) id: WorkerId,
    pub(super) active: bool,
    /// Counts `enter`; no two workers of the domain ever have the same number.
    pub(super) activity: u64,
    pub(super) arena: Arena,
    pub(super) purpose: Purpose,
    /// In order of time; the last `fresh` entries have no stamp yet.
    pub(super) limbo: VecDeque<Retired>,
    pub(super) fresh: usize,
    /// Bytes of the entries that have a stamp.
    pub(super) waiting: u64,
}

impl Local {
    /// The worker's id.
    #[inline]
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// The domain.
    #[inline]
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Publishes that this worker looks at shared memory from now on; returns the tick. Blocks that are
    /// reachable from here on stay valid until [`Local::exit`].
    #[inline]
    pub fn enter(&mut self) -> u64 {
        let now = self.domain.clock.now();
        // SAFETY: the clock was read before.
        unsafe { self.enter_at(now) };
        now
    }

    /// [`Local::enter`] with a clock reading that the caller has just taken.
    ///
    /// # Safety
    /// `now` is a reading of the domain's clock: blocks that were retired before it may be reused from here on.
    #[inline]
    pub unsafe fn enter_at(&mut self, now: u64) {
        assert!(!self.active, "a worker enters once at a time");
        self.active = true;
        self.activity += 1;
        // pairs with the Acquire in `check_clock`
        self.domain.slots[self.id.index()].active.store(now, Ordering::Release);
        // pairs with the fence in `Domain::horizon`
        fence(Ordering::SeqCst);
    }

    /// The end of what [`Local::enter`] began.
    #[inline]
    pub fn exit(&mut self) {
        self.active = false;
        // pairs with the Acquire loads of `active`: this worker's reads happen before a reuse
        self.domain.slots[self.id.index()].active.store(IDLE, Ordering::Release);
    }

    /// Names the present activity, or the last one: unique within the domain.
    #[inline]
    pub fn activity(&self) -> u64 {
        self.activity
    }

    /// Whether the worker's activity is published.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Panics unless the worker's activity is published. Structures call it before they follow a
    /// pointer; the branch is always predicted.
    #[inline(always)]
    pub fn assert_active(&self) {
        assert!(self.active, "shared memory may be read only between enter and exit");
    }

    /// A block of at least `bytes` bytes, aligned to 8, and to 64 if `bytes` are whole cache lines. Its content is
    /// undefined.
    ///
    /// # Errors
    /// [`scaledb_base::Error::OutOfMemory`] when the domain's budget is used up.
    #[inline]
    pub fn alloc(&mut self, bytes: usize) -> Result<NonNull<u8>> {
        if self.domain.faults.hit() {
            return Err(self.domain.out_of_memory());
        }
        self.arena.alloc(&self.domain, bytes).or_else(|_| self.alloc_short(bytes))
    }

    #[cold]
    fn alloc_short(&mut self, bytes: usize) -> Result<NonNull<u8>> {
        if !self.limbo.is_empty() {
            // what this worker has retired may be what is missing
            self.collect();
            if let Ok(block) = self.arena.alloc(&self.domain, bytes) {
                return Ok(block);
            }
        }
        self.domain.gather(bytes);
        if let Ok(block) = self.arena.alloc(&self.domain, bytes) {
            return Ok(block);
        }
        if self.purpose == Purpose::Growth {
            return Err(self.domain.out_of_memory());
        }
        let mut reserved = self.domain.reserved.lock();
        reserved.purpose = self.purpose;
        reserved.alloc(&self.domain, bytes)
    }

    /// Says what is allocated for from here on. Returns what it was before.
    #[inline]
    pub fn set_purpose(&mut self, purpose: Purpose) -> Purpose {
        std::mem::replace(&mut self.purpose, purpose)
    }

    /// Takes a block back at once.
    ///
    /// # Safety
    /// `block` came from [`Local::alloc`] of the same domain for `bytes`, and no other thread can have
    /// seen it.
    #[inline]
    pub unsafe fn free(&mut self, block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.arena.free(&self.domain, block, bytes) }
    }

    /// Takes a block back once nobody can see it any more.
    ///
    /// # Safety
    /// `block` came from [`Local::alloc`] of the same domain for `bytes`; it can no longer be reached
    /// from shared memory; it is retired once.
    #[inline]
    pub unsafe fn retire(&mut self, block: NonNull<u8>, bytes: usize) {
        self.limbo.push_back(Retired { block, bytes, at: IDLE });
        self.fresh += 1;
        if self.fresh >= STAMP {
            self.stamp();
        }
        if bytes >= LEFT {
            self.leave_limbo();
        }
    }

    /// Leaves what was retired to whoever trims the domain next, if somebody does: this worker may rest for a long
    /// time.
    #[cold]
    fn leave_limbo(&mut self) {
        // a hint
        if !self.domain.is_trimmed.load(Ordering::Relaxed) {
            return;
        }
        self.stamp();
        let waiting = std::mem::take(&mut self.waiting);
        self.domain.left.lock().take_over(&mut self.limbo, waiting);
        self.publish_waiting();
    }

    fn stamp(&mut self) {
        // fenced, and ordered: the blocks were unlinked for all to see before the clock is read, which a fence for
        // memory alone does not bring about
        // and behind the clock of whoever may look at them on another core
        let now = self.domain.clock.now_fenced() + self.domain.clock.skew();
        for retired in self.limbo.iter_mut().rev().take(self.fresh) {
            retired.at = now;
            self.waiting += retired.bytes as u64;
        }
        self.fresh = 0;
        self.publish_waiting();
    }

    /// Tells reports of what waits. (Not in models, where each store multiplies the interleavings.)
    pub(super) fn publish_waiting(&self) {
        debug_assert!(!self.limbo.is_empty() || self.waiting == 0, "all bytes are of blocks in limbo");
        if !scaledb_sync::MODEL {
            self.domain.slots[self.id.index()].waiting.store(self.waiting, Ordering::Relaxed); // a statistic
        }
    }

    /// Moves retired blocks that are out of everybody's sight to the free lists. Cheap when there is
    /// nothing to do; callers run it every few transactions.
    pub fn collect(&mut self) {
        if self.limbo.is_empty() {
            return;
        }
        if self.fresh > 0 {
            self.stamp();
        }
        let horizon = self.domain.horizon();
        while self.limbo.front().is_some_and(|r| r.at < horizon) {
            let retired = self.limbo.pop_front().expect("just looked at");
            self.waiting -= retired.bytes as u64;
            // SAFETY: `retire`'s contract, and every active worker began after it was unlinked.
            unsafe { self.arena.free(&self.domain, retired.block, retired.bytes) };
        }
        self.publish_waiting();
    }

    /// Leaves all free blocks to other workers: for one that frees what others allocate.
    pub fn share(&mut self) {
        self.arena.leave_all(&self.domain);
    }

    /// After a huge transaction: what it retired and what it freed, here and in the system's allocator, is left to
    /// whoever needs it, as the worker may rest for a long time now.
    #[cold]
    pub fn give_back(&mut self) {
        self.collect();
        self.leave_limbo();
        self.share();
        self.domain.loosen();
    }

    /// Retired blocks that wait for their readers.
    pub fn limbo(&self) -> usize {
        self.limbo.len()
    }

    /// Memory that a block of `bytes` takes from the arena.
    pub fn block_bytes(bytes: usize) -> usize {
        block_bytes(bytes)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.active {
            self.exit();
        }
        self.stamp();
        let (arena, limbo) =
            (std::mem::replace(&mut self.arena, Arena::new()), std::mem::take(&mut self.limbo));
        let waiting = std::mem::take(&mut self.waiting);
        self.domain.orphans.lock().push(Orphan { arena, limbo, waiting });
        self.publish_waiting();
        // pairs with the Acquire in `register`
        self.domain.slots[self.id.index()].taken.store(false, Ordering::Release);
    }
}
