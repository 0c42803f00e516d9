//! Reading a row.

use crate::layout::{ColumnLayout, Layout};
use crate::schema::Schema;
use crate::types::{ColumnType, Datum};

/// A consistent image of a row, or of the columns of it that a projection named (the others read as
/// whatever the buffer held).
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
}

impl<'a> RowRef<'a> {
    /// A view of a row's words.
    #[inline]
    pub fn new(layout: &'a Layout, words: &'a [u64]) -> Self {
        Self { layout, bytes: bytemuck::cast_slice(words) }
    }

    /// The bytes of the image.
    #[inline]
    pub(crate) fn bytes_of_all(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    fn place(&self, column: usize) -> &'a ColumnLayout {
        &self.layout.places[column]
    }

    #[inline]
    fn fixed<const N: usize>(&self, column: usize) -> [u8; N] {
        let place = self.place(column);
        debug_assert!(usize::from(place.len) == N && !place.var, "column {column} has another type");
        let at = place.at as usize;
        self.bytes[at..at + N].try_into().expect("N bytes")
    }

    /// Whether the column is NULL.
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        let place = self.place(column);
        place.null_mask != 0 && self.bytes[place.null_at as usize] & place.null_mask != 0
    }

    /// A boolean.
    #[inline]
    pub fn bool(&self, column: usize) -> bool {
        self.fixed::<1>(column)[0] != 0
    }

    /// A 2-byte integer.
    #[inline]
    pub fn i16(&self, column: usize) -> i16 {
        i16::from_le_bytes(self.fixed(column))
    }

    /// A 4-byte integer or date.
    #[inline]
    pub fn i32(&self, column: usize) -> i32 {
        i32::from_le_bytes(self.fixed(column))
    }

    /// An 8-byte integer, time or timestamp.
    #[inline]
    pub fn i64(&self, column: usize) -> i64 {
        i64::from_le_bytes(self.fixed(column))
    }

    /// A single precision number.
    #[inline]
    pub fn f32(&self, column: usize) -> f32 {
        f32::from_le_bytes(self.fixed(column))
    }

    /// A double precision number.
    #[inline]
    pub fn f64(&self, column: usize) -> f64 {
        f64::from_le_bytes(self.fixed(column))
    }

    /// The value of a column of 1, 2, 4 or 8 bytes as an unsigned integer, whatever its type.
    #[inline]
    pub(crate) fn integer(&self, column: usize) -> Option<u64> {
        let place = self.place(column);
        place.is_integer().then(|| {
            // aligned by its length, so it lies within a word
            let (at, bits) = (place.at as usize, 8 * u32::from(place.len));
            let word = self.bytes[at & !7..].first_chunk().expect("rows are whole words");
            u64::from_le_bytes(*word) >> (8 * (at & 7)) & (u64::MAX >> (64 - bits))
        })
    }

    /// Bytes, of fixed or variable length.
    #[inline]
    pub fn bytes(&self, column: usize) -> &'a [u8] {
        let place = self.place(column);
        debug_assert!(!place.is_tail(), "column {column} is a tail");
        let at = place.at as usize;
        if place.var {
            let slot = u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("8 bytes"));
            let (from, len) = ((slot & 0xFFFF_FFFF) as usize, (slot >> 32) as usize);
            &self.bytes[from..from + len]
        } else {
            &self.bytes[at..at + usize::from(place.len)]
        }
    }

    /// Up to seven bytes of a column of variable length as a word, their number in its highest byte: equal words are
    /// equal bytes. `None` of more, and of other columns.
    #[inline]
    pub fn short_bytes(&self, column: usize) -> Option<u64> {
        let place = self.place(column);
        if !place.has_slot() {
            return None;
        }
        let slot = u64::from_le_bytes(*self.bytes.get(place.at as usize..)?.first_chunk()?);
        let (from, len) = ((slot & 0xFFFF_FFFF) as usize, slot >> 32);
        match len {
            0 => Some(0),
            // values are padded to whole words
            1..8 => {
                let word = u64::from_le_bytes(*self.bytes.get(from..)?.first_chunk()?);
                Some(word & u64::MAX >> (64 - 8 * len) | len << 56)
            }
            _ => None,
        }
    }

    /// The words of the tail, as bytes; none if the table has no tail.
    #[inline]
    pub fn tail(&self) -> &'a [u8] {
        let slot = |at: usize| u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("8 bytes"));
        self.bytes.get(self.layout.tail_at(slot)..).unwrap_or_default()
    }

    /// Text. Rows hold only what was valid when it was written, so an error means that the column is not
    /// text; it reads as empty then.
    #[inline]
    pub fn text(&self, column: usize) -> &'a str {
        std::str::from_utf8(self.bytes(column)).unwrap_or_default()
    }

    /// The value of a column, by the schema's type.
    pub fn get(&self, schema: &Schema, column: usize) -> Datum<'a> {
        if self.is_null(column) {
            return Datum::Null;
        }
        match schema.columns()[column].ty {
            ColumnType::Bool => Datum::Bool(self.bool(column)),
            ColumnType::Int2 => Datum::Int2(self.i16(column)),
            ColumnType::Int4 => Datum::Int4(self.i32(column)),
            ColumnType::Int8 => Datum::Int8(self.i64(column)),
            ColumnType::Float4 => Datum::Float4(self.f32(column)),
            ColumnType::Float8 => Datum::Float8(self.f64(column)),
            ColumnType::Date => Datum::Date(self.i32(column)),
            ColumnType::Time => Datum::Time(self.i64(column)),
            ColumnType::Timestamp => Datum::Timestamp(self.i64(column)),
            ColumnType::Uuid => Datum::Uuid(self.fixed(column)),
            ColumnType::Fixed(_) | ColumnType::Bytes(_) => Datum::Bytes(self.bytes(column)),
            ColumnType::Text(_) => Datum::Text(self.text(column)),
            ColumnType::Tail => Datum::Bytes(self.tail()),
        }
    }
}
