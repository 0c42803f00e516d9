//! Rows of a result, kept until they are printed.

use super::connection::Column;

/// A result: columns, and the text of its values.
///
/// All values lie behind one another in `text`; `cells` says where each ends. `cells.len()` is a multiple of the
/// number of columns once a row is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    text: String,
    cells: Vec<Cell>,
    rows: usize,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    end: usize,
    null: bool,
}

impl Rows {
    /// A result without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// A result that the shell makes itself: its columns are text.
    pub(crate) fn of_text(names: &[&str]) -> Self {
        let column = |name: &&str| Column { name: (*name).to_owned(), ty: 25 };
        Self::new(names.iter().map(column).collect())
    }

    /// The next value of the row.
    pub(crate) fn value(&mut self, value: Option<&[u8]>) {
        if let Some(bytes) = value {
            self.text.push_str(&String::from_utf8_lossy(bytes));
        }
        self.cells.push(Cell { end: self.text.len(), null: value.is_none() });
    }

    /// The row is complete.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
    }

    /// A row of texts.
    pub(crate) fn push(&mut self, values: &[&str]) {
        for value in values {
            self.value(Some(value.as_bytes()));
        }
        self.end_row();
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The bytes of its values.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Drops the rows, keeps the columns.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.cells.clear();
        self.rows = 0;
    }

    /// A value; `None` for NULL.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<&str> {
        let at = row * self.columns.len() + column;
        let cell = self.cells.get(at)?;
        let start = if at == 0 { 0 } else { self.cells[at - 1].end };
        (!cell.null).then(|| &self.text[start..cell.end])
    }

    /// A value; empty for NULL.
    pub(crate) fn text(&self, row: usize, column: usize) -> &str {
        self.get(row, column).unwrap_or_default()
    }
}
