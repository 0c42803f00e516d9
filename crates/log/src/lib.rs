//! The files of a database: redo log, checkpoints, recovery. It knows nothing of rows or engines: keys, rows
//! and catalog entries are bytes.
//!
//! ```text
//!  worker ── append ──► buffer ─┐
//!  worker ── append ──► buffer ─┼─► flusher ── one group, one sync ──► segment ──► durable horizon
//!  worker ── append ──► buffer ─┘                                                   └─► who waits
//!
//!  checkpoint: rows ──► parts ──► manifest ──► segments that nobody needs any more
//!  recovery:   manifest ──► parts ──► rows;  segments ──► batches of transactions, by commit_ts
//! ```
//!
//! [`DatabaseDir`] is a directory that is opened; [`Log`] is a log that is written. `docs/log-format.md` draws the
//! bytes, `docs/internals/log.md` says why it is right.

mod backup;
mod bytes;
mod check;
mod checkpoint;
mod directory;
pub mod disk;
pub mod dump;
mod error;
mod flush;
mod housekeeping;
mod layout;
mod log;
pub mod machine;
mod manifest;
mod name;
mod options;
mod record;
mod replay;
mod rules;
mod scan;
mod segments;
mod stats;
mod waiting;
mod writer;

pub use backup::{BackupReport, backup, backup_when};
pub use check::{CheckReport, check};
pub use checkpoint::{Block, Checkpoint, CheckpointRow, CheckpointWriter, PartReader, PartWriter, Rows};
pub use directory::DatabaseDir;
pub use dump::{BlockDump, GroupDump, Groups, LogDump, SegmentDump};
pub use error::{LogError, Result};
pub use layout::DatabaseId;
pub use log::Log;
pub use options::LogOptions;
pub use record::{LoggedTransaction, Op, Ops};
pub use replay::{Batch, Replay};
pub use rules::Rule;
pub use stats::{LogStats, SyncTimes};
pub use waiting::Answer;
pub use writer::{Append, Writer};
