//! Order-preserving ("memcomparable") key encoding.
//!
//! The bytes of two encoded keys compare (`memcmp`, a proper prefix first) as the tuples they encode do,
//! column by column, each ascending or descending, with NULLs first or last.
//!
//! | value | bytes, ascending |
//! |---|---|
//! | nullable column | one marker byte, then the value unless NULL |
//! | `bool` | 1: 0 or 1 |
//! | `i16`, `i32`, `i64` | 2, 4, 8: big endian, sign bit flipped |
//! | `u8`, `u16`, `u32`, `u64` | 1, 2, 4, 8: big endian |
//! | `f32`, `f64` | 4, 8: big endian; negative: all bits flipped, else sign bit flipped; NaN greatest, -0 = 0 |
//! | bytes, text | the bytes, each 00 as 00 FF; then 00 01 |
//! | fixed bytes (uuid) | as they are |
//!
//! Descending columns have all these bytes inverted. Text compares by bytes (the C collation).

mod buf;
mod decode;

pub use buf::{Direction, KeyBuf, Nulls};
pub use decode::{KeyReader, Malformed};
