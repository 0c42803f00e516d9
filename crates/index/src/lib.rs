//! Indexes that many threads share: an ordered one, and two that hash. They map keys to addresses of
//! objects that hold their keys, and know nothing of transactions.
//!
//! - [`btree`]: a B+ tree with optimistic lock coupling, sorted batches, and leaves that say for which
//!   parts of the key space they answer.
//! - [`claims`]: what two do who claim one key in the tree and in the indexlet.
//! - [`hash`]: a hash index that grows without a stop.
//! - [`indexlet`]: one of bounded size, for keys that the tree does not have yet.
//! - [`phantomlet`]: which parts of an ordered index have keys that are not merged.

pub mod btree;
pub mod claims;
pub mod hash;
pub mod indexlet;
pub mod phantomlet;
