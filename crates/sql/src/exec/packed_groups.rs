//! The first groups of an aggregation, by keys that are a few words: where there are few groups, a row finds its own
//! without a hash and without a look at values.
//!
//! ```text
//! 'A' and 7   ─►   01 00 .. 00 41 │ 00 .. 00 07   ─►   compared with those of at most 16 groups
//! ```

use scaledb_planner::plan::place::Load;
use scaledb_row::{IntegerPlace, Layout, RowRef};

/// Columns of a key at most.
const WIDTH: usize = 4;

/// Groups at most.
const GROUPS: usize = 16;

/// Rows of none of the groups before it is given up, if there is no room for more groups.
const MISSES: usize = 256;

/// A NULL text: no text of [`RowRef::short_bytes`] is that.
const NULL: u64 = u64::MAX;

type Words = [u64; WIDTH];

/// Where a column of a key is.
enum Part {
    Integer(IntegerPlace),
    Bytes(usize),
}

/// Groups by their packed keys.
pub(super) struct PackedGroups {
    parts: Vec<Part>,
    groups: Vec<(Words, usize)>,
    misses: usize,
}

impl PackedGroups {
    /// For keys of these columns, of which some are text; `None` if there are too many.
    pub(super) fn new(layout: &Layout, keys: &[Load], is_text: impl Fn(&Load) -> bool) -> Option<Self> {
        if keys.len() > WIDTH {
            return None;
        }
        let part = |key: &Load| match is_text(key) {
            true => Some(Part::Bytes(key.column)),
            false => layout.integer_place(key.column).map(Part::Integer),
        };
        let parts = keys.iter().map(part).collect::<Option<_>>()?;
        Some(Self { parts, groups: Vec::new(), misses: 0 })
    }

    /// The key of a row; `None` if it does not fit.
    #[inline]
    pub(super) fn pack(&self, row: RowRef<'_>) -> Option<Words> {
        let mut words = [0; WIDTH];
        for (word, part) in words.iter_mut().zip(&self.parts) {
            *word = match part {
                Part::Integer(place) => row.integer_at(*place)? as u64,
                Part::Bytes(column) if row.is_null(*column) => NULL,
                Part::Bytes(column) => row.short_bytes(*column)?,
            };
        }
        Some(words)
    }

    /// The number of the group of a key.
    #[inline]
    pub(super) fn find(&self, key: &Words) -> Option<usize> {
        self.groups.iter().find(|(of, _)| of == key).map(|(_, number)| *number)
    }

    /// Notes the group of a key that was not found; false if there are too many groups for this way.
    pub(super) fn note(&mut self, key: Words, number: usize) -> bool {
        if self.groups.len() < GROUPS {
            self.groups.push((key, number));
            return true;
        }
        self.misses += 1;
        self.misses < MISSES
    }
}
