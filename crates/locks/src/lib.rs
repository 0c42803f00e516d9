//! Locks that transactions and sessions of SQL wait for: of rows (`SELECT FOR UPDATE` and its like), of tables
//! (`LOCK TABLE`), and advisory ones.
//!
//! ```text
//!  Owner ── take, release ──►  shard of the tag's hash ──► entry: who holds it in what mode, and a queue
//!                                                                       │
//!  waits: which owner waits for which tag ◄── looked through for a cycle ┘ before a wait begins
//! ```
//!
//! The correctness of data never depends on them: a commit validates what it has read, whatever locks are held. They
//! are there so that a transaction waits instead of failing. So a transaction that does not use them reads one counter
//! ([`Locks::rows`], [`Locks::tables`]), and asks no further while it is zero.

//!
//! In a cluster one of the members has the table, the keeper, and an owner asks it through its own node
//! ([`SharedLocks`], [`keeper`]).

mod elsewhere;
mod entry;
pub mod keeper;
mod mode;
mod owner;
mod table;

pub use elsewhere::{Elsewhere, SharedLocks};
pub use mode::Mode;
pub use owner::{Mark, Owner};
pub use table::{Blocked, Failed, Known, Locks, NotTaken, Tag, Who};
