//! Occult: causal consistency and transactions over an asynchronously replicated store, as state machines without
//! I/O.
//!
//! ```text
//!   client half                                 server half, at the master of a shard and at its replicas
//!   Session ── Timestamp ── deps ──────────────► Shard::plan_* ──► Reply, Effect ──► Shard::apply, at the master
//!      ▲                                             ▲                  │
//!      └── Reply: value, deps, shardstamp            └── Store          └─ the store's stream ──► Shard::apply, at replicas
//! ```
//!
//! Servers apply writes at once, in the order of each shard, and stamp them. No server ever waits for another one.
//! Clients keep a causal [`Timestamp`], attach it to what they write, and check at each read that the shard has
//! come as far as they know it to be. A [`Shard`] is a slot of Redis Cluster. [`Server`] is what the shards of one
//! process share.
//!
//! Nothing in here does I/O, reads a clock or starts a thread, so that a module of a real server, a real client and a
//! simulation run the same code.

pub mod client;
pub mod codec;
pub mod limits;
mod rules;
mod server;
mod shard;
mod slot;
mod stamp;
mod timestamp;
mod token;
pub mod wire;

pub use codec::Malformed;
pub use rules::{Rule, Rules};
pub use server::{Role, Server};
pub use shard::effect::{Action, Effect};
pub use shard::entry::{Entry, Store, Value};
pub use shard::{Lock, Planned, Shard, Write};
pub use slot::{Slot, slot_key, slot_of};
pub use stamp::{Datacenter, Incarnation, Micros, Stamp, TxnId};
pub use timestamp::{Shape, Timestamp};
pub use token::BadToken;
pub use wire::{LockInfo, Refused};
