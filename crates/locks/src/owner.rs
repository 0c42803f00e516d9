//! What one session has locked.

use crate::elsewhere::Elsewhere;
use crate::{Failed, Locks, Mode, NotTaken, Tag};
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
    /// Where they are in a cluster.
    elsewhere: Option<Box<dyn Elsewhere>>,
    id: u32,
    /// In the order that they were taken.
    transaction: Vec<(Tag, Mode)>,
    /// The transaction has asked for locks that others are to look out for: not only for those of rows that it writes.
    asked: bool,
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
        let elsewhere = locks.members().map(|(members, database)| members.session(database, id));
        Self {
            locks,
            elsewhere,
            id,
            transaction: Vec::new(),
            asked: false,
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

    /// The number of a row in this owner's tags, by its key, where that is what others know the row by: in a cluster.
    pub fn number_of(&mut self, table: u32, key: &[u8]) -> Option<u64> {
        Some(self.elsewhere.as_mut()?.number_of(table, key))
    }

    /// Whether the transaction had locks that the change of a cluster's members has taken away: it must not commit.
    pub fn is_lost(&self) -> bool {
        !self.transaction.is_empty() && self.elsewhere.as_ref().is_some_and(|elsewhere| elsewhere.is_lost())
    }

    /// Takes a lock for the transaction, if it can be had at once.
    ///
    /// # Errors
    /// [`NotTaken`], in a cluster.
    pub fn try_take(&mut self, tag: Tag, mode: Mode) -> Result<bool, NotTaken> {
        self.asked = true;
        self.try_one(tag, mode)
    }

    fn try_one(&mut self, tag: Tag, mode: Mode) -> Result<bool, NotTaken> {
        if self.has(tag, mode) {
            return Ok(true);
        }
        let taken = match &mut self.elsewhere {
            None => self.locks.try_take(self.id, tag, mode),
            Some(elsewhere) => elsewhere.try_take(&[tag], mode, false, false)? == 1,
        };
        if taken {
            self.transaction.push((tag, mode));
        }
        Ok(taken)
    }

    /// Whether the transaction has locks that it has asked for, beside those of rows that it writes.
    pub fn has_asked(&self) -> bool {
        self.asked && !self.transaction.is_empty()
    }

    /// Takes locks for the transaction, up to the first that cannot be had at once: how many it has then. Others need
    /// not look out for them: those who write the same rows without asking may be in the way.
    ///
    /// # Errors
    /// [`NotTaken`], in a cluster.
    pub fn try_take_all(&mut self, tags: &[Tag], mode: Mode) -> Result<usize, NotTaken> {
        let mut taken = 0;
        let Some(elsewhere) = &mut self.elsewhere else {
            for &tag in tags {
                if !self.try_one(tag, mode)? {
                    break;
                }
                taken += 1;
            }
            return Ok(taken);
        };
        for some in tags.chunks(crate::keeper::MAX_BATCH) {
            let more = elsewhere.try_take(some, mode, false, true)?.min(some.len());
            self.transaction.extend(some[..more].iter().map(|&tag| (tag, mode)));
            taken += more;
            if more < some.len() {
                break;
            }
        }
        Ok(taken)
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
        self.wait(tag, mode, false, check)?;
        self.transaction.push((tag, mode));
        Ok(())
    }

    fn wait<E>(
        &mut self,
        tag: Tag,
        mode: Mode,
        keeps: bool,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), Failed<E>> {
        let Some(elsewhere) = &mut self.elsewhere else {
            return self.locks.take(self.id, tag, mode, check);
        };
        let mut stopped = None;
        let taken = elsewhere.take(tag, mode, keeps, &mut || match check() {
            Ok(()) => true,
            Err(error) => {
                stopped = Some(error);
                false
            }
        });
        match (taken, stopped) {
            (Ok(()), _) => Ok(()),
            (Err(Failed::Deadlock(cycle)), _) => Err(Failed::Deadlock(cycle)),
            (Err(Failed::Not(why)), _) => Err(Failed::Not(why)),
            (Err(Failed::Stopped(())), Some(error)) => Err(Failed::Stopped(error)),
            // it stops for no other reason
            (Err(Failed::Stopped(())), None) => Err(Failed::Not(NotTaken::Silent)),
        }
    }

    fn release(&mut self, tag: Tag, mode: Mode) {
        match &mut self.elsewhere {
            None => {
                self.locks.release(self.id, tag, mode);
            }
            Some(elsewhere) => elsewhere.give_back(tag, mode),
        }
    }

    /// How many locks the session keeps.
    pub fn kept(&self) -> usize {
        self.session.len() + self.carried.len()
    }

    /// Takes a lock for the session, if it can be had at once. As often as it is taken it must be given back.
    ///
    /// # Errors
    /// [`NotTaken`], in a cluster.
    pub fn try_keep(&mut self, tag: Tag, mode: Mode) -> Result<bool, NotTaken> {
        let taken = self.take_over(tag, mode)
            || match &mut self.elsewhere {
                None => self.locks.try_take(self.id, tag, mode),
                Some(elsewhere) => elsewhere.try_take(&[tag], mode, true, false)? == 1,
            };
        if taken {
            self.session.push((tag, mode));
        }
        Ok(taken)
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
            self.wait(tag, mode, true, check)?;
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
        self.release(tag, mode);
        true
    }

    /// Gives all locks of the session back.
    pub fn give_all_back(&mut self) {
        self.since = 0;
        for (tag, mode) in std::mem::take(&mut self.session) {
            self.release(tag, mode);
        }
    }

    /// A statement begins: what it does with locks of the session may have to be done again.
    #[inline]
    pub fn begin_statement(&mut self) {
        self.since = self.session.len();
        self.given.clear();
        if let Some(elsewhere) = &mut self.elsewhere
            && self.transaction.is_empty()
        {
            self.asked = false;
            // the numbers of rows that were asked for and not had
            elsewhere.release_to(0);
        }
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
            self.release(tag, mode);
        }
        for (tag, mode) in std::mem::take(&mut self.credit) {
            // one that cannot be had again is not there to be given back
            let _ = self.try_keep(tag, mode);
        }
    }

    /// What the transaction has by now.
    pub fn mark(&self) -> Mark {
        Mark(self.transaction.len())
    }

    /// Releases what the transaction has taken since the mark.
    pub fn release_to(&mut self, mark: Mark) {
        self.asked &= mark.0 > 0;
        let rest = self.transaction.drain(mark.0.min(self.transaction.len())..);
        match &mut self.elsewhere {
            None => rest.rev().for_each(|(tag, mode)| {
                self.locks.release(self.id, tag, mode);
            }),
            Some(elsewhere) => {
                drop(rest);
                elsewhere.release_to(mark.0);
            }
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
