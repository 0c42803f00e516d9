//! What was done to a disk, for those who want to know why something is lost.

use scaledb_sync::Arc;
use std::fmt;

/// An operation that changes a disk. Files have the names that they had then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A file appears, or is emptied.
    Create(Arc<str>),
    /// Bytes are written.
    Write {
        /// The file.
        name: Arc<str>,
        /// From here on.
        offset: usize,
        /// So many: all that were asked for, though less may have been done.
        len: usize,
    },
    /// A file is cut or extended.
    SetLen {
        /// The file.
        name: Arc<str>,
        /// To this length.
        len: usize,
    },
    /// A file's content becomes durable.
    Sync(Arc<str>),
    /// A file gets another name.
    Rename {
        /// The old one.
        from: Arc<str>,
        /// The new one.
        to: Arc<str>,
    },
    /// A file vanishes.
    Remove(Arc<str>),
    /// All names become durable.
    SyncNames,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(name) => write!(f, "create {name}"),
            Self::Write { name, offset, len } => write!(f, "write {name} {offset}..{}", offset + len),
            Self::SetLen { name, len } => write!(f, "set the length of {name} to {len}"),
            Self::Sync(name) => write!(f, "sync {name}"),
            Self::Rename { from, to } => write!(f, "rename {from} to {to}"),
            Self::Remove(name) => write!(f, "remove {name}"),
            Self::SyncNames => f.write_str("sync names"),
        }
    }
}
