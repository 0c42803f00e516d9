//! The locks of a session and of its transaction, and the memory that is reserved for them.

use super::SessionState;
use crate::memory::Reservation;
use scaledb_engine::Engine;
use scaledb_types::Result;
use std::cell::RefCell;

/// Locks whose memory is reserved at once, beyond as many that are not counted.
const LOCKS: usize = 1_024;
/// What a lock takes: its entry in the table, and in the lists of its owner.
const LOCK: usize = 256;

impl<E: Engine> SessionState<E> {
    /// The end of a transaction: its locks are released.
    #[inline]
    pub(crate) fn release_locks(&self) {
        let mut owner = self.owner.borrow_mut();
        if owner.count() > 0 {
            owner.end();
        }
        // there may be some without a lock, behind an error
        let mut memory = self.locks_memory.borrow_mut();
        if !memory.is_empty() {
            *memory = Vec::new();
        }
        self.waited.set(false);
    }

    /// Releases what the transaction has locked since the mark, or all.
    pub(crate) fn release_locks_to(&self, mark: Option<scaledb_locks::Mark>) {
        let mut owner = self.owner.borrow_mut();
        match mark {
            Some(mark) => owner.release_to(mark),
            None => owner.end(),
        }
        give_room(&self.locks_memory, owner.count());
    }

    /// Gives all locks of the session back.
    pub(crate) fn give_all_locks_back(&self) {
        let mut owner = self.owner.borrow_mut();
        owner.give_all_back();
        give_room(&self.kept_memory, owner.kept());
    }

    /// A statement that was run again has ended.
    #[cold]
    pub(crate) fn end_repeated(&self) {
        let mut owner = self.owner.borrow_mut();
        owner.end_repeated();
        give_room(&self.kept_memory, owner.kept());
    }

    /// Room for one more lock.
    pub(super) fn need_room(&self, memory: &RefCell<Vec<Reservation>>, count: usize) -> Result<()> {
        let reserved = memory.borrow().len() * LOCKS;
        if count >= reserved + LOCKS {
            let room = Reservation::new(&self.shared.memory, LOCKS * LOCK)?;
            memory.borrow_mut().push(room);
        }
        Ok(())
    }
}

/// Gives back what was reserved for more locks than there are.
pub(super) fn give_room(memory: &RefCell<Vec<Reservation>>, count: usize) {
    let mut memory = memory.borrow_mut();
    let needed = count.saturating_sub(LOCKS).div_ceil(LOCKS);
    if memory.len() > needed {
        memory.truncate(needed);
        memory.shrink_to_fit();
    }
}
