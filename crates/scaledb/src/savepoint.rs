//! Savepoints, told apart.

use crate::table::Token;
use scaledb_base::{Error, Result};
use scaledb_engine as engine;

/// A point in a transaction that it can be rolled back to: made by
/// [`Transaction::savepoint`](crate::Transaction::savepoint), valid in that transaction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    owner: Owner,
    inner: engine::Savepoint,
    depth: usize,
    serial: u64,
}

/// A database, by address, and a session of it.
type Owner = (usize, u64);

/// The savepoints of a session's transaction.
pub(crate) struct Marks {
    owner: Owner,
    /// Serials of the savepoints that hold.
    stack: Vec<u64>,
    /// The next savepoint's serial.
    next: u64,
}

impl Marks {
    pub(crate) fn new(database: &Token) -> Self {
        Self { owner: (database.address(), database.next_session()), stack: Vec::new(), next: 0 }
    }

    /// A new transaction: none of the old savepoints holds.
    pub(crate) fn clear(&mut self) {
        self.stack.clear();
    }

    pub(crate) fn add(&mut self, inner: engine::Savepoint) -> Savepoint {
        let savepoint = Savepoint { owner: self.owner, inner, depth: self.stack.len(), serial: self.next };
        self.stack.push(self.next);
        self.next += 1;
        savepoint
    }

    /// Forgets the savepoints after this one.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`].
    pub(crate) fn return_to(&mut self, savepoint: Savepoint) -> Result<engine::Savepoint> {
        let known = self.stack.get(savepoint.depth) == Some(&savepoint.serial);
        if !known || savepoint.owner != self.owner {
            return Err(Error::NoSuchSavepoint);
        }
        self.stack.truncate(savepoint.depth + 1);
        Ok(savepoint.inner)
    }
}
