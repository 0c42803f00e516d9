//! Rows as bytes for files: whole ones, and changed columns for the redo log.
//!
//! Most columns are integers, and most integers are small: zeros at the upper end of a word are left out.
//!
//! ```text
//! row      two words after the other:
//!          lengths   the first word's | the second's << 4; 15: there is no second one
//!          words     so many bytes of each, the low ones
//!
//! columns  one after the other:
//!          head      varint: column number << 4 | length
//!          value     length 0 to 8: so many bytes, the low ones, of a column of 1, 2, 4 or 8 bytes
//!                    9: all of it; in front, for columns of variable length, how many bytes, a varint
//!                    15: NULL
//! ```

use crate::edit::RowMut;
use crate::layout::{GroupSet, Layout};
use crate::projection::ColumnSet;
use crate::view::RowRef;
use scaledb_base::limits::MAX_ROW_BYTES;
use scaledb_base::varint;
use smallvec::SmallVec;

/// Bytes that are not what the layout asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// In place of a length: there is no second word.
const ODD: usize = 15;
/// In place of a length: the whole value.
const WHOLE: usize = 9;
/// In place of a length: no value.
const NULL: usize = 15;
/// The most bytes that two words take.
const PAIR: usize = 17;

/// Bytes of a word without the zeros at its upper end.
#[inline]
fn significant(word: u64) -> usize {
    8 - word.leading_zeros() as usize / 8
}

/// Takes a word of `len` bytes from the front.
#[inline]
fn take_word(from: &mut &[u8], len: usize) -> Result<u64, Malformed> {
    // usual, and cheaper: eight bytes are there, of which the upper ones are taken off
    if let Some((word, _)) = from.split_first_chunk::<8>().filter(|_| len < 8) {
        *from = &from[len..];
        return Ok(u64::from_le_bytes(*word) & ((1 << (8 * len)) - 1));
    }
    let (bytes, rest) = from.split_at_checked(len).ok_or(Malformed)?;
    *from = rest;
    let mut word = [0; 8];
    word.get_mut(..len).ok_or(Malformed)?.copy_from_slice(bytes);
    Ok(u64::from_le_bytes(word))
}

impl Layout {
    /// Appends the columns of `set` of the row `words`, in ascending order.
    pub fn encode_columns(&self, set: ColumnSet, words: &[u64], out: &mut Vec<u8>) {
        let row = RowRef::new(self, words);
        for column in set.iter(self.places.len()) {
            let head = |length: usize| (column << 4 | length) as u32;
            if row.is_null(column) {
                varint::push(out, head(NULL));
            } else if let Some(value) = row.integer(column) {
                let length = significant(value);
                varint::push(out, head(length));
                // a copy of known length, of which the end is taken back, is cheaper
                out.extend_from_slice(&value.to_le_bytes());
                out.truncate(out.len() - 8 + length);
            } else {
                let value = if self.places[column].is_tail() { row.tail() } else { row.bytes(column) };
                varint::push(out, head(WHOLE));
                if self.places[column].var {
                    varint::push(out, value.len() as u32);
                }
                out.extend_from_slice(value);
            }
        }
    }

    /// Sets the columns that [`Layout::encode_columns`] wrote, but only those of `groups`, in the row `words`,
    /// which may grow. Returns the groups of the columns that were set.
    ///
    /// # Errors
    /// [`Malformed`]; the row may have changed then.
    pub fn decode_columns(
        &self,
        mut bytes: &[u8],
        groups: GroupSet,
        words: &mut Vec<u64>,
    ) -> Result<GroupSet, Malformed> {
        let mut row = RowMut::new(self, words, 0, ColumnSet::ALL);
        let mut changed = GroupSet::default();
        while !bytes.is_empty() {
            let head = varint::take(&mut bytes).ok_or(Malformed)? as usize;
            let (column, length) = (head >> 4, head & 15);
            let place = *self.places.get(column).ok_or(Malformed)?;
            let wanted = groups.has(usize::from(place.group));
            if wanted {
                changed = changed.with(usize::from(place.group));
            }
            if length == NULL {
                if place.null_mask == 0 {
                    return Err(Malformed);
                }
                if wanted {
                    row.set_null(column);
                }
                continue;
            }
            let integer;
            let value = if place.is_integer() {
                if length > usize::from(place.len) {
                    return Err(Malformed);
                }
                integer = take_word(&mut bytes, length)?.to_le_bytes();
                &integer[..usize::from(place.len)]
            } else {
                if length != WHOLE {
                    return Err(Malformed);
                }
                let len = match place.var {
                    true => varint::take(&mut bytes).ok_or(Malformed)? as usize,
                    false => usize::from(place.len),
                };
                let (value, rest) = bytes.split_at_checked(len).ok_or(Malformed)?;
                bytes = rest;
                value
            };
            if wanted {
                row.set_bytes(column, value);
            }
        }
        Ok(changed)
    }

    /// Appends a whole row, of which these are the words.
    pub fn encode_row(&self, words: &[u64], out: &mut Vec<u8>) {
        let mut at = out.len();
        out.resize(at + words.len().div_ceil(2) * PAIR, 0);
        for pair in words.chunks(2) {
            let place = out[at..].first_chunk_mut::<PAIR>().expect("there is room for every pair");
            let first = significant(pair[0]);
            place[1..9].copy_from_slice(&pair[0].to_le_bytes());
            let second = pair.get(1).map(|&word| {
                place[1 + first..][..8].copy_from_slice(&word.to_le_bytes());
                significant(word)
            });
            place[0] = (first | second.unwrap_or(ODD) << 4) as u8;
            at += 1 + first + second.unwrap_or(0);
        }
        out.truncate(at);
    }

    /// Reads a row that [`Layout::encode_row`] wrote into `words`, which it replaces.
    ///
    /// # Errors
    /// [`Malformed`] unless each column lies within the row.
    pub fn decode_row(&self, mut bytes: &[u8], words: &mut Vec<u64>) -> Result<(), Malformed> {
        words.clear();
        while let Some((&lengths, rest)) = bytes.split_first() {
            bytes = rest;
            let (first, second) = (usize::from(lengths & 15), usize::from(lengths >> 4));
            words.push(take_word(&mut bytes, first)?);
            if second != ODD {
                words.push(take_word(&mut bytes, second)?);
            } else if !bytes.is_empty() {
                return Err(Malformed);
            }
            if words.len() > MAX_ROW_BYTES / 8 {
                return Err(Malformed);
            }
        }
        if words.len() < self.fixed_words() {
            return Err(Malformed);
        }
        let row_bytes = words.len() * 8;
        // the values tile the var area: no holes, no overlaps
        let mut slots: SmallVec<[(usize, usize); 8]> = (self.places.iter())
            .filter(|place| place.has_slot())
            .map(|place| words[place.at as usize / 8])
            .map(|slot| ((slot & 0xFFFF_FFFF) as usize, ((slot >> 32) as usize).next_multiple_of(8)))
            .filter(|&slot| slot != (0, 0)) // empty
            .collect();
        slots.sort_unstable();
        let mut end = self.fixed_words() * 8;
        for (from, len) in slots {
            if from != end || len == 0 || len > row_bytes - end {
                return Err(Malformed);
            }
            end += len;
        }
        if end != row_bytes && !self.has_tail() {
            return Err(Malformed);
        }
        Ok(())
    }
}
