//! What engines have in common between their rows and their files: how a directory is opened, how the log is
//! replayed by several threads, when checkpoints are written. The files are `scaledb_log`'s; the rows are the
//! engine's, behind [`Restore`].
//!
//! ```text
//!  Directory::open ──► restore: checkpoint's rows ─► log, batch by batch ─► indexes ──► start: a log
//!                               by part              by hash of the key     by table
//!  Checkpointer ── when the log has grown ──► the engine's walk, at a Pacer's pace
//! ```

mod catalog;
mod checkpointer;
mod error;
mod opening;
mod orphans;
mod parallel;
mod settings;
mod staged;

pub use catalog::log_table;
pub use checkpointer::{Checkpointer, Pace, Pacer};
pub use error::{directory_error, failed, inconsistent};
pub use opening::{Directory, Restore, Routed};
pub use orphans::Orphans;
pub use parallel::in_parallel;
pub use settings::{Durability, Inspected, Progress, Recovered, log_stats};
pub use staged::Staged;
