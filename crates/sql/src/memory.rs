//! The memory of statements: what one may use, and all of them together.
//!
//! A run takes from the database's budget in steps, so that the counter that all sessions share is seldom touched. What
//! outlives a run (the rows of a cursor, values bound to a portal, texts of prepared statements) is reserved by itself.

use scaledb_sync::atomic::{AtomicUsize, Ordering};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// What a run takes from the budget at once.
const STEP: usize = 256 << 10;
/// What the statements of a database may use together, unless it is told otherwise.
const DEFAULT: usize = 4 << 30;

/// What the statements of a database may use together, and what they do.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    limit: AtomicUsize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(DEFAULT) }
    }
}

impl Budget {
    /// Changes the limit; what is in use stays.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed); // a bound, and nothing is published by it
    }

    /// What is in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed) // a statistic
    }

    /// Takes bytes, if there are as many.
    ///
    /// # Errors
    /// 53200.
    fn take(&self, bytes: usize) -> Result<()> {
        let limit = self.limit.load(Ordering::Relaxed); // a bound, and nothing is published by it
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= limit);
        // a count: the memory itself is the allocator's
        let taken = self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| {
            let what = format!("the statements of all sessions need more than {} kB of memory", limit >> 10);
            SqlError::new(SqlState::OUT_OF_MEMORY, what)
                .hint("Close cursors and prepared statements, try again later, or raise max_query_memory.")
        })
    }

    /// What one statement may use of it for rows.
    fn half(&self) -> usize {
        self.limit.load(Ordering::Relaxed) / 2 // a bound, and nothing is published by it
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed); // a count: the memory itself is the allocator's
    }
}

/// Memory that is taken for as long as this lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// Takes bytes from a budget.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn new(budget: &Arc<Budget>, bytes: usize) -> Result<Self> {
        budget.take(bytes)?;
        Ok(Self { budget: budget.clone(), bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

/// The memory that a run may use.
#[derive(Debug)]
pub(crate) struct Memory<'b> {
    used: usize,
    /// What of it is for rows, which have another limit: at most.
    rows: usize,
    limit: usize,
    /// Borrowed: a count of its owners would be written by every statement of every session.
    budget: &'b Arc<Budget>,
    /// What was taken from the budget: at least `used` less a step.
    reserved: usize,
}

/// What was in use when an attempt began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    used: usize,
    rows: usize,
    held: usize,
}

impl<'b> Memory<'b> {
    /// Of a run that may use `limit` bytes.
    pub(crate) fn new(budget: &'b Arc<Budget>, limit: usize) -> Self {
        Self { used: 0, rows: 0, limit, budget, reserved: 0 }
    }

    /// Takes memory.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Result<()> {
        self.used += bytes;
        if self.used - self.rows > self.limit {
            return Err(self.exhausted());
        }
        // what fits a step is not worth counting: it is less than a session takes by being there
        if self.used > self.reserved + STEP { self.reserve() } else { Ok(()) }
    }

    /// Takes memory for rows that an operator keeps: a statement may be as large as half of what all may use.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(crate) fn take_rows(&mut self, bytes: usize) -> Result<()> {
        self.used += bytes;
        self.rows += bytes;
        if self.used > self.limit && self.used > self.budget.half() {
            return Err(self.too_large());
        }
        if self.used > self.reserved + STEP { self.reserve() } else { Ok(()) }
    }

    /// Gives memory back.
    pub(crate) fn give(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        self.rows = self.rows.min(self.used);
    }

    /// Where an attempt begins; `held` is what those who keep rows have taken for them.
    pub(crate) fn mark(&self, held: usize) -> Mark {
        Mark { used: self.used, rows: self.rows, held }
    }

    /// Gives back what an attempt that has failed has taken, less what those who keep rows still hold.
    pub(crate) fn back_to(&mut self, mark: Mark, held: usize) {
        let with_held = |bytes: usize| (bytes + held).saturating_sub(mark.held);
        self.used = self.used.min(with_held(mark.used));
        self.rows = with_held(mark.rows).min(self.used);
    }

    /// Refuses a value that could not be kept.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(crate) fn admit(&self, bytes: usize) -> Result<()> {
        if bytes > self.limit { Err(self.exhausted()) } else { Ok(()) }
    }

    /// What has been taken, for what outlives the run.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<Reservation> {
        self.give(bytes);
        Reservation::new(self.budget, bytes)
    }

    #[cold]
    fn reserve(&mut self) -> Result<()> {
        let missing = (self.used - self.reserved).next_multiple_of(STEP);
        self.budget.take(missing)?;
        self.reserved += missing;
        Ok(())
    }

    #[cold]
    fn too_large(&self) -> SqlError {
        let most = self.limit.max(self.budget.half()) >> 10;
        let what = format!(
            "the statement needs more than {most} kB for rows that it sorts, groups, joins or changes"
        );
        SqlError::new(SqlState::OUT_OF_MEMORY, what)
            .hint("Raise max_query_memory, add an index that gives the order, or restrict the rows.")
    }

    #[cold]
    fn exhausted(&self) -> SqlError {
        SqlError::new(
            SqlState::OUT_OF_MEMORY,
            format!("the statement needs more than {} kB for values", self.limit >> 10),
        )
        .hint("Raise work_mem, or restrict the rows.")
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if self.reserved > 0 {
            self.budget.give(self.reserved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_takes_is_given_back_at_its_end() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(4 * STEP);
        let mut one = Memory::new(&budget, usize::MAX);
        one.take(3 * STEP).unwrap();
        let mut other = Memory::new(&budget, usize::MAX);
        assert_eq!(other.take(3 * STEP).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        let kept = one.keep(STEP).unwrap();
        drop((one, other));
        assert_eq!(budget.used(), STEP);
        drop(kept);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn rows_may_take_half_of_the_budget() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(8 * STEP);
        let mut memory = Memory::new(&budget, 100);
        memory.take_rows(4 * STEP).unwrap();
        assert_eq!(memory.take_rows(1).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        // a limit that is larger counts
        let mut memory = Memory::new(&budget, 6 * STEP);
        assert_eq!(memory.take_rows(5 * STEP).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
    }

    #[test]
    fn a_run_has_a_limit_of_its_own() {
        let budget = Arc::new(Budget::default());
        let mut memory = Memory::new(&budget, 100);
        memory.take(60).unwrap();
        memory.give(30);
        memory.take(70).unwrap();
        assert_eq!(memory.take(1).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        assert!(memory.admit(101).is_err() && memory.admit(100).is_ok());
    }

    #[test]
    fn an_attempt_that_fails_gives_back_all_but_what_is_held() {
        let budget = Arc::new(Budget::default());
        let mut memory = Memory::new(&budget, 100);
        memory.take(40).unwrap();
        memory.take_rows(1000).unwrap();
        let mark = memory.mark(1000);
        memory.take(50).unwrap();
        memory.take_rows(3000).unwrap();
        // of the rows of the attempt, some are kept by somebody else
        memory.back_to(mark, 1700);
        assert_eq!((memory.used, memory.rows), (1740, 1700));
        // what was for values still counts as such
        memory.take(60).unwrap();
        assert!(memory.take(1).is_err());
        // rows that others have let go in the meantime are given back once
        let mut memory = Memory::new(&budget, 100);
        memory.take_rows(1000).unwrap();
        let mark = memory.mark(1000);
        memory.take_rows(500).unwrap();
        memory.give(1000);
        memory.back_to(mark, 0);
        assert_eq!((memory.used, memory.rows), (0, 0));
    }
}
