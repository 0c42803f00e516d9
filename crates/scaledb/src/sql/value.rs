//! What parameters are made of, and what columns are read as.

use super::error::{Error, Result};
use scaledb_types::{Env, Type, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds from 1970 to 2000, where timestamps of SQL begin.
const Y2K: u64 = 946_684_800;

/// What can be passed as a parameter: numbers, text, bytes, `[u8; 16]` for a uuid, [`SystemTime`] for a timestamp with
/// time zone, [`Value`], options of them, where `None` is NULL, and references.
///
/// The statement says what type a parameter has. A number widens and is checked; text is read as a literal would be,
/// so that it serves for every type: `"2024-02-29"` for a date, `"12.50"` for a numeric.
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value;
}

/// What can be passed as the parameters of a statement: tuples, arrays, slices and vectors of
/// [values](ToValue), `()` for none, and a bare value for a statement of one parameter.
pub trait Params {
    /// The values.
    fn to_values(&self) -> Vec<Value>;
}

macro_rules! params {
    ($($type:ty: $self:ident => $value:expr;)*) => {
        $(impl ToValue for $type {
            #[inline]
            fn to_value(&$self) -> Value {
                $value
            }
        }

        impl Params for $type {
            fn to_values(&self) -> Vec<Value> {
                vec![self.to_value()]
            }
        })*
    };
}

params! {
    bool: self => Value::Bool(*self);
    i16: self => Value::Int2(*self);
    i32: self => Value::Int4(*self);
    u32: self => Value::Int8((*self).into());
    i64: self => Value::Int8(*self);
    f32: self => Value::Float4(*self);
    f64: self => Value::Float8(*self);
    str: self => Value::text(self);
    String: self => Value::text(self);
    [u8; 16]: self => Value::Uuid(*self);
    [u8]: self => Value::bytea(self);
    Vec<u8>: self => Value::bytea(self.as_slice());
    SystemTime: self => Value::Timestamptz(micros(*self));
    Value: self => self.clone();
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

impl<T: Params + ?Sized> Params for &T {
    fn to_values(&self) -> Vec<Value> {
        (**self).to_values()
    }
}

impl Params for () {
    fn to_values(&self) -> Vec<Value> {
        Vec::new()
    }
}

impl<T: ToValue> Params for Option<T> {
    fn to_values(&self) -> Vec<Value> {
        vec![self.to_value()]
    }
}

impl Params for [Value] {
    fn to_values(&self) -> Vec<Value> {
        self.to_vec()
    }
}

impl Params for Vec<Value> {
    fn to_values(&self) -> Vec<Value> {
        self.clone()
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+))*) => {
        $(impl<$($name: ToValue),+> Params for ($($name,)+) {
            fn to_values(&self) -> Vec<Value> {
                vec![$(self.$at.to_value()),+]
            }
        }

        impl<$($name: FromValue),+> FromRow for ($($name,)+) {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                row.expect(&[$($at),+])?;
                Ok(($(row.get::<$name>($at)?,)+))
            }
        })*
    };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, F 4)
    (A 0, B 1, C 2, D 3, F 4, G 5)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13, P 14)
    (A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13, P 14, Q 15)
}

/// A Rust type that a column can be read as.
///
/// | Rust | SQL |
/// |---|---|
/// | `bool` | boolean |
/// | `i16`, `i32`, `i64` | integers of that width or less; `i32` a date (days since 2000-01-01), `i64` a time or timestamp (microseconds since midnight, or since 2000-01-01), and an oid |
/// | `f32`, `f64` | real; real or double precision |
/// | `String` | text of all kinds; numeric, dates and times, intervals, uuid, json, arrays as SQL prints them |
/// | `Vec<u8>` | bytea |
/// | `[u8; 16]` | uuid |
/// | [`SystemTime`] | timestamp with time zone |
/// | `Option<T>` | the same, and NULL, which the others refuse |
/// | [`Value`] | everything |
pub trait FromValue: Sized {
    /// The type's name in errors.
    const NAME: &'static str;

    /// The value, if it is of a fitting type.
    fn from_value(value: &Value, ty: Type, env: &Env) -> Option<Self>;
}

macro_rules! readable {
    ($($type:ty, $name:literal: $($pattern:pat => $value:expr),+;)*) => {
        $(impl FromValue for $type {
            const NAME: &'static str = $name;

            #[inline]
            fn from_value(value: &Value, _: Type, _: &Env) -> Option<Self> {
                match value {
                    $($pattern => $value,)+
                    _ => None,
                }
            }
        }

        impl FromRow for $type {
            fn from_row(row: &Row<'_>) -> Result<Self> {
                row.only()
            }
        })*
    };
}

readable! {
    bool, "bool": Value::Bool(v) => Some(*v);
    i16, "i16": Value::Int2(v) => Some(*v);
    i32, "i32": Value::Int2(v) => Some((*v).into()), Value::Int4(v) | Value::Date(v) => Some(*v);
    i64, "i64": Value::Int2(v) => Some((*v).into()), Value::Int4(v) => Some((*v).into()),
        Value::Int8(v) | Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v) => Some(*v),
        Value::Oid(v) => Some((*v).into());
    f32, "f32": Value::Float4(v) => Some(*v);
    f64, "f64": Value::Float4(v) => Some((*v).into()), Value::Float8(v) => Some(*v);
    Vec<u8>, "Vec<u8>": Value::Bytea(v) => Some(v.to_vec());
    [u8; 16], "[u8; 16]": Value::Uuid(v) => Some(*v);
    SystemTime, "SystemTime": Value::Timestamptz(v) => time(*v);
}

impl FromValue for Value {
    const NAME: &'static str = "Value";

    fn from_value(value: &Value, _: Type, _: &Env) -> Option<Self> {
        Some(value.clone())
    }
}

impl FromRow for Value {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        row.only()
    }
}

impl FromValue for String {
    const NAME: &'static str = "String";

    fn from_value(value: &Value, ty: Type, env: &Env) -> Option<Self> {
        match value {
            Value::Null
            | Value::Bool(_)
            | Value::Int2(_)
            | Value::Int4(_)
            | Value::Int8(_)
            | Value::Float4(_)
            | Value::Float8(_)
            | Value::Bytea(_) => None,
            // blanks of char(n) are put back
            other => other.to_text(ty, env).map(|text| text.to_string()),
        }
    }
}

impl FromRow for String {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        row.only()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const NAME: &'static str = T::NAME;

    fn from_value(value: &Value, ty: Type, env: &Env) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            other => T::from_value(other, ty, env).map(Some),
        }
    }
}

impl<T: FromValue> FromRow for Option<T> {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        row.only()
    }
}

/// A row that a statement returns, where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub(super) columns: &'a [scaledb_sql::Column],
    pub(super) values: &'a [Value],
    pub(super) env: &'a Env,
}

impl<'a> Row<'a> {
    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Names and types of its columns.
    pub fn columns(&self) -> impl Iterator<Item = (&'a str, Type)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.ty))
    }

    /// Its values.
    pub fn values(&self) -> &'a [Value] {
        self.values
    }

    /// The value of a column, given by its number, from 0, or its name.
    ///
    /// # Errors
    /// [`Kind::WrongType`](super::Kind::WrongType): there is no such column, it is of another type, or NULL.
    pub fn get<T: FromValue>(&self, column: impl ColumnName) -> Result<T> {
        let at = column.position(self.columns).filter(|&at| at < self.values.len());
        let at = at.ok_or_else(|| Error::no_column(&column.shown(), self.columns))?;
        let (value, ty) = (&self.values[at], self.columns[at].ty);
        T::from_value(value, ty, self.env)
            .ok_or_else(|| Error::wrong_type(&self.columns[at].name, at, ty, value.is_null(), T::NAME))
    }

    /// The value of the only column.
    fn only<T: FromValue>(&self) -> Result<T> {
        self.expect(&[0])?;
        self.get(0)
    }

    /// Refuses a row of another number of columns.
    fn expect(&self, columns: &[usize]) -> Result<()> {
        if self.values.len() == columns.len() {
            return Ok(());
        }
        Err(Error::wrong_arity(self.values.len(), columns.len()))
    }
}

/// How a column of a [`Row`] is named: by its number, from 0, or its name.
pub trait ColumnName {
    /// Where it is.
    #[doc(hidden)]
    fn position(&self, columns: &[scaledb_sql::Column]) -> Option<usize>;

    /// For errors.
    #[doc(hidden)]
    fn shown(&self) -> String;
}

impl ColumnName for usize {
    fn position(&self, _: &[scaledb_sql::Column]) -> Option<usize> {
        Some(*self)
    }

    fn shown(&self) -> String {
        format!("number {self}")
    }
}

impl ColumnName for &str {
    fn position(&self, columns: &[scaledb_sql::Column]) -> Option<usize> {
        columns.iter().position(|column| column.name == *self)
    }

    fn shown(&self) -> String {
        format!("\"{self}\"")
    }
}

/// What a row can be read as: a tuple of [values](FromValue) with one for each column, a bare value for the only
/// column, or a struct of one's own.
///
/// ```
/// use scaledb::Database;
/// use scaledb::sql::{FromRow, Result, Row};
///
/// struct Account { id: i64, owner: Option<String> }
/// impl FromRow for Account {
///     fn from_row(row: &Row<'_>) -> Result<Self> {
///         Ok(Self { id: row.get("id")?, owner: row.get("owner")? })
///     }
/// }
/// // or, for the same
/// struct Same { id: i64, owner: Option<String> }
/// scaledb::from_row!(Same { id, owner });
///
/// let sql = Database::in_memory().sql()?;
/// let one: Account = sql.query_one("select 7::bigint as id, null::text as owner", ())?;
/// assert_eq!((one.id, one.owner), (7, None));
/// let one: Same = sql.query_one("select 7::bigint as id, 'ann' as owner", ())?;
/// assert_eq!((one.id, one.owner.as_deref()), (7, Some("ann")));
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
pub trait FromRow: Sized {
    /// The row.
    ///
    /// # Errors
    /// [`Kind::WrongType`](super::Kind::WrongType).
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

/// Lets a struct be read from a row whose columns have the names of its fields: see [`FromRow`](crate::sql::FromRow).
#[macro_export]
macro_rules! from_row {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::sql::FromRow for $type {
            fn from_row(row: &$crate::sql::Row<'_>) -> $crate::sql::Result<Self> {
                Ok(Self { $($field: row.get(stringify!($field))?),+ })
            }
        }
    };
}

/// Microseconds since 2000; beyond what SQL has, infinity.
fn micros(time: SystemTime) -> i64 {
    let epoch = UNIX_EPOCH + Duration::from_secs(Y2K);
    match time.duration_since(epoch) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            // rounded as the calendar has it: towards the past
            let nanos = before.duration().as_nanos().div_ceil(1_000);
            i64::try_from(nanos).map_or(i64::MIN, |micros| -micros)
        }
    }
}

/// The time, unless it is infinite.
fn time(micros: i64) -> Option<SystemTime> {
    if micros == i64::MAX || micros == i64::MIN {
        return None;
    }
    let epoch = UNIX_EPOCH + Duration::from_secs(Y2K);
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { epoch.checked_sub(distance) } else { epoch.checked_add(distance) }
}
