//! Integers at places that are looked up once for many rows.

use crate::layout::Layout;
use crate::view::RowRef;

/// Where rows have a column whose value is a signed integer of 1, 2, 4 or 8 bytes, or a boolean.
///
/// ```text
///  a word     .. .. v3 v2 v1 v0 .. ..     up: the value's highest bit to the word's
///                v3 v2 v1 v0 .. .. .. ..  down: its lowest bit to the word's, with its sign
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerPlace {
    /// Byte offset of the word.
    word: u32,
    up: u8,
    down: u8,
    /// Byte offset and mask of the null bit; mask 0 if the column takes no NULL.
    null_at: u32,
    null_mask: u8,
}

impl Layout {
    /// The place of a column; `None` if its values have no length of an integer.
    pub fn integer_place(&self, column: usize) -> Option<IntegerPlace> {
        let place = self.places.get(column).filter(|place| place.is_integer())?;
        // aligned by its length, so it lies within a word
        let (from, bits) = (8 * (place.at % 8) as u8, 8 * place.len as u8);
        Some(IntegerPlace {
            word: place.at & !7,
            up: 64 - bits - from,
            down: 64 - bits,
            null_at: place.null_at,
            null_mask: place.null_mask,
        })
    }
}

impl RowRef<'_> {
    /// The value at a place; `None` if it is NULL.
    #[inline]
    pub fn integer_at(&self, place: IntegerPlace) -> Option<i64> {
        let bytes = self.bytes_of_all();
        if place.null_mask != 0 && bytes[place.null_at as usize] & place.null_mask != 0 {
            return None;
        }
        let word = bytes[place.word as usize..].first_chunk().expect("rows are whole words");
        Some(i64::from_le_bytes(*word) << place.up >> place.down)
    }
}
