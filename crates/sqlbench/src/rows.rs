//! The rows of a result, in memory that is used again.

use crate::client::Failure;
use crate::values::decimal;

/// What the statements of a batch have answered: values in binary format, as the database sent them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    /// Where each value is in `bytes`, row by row, statement by statement; `None` for NULL.
    values: Vec<Option<(u32, u32)>>,
    /// The statements that are complete.
    answers: Vec<AnswerRows>,
    /// The statement that is not complete yet.
    open: AnswerRows,
    /// A place to come back to: the lengths of `bytes` and `values`, and the open statement.
    marked: (usize, usize, AnswerRows),
}

/// Where a statement's rows are in [`Rows`].
#[derive(Clone, Copy, Debug, Default)]
struct AnswerRows {
    /// Its first value.
    first: usize,
    columns: usize,
    count: usize,
    /// Rows that it returned or changed.
    affected: u64,
}

impl Rows {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.values.clear();
        self.answers.clear();
        self.open = AnswerRows::default();
        self.marked = (0, 0, self.open);
    }

    /// A row of so many columns begins.
    pub(crate) fn begin(&mut self, columns: usize) {
        self.open.columns = columns;
        self.open.count += 1;
    }

    /// The next value, written by `write`; without one, NULL.
    pub(crate) fn push(&mut self, write: Option<impl FnOnce(&mut Vec<u8>)>) {
        let value = write.map(|write| {
            let start = self.bytes.len();
            write(&mut self.bytes);
            // a batch of 4 GiB is none that a benchmark asks for
            (start as u32, self.bytes.len() as u32)
        });
        self.values.push(value);
    }

    /// The statement is complete.
    pub(crate) fn complete(&mut self, affected: u64) {
        self.answers.push(AnswerRows { affected, ..self.open });
        self.open = AnswerRows { first: self.values.len(), ..AnswerRows::default() };
        self.mark();
    }

    pub(crate) fn mark(&mut self) {
        self.marked = (self.bytes.len(), self.values.len(), self.open);
    }

    /// Forgets what came since the mark.
    pub(crate) fn rewind(&mut self) {
        let (bytes, values, open) = self.marked;
        self.bytes.truncate(bytes);
        self.values.truncate(values);
        self.open = open;
    }

    /// What the statement at this place of the batch has answered; nothing, if there is no such statement.
    pub fn answer(&self, statement: usize) -> Answer<'_> {
        let nothing = AnswerRows { first: self.values.len(), ..AnswerRows::default() };
        Answer { rows: self, place: self.answers.get(statement).copied().unwrap_or(nothing) }
    }
}

/// What one statement has answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    rows: &'a Rows,
    place: AnswerRows,
}

impl<'a> Answer<'a> {
    /// How many rows it returned or changed.
    pub fn affected(&self) -> u64 {
        self.place.affected
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.place.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.place.count == 0
    }

    /// The bytes of a value; `None` for NULL and for what is not there.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&'a [u8]> {
        let AnswerRows { first, columns, count, .. } = self.place;
        if column >= columns || row >= count {
            return None;
        }
        let (start, end) = (*self.rows.values.get(first + row * columns + column)?)?;
        self.rows.bytes.get(start as usize..end as usize)
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
    pub fn text(&self, row: usize, column: usize) -> Result<&'a str, Failure> {
        let bytes = self.bytes(row, column).ok_or(Failure::Inconsistent("a value is missing"))?;
        std::str::from_utf8(bytes).map_err(|_| Failure::Inconsistent("a text is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(rows: &mut Rows, values: &[Option<i32>]) {
        rows.begin(values.len());
        for value in values {
            rows.push(value.map(|value| move |out: &mut Vec<u8>| out.extend(value.to_be_bytes())));
        }
    }

    #[test]
    fn values_are_found_behind_nulls() {
        let mut rows = Rows::default();
        put(&mut rows, &[None, Some(7), None]);
        rows.mark();
        put(&mut rows, &[Some(1), Some(2), Some(3)]);
        rows.rewind();
        put(&mut rows, &[None, None, Some(-9)]);
        rows.complete(2);
        let answer = rows.answer(0);
        assert_eq!((answer.len(), answer.affected()), (2, 2));
        let seen: Vec<_> = (0..6).map(|i| answer.int_or_null(i / 3, i % 3).unwrap()).collect();
        assert_eq!(seen, [None, Some(7), None, None, None, Some(-9)]);
        assert!(answer.int(0, 0).is_err() && answer.bytes(0, 3).is_none() && answer.bytes(2, 0).is_none());
        rows.clear();
        assert!(rows.answer(0).is_empty() && rows.answer(0).bytes(0, 0).is_none());
    }

    #[test]
    fn an_answer_has_no_rows_of_its_neighbours() {
        let mut rows = Rows::default();
        put(&mut rows, &[Some(1)]);
        rows.complete(1);
        rows.complete(5);
        put(&mut rows, &[Some(2), Some(3)]);
        put(&mut rows, &[Some(4), Some(5)]);
        // a statement that is run again forgets its own rows only
        rows.rewind();
        put(&mut rows, &[Some(6), Some(7)]);
        rows.complete(1);
        let of = |n| (rows.answer(n).len(), rows.answer(n).affected(), rows.answer(n).int(0, 0).ok());
        assert_eq!(
            [of(0), of(1), of(2), of(3)],
            [(1, 1, Some(1)), (0, 5, None), (1, 1, Some(6)), (0, 0, None)]
        );
    }
}
