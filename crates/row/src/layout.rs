//! Where each column lies in a row.

use crate::projection::ColumnSet;
use crate::schema::Column;
use crate::types::{ColumnType, Storage};
use scaledb_base::limits::MAX_GROUPS;

/// A set of conflict groups, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GroupSet(pub u8);

impl GroupSet {
    /// Only group 0.
    pub const FIRST: Self = Self(1);

    /// All of `n` groups.
    pub fn all(n: usize) -> Self {
        Self(((1u16 << n) - 1) as u8)
    }

    /// Whether `group` is in the set.
    #[inline]
    pub fn has(self, group: usize) -> bool {
        self.0 >> group & 1 == 1
    }

    /// The set with `group`.
    #[inline]
    #[must_use]
    pub fn with(self, group: usize) -> Self {
        Self(self.0 | 1 << group)
    }

    /// The groups, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let group = bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
            (group < 8).then_some(group)
        })
    }
}

/// The place of one column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnLayout {
    /// Byte offset of the value, or of the slot of a var column.
    pub(crate) at: u32,
    /// Bytes of the value; 8 for a slot, 0 for a tail.
    pub(crate) len: u16,
    /// In the var area.
    pub(crate) var: bool,
    pub(crate) group: u8,
    /// Byte offset and mask of the null bit; mask 0 if the column takes no NULL.
    pub(crate) null_at: u32,
    pub(crate) null_mask: u8,
}

impl ColumnLayout {
    /// Whether the value is as long as a machine's integer, whatever its type.
    #[inline]
    pub(crate) fn is_integer(&self) -> bool {
        !self.var && matches!(self.len, 1 | 2 | 4 | 8)
    }

    #[inline]
    pub(crate) fn is_tail(&self) -> bool {
        self.var && self.len == 0
    }

    /// Whether the fixed area has a slot that says where the value is.
    #[inline]
    pub(crate) fn has_slot(&self) -> bool {
        self.var && self.len != 0
    }
}

/// The byte layout of a table's rows.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) places: Box<[ColumnLayout]>,
    fixed_words: usize,
    groups: usize,
    /// Columns of variable length.
    vars: ColumnSet,
    /// The words that are slots, in the order of their columns: checking a row looks at no other column.
    slots: Box<[u32]>,
    has_tail: bool,
}

impl Layout {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let mut places = vec![
            ColumnLayout { at: 0, len: 0, var: false, group: 0, null_at: 0, null_mask: 0 };
            columns.len()
        ];
        let groups = columns.iter().map(|c| usize::from(c.group) + 1).max().unwrap_or(1).min(MAX_GROUPS);
        let mut at = 0usize;
        for group in 0..groups {
            // by alignment, large first; within one, in the order of the schema
            for align in [8usize, 4, 2, 1] {
                for (column, place) in columns.iter().zip(&mut places) {
                    let (len, var) = match column.ty.storage() {
                        Storage::Fixed(len) => (usize::from(len), false),
                        Storage::Var => (8, true),
                        Storage::Tail => (0, true),
                    };
                    let own = [8, 4, 2, 1].into_iter().find(|a| len % a == 0).unwrap_or(1);
                    if usize::from(column.group) == group && own == align {
                        let place_at = if len == 0 { 0 } else { at as u32 };
                        *place =
                            ColumnLayout { at: place_at, len: len as u16, var, group: group as u8, ..*place };
                        at += len;
                    }
                }
            }
            let mut bit = 0;
            for (column, place) in columns.iter().zip(&mut places) {
                if usize::from(column.group) == group && column.nullable {
                    place.null_at = (at + bit / 8) as u32;
                    place.null_mask = 1 << (bit % 8);
                    bit += 1;
                }
            }
            at = (at + bit.div_ceil(8)).next_multiple_of(8);
        }
        let vars = (0..places.len()).filter(|&column| places[column].var).collect();
        let has_tail = columns.iter().any(|column| column.ty == ColumnType::Tail);
        let slots = places.iter().filter(|place| place.has_slot()).map(|place| place.at / 8).collect();
        Self { places: places.into(), fixed_words: at / 8, groups, vars, slots, has_tail }
    }

    /// The offset of the tail: behind the last value of the var area. `slot` reads the slot at an offset.
    #[inline]
    pub(crate) fn tail_at(&self, slot: impl Fn(usize) -> u64) -> usize {
        let slots = self.slots.iter().map(|&word| slot(8 * word as usize));
        let ends = slots.map(|slot| ((slot & 0xFFFF_FFFF) + (slot >> 32).next_multiple_of(8)) as usize);
        ends.fold(self.fixed_words * 8, usize::max)
    }

    /// Whether rows may have words that no slot names.
    #[inline]
    pub(crate) fn has_tail(&self) -> bool {
        self.has_tail
    }

    /// Whether the words can be a row: as many as there must be, with all values of variable length behind the fixed
    /// area and within the row.
    #[inline]
    pub fn fits(&self, words: &[u64]) -> bool {
        let fixed = self.fixed_words;
        if self.vars.is_empty() { words.len() == fixed } else { words.len() >= fixed && self.vars_fit(words) }
    }

    fn vars_fit(&self, words: &[u64]) -> bool {
        let (fixed, end) = (8 * self.fixed_words as u64, 8 * words.len() as u64);
        self.slots.iter().all(|&word| {
            let slot = u64::from_le(words[word as usize]);
            let (from, len) = (slot & 0xFFFF_FFFF, slot >> 32);
            len == 0 || fixed <= from && from.is_multiple_of(8) && from + len <= end
        })
    }

    /// Words of the fixed area: the length of a row whose var columns are all empty.
    #[inline]
    pub fn fixed_words(&self) -> usize {
        self.fixed_words
    }

    /// The number of conflict groups, at least 1.
    #[inline]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Whether rows have a var area.
    #[inline]
    pub fn has_var(&self) -> bool {
        !self.vars.is_empty()
    }

    /// Calls `f` with the words that hold the columns of `set`: values or slots, and null bits. A word may
    /// come several times; the var area does not come.
    #[inline]
    pub fn for_each_word(&self, set: ColumnSet, mut f: impl FnMut(usize)) {
        for column in set.iter(self.places.len()) {
            let place = &self.places[column];
            let at = place.at as usize;
            for word in at / 8..(at + usize::from(place.len)).div_ceil(8) {
                f(word);
            }
            if place.null_mask != 0 {
                f(place.null_at as usize / 8);
            }
        }
    }

    /// The groups of the columns in `set`.
    #[inline]
    pub fn groups_of(&self, set: ColumnSet) -> GroupSet {
        if self.groups == 1 {
            return GroupSet::FIRST;
        }
        set.iter(self.places.len())
            .fold(GroupSet::default(), |g, c| g.with(usize::from(self.places[c].group)))
    }

    /// Whether a column of `set` has variable length.
    #[inline]
    pub fn any_var(&self, set: ColumnSet) -> bool {
        self.vars.overlaps(set)
    }

    /// The conflict group of a column.
    #[inline]
    pub fn group_of(&self, column: usize) -> usize {
        usize::from(self.places[column].group)
    }
}
