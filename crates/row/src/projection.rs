//! Sets of columns, and what of a row must be read for them.

use crate::layout::GroupSet;
use crate::schema::Schema;

/// A set of columns. Columns from 63 on share one bit: the set then holds all of them or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ColumnSet(u64);

impl ColumnSet {
    const SHARED: usize = 63;
    /// No column.
    pub const EMPTY: Self = Self(0);
    /// Every column.
    pub const ALL: Self = Self(u64::MAX);

    /// Adds a column.
    #[inline]
    pub fn insert(&mut self, column: usize) {
        self.0 |= 1 << column.min(Self::SHARED);
    }

    /// Whether the column is in the set.
    #[inline]
    pub fn has(self, column: usize) -> bool {
        self.0 >> column.min(Self::SHARED) & 1 == 1
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the two sets share a column.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets.
    #[inline]
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The columns below `columns`.
    #[inline]
    pub fn iter(self, columns: usize) -> impl Iterator<Item = usize> {
        // the lone bits first, then those that share the last one
        let mut bits = self.0 & !(1 << Self::SHARED);
        let mut shared = if self.0 >> Self::SHARED == 1 { Self::SHARED } else { usize::MAX };
        std::iter::from_fn(move || {
            let mut column = bits.trailing_zeros() as usize;
            if bits == 0 {
                column = shared;
                shared = shared.saturating_add(1);
            }
            bits &= bits.wrapping_sub(1);
            (column < columns).then_some(column)
        })
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut set = Self::EMPTY;
        columns.into_iter().for_each(|c| set.insert(c));
        set
    }
}

/// A run of words of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first word.
    pub start: u32,
    /// The number of words.
    pub words: u32,
}

/// What a statement reads of a row: made once per statement, used for each row.
#[derive(Clone, Debug)]
pub struct Projection {
    columns: ColumnSet,
    spans: Box<[Span]>,
    var: bool,
    groups: GroupSet,
}

impl Projection {
    /// Reads these columns. One var column brings the whole var area along.
    ///
    /// # Panics
    /// If a column is beyond the schema's last.
    pub fn new(schema: &Schema, columns: impl IntoIterator<Item = usize>) -> Self {
        let mut columns: ColumnSet = columns
            .into_iter()
            .inspect(|&c| assert!(c < schema.columns().len(), "column {c} of {}", schema.columns().len()))
            .collect();
        let places = &schema.layout().places;
        let var = columns.iter(places.len()).any(|c| places[c].var);
        if var {
            // a row with one resized var column has its other slots moved
            (0..places.len()).filter(|&c| places[c].var).for_each(|c| columns.insert(c));
        }
        let mut words = vec![false; schema.layout().fixed_words()];
        let mut groups = GroupSet::default();
        for place in columns.iter(places.len()).map(|c| places[c]) {
            groups = groups.with(usize::from(place.group));
            let (first, end) =
                (place.at as usize / 8, (place.at as usize + usize::from(place.len)).div_ceil(8));
            words[first..end].fill(true);
            if place.null_mask != 0 {
                words[place.null_at as usize / 8] = true;
            }
        }
        let mut spans: Vec<Span> = Vec::new();
        for start in (0..words.len()).filter(|&w| words[w]) {
            match spans.last_mut() {
                Some(last) if (last.start + last.words) as usize == start => last.words += 1,
                _ => spans.push(Span { start: start as u32, words: 1 }),
            }
        }
        Self { columns, spans: spans.into(), var, groups }
    }

    /// Reads the whole row.
    pub fn all(schema: &Schema) -> Self {
        let layout = schema.layout();
        Self {
            columns: ColumnSet::ALL,
            spans: [Span { start: 0, words: layout.fixed_words() as u32 }].into(),
            var: layout.has_var(),
            groups: GroupSet::all(layout.groups()),
        }
    }

    /// Reads no column: only that the row exists.
    pub fn existence() -> Self {
        Self { columns: ColumnSet::EMPTY, spans: [].into(), var: false, groups: GroupSet::FIRST }
    }

    /// Reads no column, but depends on all of them: what a delete needs.
    pub fn existence_in_all_groups(schema: &Schema) -> Self {
        Self { groups: GroupSet::all(schema.layout().groups()), ..Self::existence() }
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> ColumnSet {
        self.columns
    }

    /// The words of the fixed area to read.
    #[inline]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether the var area is read.
    #[inline]
    pub fn var(&self) -> bool {
        self.var
    }

    /// The conflict groups that are read; never empty, for existence is part of each.
    #[inline]
    pub fn groups(&self) -> GroupSet {
        if self.groups.0 == 0 { GroupSet::FIRST } else { self.groups }
    }
}
