//! What one session has locked.

use crate::{Failed, Locks, Mode, Tag};
use std::sync::Arc;

/// A moment that locks can be released back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// The locks of one session: those of its transaction, and those that it keeps beyond. All are given back when it is
/// dropped.
pub struct Owner {
    locks: Arc<Locks>,
    id: u32,
    /// In the order that they were taken.
    transaction: Vec<(Tag, Mode)>,
    session: Vec<(Tag, Mode)>,
}

impl Owner {
    /// A session without locks; `id` is its own in the whole database.
    pub fn new(locks: Arc<Locks>, id: u32) -> Self {
        Self { locks, id, transaction: Vec::new(), session: Vec::new() }
    }

    /// The table that they are in.
    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// How many locks the transaction has.
    pub fn count(&self) -> usize {
        self.transaction.len()
    }

    /// Whether the transaction has what this would give. A search through the latest ones: a transaction with many
    /// locks asks the table.
    fn has(&self, tag: Tag, mode: Mode) -> bool {
        const RECENT: usize = 8;
        self.transaction.iter().rev().take(RECENT).any(|&(own, held)| own == tag && held.covers(mode))
    }

    /// Takes a lock for the transaction, if nobody is in the way.
    pub fn try_take(&mut self, tag: Tag, mode: Mode) -> bool {
        if self.has(tag, mode) {
            return true;
        }
        let taken = self.locks.try_take(self.id, tag, mode);
        if taken {
            self.transaction.push((tag, mode));
        }
        taken
    }

    /// Takes a lock for the transaction. `check` is asked now and then whether to wait on.
    ///
    /// # Errors
    /// [`Failed`]: it is not taken.
    pub fn take<E>(
        &mut self,
        tag: Tag,
        mode: Mode,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), Failed<E>> {
        if self.has(tag, mode) {
            return Ok(());
        }
        self.locks.take(self.id, tag, mode, check)?;
        self.transaction.push((tag, mode));
        Ok(())
    }

    /// Takes a lock for the session, if nobody is in the way. As often as it is taken it must be given back.
    pub fn try_keep(&mut self, tag: Tag, mode: Mode) -> bool {
        let taken = self.locks.try_take(self.id, tag, mode);
        if taken {
            self.session.push((tag, mode));
        }
        taken
    }

    /// Takes a lock for the session.
    ///
    /// # Errors
    /// As [`Owner::take`].
    pub fn keep<E>(
        &mut self,
        tag: Tag,
        mode: Mode,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), Failed<E>> {
        self.locks.take(self.id, tag, mode, check)?;
        self.session.push((tag, mode));
        Ok(())
    }

    /// Gives a lock of the session back, once. False if it has none.
    pub fn give_back(&mut self, tag: Tag, mode: Mode) -> bool {
        let Some(at) = self.session.iter().rposition(|&own| own == (tag, mode)) else { return false };
        self.session.swap_remove(at);
        self.locks.release(self.id, tag, mode)
    }

    /// Gives all locks of the session back.
    pub fn give_all_back(&mut self) {
        for (tag, mode) in std::mem::take(&mut self.session) {
            self.locks.release(self.id, tag, mode);
        }
    }

    /// What the transaction has by now.
    pub fn mark(&self) -> Mark {
        Mark(self.transaction.len())
    }

    /// Releases what the transaction has taken since the mark.
    pub fn release_to(&mut self, mark: Mark) {
        for (tag, mode) in self.transaction.drain(mark.0.min(self.transaction.len())..).rev() {
            self.locks.release(self.id, tag, mode);
        }
    }

    /// The end of the transaction.
    #[inline]
    pub fn end(&mut self) {
        if !self.transaction.is_empty() {
            self.release_to(Mark(0));
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.end();
        self.give_all_back();
    }
}
