//! Rows in temporary files, for operators that have more of them than memory.
//!
//! ```text
//! file      run | run | ...           a run: rows one behind the other, as they were pushed
//! row       length of the rest (4) | its values, as they say themselves (scaledb_types::Value::write_tagged)
//! ```
//!
//! Operators that look rows up divide them by a hash instead: see `partition`. Files are written and read in pieces of
//! [`BUFFER`] bytes; what is read is not trusted.

mod merge;
mod numbered;
mod partition;
mod rows;
mod stash;

pub(crate) use merge::{Merged, Sortable, Sorter};
pub(crate) use numbered::{Numbered, Numbering};
pub(crate) use partition::{Division, Partitions, Rows};
use rows::{Reader, Writer};
pub(crate) use rows::{put_row, take_row};
pub(crate) use stash::{Stash, Stashed};

/// Bytes that are written or read at once.
const BUFFER: usize = 32 << 10;
/// Rows that are written without a look at whether the statement was cancelled.
pub(super) const CHECK: usize = 256;
