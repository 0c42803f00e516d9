//! Locks that the members of a cluster share: what an [`Owner`](crate::Owner) and a [`Locks`] ask for that the process
//! itself cannot know.

use crate::{Failed, Known, Locks, Mode, NotTaken, Tag};
use std::sync::Arc;

/// The locks of a cluster, at one of its nodes.
pub trait SharedLocks: Send + Sync {
    /// A session of this node, by the number that it has in its process.
    fn session(&self, database: u32, session: u32) -> Box<dyn Elsewhere>;

    /// From here on these locks of a database are told whether others have locked something ([`Locks::hint`]).
    fn watch(&self, database: u32, locks: &Arc<Locks>);

    /// Whether rows of a table may be locked.
    fn has_rows_of(&self, database: u32, table: u32) -> bool;

    /// The locks of a database, had and waited for: of all nodes, or of this one if the others are not heard.
    fn all(&self, database: u32) -> Vec<Known>;
}

/// A session's locks in a cluster. Dropped, it has none.
///
/// A lock of the transaction is numbered by how many it had before: they are given back from the last one on.
pub trait Elsewhere: Send {
    /// The number that stands for a row in this session's tags ([`Tag::Row`]), until its transaction has ended.
    fn number_of(&mut self, table: u32, key: &[u8]) -> u64;

    /// Takes these locks in order, up to the first that cannot be had at once; how many. `quiet`: other sessions need
    /// not look out for them.
    ///
    /// # Errors
    /// [`NotTaken`]: none is taken.
    fn try_take(&mut self, tags: &[Tag], mode: Mode, keeps: bool, quiet: bool) -> Result<usize, NotTaken>;

    /// Takes a lock; waits for it while `go_on` says so.
    ///
    /// # Errors
    /// [`Failed`]: it is not taken.
    fn take(
        &mut self,
        tag: Tag,
        mode: Mode,
        keeps: bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Failed<()>>;

    /// Releases the transaction's locks but the first `count`; all: its end.
    fn release_to(&mut self, count: usize);

    /// Gives a lock back, once, that the session keeps.
    fn give_back(&mut self, tag: Tag, mode: Mode);

    /// Whether locks of the transaction were lost, as the members have changed: it must not commit.
    fn is_lost(&self) -> bool;
}
