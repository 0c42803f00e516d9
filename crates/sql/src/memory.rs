//! The memory of statements: what one may use, and all of them together.
//!
//! A run takes from the database's budget in steps, so that the counter that all sessions share is seldom touched. What
//! outlives a run (the rows of a cursor, values bound to a portal, texts of prepared statements) is reserved by itself.
//!
//! ```text
//! rows of a statement      0 ............ 3/4 .... 1 ........
//!                          as they come   │        │
//!    operators that spill  write files ◄──┘        │   but each may have its share, whatever the others use
//!    others                fail with 53200 ◄───────┘
//! 1 = half of the budget, or work_mem if that is more
//! ```

use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// What a run takes from the budget at once.
const STEP: usize = 256 << 10;
/// What is freed at once and is worth giving back to the system.
const LOOSE: usize = 16 << 20;
/// What the statements of a database may use together, unless it is told otherwise: an eighth of what the machine or
/// its control group has, because rows, indexes and transactions take up to eight tenths; 4 GiB at most.
pub fn default_query_memory() -> usize {
    const GREATEST: u64 = 4 << 30;
    scaledb_log::machine::memory().map_or(GREATEST, |bytes| (bytes / 8).min(GREATEST)) as usize
}

/// What the statements of a database may use together, and what they do.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    limit: AtomicUsize,
    /// Much was freed at once, which the system's allocator keeps.
    is_loose: AtomicBool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            used: AtomicUsize::new(0),
            limit: AtomicUsize::new(default_query_memory()),
            is_loose: AtomicBool::new(false),
        }
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

    /// Takes bytes, if an eighth of the budget is still there afterwards: for operators that can do with less.
    fn take_some(&self, bytes: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed); // a bound, and nothing is published by it
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= limit - limit / 8);
        // a count: the memory itself is the allocator's
        self.used.try_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// What one statement may use of it for rows.
    fn half(&self) -> usize {
        self.limit.load(Ordering::Relaxed) / 2 // a bound, and nothing is published by it
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed); // a count: the memory itself is the allocator's
        if bytes >= LOOSE {
            self.is_loose.store(true, Ordering::Relaxed); // a hint
        }
    }

    /// Whether much was freed at once since this was asked for the last time.
    #[inline]
    pub(crate) fn was_loosened(&self) -> bool {
        // a hint, seldom written
        self.is_loose.load(Ordering::Relaxed) && self.is_loose.swap(false, Ordering::Relaxed)
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
    /// Operators that can do so write rows to files rather than fail.
    spills: bool,
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
    pub(crate) fn new(budget: &'b Arc<Budget>, limit: usize, spills: bool) -> Self {
        Self { used: 0, rows: 0, limit, budget, reserved: 0, spills }
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

    /// Takes memory for rows of an operator that holds `held` bytes and can write them to a file. False, and nothing is
    /// taken, if it should do so: there is room for these then.
    ///
    /// # Errors
    /// 53200: there are no files, or nothing that could be written.
    #[inline]
    pub(crate) fn take_or_spill(&mut self, bytes: usize, held: usize) -> Result<bool> {
        self.used += bytes;
        self.rows += bytes;
        if self.used > self.limit && self.used > self.budget.half() / 4 * 3
            || self.used > self.reserved + STEP
        {
            return self.take_slowly(bytes, held);
        }
        Ok(true)
    }

    #[cold]
    fn take_slowly(&mut self, bytes: usize, held: usize) -> Result<bool> {
        self.used -= bytes;
        self.rows -= bytes;
        if !self.spills {
            return self.take_rows(bytes).map(|()| true);
        }
        if held + bytes <= self.share() {
            return self.take_share(bytes).map(|()| true);
        }
        if held == 0 {
            return self.take_rows(bytes).map(|()| true);
        }
        let used = self.used + bytes;
        if used > self.limit && used > self.budget.half() / 4 * 3 {
            return Ok(false);
        }
        if used > self.reserved + STEP {
            let missing = (used - self.reserved).next_multiple_of(STEP);
            if !self.budget.take_some(missing) {
                return Ok(false);
            }
            self.reserved += missing;
        }
        self.used = used;
        self.rows += bytes;
        Ok(true)
    }

    /// What an operator that writes files may have in any case.
    pub(crate) fn share(&self) -> usize {
        const LEAST: usize = 64 << 10;
        let half = self.budget.half();
        (self.limit.max(half) / 16).min(half / 4).max(LEAST)
    }

    /// Takes memory that belongs to an operator's share.
    ///
    /// # Errors
    /// 53200: the statements of all sessions have left none.
    pub(crate) fn take_share(&mut self, bytes: usize) -> Result<()> {
        self.used += bytes;
        self.rows += bytes;
        if self.used > self.reserved + STEP { self.reserve() } else { Ok(()) }
    }

    /// Takes memory for something that is not rows of an operator and holds `held` bytes, whatever these have: it may
    /// be as large as they.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn take_beside(&mut self, bytes: usize, held: usize) -> Result<()> {
        if held + bytes > self.limit.max(self.budget.half()) {
            return Err(self.too_large());
        }
        self.take_share(bytes)
    }

    /// Gives memory back.
    pub(crate) fn give(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        self.rows = self.rows.min(self.used);
    }

    /// Gives back what was taken for rows.
    #[inline]
    pub(crate) fn give_rows(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        self.rows = self.rows.saturating_sub(bytes);
    }

    /// Where an attempt begins; `held` is what cursors and results have taken for the rows that they keep.
    pub(crate) fn mark(&self, held: usize) -> Mark {
        Mark { used: self.used, rows: self.rows, held }
    }

    /// Gives back what a failed attempt has taken, less what cursors and results still hold.
    pub(crate) fn back_to(&mut self, mark: Mark, held: usize) {
        let with_held = |bytes: usize| (bytes + held).saturating_sub(mark.held);
        self.used = self.used.min(with_held(mark.used));
        self.rows = with_held(mark.rows).min(self.used);
    }

    /// How large one value may be.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.limit
    }

    /// Refuses a value that could not be kept.
    ///
    /// # Errors
    /// 53200.
    #[inline]
    pub(crate) fn admit(&self, bytes: usize) -> Result<()> {
        if bytes > self.limit { Err(self.exhausted()) } else { Ok(()) }
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
            .hint("Raise max_query_memory, set temp_directory, add an index that gives the order, or restrict the rows.")
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
    fn much_that_is_given_back_at_once_is_told_once() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(4 * LOOSE);
        drop(Reservation::new(&budget, LOOSE - 1).unwrap());
        assert!(!budget.was_loosened());
        let mut memory = Memory::new(&budget, 4 * LOOSE, false);
        memory.take(LOOSE + STEP).unwrap();
        assert!(!budget.was_loosened(), "it is in use");
        drop(memory);
        assert!(budget.was_loosened() && !budget.was_loosened());
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_a_run_takes_is_given_back_at_its_end() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(4 * STEP);
        let mut one = Memory::new(&budget, usize::MAX, false);
        one.take(3 * STEP).unwrap();
        let mut other = Memory::new(&budget, usize::MAX, false);
        assert_eq!(other.take(3 * STEP).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        one.give(STEP);
        let kept = Reservation::new(&budget, STEP).unwrap();
        drop((one, other));
        assert_eq!(budget.used(), STEP);
        drop(kept);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn rows_may_take_half_of_the_budget() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(8 * STEP);
        let mut memory = Memory::new(&budget, 100, false);
        memory.take_rows(4 * STEP).unwrap();
        assert_eq!(memory.take_rows(1).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        // a limit that is larger counts
        let mut memory = Memory::new(&budget, 6 * STEP, false);
        assert_eq!(memory.take_rows(5 * STEP).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
    }

    #[test]
    fn a_run_has_a_limit_of_its_own() {
        let budget = Arc::new(Budget::default());
        let mut memory = Memory::new(&budget, 100, false);
        memory.take(60).unwrap();
        memory.give(30);
        memory.take(70).unwrap();
        assert_eq!(memory.take(1).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
        assert!(memory.admit(101).is_err() && memory.admit(100).is_ok());
    }

    #[test]
    fn an_attempt_that_fails_gives_back_all_but_what_is_held() {
        let budget = Arc::new(Budget::default());
        let mut memory = Memory::new(&budget, 100, false);
        memory.take(40).unwrap();
        memory.take_rows(1000).unwrap();
        let mark = memory.mark(1000);
        memory.take(50).unwrap();
        memory.take_rows(3000).unwrap();
        // of the rows of the attempt, some are kept by a cursor or a result
        memory.back_to(mark, 1700);
        assert_eq!((memory.used, memory.rows), (1740, 1700));
        // what was for values still counts as such
        memory.take(60).unwrap();
        assert!(memory.take(1).is_err());
        // rows that others have let go in the meantime are given back once
        let mut memory = Memory::new(&budget, 100, false);
        memory.take_rows(1000).unwrap();
        let mark = memory.mark(1000);
        memory.take_rows(500).unwrap();
        memory.give(1000);
        memory.back_to(mark, 0);
        assert_eq!((memory.used, memory.rows), (0, 0));
    }

    #[test]
    fn who_can_write_files_is_told_to_before_others_fail() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(32 * STEP);
        let mut memory = Memory::new(&budget, 100, true);
        let mut held = 0;
        while memory.take_or_spill(STEP / 4, held).unwrap() {
            held += STEP / 4;
        }
        assert_eq!(held, 12 * STEP);
        memory.take_rows(4 * STEP).unwrap();
        // the share of another operator is there even so
        assert!(memory.take_or_spill(STEP, 0).unwrap());
        assert!(!memory.take_or_spill(1, STEP).unwrap());
        // without files it is as for all rows
        let mut memory = Memory::new(&budget, 100, false);
        assert!(memory.take_or_spill(15 * STEP, 0).unwrap());
        assert_eq!(memory.take_or_spill(2 * STEP, 15 * STEP).unwrap_err().code(), SqlState::OUT_OF_MEMORY);
    }

    #[test]
    fn who_can_write_files_leaves_some_of_the_budget_to_others() {
        let budget = Arc::new(Budget::default());
        budget.set_limit(32 * STEP);
        let mut other = Memory::new(&budget, usize::MAX, true);
        other.take_rows(20 * STEP).unwrap();
        let mut memory = Memory::new(&budget, usize::MAX, true);
        let mut held = 0;
        while memory.take_or_spill(STEP, held).unwrap() {
            held += STEP;
        }
        assert!(budget.used() <= 28 * STEP && held >= 8 * STEP, "{held}");
        Memory::new(&budget, usize::MAX, true).take_share(3 * STEP).unwrap();
    }
}
