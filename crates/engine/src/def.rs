//! What a table is made of.

use scaledb_base::TableId;
use scaledb_row::{KeyPart, KeySpec, Schema};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the rows of a table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Access {
    /// A range index, and beside it a hash index of all keys for point reads: the fastest, for
    /// some 11 bytes more per row.
    #[default]
    Hashed,
    /// A range index, and an indexlet of the keys that are not merged into it yet. Point reads of
    /// merged keys descend the tree. For tables that are scanned rather than probed.
    Ordered,
    /// A hash index alone. Range scans are refused.
    HashOnly,
}

/// How a table is kept. The default suits most tables; the engine tunes the rest.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableOptions {
    /// How rows are found.
    pub access: Access,
    /// The greatest number of entries that a worker leaves unmerged: 0 updates the range index at each
    /// commit (a synchronous table), `None` lets the engine tune it.
    pub merge_batch: Option<u32>,
    /// The longest time that an entry stays unmerged; `None` lets the engine tune it.
    pub merge_epoch: Option<Duration>,
}

/// A secondary index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexDef {
    /// Its name, unique within the database.
    pub name: String,
    /// Its columns.
    pub key: Vec<KeyPart>,
    /// Whether two rows may not share a key. Rows with a NULL in the key are exempt, as in SQL.
    pub unique: bool,
    /// How it is kept.
    pub options: TableOptions,
}

impl IndexDef {
    /// An index that is not unique, kept like a table that is scanned.
    pub fn new(name: &str, key: Vec<KeyPart>) -> Self {
        let options = TableOptions { access: Access::Ordered, ..TableOptions::default() };
        Self { name: name.to_owned(), key, unique: false, options }
    }

    /// A unique index.
    pub fn unique(name: &str, key: Vec<KeyPart>) -> Self {
        Self { unique: true, options: TableOptions::default(), ..Self::new(name, key) }
    }
}

/// A table to be created.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableDef {
    /// Its name, unique within the database.
    pub name: String,
    /// Its columns and primary key. Without a primary key the engine numbers the rows.
    pub schema: Schema,
    /// Its secondary indexes.
    pub indexes: Vec<IndexDef>,
    /// How it is kept.
    pub options: TableOptions,
}

impl TableDef {
    /// A table without secondary indexes.
    pub fn new(name: &str, schema: Schema) -> Self {
        Self { name: name.to_owned(), schema, indexes: Vec::new(), options: TableOptions::default() }
    }

    /// The table with one more index.
    #[must_use]
    pub fn index(mut self, index: IndexDef) -> Self {
        self.indexes.push(index);
        self
    }

    /// The table with these options.
    #[must_use]
    pub fn options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }
}

/// A table as it exists.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// Its id, by which transactions name it.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns and primary key.
    pub schema: Schema,
    /// Its secondary indexes.
    pub indexes: Vec<IndexInfo>,
}

/// A secondary index as it exists.
#[derive(Clone, Debug)]
pub struct IndexInfo {
    /// Its id, by which scans name it.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub key: KeySpec,
    /// Whether two rows may not share a key.
    pub unique: bool,
}

impl TableInfo {
    /// The index called `name`.
    pub fn index(&self, name: &str) -> Option<&IndexInfo> {
        self.indexes.iter().find(|i| i.name == name)
    }
}
