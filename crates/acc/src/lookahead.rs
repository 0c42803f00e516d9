//! Asks for the memory of the rows that a scan reads next, so that their cache misses overlap.
//!
//! ```text
//!   a table:     the record of `AHEAD` places ahead
//!   an index:    the entry of twice as many ahead, and the row that the entry of `AHEAD` places ahead names
//! ```
//!
//! All of this is a hint: nothing that is read here is used otherwise.

use crate::record::Record;
use crate::table::AccTable;
use scaledb_row::Projection;

/// How many places.
const AHEAD: usize = 8;

/// The next rows of a scan.
pub(crate) struct Lookahead {
    /// The cache lines of a row that are read.
    lines: u64,
    /// Whether the scan reads the entries of an index.
    through: bool,
}

impl Lookahead {
    /// Of a scan of a table, or through an index of `base`.
    pub(crate) fn new(table: &AccTable, base: Option<&AccTable>, cols: &Projection) -> Self {
        let home = base.unwrap_or(table);
        Self { lines: Record::lines_of_scan(home.schema.layout(), cols), through: base.is_some() }
    }

    /// A place is read next; `record` finds the record of a place, if there is one.
    #[inline]
    pub(crate) fn reach(&self, place: usize, record: impl Fn(usize) -> Option<Record>) {
        if place == 0 {
            (0..AHEAD).filter_map(&record).for_each(|record| self.ask(record));
            if self.through {
                (AHEAD..2 * AHEAD).filter_map(&record).for_each(|record| self.ask(record));
                (0..AHEAD).filter_map(&record).for_each(|entry| self.ask_for_row(entry));
            }
        }
        match self.through {
            false => record(place + AHEAD).into_iter().for_each(|record| self.ask(record)),
            true => {
                record(place + 2 * AHEAD).into_iter().for_each(|record| self.ask(record));
                record(place + AHEAD).into_iter().for_each(|entry| self.ask_for_row(entry));
            }
        }
    }

    #[inline]
    fn ask(&self, record: Record) {
        match self.through {
            true => Record::prefetch(record.raw()),
            false => Record::prefetch_lines(record.raw(), self.lines),
        }
    }

    #[inline]
    fn ask_for_row(&self, entry: Record) {
        // there is nothing to ask for, and a schedule explorer would try all orders of the load
        if cfg!(any(loom, shuttle)) {
            return;
        }
        if let Some(row) = entry.first_word() {
            Record::prefetch_lines(row, self.lines);
        }
    }
}
