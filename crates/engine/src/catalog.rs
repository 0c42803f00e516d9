//! What the log keeps of a database's tables.

use crate::def::{IndexDef, TableDef};
use scaledb_base::{Error, Result, TableId};
use serde::{Deserialize, Serialize};

/// A change of the set of tables. Entries are written to files as JSON: a field or variant that has been
/// released keeps its name and its meaning.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CatalogEntry {
    /// A table was created; its indexes have the ids behind its own.
    CreateTable {
        /// Its id.
        id: TableId,
        /// Its definition.
        def: TableDef,
    },
    /// A table that was there got an index.
    AddIndex {
        /// The table.
        table: TableId,
        /// The index's id.
        id: TableId,
        /// Its definition.
        def: IndexDef,
    },
    /// An index went, whichever way it had come. Its id is not given again.
    DropIndex {
        /// Its id.
        id: TableId,
    },
    /// A table was cleared: of what was committed to it before a raw timestamp, nothing is left.
    ClearTable {
        /// Its id.
        id: TableId,
        /// The timestamp: behind all commits to the table so far, before all later ones.
        before: u64,
    },
    /// A table went, with its indexes and its rows. Their ids are not given again.
    DropTable {
        /// Its id.
        id: TableId,
    },
}

impl CatalogEntry {
    /// The entry as bytes for the log.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Entries as bytes for a checkpoint.
    pub fn all_to_bytes(entries: &[Self]) -> Vec<u8> {
        serde_json::to_vec(entries).unwrap_or_default()
    }

    /// The entries that [`CatalogEntry::all_to_bytes`] wrote.
    ///
    /// # Errors
    /// As [`CatalogEntry::from_bytes`].
    pub fn all_from_bytes(bytes: &[u8]) -> Result<Vec<Self>> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::Directory(format!("a catalog cannot be read: {error}")))
    }

    /// The entry that [`CatalogEntry::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Directory`] when the bytes are no entry of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::Directory(format!("a catalog entry cannot be read: {error}")))
    }
}
