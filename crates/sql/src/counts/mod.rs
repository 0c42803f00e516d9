//! What a database has run: statements with their times and ends, and what was done with tables and indexes.
//!
//! ```text
//!  session: Own ── slots that it alone writes, by plain stores: no lock, no hash, nothing that sessions share
//!     │  another statement takes the slot, or the session ends
//!     ▼
//!  database: Collected ── by text, under a lock      views and metrics add slots and what was collected
//! ```

mod collected;
mod histogram;
mod hot;
mod own;
mod relations;
mod text;

pub(crate) use collected::Collected;
pub use histogram::{Latency, LatencyBucket};
pub(crate) use own::{Counts, Ended, Used, Write};
pub(crate) use relations::RelationSize;
pub use relations::{IndexNumbers, TableNumbers};
