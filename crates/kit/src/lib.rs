//! What engines that hold their rows in memory have in common: a clock, memory, a log, counters and a backoff; how they
//! are opened, checkpointed, inspected and closed; their catalog, and how tables and indexes come and go; the thread
//! that works for idle workers. An engine implements [`Protocol`], and is [`Instance`] of it: what is left to it are
//! its records and its transactions.
//!
//! ```text
//!  Instance<P> ── implements scaledb_engine::Engine
//!    ├─ P: Protocol ── operations, commits, and how a record is read and made   the engine's crate
//!    │    └─ Core<P::Table> ── clock, domain, tables, log, counters, backoff
//!    ├─ Background ── tends idle workers
//!    └─ Checkpointer ── writes checkpoints
//!
//!  table.rs, record.rs, records.rs   what the kit asks of tables and records
//!  catalog.rs, tables.rs             definitions by name, tables by id
//!  definitions.rs, closed.rs         tables and indexes come and go, while others use them
//!    build.rs, empty.rs                an index is filled; a dropped one is emptied
//!  checkpoint.rs                     all rows to files
//!  recovery.rs, rebuild.rs           rows and log back, and the indexes
//!  inspect.rs                        tables against their indexes
//!  bulk.rs                           many records into an empty index
//!  worker.rs                         the engine interface of a worker, on top of ...
//!    operations.rs                     what the worker of an engine can do
//!    entries.rs                        rows and the entries of their indexes, over writes of single records
//!    txn.rs, write_set.rs              what a transaction remembers ...
//!    account.rs, kept.rs               ... and the memory that it takes and keeps
//!    usable.rs                         what it may use, while indexes come and go
//!  rules.rs                          switches for tests
//! ```

mod account;
mod background;
mod backoff;
mod build;
mod bulk;
mod catalog;
mod changes;
mod checkpoint;
mod closed;
mod core;
mod counters;
mod definitions;
mod empty;
mod entries;
mod hash;
mod inspect;
mod instance;
mod kept;
mod operations;
mod protocol;
mod reader;
mod rebuild;
mod record;
mod records;
mod recovery;
mod rules;
mod sampled;
mod table;
mod tables;
mod txn;
mod usable;
mod worker;
mod write_set;

pub use crate::core::{Core, WORKERS};
pub use account::Account;
pub use backoff::{Backoff, Regulation};
pub use bulk::head;
pub use changes::{Changes, SeenChanges};
pub use counters::{Counters, count, load};
pub use definitions::create_unlogged;
pub use entries::{RecordWriter, delete_with_entries, insert_row, replace_entries};
pub use hash::KeyHasher;
pub use instance::Instance;
pub use kept::{KEPT, KEPT_OF_ROWS, is_huge, is_large};
pub use operations::{Operations, Parts, RowLocationOf, Transactions};
pub use protocol::{Protocol, Settings};
pub use reader::Reader;
pub use record::{Record, RecordEntry};
pub use records::Records;
pub use recovery::malformed;
pub use rules::Rules;
pub use sampled::is_sampled;
pub use table::{EngineTable, IndexOf, IndexSet, TableCore, definition_changed};
pub use tables::{TABLES, Tables};
pub use txn::{Absent, Remembered, Transaction, TxnCore};
pub use usable::PRESENT;
pub use worker::InstanceWorker;
pub use write_set::{RowLocation, Write, WriteMark, WriteSet};
