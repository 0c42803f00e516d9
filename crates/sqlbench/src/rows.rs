//! The rows of a result, in memory that is used again.

use crate::client::Failure;
use crate::values::decimal;

/// Rows as the database sent them: values in binary format.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: usize,
    bytes: Vec<u8>,
    /// Where each value ends in `bytes`, row by row; `None` for NULL.
    ends: Vec<Option<usize>>,
    count: usize,
    /// A place to come back to: the lengths of the fields above.
    marked: (usize, usize, usize),
}

impl Rows {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        (self.columns, self.count, self.marked) = (0, 0, (0, 0, 0));
    }

    /// A row of so many columns begins.
    pub(crate) fn begin(&mut self, columns: usize) {
        self.columns = columns;
        self.count += 1;
    }

    /// The next value, written by `write`; without one, NULL.
    pub(crate) fn push(&mut self, write: Option<impl FnOnce(&mut Vec<u8>)>) {
        let end = write.map(|write| {
            write(&mut self.bytes);
            self.bytes.len()
        });
        self.ends.push(end);
    }

    pub(crate) fn mark(&mut self) {
        self.marked = (self.bytes.len(), self.ends.len(), self.count);
    }

    /// Forgets what came since the mark.
    pub(crate) fn rewind(&mut self) {
        let (bytes, ends, count) = self.marked;
        self.bytes.truncate(bytes);
        self.ends.truncate(ends);
        self.count = count;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes of a value; `None` for NULL and for what is not there.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        if column >= self.columns {
            return None;
        }
        let at = row * self.columns + column;
        let end = (*self.ends.get(at)?)?;
        let start = self.ends[..at].iter().rev().find_map(|end| *end).unwrap_or(0);
        Some(&self.bytes[start..end])
    }

    /// A smallint, integer or bigint, or NULL.
    ///
    /// # Errors
    /// [`Failure::Inconsistent`] for anything else.
    pub fn int_or_null(&self, row: usize, column: usize) -> Result<Option<i64>, Failure> {
        let Some(bytes) = self.bytes(row, column) else { return Ok(None) };
        let value = match bytes.len() {
            2 => bytes.try_into().ok().map(|bytes| i16::from_be_bytes(bytes).into()),
            4 => bytes.try_into().ok().map(|bytes| i32::from_be_bytes(bytes).into()),
            8 => bytes.try_into().ok().map(i64::from_be_bytes),
            _ => None,
        };
        value.map(Some).ok_or(Failure::Inconsistent("a value is no integer"))
    }

    /// A smallint, integer or bigint.
    ///
    /// # Errors
    /// [`Failure::Inconsistent`] for anything else, and for NULL.
    pub fn int(&self, row: usize, column: usize) -> Result<i64, Failure> {
        self.int_or_null(row, column)?.ok_or(Failure::Inconsistent("a value is missing"))
    }

    /// A numeric, in 1/10000.
    ///
    /// # Errors
    /// [`Failure::Inconsistent`] for anything else, and for NULL.
    pub fn decimal(&self, row: usize, column: usize) -> Result<i64, Failure> {
        let bytes = self.bytes(row, column).ok_or(Failure::Inconsistent("a value is missing"))?;
        decimal(bytes).ok_or(Failure::Inconsistent("a value is no numeric of four decimals"))
    }

    /// A text.
    ///
    /// # Errors
    /// [`Failure::Inconsistent`] for what is not UTF-8, and for NULL.
    pub fn text(&self, row: usize, column: usize) -> Result<&str, Failure> {
        let bytes = self.bytes(row, column).ok_or(Failure::Inconsistent("a value is missing"))?;
        std::str::from_utf8(bytes).map_err(|_| Failure::Inconsistent("a text is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_behind_nulls() {
        let mut rows = Rows::default();
        let put = |rows: &mut Rows, value: Option<i32>| {
            rows.push(value.map(|value| move |out: &mut Vec<u8>| out.extend(value.to_be_bytes())));
        };
        rows.begin(3);
        [None, Some(7), None].into_iter().for_each(|value| put(&mut rows, value));
        rows.mark();
        rows.begin(3);
        [Some(1), Some(2), Some(3)].into_iter().for_each(|value| put(&mut rows, value));
        rows.rewind();
        rows.begin(3);
        [None, None, Some(-9)].into_iter().for_each(|value| put(&mut rows, value));
        assert_eq!(rows.len(), 2);
        let seen: Vec<_> = (0..6).map(|i| rows.int_or_null(i / 3, i % 3).unwrap()).collect();
        assert_eq!(seen, [None, Some(7), None, None, None, Some(-9)]);
        assert!(rows.int(0, 0).is_err() && rows.bytes(0, 3).is_none() && rows.bytes(2, 0).is_none());
        rows.clear();
        assert!(rows.is_empty() && rows.bytes(0, 0).is_none());
    }
}
