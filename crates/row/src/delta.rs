//! Columns of a row as bytes for the redo log, and whole rows that come back from a file.
//!
//! ```text
//! column number << 1 | null   varint
//! length                      varint, for columns of variable length that are not NULL
//! value                       its bytes, unless NULL
//! ```

use crate::edit::RowMut;
use crate::layout::{GroupSet, Layout};
use crate::projection::ColumnSet;
use crate::view::RowRef;
use smallvec::SmallVec;

/// Bytes that are not what the layout asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<usize, Malformed> {
    let mut value = 0usize;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

impl Layout {
    /// Appends the columns of `set` of the row `words`, in ascending order.
    pub fn encode_columns(&self, set: ColumnSet, words: &[u64], out: &mut Vec<u8>) {
        let row = RowRef::new(self, words);
        for column in set.iter(self.places.len()) {
            if row.is_null(column) {
                push_varint(out, column << 1 | 1);
                continue;
            }
            push_varint(out, column << 1);
            let value = row.bytes(column);
            if self.places[column].var {
                push_varint(out, value.len());
            }
            out.extend_from_slice(value);
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
            let head = take_varint(&mut bytes)?;
            let (column, null) = (head >> 1, head & 1 == 1);
            let place = *self.places.get(column).ok_or(Malformed)?;
            let wanted = groups.has(usize::from(place.group));
            if wanted {
                changed = changed.with(usize::from(place.group));
            }
            if null {
                if place.null_mask == 0 {
                    return Err(Malformed);
                }
                if wanted {
                    row.set_null(column);
                }
                continue;
            }
            let len = if place.var { take_varint(&mut bytes)? } else { usize::from(place.len) };
            let (value, rest) = bytes.split_at_checked(len).ok_or(Malformed)?;
            bytes = rest;
            if wanted {
                row.set_bytes(column, value);
            }
        }
        Ok(changed)
    }

    /// Appends a whole row: its words, in little-endian order.
    pub fn encode_row(&self, words: &[u64], out: &mut Vec<u8>) {
        if cfg!(target_endian = "little") {
            out.extend_from_slice(bytemuck::cast_slice(words));
        } else {
            words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        }
    }

    /// Reads a row that [`Layout::encode_row`] wrote into `words`, which it replaces.
    ///
    /// # Errors
    /// [`Malformed`] unless each column lies within the row.
    pub fn decode_row(&self, bytes: &[u8], words: &mut Vec<u64>) -> Result<(), Malformed> {
        let (chunks, rest) = bytes.as_chunks::<8>();
        words.clear();
        words.extend(chunks.iter().map(|word| u64::from_le_bytes(*word)));
        if !rest.is_empty() || words.len() < self.fixed_words() {
            return Err(Malformed);
        }
        // the values tile the var area: no holes, no overlaps
        let mut slots: SmallVec<[(usize, usize); 8]> = (self.places.iter())
            .filter(|place| place.var)
            .map(|place| words[place.at as usize / 8])
            .map(|slot| ((slot & 0xFFFF_FFFF) as usize, ((slot >> 32) as usize).next_multiple_of(8)))
            .filter(|&slot| slot != (0, 0)) // empty
            .collect();
        slots.sort_unstable();
        let mut end = self.fixed_words() * 8;
        for (from, len) in slots {
            if from != end || len == 0 || len > bytes.len() - end {
                return Err(Malformed);
            }
            end += len;
        }
        if end != bytes.len() {
            return Err(Malformed);
        }
        Ok(())
    }
}
