//! What one session has locked.

use crate::{Failed, Locks, Mode, Tag};
use std::collections::VecDeque;
use std::sync::Arc;

/// A list that has room for so many keeps it when it is empty.
const ROOM: usize = 1_024;

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
    /// Those of the session from here on were taken by the statement at hand.
    since: usize,
    /// Those that it has given back, which it had not taken itself.
    given: Vec<(Tag, Mode)>,
    /// What a run has taken that was given up: the next one takes it over.
    carried: VecDeque<(Tag, Mode)>,
    /// What such a run has given back: the next one need not.
    credit: Vec<(Tag, Mode)>,
}

impl Owner {
    /// A session without locks; `id` is its own in the whole database.
    pub fn new(locks: Arc<Locks>, id: u32) -> Self {
        Self {
            locks,
            id,
            transaction: Vec::new(),
            session: Vec::new(),
            since: 0,
            given: Vec::new(),
            carried: VecDeque::new(),
            credit: Vec::new(),
        }
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

    /// Takes a lock for the transaction, if it can be had at once.
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

    /// How many locks the session keeps.
    pub fn kept(&self) -> usize {
        self.session.len() + self.carried.len()
    }

    /// Takes a lock for the session, if it can be had at once. As often as it is taken it must be given back.
    pub fn try_keep(&mut self, tag: Tag, mode: Mode) -> bool {
        let taken = self.take_over(tag, mode) || self.locks.try_take(self.id, tag, mode);
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
        if !self.take_over(tag, mode) {
            self.locks.take(self.id, tag, mode, check)?;
        }
        self.session.push((tag, mode));
        Ok(())
    }

    /// Takes a lock over from the run before, which has taken it.
    fn take_over(&mut self, tag: Tag, mode: Mode) -> bool {
        // runs ask in the same order, mostly
        let found = self.carried.iter().position(|&carried| carried == (tag, mode));
        found.and_then(|at| self.carried.remove(at)).is_some()
    }

    /// Gives a lock of the session back, once. False if it has none.
    pub fn give_back(&mut self, tag: Tag, mode: Mode) -> bool {
        if let Some(at) = self.credit.iter().position(|&credit| credit == (tag, mode)) {
            self.given.push(self.credit.swap_remove(at));
            return true;
        }
        let Some(at) = self.session.iter().rposition(|&own| own == (tag, mode)) else { return false };
        self.session.remove(at);
        if at < self.since {
            self.since -= 1;
            self.given.push((tag, mode));
        }
        shrink(&mut self.session);
        self.locks.release(self.id, tag, mode)
    }

    /// Gives all locks of the session back.
    pub fn give_all_back(&mut self) {
        self.since = 0;
        for (tag, mode) in std::mem::take(&mut self.session) {
            self.locks.release(self.id, tag, mode);
        }
    }

    /// A statement begins: what it does with locks of the session may have to be done again.
    #[inline]
    pub fn begin_statement(&mut self) {
        self.since = self.session.len();
        self.given.clear();
    }

    /// The statement is run again: locks of the session that it has taken are not taken twice, and those that it has
    /// given back are not given back twice.
    pub fn repeat(&mut self) {
        self.carried.extend(self.session.drain(self.since..));
        self.credit.append(&mut self.given);
    }

    /// A statement that was run again has ended: what its last run has not taken is given back, and what that has not
    /// given back is taken again, unless another owner has it by now.
    pub fn end_repeated(&mut self) {
        for (tag, mode) in std::mem::take(&mut self.carried) {
            self.locks.release(self.id, tag, mode);
        }
        for (tag, mode) in std::mem::take(&mut self.credit) {
            self.try_keep(tag, mode);
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
        shrink(&mut self.transaction);
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
        self.end_repeated();
        self.give_all_back();
    }
}

/// Gives memory back that a list had for many more locks.
fn shrink(list: &mut Vec<(Tag, Mode)>) {
    if list.capacity() > ROOM && list.len() < list.capacity() / 4 {
        list.shrink_to(ROOM.max(list.len() * 2));
    }
}
