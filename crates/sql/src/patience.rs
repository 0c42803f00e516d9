//! How often SQL tries again after a conflict, and how long it waits: the limits that no setting changes, in one
//! place. Those that settings change are in [`scaledb_base::timeouts`]; they end what is here earlier.

use scaledb_types::{SqlError, SqlState};
use std::time::Duration;

/// How often a statement is run after conflicts before the client hears of it.
pub(crate) const STATEMENT_ATTEMPTS: u32 = 100;

/// How long a statement is run again at least, however often that is: a commit that is in its way may wait for a core.
pub(crate) const STATEMENT_PATIENCE: Duration = Duration::from_secs(2);

/// How often a block's query of few rows is run in the present before it moves to a snapshot.
pub(crate) const PRESENT_ATTEMPTS: u32 = 3;

/// How often a block is run again after conflicts before the client hears of one, each time as a whole.
pub(crate) const BLOCK_ATTEMPTS: u32 = 20;

/// How often it is run so before it locks the rows that it writes.
pub(crate) const BLOCK_OPTIMISM: u32 = 3;

/// How long a block is run again at least, however often that is.
pub(crate) const BLOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The longest wait of a block that is run again for a lock: its client knows how to wait, and that it need not.
pub(crate) const BLOCK_LOCK_WAIT: Duration = Duration::from_secs(1);

/// From this attempt on a session sleeps before the next one.
const SLEEPS_FROM: u32 = 10;

/// The longest of these sleeps.
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

/// Sleeps before a statement that has failed so often is run again, so that those in its way get on.
pub(crate) fn sleep_before(attempt: u32) {
    if attempt >= SLEEPS_FROM {
        scaledb_sync::thread::sleep((Duration::from_micros(50) * attempt).min(LONGEST_SLEEP));
    }
}

/// How often a statement is run again after deadlocks, which sessions that wait for each other in a transaction of
/// their own would only repeat.
pub(crate) const DEADLOCK_ATTEMPTS: u32 = 10;

/// How often a statement is run again to wait for advisory locks: one that takes thousands waits in place then.
pub(crate) const ADVISORY_WAITS: u32 = 20;

/// How often a change of the catalog is run that is a transaction by itself, or ends a session.
pub(crate) const CHANGE_ATTEMPTS: u32 = 20;

/// How often a batch of rows is copied to a new table: merges and clean-up may be in the way.
pub(crate) const COPY_ATTEMPTS: u32 = 100;

/// The longest wait for a change of a table, unless `lock_timeout` says otherwise.
pub(crate) const CHANGE_WAIT: Duration = Duration::from_secs(60);

/// The longest wait of a change that puts up no bars for one that has: if the two conflict, the longer one should get
/// through.
pub(crate) const COURTESY_WAIT: Duration = Duration::from_secs(5);

/// The longest wait for a worker of another session.
pub(crate) const WORKER_WAIT: Duration = Duration::from_secs(10);

/// Whether a statement that fails with this error is run again, after so many attempts of at most `most`.
pub(crate) fn runs_again(error: &SqlError, attempts: u32, most: u32) -> bool {
    error.code() == SqlState::SERIALIZATION_FAILURE && attempts < most
}
