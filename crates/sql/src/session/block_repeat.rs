//! Blocks that have met a conflict are run again by their session, if their clients cannot tell.
//!
//! A block that fails with 40001 is run again by its client, which sends its statements one by one, while others go on
//! changing the rows in its way. Most of these runs would have the same results: `UPDATE .. SET n = n + 1` says
//! `UPDATE 1` whatever `n` is. So the session runs the block's statements again in a transaction of the engine that
//! begins now, and goes on in that if each has the results that the client has.
//!
//! ```text
//!   conflict in a statement, or at COMMIT
//!      └─► all statements again ──┬── same results ─► the statement, or COMMIT, again
//!            ▲                    ├── other results ─► 40001
//!            └──── conflict ──────┘
//! ```
//!
//! The invariant is that of [`block_read`](super::block_read): `results(statement, transaction of the engine) = results
//! that the client has`, for each statement of the block. So the serial order may have the block at the place of the
//! last of these transactions, which lies between its BEGIN and the answer to its COMMIT.
//!
//! After some attempts the runs at COMMIT lock the rows that they write, so that others queue up behind them; nobody
//! waits for an answer of the client meanwhile. Those before COMMIT keep no more locks than the block has had, for the
//! client may leave it open. A deadlock is a conflict, too, if the client has asked for no locks: it counts on those
//! until the end.
//!
//! What of a statement cannot be taken back is not done twice: values of sequences are those of the first run, and a
//! block is not run again if a statement that reads or writes has done anything else outside of its transaction:
//! taken an advisory lock, changed a setting, told its client or those who listen something. If it does so in another
//! run only, that one has other results. Nor is a block run again behind changes of the catalog, COPY, DO, CALL and
//! ROLLBACK TO, or when it is long (`record`).

use super::Session;
use super::record::{Record, Way};
use crate::patience::{BLOCK_ATTEMPTS, BLOCK_LOCK_WAIT, BLOCK_OPTIMISM, BLOCK_PATIENCE, sleep_before};
use scaledb_engine::Engine;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::time::Instant;

/// What was done so far to get a block through.
#[derive(Default)]
pub(super) struct Repeats {
    pub(super) attempts: u32,
    /// When the first conflict was met.
    since: Option<Instant>,
    /// When `statement_timeout` is over for the statement that has met it.
    deadline: Option<Instant>,
}

impl Repeats {
    pub(super) fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }
}

impl<E: Engine> Session<E> {
    /// Whether the block may be run again behind an error.
    pub(super) fn may_repeat(&self, error: &SqlError) -> bool {
        let record = &self.transaction.record;
        let is_conflict = match error.code() {
            SqlState::SERIALIZATION_FAILURE => true,
            SqlState::DEADLOCK_DETECTED => !record.keeps_locks,
            _ => false,
        };
        // the only statement of a transaction is run again by itself: it is not recorded
        let is_recorded = !self.transaction.is_alone() && record.is_whole();
        is_conflict && is_recorded && self.repeats_blocks && self.has_settings_of(record)
    }

    /// Runs the statements of the block again, behind a conflict: its results are now those of the transaction of the
    /// engine that runs.
    ///
    /// # Errors
    /// The error, if they have other results or cannot be run again; 57014 and others, as of the statements. The block
    /// cannot go on.
    #[cold]
    pub(super) fn repeat_block(
        &mut self,
        error: SqlError,
        repeats: &mut Repeats,
        at_commit: bool,
    ) -> Result<()> {
        // a commit of nothing meets no conflict: what is committed is not what is recorded
        if !self.may_repeat(&error) || at_commit && self.transaction.record.is_empty() {
            return Err(error);
        }
        let record = std::mem::replace(&mut self.transaction.record, Record::of_another_run());
        let lock_timeout = self.lock_timeout;
        self.lock_timeout =
            Some(lock_timeout.map_or(BLOCK_LOCK_WAIT, |timeout| timeout.min(BLOCK_LOCK_WAIT)));
        let repeated = self.repeat(&record, error, repeats, at_commit);
        self.lock_timeout = lock_timeout;
        match repeated {
            Ok(()) => {
                self.transaction.record = record;
                self.note_drawn();
            }
            Err(_) => self.transaction.record.way = Way::Lost,
        }
        repeated
    }

    fn repeat(
        &mut self,
        record: &Record,
        error: SqlError,
        repeats: &mut Repeats,
        at_commit: bool,
    ) -> Result<()> {
        let deadline = repeats.deadline;
        if error.code() == SqlState::DEADLOCK_DETECTED {
            self.state.release_locks();
        }
        let locks = self.state.owner.borrow().mark();
        let since = *repeats.since.get_or_insert_with(Instant::now);
        loop {
            repeats.attempts += 1;
            let enough = repeats.attempts > BLOCK_ATTEMPTS && since.elapsed() >= BLOCK_PATIENCE;
            // what it has locked before may have changed
            if enough || self.state.owner.borrow().is_lost() {
                return Err(error);
            }
            self.begin_again(false);
            self.transaction.wants_snapshot = None;
            self.state.shared.retries.fetch_add(1, Ordering::Relaxed); // a statistic
            self.reruns += 1;
            if repeats.attempts > 1 {
                self.back_off(repeats.attempts);
            }
            sleep_before(repeats.attempts);
            let mut context = self.context();
            context.deadline = deadline;
            context.check_cancel()?;
            let reserves = at_commit && repeats.attempts > BLOCK_OPTIMISM;
            let run = self.run_again(record, deadline, reserves);
            let is_deadlock = matches!(&run, Err(error) if error.code() == SqlState::DEADLOCK_DETECTED);
            if is_deadlock && !record.keeps_locks {
                // the others go on with what it had
                self.state.release_locks();
            } else if !at_commit || run.is_err() {
                self.state.release_locks_to(Some(locks));
            }
            match run {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(error),
                Err(again) if again.code() == SqlState::SERIALIZATION_FAILURE => {}
                Err(_) if is_deadlock && !record.keeps_locks => {}
                Err(other) => return Err(other),
            }
        }
    }
}
