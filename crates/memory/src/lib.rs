//! Memory that threads share without locks: per-worker arenas on huge pages, and reclamation by
//! timestamp.
//!
//! ```text
//!   Domain (one per database)                       Local (one per worker)
//!   ┌───────────────────────────────┐               ┌────────────────────────────────┐
//!   │ slot 0: active since 4711     │◄── enter() ───│ id, arena: free lists by size  │
//!   │ slot 1: idle                  │    exit()     │ limbo: (block, retired at tick)│
//!   │ chunks: 2 MiB each, budget    │──── chunk ───►│                                │
//!   └───────────────────────────────┘               └────────────────────────────────┘
//! ```
//!
//! The clock serves as the epoch: a worker publishes the tick at which it began to look at shared
//! memory; a block that was unlinked and then retired at tick `t` is reused once every active worker
//! began after `t`. Nobody waits, and the lag is the longest running transaction.

mod arena;
mod domain;
mod faults;
mod pages;
mod private;
mod purpose;

pub use arena::{LARGE, block_bytes};
pub use domain::{Domain, IDLE, Local};
pub use private::Private;
pub use purpose::Purpose;
