//! Descriptions of tables.

use scaledb_base::{Error, Result};
use scaledb_engine::{Access, IndexDef, TableDef, TableOptions};
use scaledb_keys::{Direction, Nulls};
use scaledb_row::{Column, ColumnType, KeyPart, Schema};

/// A column of a key: its name, direction, and the place of NULLs. A bare name is ascending, NULLs last.
///
/// ```
/// use scaledb::{KeyColumn, Table, Type};
/// Table::build("orders")
///     .column("price", Type::Int8)
///     .column("id", Type::Int8)
///     .primary_key([KeyColumn::desc("price"), "id".into()]);
/// ```
#[derive(Clone, Debug)]
pub struct KeyColumn {
    name: String,
    direction: Direction,
    nulls: Nulls,
}

impl KeyColumn {
    /// Small values first, NULLs last.
    pub fn asc(name: &str) -> Self {
        Self { name: name.to_owned(), direction: Direction::Ascending, nulls: Nulls::Last }
    }

    /// Large values first, NULLs before them.
    pub fn desc(name: &str) -> Self {
        Self { name: name.to_owned(), direction: Direction::Descending, nulls: Nulls::First }
    }

    /// The column with its NULLs elsewhere.
    #[must_use]
    pub fn nulls(mut self, nulls: Nulls) -> Self {
        self.nulls = nulls;
        self
    }
}

impl From<&str> for KeyColumn {
    fn from(name: &str) -> Self {
        Self::asc(name)
    }
}

struct IndexBuilder {
    name: String,
    key: Vec<KeyColumn>,
    unique: bool,
    options: Option<TableOptions>,
}

/// A table being described, with [`Table::build`](crate::Table::build). Mistakes show when it is created.
///
/// ```
/// use scaledb::{Access, Database, Table, Type};
/// let db = Database::in_memory();
/// let accounts = db.create_table(
///     Table::build("accounts")
///         .column("id", Type::Int8)
///         .column("email", Type::Text(200))
///         .column("city", Type::Text(100)).nullable()
///         .column("balance", Type::Int8)
///         .primary_key(["id"])
///         .unique_index("by_email", ["email"])
///         .index("by_city", ["city", "balance"])
///         .conflict_group("balance", 1)
///         .access(Access::Hashed),
/// )?;
/// assert_eq!(accounts.info().indexes.len(), 2);
/// # Ok::<(), scaledb::Error>(())
/// ```
#[must_use]
pub struct TableBuilder {
    name: String,
    columns: Vec<Column>,
    primary_key: Vec<KeyColumn>,
    indexes: Vec<IndexBuilder>,
    options: TableOptions,
    mistake: Option<Error>,
}

impl TableBuilder {
    pub(crate) fn new(name: &str) -> Self {
        let mistake = name.is_empty().then(|| Error::BadDefinition("a table needs a name".to_owned()));
        let (columns, primary_key, indexes) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            name: name.to_owned(),
            columns,
            primary_key,
            indexes,
            options: TableOptions::default(),
            mistake,
        }
    }

    /// One more column, which takes no NULL.
    pub fn column(mut self, name: &str, ty: ColumnType) -> Self {
        self.columns.push(Column::new(name, ty));
        self
    }

    /// The last column takes NULL.
    pub fn nullable(mut self) -> Self {
        match self.columns.last_mut() {
            Some(column) => column.nullable = true,
            None => self.fail("nullable() follows a column".to_owned()),
        }
        self
    }

    /// The columns by which a row is identified. Without them the engine numbers the rows, which are then
    /// found by scans and secondary indexes.
    pub fn primary_key<K: Into<KeyColumn>>(mut self, columns: impl IntoIterator<Item = K>) -> Self {
        self.primary_key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// A secondary index in which rows may share a key.
    pub fn index<K: Into<KeyColumn>>(self, name: &str, columns: impl IntoIterator<Item = K>) -> Self {
        self.any_index(name, columns, false)
    }

    /// A secondary index in which no two rows share a key, unless there is a NULL in it.
    pub fn unique_index<K: Into<KeyColumn>>(self, name: &str, columns: impl IntoIterator<Item = K>) -> Self {
        self.any_index(name, columns, true)
    }

    fn any_index<K: Into<KeyColumn>>(
        mut self,
        name: &str,
        columns: impl IntoIterator<Item = K>,
        unique: bool,
    ) -> Self {
        let key = columns.into_iter().map(Into::into).collect();
        self.indexes.push(IndexBuilder { name: name.to_owned(), key, unique, options: None });
        self
    }

    /// Puts a column of fixed length in another conflict group (0 to 3; all start in 0). Transactions that
    /// touch different groups of a row do not collide: see [`Table::select`](crate::Table::select).
    pub fn conflict_group(mut self, column: &str, group: u8) -> Self {
        match self.columns.iter_mut().find(|c| c.name == column) {
            Some(column) => column.group = group,
            None => self.fail(format!("conflict group of column {column}, which does not exist")),
        }
        self
    }

    /// How rows are found by primary key.
    pub fn access(mut self, access: Access) -> Self {
        self.options.access = access;
        self
    }

    /// All options of the table.
    pub fn options(mut self, options: TableOptions) -> Self {
        self.options = options;
        self
    }

    /// All options of the last index.
    pub fn index_options(mut self, options: TableOptions) -> Self {
        match self.indexes.last_mut() {
            Some(index) => index.options = Some(options),
            None => self.fail("index_options() follows an index".to_owned()),
        }
        self
    }

    fn fail(&mut self, mistake: String) {
        self.mistake.get_or_insert(Error::BadDefinition(mistake));
    }

    fn parts(&self, key: &[KeyColumn]) -> Result<Vec<KeyPart>> {
        key_parts(&self.columns, key)
    }

    /// The finished description.
    ///
    /// # Errors
    /// [`Error::BadDefinition`].
    pub fn finish(mut self) -> Result<TableDef> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        let mut indexes = Vec::new();
        for index in &self.indexes {
            let parts = self.parts(&index.key)?;
            let mut def = match index.unique {
                true => IndexDef::unique(&index.name, parts),
                false => IndexDef::new(&index.name, parts),
            };
            if let Some(options) = &index.options {
                def.options = options.clone();
            }
            indexes.push(def);
        }
        let primary_key = self.parts(&self.primary_key)?;
        let schema = Schema::new(self.columns, &primary_key)?;
        Ok(TableDef { name: self.name, schema, indexes, options: self.options })
    }
}

/// The columns of a key, by their numbers.
///
/// # Errors
/// [`Error::BadDefinition`]: there is no column of a name.
pub(crate) fn key_parts(columns: &[Column], key: &[KeyColumn]) -> Result<Vec<KeyPart>> {
    let part = |key: &KeyColumn| {
        let column = columns.iter().position(|column| column.name == key.name);
        let column =
            column.ok_or_else(|| Error::BadDefinition(format!("key column {} does not exist", key.name)))?;
        Ok(KeyPart { column, direction: key.direction, nulls: key.nulls })
    };
    key.iter().map(part).collect()
}

/// A description of a table: a [`TableBuilder`], or a [`TableDef`] made by hand.
pub trait Definition {
    /// The description.
    ///
    /// # Errors
    /// [`Error::BadDefinition`].
    fn into_def(self) -> Result<TableDef>;
}

impl Definition for TableBuilder {
    fn into_def(self) -> Result<TableDef> {
        self.finish()
    }
}

impl Definition for TableDef {
    fn into_def(self) -> Result<TableDef> {
        Ok(self)
    }
}
