//! What callers may pass as a value, and as a row or key.

use crate::value::Value;
use scaledb_base::{Error, Result};
use scaledb_row::{Column, ColumnType, Datum};
use smallvec::SmallVec;

/// What can be passed as one value: numbers, text, bytes, [`Value`], [`Datum`], and options of them, where
/// `None` is NULL.
pub trait AsDatum {
    /// The value, borrowed.
    fn as_datum(&self) -> Datum<'_>;
}

/// What can be passed as a row or as a key: tuples and slices of [values](AsDatum), and, for a key of one
/// column, the bare value. `()` is the empty key.
///
/// ```
/// use scaledb::{Database, Table, Type, Value};
/// # let db = Database::in_memory();
/// let t = db.create_table(Table::build("t").column("id", Type::Int8).column("name", Type::Text(9)).primary_key(["id"]))?;
/// db.run(|txn| {
///     txn.insert(&t, (1, "ann"))?;
///     txn.insert(&t, [Value::Int8(2), "bob".into()])?;
///     assert!(txn.contains(&t, 2)? && txn.contains(&t, (1,))? && txn.contains(&t, &[1])?);
///     Ok(())
/// })?;
/// # Ok::<(), scaledb::Error>(())
/// ```
pub trait Tuple {
    /// Hands the values to `f`, in an array of its own.
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R;
}

macro_rules! scalars {
    ($($type:ty => $variant:ident),*) => {
        $(impl AsDatum for $type {
            #[inline]
            fn as_datum(&self) -> Datum<'_> {
                Datum::$variant(*self)
            }
        }
        bare!($type);)*
    };
}

macro_rules! bare {
    ($($type:ty),*) => {
        $(impl Tuple for $type {
            #[inline]
            fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
                f(&mut [self.as_datum()])
            }
        })*
    };
}

scalars!(bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, f32 => Float4, f64 => Float8);
bare!(str, String, Value, Datum<'_>);

impl AsDatum for [u8; 16] {
    fn as_datum(&self) -> Datum<'_> {
        Datum::Uuid(*self)
    }
}

impl AsDatum for str {
    fn as_datum(&self) -> Datum<'_> {
        Datum::Text(self)
    }
}

impl AsDatum for String {
    fn as_datum(&self) -> Datum<'_> {
        Datum::Text(self)
    }
}

impl AsDatum for [u8] {
    fn as_datum(&self) -> Datum<'_> {
        Datum::Bytes(self)
    }
}

impl AsDatum for Vec<u8> {
    fn as_datum(&self) -> Datum<'_> {
        Datum::Bytes(self)
    }
}

impl AsDatum for Value {
    fn as_datum(&self) -> Datum<'_> {
        Value::as_datum(self)
    }
}

impl AsDatum for Datum<'_> {
    fn as_datum(&self) -> Datum<'_> {
        *self
    }
}

impl<T: AsDatum> AsDatum for Option<T> {
    fn as_datum(&self) -> Datum<'_> {
        self.as_ref().map_or(Datum::Null, AsDatum::as_datum)
    }
}

impl<T: AsDatum + ?Sized> AsDatum for &T {
    fn as_datum(&self) -> Datum<'_> {
        (**self).as_datum()
    }
}

impl<T: AsDatum> Tuple for Option<T> {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        f(&mut [self.as_datum()])
    }
}

impl<T: AsDatum> Tuple for [T] {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        let mut datums: SmallVec<[Datum<'_>; 16]> = self.iter().map(AsDatum::as_datum).collect();
        f(&mut datums)
    }
}

impl<T: AsDatum, const N: usize> Tuple for [T; N] {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        self.as_slice().with_datums(f)
    }
}

impl<T: AsDatum> Tuple for Vec<T> {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        self.as_slice().with_datums(f)
    }
}

impl<T: Tuple + ?Sized> Tuple for &T {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        (**self).with_datums(f)
    }
}

impl Tuple for () {
    fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
        f(&mut [])
    }
}

macro_rules! tuples {
    ($(($($t:ident $n:tt),+);)*) => {
        $(impl<$($t: AsDatum),+> Tuple for ($($t,)+) {
            #[inline]
            fn with_datums<R>(&self, f: impl FnOnce(&mut [Datum<'_>]) -> R) -> R {
                f(&mut [$(self.$n.as_datum()),+])
            }
        })*
    };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
}

/// The value as its column stores it: an integer takes the column's width, a single precision number may
/// become a double. Nothing else is converted.
///
/// # Errors
/// [`Error::OutOfRange`].
pub(crate) fn adapt<'d>(column: &Column, datum: Datum<'d>) -> Result<Datum<'d>> {
    let integer = match datum {
        Datum::Int2(v) => i64::from(v),
        Datum::Int4(v) => i64::from(v),
        Datum::Int8(v) => v,
        Datum::Float4(v) if column.ty == ColumnType::Float8 => return Ok(Datum::Float8(v.into())),
        other => return Ok(other),
    };
    let out_of_range = |_| Error::OutOfRange(column.name.clone());
    Ok(match column.ty {
        ColumnType::Int2 => Datum::Int2(integer.try_into().map_err(out_of_range)?),
        ColumnType::Int4 => Datum::Int4(integer.try_into().map_err(out_of_range)?),
        ColumnType::Int8 => Datum::Int8(integer),
        _ => datum,
    })
}
