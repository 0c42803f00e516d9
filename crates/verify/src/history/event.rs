//! What a transaction did, and the answers that it got.

use crate::history::table::{Columns, hash_text, text_of};
use scaledb_base::Timestamp;
use scaledb_engine::TxnKind;

/// A row's columns; those that were not asked for are zero. The text is kept as its digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The column of the secondary index.
    pub a: i32,
    /// The column of the unique index.
    pub u: Option<i32>,
    /// The text's digest.
    pub text: u64,
    /// The mark of the last writer, in the first group.
    pub w: i64,
    /// The mark of the last writer, in the second group.
    pub g: i64,
}

impl Row {
    /// The row with only these columns.
    #[must_use]
    pub fn only(self, columns: Columns) -> Self {
        let has = |c| columns.has(c);
        Self {
            a: if has(Columns::A) { self.a } else { 0 },
            u: if has(Columns::U) { self.u } else { None },
            text: if has(Columns::TEXT) { self.text } else { 0 },
            w: if has(Columns::W) { self.w } else { 0 },
            g: if has(Columns::G) { self.g } else { 0 },
        }
    }
}

/// Columns that an update sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The column of the secondary index.
    pub a: Option<i32>,
    /// The column of the unique index.
    pub u: Option<Option<i32>>,
    /// The number of the text.
    pub text: Option<u64>,
    /// The mark in the first group.
    pub w: Option<i64>,
    /// The mark in the second group.
    pub g: Option<i64>,
}

impl Change {
    /// The columns that are set.
    pub fn columns(&self) -> Columns {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        Columns(
            bit(self.a.is_some(), Columns::A)
                | bit(self.u.is_some(), Columns::U)
                | bit(self.text.is_some(), Columns::TEXT)
                | bit(self.w.is_some(), Columns::W)
                | bit(self.g.is_some(), Columns::G),
        )
    }

    /// The row after the change.
    #[must_use]
    pub fn of(&self, row: Row) -> Row {
        Row {
            a: self.a.unwrap_or(row.a),
            u: self.u.unwrap_or(row.u),
            text: self.text.map_or(row.text, |t| hash_text(&text_of(t))),
            w: self.w.unwrap_or(row.w),
            g: self.g.unwrap_or(row.g),
        }
    }
}

/// The bounds of a scan, each by the value of the leading key column and, in the secondary index, the
/// primary key behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first key.
    pub low: Option<(i32, Option<i32>)>,
    /// The key behind the last.
    pub high: Option<(i32, Option<i32>)>,
}

impl Bounds {
    /// Whether no key lies between.
    pub fn is_empty(&self) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if high <= low)
    }
}

/// A row with its primary key.
pub type Pair = (i32, Row);

/// One operation and its answer.
#[derive(Clone, Debug)]
pub enum Event {
    /// A point read.
    Get {
        /// The table's number.
        table: u8,
        /// The primary key.
        id: i32,
        /// The columns that were asked for.
        columns: Columns,
        /// What was found.
        found: Option<Row>,
    },
    /// A point read through the unique index.
    GetUnique {
        /// The table's number.
        table: u8,
        /// The unique key.
        u: i32,
        /// The columns that were asked for.
        columns: Columns,
        /// What was found.
        found: Option<Pair>,
    },
    /// A scan of a table (0), its secondary index (1) or its unique index (2).
    Scan {
        /// The table's number.
        table: u8,
        /// The index.
        index: u8,
        /// Where.
        bounds: Bounds,
        /// Large keys first.
        backward: bool,
        /// The scan broke off after this many rows.
        limit: u32,
        /// The columns that were asked for.
        columns: Columns,
        /// What was found.
        found: Box<[Pair]>,
    },
    /// An insert; false if the key or the unique key was taken.
    Insert {
        /// The table's number.
        table: u8,
        /// The primary key.
        id: i32,
        /// The row.
        row: Row,
        /// Whether it succeeded.
        done: bool,
    },
    /// An update: what the columns were, or `None` if there was no such row.
    Update {
        /// The table's number.
        table: u8,
        /// The primary key.
        id: i32,
        /// The columns that were asked for.
        columns: Columns,
        /// What was there.
        before: Option<Row>,
        /// What was set.
        change: Change,
        /// False: the unique key was taken.
        done: bool,
    },
    /// A delete.
    Delete {
        /// The table's number.
        table: u8,
        /// The primary key.
        id: i32,
        /// Whether there was such a row.
        done: bool,
    },
    /// A savepoint.
    Savepoint,
    /// Back to the savepoint of this number.
    RollbackTo(usize),
}

impl Event {
    /// Whether it changed something, as far as it is not rolled back.
    pub fn writes(&self) -> bool {
        match self {
            Self::Insert { done, .. } | Self::Delete { done, .. } => *done,
            Self::Update { before, done, .. } => before.is_some() && *done,
            _ => false,
        }
    }
}

/// A committed transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Which worker ran it.
    pub client: usize,
    /// How many it had run before.
    pub number: u64,
    /// What it was allowed to do.
    pub kind: TxnKind,
    /// Real time before it began, in nanoseconds.
    pub begin: u64,
    /// Real time when it asked for the commit.
    pub commit: u64,
    /// Real time when it had committed.
    pub end: u64,
    /// Its place in the serial order, as the engine says.
    pub ts: Timestamp,
    /// What it did.
    pub events: Vec<Event>,
}

impl Transaction {
    /// Whether it sees a snapshot: the state after all commits before its timestamp.
    pub fn is_snapshot(&self) -> bool {
        self.kind.is_snapshot()
    }

    /// Whether it scanned a range that can hold a key.
    pub fn scans(&self) -> bool {
        self.events.iter().any(|e| matches!(e, Event::Scan { bounds, .. } if !bounds.is_empty()))
    }
}
