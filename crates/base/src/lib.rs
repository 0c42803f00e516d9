//! Ids, timestamps, limits, times that users set, and errors: the words that every other crate shares; what clients are
//! told; and the bytes of small integers.

pub mod error;
pub mod ids;
pub mod limits;
pub mod sqlstate;
pub mod timeouts;
pub mod timestamp;
pub mod varint;

pub use error::{Conflict, ConflictKind, Error, Result};
pub use ids::{TableId, WorkerId};
pub use sqlstate::{ErrorFields, SqlState};
pub use timestamp::Timestamp;
