//! What a table is made of.

use crate::options::{EngineOptions, OptionSpec, OptionValue};
use scaledb_base::{Result, TableId};
use scaledb_row::{KeyPart, KeySpec, Schema};
use serde::{Deserialize, Serialize};

/// How the rows of a table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Access {
    /// A range index, and beside it a hash index of all keys for point reads: the fastest, for
    /// some 11 bytes more per row.
    #[default]
    Hashed,
    /// A range index alone, which point reads descend. For tables that are scanned rather than probed.
    Ordered,
    /// A hash index alone. Range scans are refused.
    HashOnly,
}

/// How a table is kept. The default suits most tables; the engine tunes the rest.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableOptions {
    /// How rows are found.
    pub access: Access,
    /// What only this engine understands: see [`Engine::table_options`](crate::Engine::table_options). In files they
    /// stand beside the others, by their names.
    #[serde(flatten)]
    pub engine: EngineOptions,
}

impl TableOptions {
    /// A table that is found like this.
    pub const fn new(access: Access) -> Self {
        Self { access, engine: EngineOptions::new() }
    }

    /// The table with an option of its engine.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OptionValue>) -> Self {
        self.engine.set(name, value);
        self
    }
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
        let options = TableOptions::new(Access::Ordered);
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

    /// Finds options of the table or its indexes that the engine does not have. A definition that was logged is taken
    /// as it is: an earlier version may have had them.
    ///
    /// # Errors
    /// [`Error::UnknownOption`](scaledb_base::Error::UnknownOption),
    /// [`Error::BadOption`](scaledb_base::Error::BadOption).
    pub fn check_options(&self, engine: &'static str, specs: &[OptionSpec]) -> Result<()> {
        self.options.engine.check(engine, specs)?;
        self.indexes.iter().try_for_each(|index| index.options.engine.check(engine, specs))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Directories hold definitions in this form.
    #[test]
    fn options_are_written_and_read_as_ever() {
        let read = |text: &str| serde_json::from_str::<TableOptions>(text).unwrap();
        assert_eq!(
            read(r#"{"access":"Ordered","merge_batch":null,"merge_epoch":null}"#),
            TableOptions::new(Access::Ordered)
        );
        let both = TableOptions::new(Access::Hashed)
            .with("merge_batch", 7)
            .with("merge_epoch", Duration::from_millis(3));
        let text = r#"{"access":"Hashed","merge_batch":7,"merge_epoch":{"secs":0,"nanos":3000000}}"#;
        assert_eq!((read(text), serde_json::to_string(&both).unwrap()), (both.clone(), text.to_owned()));
        assert_eq!(read(r#"{"access":"HashOnly"}"#), TableOptions::new(Access::HashOnly));
    }
}
