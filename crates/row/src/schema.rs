//! Schemas: columns, and the keys made of them.

use crate::key_value::read_key;
use crate::layout::Layout;
use crate::projection::ColumnSet;
use crate::types::{ColumnType, Datum};
use crate::view::RowRef;
use scaledb_base::limits::{MAX_COLUMNS, MAX_GROUPS, MAX_KEY_BYTES};
use scaledb_base::{Error, Result};
use scaledb_keys::{Direction, KeyBuf, KeyReader, Nulls};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Its conflict group: 0 unless chosen otherwise; var columns stay in group 0.
    pub group: u8,
}

impl Column {
    /// A column that takes no NULL, in group 0.
    pub fn new(name: &str, ty: ColumnType) -> Self {
        Self { name: name.to_owned(), ty, nullable: false, group: 0 }
    }

    /// The column, taking NULL.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The column in another conflict group.
    #[must_use]
    pub fn group(mut self, group: u8) -> Self {
        self.group = group;
        self
    }
}

/// A column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeyPart {
    /// The column's number.
    pub column: usize,
    /// Ascending or descending.
    pub direction: Direction,
    /// Where NULLs stand.
    pub nulls: Nulls,
}

impl KeyPart {
    /// The column, ascending, NULLs last.
    pub fn asc(column: usize) -> Self {
        Self { column, direction: Direction::Ascending, nulls: Nulls::Last }
    }

    /// The column, descending, NULLs first (PostgreSQL's default for DESC).
    pub fn desc(column: usize) -> Self {
        Self { column, direction: Direction::Descending, nulls: Nulls::First }
    }
}

/// A key: the columns it is made of, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct KeySpec {
    parts: Vec<KeyPart>,
    columns: ColumnSet,
}

impl KeySpec {
    fn new(parts: &[KeyPart]) -> Self {
        Self { parts: parts.to_vec(), columns: parts.iter().map(|p| p.column).collect() }
    }

    /// The columns in order.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// The columns as a set.
    #[inline]
    pub fn columns(&self) -> ColumnSet {
        self.columns
    }

    /// Appends this key of `row` to `key`. Returns whether one of its columns is NULL.
    pub fn encode(&self, schema: &Schema, row: RowRef<'_>, key: &mut KeyBuf) -> bool {
        let mut has_null = false;
        for part in &self.parts {
            let datum = row.get(schema, part.column);
            has_null |= matches!(datum, Datum::Null);
            push(key, &schema.columns[part.column], part, datum);
        }
        has_null
    }

    /// The first column of the key which is in `set`, and which has another value in `row` than in `key`, an encoded
    /// key of these columns. None of them takes NULL, and columns that are not in `set` need not be loaded.
    pub fn changed(&self, schema: &Schema, key: &[u8], set: ColumnSet, row: RowRef<'_>) -> Option<usize> {
        let mut reader = KeyReader::new(key);
        let mut value = KeyBuf::new();
        for part in &self.parts {
            let column = &schema.columns[part.column];
            debug_assert!(!column.nullable, "a column of a primary key");
            if set.has(part.column) {
                value.clear();
                push(&mut value, column, part, row.get(schema, part.column));
                // no value's bytes begin with those of another one
                if !reader.rest().starts_with(&value) {
                    return Some(part.column);
                }
            }
            if read_key(&mut reader, column.ty, part.direction, |_| ()).is_err() {
                return Some(part.column);
            }
        }
        None
    }

    /// The key for these values, which may be fewer than the key has columns (a prefix).
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NullValue`], [`Error::WrongArity`], [`Error::KeyTooLarge`].
    pub fn encode_values(&self, schema: &Schema, values: &[Datum<'_>]) -> Result<KeyBuf> {
        if values.len() > self.parts.len() {
            return Err(Error::WrongArity { expected: self.parts.len(), got: values.len() });
        }
        let mut key = KeyBuf::new();
        for (part, &datum) in self.parts.iter().zip(values) {
            let column = &schema.columns[part.column];
            column.check(datum)?;
            push(&mut key, column, part, datum);
        }
        if key.len() > MAX_KEY_BYTES {
            return Err(Error::KeyTooLarge { got: key.len(), limit: MAX_KEY_BYTES });
        }
        Ok(key)
    }
}

fn push(key: &mut KeyBuf, column: &Column, part: &KeyPart, datum: Datum<'_>) {
    let d = part.direction;
    if column.nullable {
        key.push_null_marker(matches!(datum, Datum::Null), part.nulls);
    }
    match datum {
        Datum::Null => {}
        Datum::Bool(v) => key.push_bool(v, d),
        Datum::Int2(v) => key.push_i16(v, d),
        Datum::Int4(v) | Datum::Date(v) => key.push_i32(v, d),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) => key.push_i64(v, d),
        Datum::Float4(v) => key.push_f32(v, d),
        Datum::Float8(v) => key.push_f64(v, d),
        Datum::Uuid(v) => key.push_fixed_bytes(&v, d),
        Datum::Text(v) => key.push_bytes(v.as_bytes(), d),
        Datum::Bytes(v) => match column.ty {
            ColumnType::Fixed(n) => {
                key.push_fixed_bytes(v, d);
                for _ in v.len()..usize::from(n) {
                    key.push_u8(0, d);
                }
            }
            _ => key.push_bytes(v, d),
        },
    }
}

impl Column {
    /// Checks that the column takes this value.
    ///
    /// # Errors
    /// [`Error::NullValue`], [`Error::WrongType`].
    pub fn check(&self, datum: Datum<'_>) -> Result<()> {
        use ColumnType as T;
        let fits = match (self.ty, datum) {
            (_, Datum::Null) if self.nullable => true,
            (_, Datum::Null) => return Err(Error::NullValue(self.name.clone())),
            (T::Bool, Datum::Bool(_))
            | (T::Int2, Datum::Int2(_))
            | (T::Int4, Datum::Int4(_))
            | (T::Int8, Datum::Int8(_))
            | (T::Float4, Datum::Float4(_))
            | (T::Float8, Datum::Float8(_))
            | (T::Date, Datum::Date(_))
            | (T::Time, Datum::Time(_))
            | (T::Timestamp, Datum::Timestamp(_))
            | (T::Uuid, Datum::Uuid(_)) => true,
            (T::Text(max), Datum::Text(v)) => v.len() <= max as usize,
            (T::Bytes(max), Datum::Bytes(v)) => v.len() <= max as usize,
            (T::Tail, Datum::Bytes(_)) => true,
            (T::Fixed(n), Datum::Bytes(v)) => v.len() <= usize::from(n),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let got = match datum {
            Datum::Text(v) => format!("text of {} bytes", v.len()),
            Datum::Bytes(v) => format!("{} bytes", v.len()),
            other => other.type_name().to_owned(),
        };
        Err(Error::WrongType { column: self.name.clone(), expected: self.ty.to_string(), got })
    }
}

/// What a schema is made from, as it is written to files.
#[derive(serde::Serialize, serde::Deserialize)]
struct Parts {
    columns: Vec<Column>,
    primary_key: Vec<KeyPart>,
}

impl TryFrom<Parts> for Schema {
    type Error = Error;
    fn try_from(parts: Parts) -> Result<Self> {
        Self::new(parts.columns, &parts.primary_key)
    }
}

impl From<Schema> for Parts {
    fn from(schema: Schema) -> Self {
        Self { columns: schema.columns.into(), primary_key: schema.primary_key.parts }
    }
}

/// The columns of a table, its primary key, and the layout of its rows.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Schema {
    columns: Box<[Column]>,
    primary_key: KeySpec,
    layout: Layout,
}

impl Schema {
    /// A table of `columns` with a primary key. Without one, the engine numbers the rows.
    ///
    /// # Errors
    /// [`Error::BadDefinition`].
    pub fn new(columns: Vec<Column>, primary_key: &[KeyPart]) -> Result<Self> {
        let bad = |what: String| Err(Error::BadDefinition(what));
        if columns.is_empty() || columns.len() > MAX_COLUMNS {
            return bad(format!("a table has 1 to {MAX_COLUMNS} columns, not {}", columns.len()));
        }
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].iter().any(|c| c.name == column.name) {
                return bad(format!("column {} stands twice", column.name));
            }
            if usize::from(column.group) >= MAX_GROUPS {
                return bad(format!("conflict groups are 0 to {}", MAX_GROUPS - 1));
            }
            let var = matches!(column.ty, ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::Tail);
            if column.group != 0 && var {
                return bad(format!("column {}: a column of variable length stays in group 0", column.name));
            }
            if column.ty == ColumnType::Tail
                && (column.nullable || columns[..i].iter().any(|c| c.ty == ColumnType::Tail))
            {
                return bad(format!("column {}: a table has one tail, which takes no NULL", column.name));
            }
        }
        let layout = Layout::new(&columns);
        let schema = Self { primary_key: KeySpec::new(primary_key), columns: columns.into(), layout };
        schema.key(primary_key)?;
        if let Some(part) = primary_key.iter().find(|p| schema.columns[p.column].nullable) {
            return bad(format!("primary key column {} takes NULL", schema.columns[part.column].name));
        }
        Ok(schema)
    }

    /// A key over columns of this table.
    ///
    /// # Errors
    /// [`Error::BadDefinition`] when a column does not exist or stands twice.
    pub fn key(&self, parts: &[KeyPart]) -> Result<KeySpec> {
        for (i, part) in parts.iter().enumerate() {
            if part.column >= self.columns.len() || parts[..i].iter().any(|p| p.column == part.column) {
                return Err(Error::BadDefinition(format!(
                    "key column {} is missing or stands twice",
                    part.column
                )));
            }
            if self.columns[part.column].ty == ColumnType::Tail {
                let what = format!("column {} is in no key: it is a tail", self.columns[part.column].name);
                return Err(Error::BadDefinition(what));
            }
        }
        Ok(KeySpec::new(parts))
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The primary key; without columns if the engine numbers the rows.
    #[inline]
    pub fn primary_key(&self) -> &KeySpec {
        &self.primary_key
    }

    /// The layout of the rows.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}
