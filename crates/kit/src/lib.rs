//! What engines that hold their rows in memory have in common, beside their files (`scaledb_durability`): a clock,
//! memory, a log, counters and a backoff; how they are opened, checkpointed, inspected and closed; the thread that
//! works for idle workers. An engine implements [`Protocol`], and is [`Instance`] of it: what is left to it are its
//! records and its transactions.
//!
//! ```text
//!  Instance<P> ── implements scaledb_engine::Engine
//!    ├─ P: Protocol ── tables, workers, commits       the engine's crate
//!    │    └─ Core ── clock, domain, log, counters, backoff
//!    ├─ Background ── tends idle workers
//!    └─ Checkpointer ── writes checkpoints
//! ```

mod background;
mod backoff;
mod core;
mod counters;
mod hash;
mod instance;
mod protocol;

pub use crate::core::Core;
pub use backoff::{Backoff, Regulation};
pub use counters::{Counters, count, load};
pub use hash::KeyHasher;
pub use instance::Instance;
pub use protocol::{Protocol, Settings};
