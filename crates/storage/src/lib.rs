//! Records: the stable objects behind primary keys, their header words, their rows, and the versions
//! that snapshots still need.

mod record;
mod version;
mod word;

pub use record::{Overflow, Presence, Record, Stuck};
pub use version::Version;
pub use word::Word;
