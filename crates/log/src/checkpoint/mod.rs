//! Checkpoints: rows in files, so that the log in front of them is not needed any more.
//!
//! ```text
//!  part    0        64
//!          ┌────────┬───────┬───────┬── ─ ─┬────────┐
//!          │ header │ block │ block │      │ footer │
//!          └────────┴───────┴───────┴── ─ ─┴────────┘
//!  block   0     4        8       12     16
//!          ┌─────┬────────┬───────┬──────┬──────────┐
//!          │ crc │ length │ table │ rows │ rows ... │     length: of the rows' bytes
//!          └─────┴────────┴───────┴──────┴──────────┘
//!  row     0         2        3          7
//!          ┌─────────┬────────┬──────────┬─────────────┬─────┬─────┐
//!          │ key len │ stamps │ row len  │ stamps × 8  │ key │ row │
//!          └─────────┴────────┴──────────┴─────────────┴─────┴─────┘
//! ```
//! Any number of threads write and read parts. The footer is a block without table: `length` is
//! [`format::FOOTER`]. All checksums of a part go into one more, which the manifest repeats.

pub(crate) mod format;
mod read;
mod write;

pub use read::{Block, Checkpoint, CheckpointRow, PartReader, Rows};
pub use write::{CheckpointWriter, PartWriter};
