//! Writing a row.

use crate::layout::{ColumnLayout, Layout};
use crate::projection::ColumnSet;
use crate::schema::Schema;
use crate::types::Datum;
use crate::view::RowRef;
use scaledb_base::limits::MAX_ROW_BYTES;
use scaledb_base::{Error, Result};

/// A row under construction, to be inserted. Reusable: nothing is allocated once it has grown.
#[derive(Clone, Debug)]
pub struct RowBuf {
    words: Vec<u64>,
}

impl RowBuf {
    /// A row whose columns are all zero, empty, and not NULL.
    pub fn new(schema: &Schema) -> Self {
        let mut row = Self { words: Vec::new() };
        row.reset(schema);
        row
    }

    /// A row of these values.
    ///
    /// # Errors
    /// As [`RowMut::set`], and [`Error::WrongArity`].
    pub fn from_values(schema: &Schema, values: &[Datum<'_>]) -> Result<Self> {
        if values.len() != schema.columns().len() {
            return Err(Error::WrongArity { expected: schema.columns().len(), got: values.len() });
        }
        let var = |value: &Datum<'_>| match value {
            Datum::Text(text) => text.len(),
            Datum::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        let words: usize = values.iter().map(|value| var(value).div_ceil(8)).sum();
        let mut row = Self { words: Vec::with_capacity(schema.layout().fixed_words() + words) };
        row.reset(schema);
        let mut edit = row.edit(schema);
        for (column, &value) in values.iter().enumerate() {
            edit.set(schema, column, value)?;
        }
        Ok(row)
    }

    /// Back to the state of [`RowBuf::new`].
    pub fn reset(&mut self, schema: &Schema) {
        self.words.clear();
        self.words.resize(schema.layout().fixed_words(), 0);
    }

    /// Becomes a copy of a row of which all columns were read, for a schema with the same columns.
    pub fn copy_from(&mut self, row: RowRef<'_>) {
        self.words.clear();
        let (words, rest) = row.bytes_of_all().as_chunks::<8>();
        debug_assert!(rest.is_empty(), "rows are whole words");
        self.words.extend(words.iter().map(|word| u64::from_ne_bytes(*word)));
    }

    /// Write access.
    pub fn edit<'a>(&'a mut self, schema: &'a Schema) -> RowMut<'a> {
        RowMut::new(schema.layout(), &mut self.words, 0, ColumnSet::ALL)
    }

    /// Read access.
    pub fn view<'a>(&'a self, schema: &'a Schema) -> RowRef<'a> {
        RowRef::new(schema.layout(), &self.words)
    }

    /// The row's words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// A row image that a transaction changes: the columns that were loaded, and a note of those set.
///
/// The typed setters panic when the column has another type: they are for code that was made for the
/// schema. [`RowMut::set`] checks and answers with an error.
#[derive(Debug)]
pub struct RowMut<'a> {
    layout: &'a Layout,
    /// The image is `words[start..]`.
    words: &'a mut Vec<u64>,
    start: usize,
    loaded: ColumnSet,
    dirty: ColumnSet,
}

impl<'a> RowMut<'a> {
    /// Write access to the image `words[start..]`, of which the columns `loaded` are valid.
    #[inline]
    pub fn new(layout: &'a Layout, words: &'a mut Vec<u64>, start: usize, loaded: ColumnSet) -> Self {
        Self { layout, words, start, loaded, dirty: ColumnSet::EMPTY }
    }

    /// The columns that were set.
    #[inline]
    pub fn dirty(&self) -> ColumnSet {
        self.dirty
    }

    /// Read access.
    #[inline]
    pub fn view(&self) -> RowRef<'_> {
        RowRef::new(self.layout, &self.words[self.start..])
    }

    #[inline]
    fn place(&self, column: usize) -> ColumnLayout {
        self.layout.places[column]
    }

    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words[self.start..])
    }

    #[inline]
    fn set_fixed<const N: usize>(&mut self, column: usize, value: [u8; N]) {
        let place = self.place(column);
        assert!(usize::from(place.len) == N && !place.var, "column {column} has another type");
        let at = place.at as usize;
        self.bytes()[at..at + N].copy_from_slice(&value);
        self.written(column, place);
    }

    #[inline]
    fn written(&mut self, column: usize, place: ColumnLayout) {
        assert!(self.loaded.has(column), "column {column} was not loaded: name it in the projection");
        if place.null_mask != 0 {
            self.bytes()[place.null_at as usize] &= !place.null_mask;
        }
        self.dirty.insert(column);
    }

    /// Sets a boolean.
    #[inline]
    pub fn set_bool(&mut self, column: usize, v: bool) {
        self.set_fixed(column, [u8::from(v)]);
    }

    /// Sets a 2-byte integer.
    #[inline]
    pub fn set_i16(&mut self, column: usize, v: i16) {
        self.set_fixed(column, v.to_le_bytes());
    }

    /// Sets a 4-byte integer or date.
    #[inline]
    pub fn set_i32(&mut self, column: usize, v: i32) {
        self.set_fixed(column, v.to_le_bytes());
    }

    /// Sets an 8-byte integer, time or timestamp.
    #[inline]
    pub fn set_i64(&mut self, column: usize, v: i64) {
        self.set_fixed(column, v.to_le_bytes());
    }

    /// Sets a single precision number.
    #[inline]
    pub fn set_f32(&mut self, column: usize, v: f32) {
        self.set_fixed(column, v.to_le_bytes());
    }

    /// Sets a double precision number.
    #[inline]
    pub fn set_f64(&mut self, column: usize, v: f64) {
        self.set_fixed(column, v.to_le_bytes());
    }

    /// Sets NULL.
    ///
    /// # Panics
    /// If the column takes no NULL.
    pub fn set_null(&mut self, column: usize) {
        let place = self.place(column);
        assert!(place.null_mask != 0, "column {column} does not take NULL");
        self.bytes()[place.null_at as usize] |= place.null_mask;
        self.dirty.insert(column);
    }

    /// Sets bytes or text, of fixed or variable length. A fixed column is padded with zero bytes.
    ///
    /// # Panics
    /// If the value is longer than a fixed column, or if the image was loaded without the var columns.
    pub fn set_bytes(&mut self, column: usize, v: &[u8]) {
        let place = self.place(column);
        let at = place.at as usize;
        if place.var {
            assert!(self.loaded.has(column), "column {column} was not loaded: name it in the projection");
            let from = match place.is_tail() {
                true => self.resize_tail(v.len()),
                false => {
                    self.resize_var(column, v.len());
                    self.slot(place).0
                }
            };
            self.bytes()[from..from + v.len()].copy_from_slice(v);
        } else {
            let len = usize::from(place.len);
            assert!(v.len() <= len, "{} bytes for fixed column {column} of {len}", v.len());
            let to = &mut self.bytes()[at..at + len];
            to[..v.len()].copy_from_slice(v);
            to[v.len()..].fill(0);
        }
        self.written(column, place);
    }

    /// Offset and length of a var column.
    fn slot(&mut self, place: ColumnLayout) -> (usize, usize) {
        let at = place.at as usize;
        let slot = u64::from_le_bytes(self.bytes()[at..at + 8].try_into().expect("8 bytes"));
        ((slot & 0xFFFF_FFFF) as usize, (slot >> 32) as usize)
    }

    fn set_slot(&mut self, place: ColumnLayout, from: usize, len: usize) {
        let at = place.at as usize;
        self.bytes()[at..at + 8].copy_from_slice(&((len as u64) << 32 | from as u64).to_le_bytes());
    }

    /// The end of what slots name.
    fn end_of_slots(&self) -> usize {
        if self.layout.has_tail() {
            let bytes: &[u8] = bytemuck::cast_slice(&self.words[self.start..]);
            self.layout.tail_at(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")))
        } else {
            (self.words.len() - self.start) * 8
        }
    }

    /// Makes room for `len` bytes in the tail, all zero, and says where.
    fn resize_tail(&mut self, len: usize) -> usize {
        let at = self.end_of_slots();
        self.words.truncate(self.start + at / 8);
        self.words.resize(self.start + at / 8 + len.div_ceil(8), 0);
        at
    }

    /// Makes room for `len` bytes in a var column; its old bytes are lost.
    fn resize_var(&mut self, column: usize, len: usize) {
        let place = self.place(column);
        let (from, old) = self.slot(place);
        let (new_words, old_words) = (len.div_ceil(8), old.div_ceil(8));
        let mut at = from;
        if old == 0 {
            at = self.end_of_slots();
        }
        if new_words != old_words {
            let first = self.start + at / 8;
            if first + old_words == self.words.len() {
                self.words.truncate(first);
                self.words.resize(first + new_words, 0);
            } else {
                self.words.splice(first..first + old_words, std::iter::repeat_n(0, new_words));
            }
            // a value that was empty stands behind all others: it moves none
            if old > 0 {
                self.move_slots(column, at, (new_words as isize - old_words as isize) * 8);
            }
        } else if new_words > 0 {
            let last = self.start + at / 8 + new_words - 1;
            self.words[last] = 0;
        }
        self.set_slot(place, if len == 0 { 0 } else { at }, len);
    }

    /// The values behind `at`, but that of `column`, have moved by `delta` bytes: their slots follow.
    fn move_slots(&mut self, column: usize, at: usize, delta: isize) {
        for other in 0..self.layout.places.len() {
            let moved = self.layout.places[other];
            if moved.has_slot() && other != column {
                let (from, len) = self.slot(moved);
                if len > 0 && from > at {
                    self.set_slot(moved, (from as isize + delta) as usize, len);
                    // its value is the same, but its slot must be written too
                    self.dirty.insert(other);
                }
            }
        }
    }

    /// Sets a column after checking the value against the schema.
    ///
    /// # Errors
    /// [`Error::WrongType`], [`Error::NullValue`], [`Error::RowTooLarge`].
    pub fn set(&mut self, schema: &Schema, column: usize, value: Datum<'_>) -> Result<()> {
        schema.columns()[column].check(value)?;
        match value {
            Datum::Null => self.set_null(column),
            Datum::Bool(v) => self.set_bool(column, v),
            Datum::Int2(v) => self.set_i16(column, v),
            Datum::Int4(v) | Datum::Date(v) => self.set_i32(column, v),
            Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) => self.set_i64(column, v),
            Datum::Float4(v) => self.set_f32(column, v),
            Datum::Float8(v) => self.set_f64(column, v),
            Datum::Uuid(v) => self.set_bytes(column, &v),
            Datum::Text(v) => self.set_var_checked(column, v.as_bytes())?,
            Datum::Bytes(v) => self.set_var_checked(column, v)?,
        }
        Ok(())
    }

    fn set_var_checked(&mut self, column: usize, v: &[u8]) -> Result<()> {
        let got = (self.words.len() - self.start) * 8 + v.len();
        if got > MAX_ROW_BYTES {
            return Err(Error::RowTooLarge { got, limit: MAX_ROW_BYTES });
        }
        self.set_bytes(column, v);
        Ok(())
    }
}
