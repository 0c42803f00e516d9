//! Records: the stable objects behind primary keys, their header words, their rows, and the versions
//! that snapshots still need.

mod hash;
mod record;
mod version;
mod word;

pub use hash::KeyHasher;
pub use record::{Overflow, Presence, Record, Stuck};
pub use version::Version;
pub use word::Word;
