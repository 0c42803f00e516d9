//! Rows of one width that an operator keeps: one behind another, in chunks.
//!
//! ```text
//! number of a row ─► chunk ─► its values        N rows of 3: [a0 b0 c0 a1 b1 c1 ..] [..]
//! ```
//!
//! A row is no allocation of its own, and none moves when there are more: that is most of what it costs to keep short
//! rows, and to let go of them.

/// Rows in a chunk.
const CHUNK: usize = 256;

/// Rows of one width.
pub(super) struct Chunks<T> {
    width: usize,
    rows: usize,
    chunks: Vec<Vec<T>>,
}

impl<T> Chunks<T> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, rows: 0, chunks: Vec::new() }
    }

    /// How many rows there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row, which has as many values as all others; its number.
    #[inline]
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = T>) -> usize {
        let number = self.rows;
        if number.is_multiple_of(CHUNK) {
            // the first chunk is as long as it has to be
            let room = if number == 0 { 0 } else { CHUNK * self.width };
            self.chunks.push(Vec::with_capacity(room));
        }
        let chunk = &mut self.chunks[number / CHUNK];
        chunk.extend(row);
        debug_assert_eq!(chunk.len(), (number % CHUNK + 1) * self.width, "a row of another width");
        self.rows += 1;
        number
    }

    /// The values of a row.
    #[inline]
    pub(super) fn row(&self, number: usize) -> &[T] {
        &self.chunks[number / CHUNK][number % CHUNK * self.width..][..self.width]
    }

    /// As [`Chunks::row`].
    #[inline]
    pub(super) fn row_mut(&mut self, number: usize) -> &mut [T] {
        &mut self.chunks[number / CHUNK][number % CHUNK * self.width..][..self.width]
    }

    /// The values of all rows, one behind another.
    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.chunks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_numbers() {
        for width in 0..4 {
            let mut chunks = Chunks::new(width);
            for row in 0..3 * CHUNK + 1 {
                assert_eq!(chunks.push((0..width).map(|at| row * 10 + at)), row);
            }
            assert_eq!(chunks.len(), 3 * CHUNK + 1);
            for row in 0..chunks.len() {
                let expected: Vec<usize> = (0..width).map(|at| row * 10 + at).collect();
                assert_eq!(chunks.row(row), expected);
                assert_eq!(chunks.row_mut(row), expected);
            }
            let count = chunks.len() * width;
            assert_eq!(chunks.into_values().count(), count);
        }
    }
}
