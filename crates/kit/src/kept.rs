//! How much memory a worker keeps from one transaction to the next: a large one must not leave as much as its rows
//! take.

/// Elements that the vectors which grow with the rows of a transaction have room for, all together, until they shrink.
const USUAL: usize = 1 << 16;
/// A transaction with more has taken so much of the worker's other memory that this is worth a look.
const HUGE: usize = 1 << 20;

/// Elements that a vector keeps room for which grows with the rows of a transaction: their reads, images and keys.
pub const KEPT_OF_ROWS: usize = USUAL / 4;
/// Elements that another vector keeps room for.
pub const KEPT: usize = USUAL / 16;

/// Whether a transaction leaves more than is kept: its vectors of rows have room for `rows` elements together, and its
/// commit's for `held` writes.
#[inline]
pub fn is_large(rows: usize, held: usize) -> bool {
    rows > USUAL || held > KEPT
}

/// Whether it was so large that the worker's other memory is worth a look.
pub fn is_huge(rows: usize) -> bool {
    rows > HUGE
}
