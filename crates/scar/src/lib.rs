//! SCAR, a protocol of replicated transactions, as state machines without I/O, clock or thread.
//!
//! ```text
//!   local call (begin, read, scan, write, commit)  ─┐
//!   message of a peer                              ─┼─►  Node  ─►  messages to peers, answers to clients  (Out)
//!   tick of the leader, a new view                 ─┘
//! ```
//!
//! A [`Node`] keeps replicas of partitions, coordinates the transactions of its clients, and takes part in epochs and
//! in changes of view. Whatever a peer sends is checked or ignored; nothing of it leads to a panic.
//! `docs/internals/scar-model.md` has the rules with their formulas; each is a [`Rule`] that an explorer can switch
//! off. [`Data`] defines keys and values.

mod announced;
mod claims;
mod commit;
mod coordinator;
mod copy;
mod data;
mod epochs;
mod fetch;
mod ids;
mod journal;
pub mod link;
mod message;
mod node;
mod protocol;
mod range;
mod records;
mod replica;
mod rules;
mod serve;
mod snapshots;
mod transaction;
mod versions;
mod view;
mod views;

pub use announced::Announced;
pub use copy::Copied;
pub use data::Data;
pub use fetch::{Brought, Wanted};
pub use ids::{Epoch, NodeId, NodeSet, PartitionId, SessionId, Time, TxnId, ViewNumber};
pub use journal::{Checkpointing, Entry, Piece, Recovered};
pub use message::{
    Answer, Body, Claim, Claimed, Conflict, Ends, Granted, Lacks, Message, Out, Report, Why, Writes,
};
pub use node::{Isolation, MAX_OPERATIONS, MAX_TRANSACTIONS, Node, Outcome, Refused, Size, Stage};
pub use protocol::{Compared, Method, Protocol};
pub use range::Range;
pub use replica::{Item, Seen, Version, Writer};
pub use rules::{Ours, Rule, Rules, Switched};
pub use transaction::{Kind, Mark};
pub use view::{Placement, View};
