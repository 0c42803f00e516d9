//! What was committed, as a list: what recovery may find is a prefix of it.

use scaledb_base::{TableId, Timestamp};
use std::fmt;

/// Keys of the model, in two tables.
pub(crate) const KEYS: usize = 16;

/// Of each key, who wrote its row; zero if there is none.
pub(crate) type Rows = [u64; KEYS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Insert(u8),
    Update(u8),
    Delete(u8),
    Catalog,
}

#[derive(Debug, Clone)]
pub(crate) struct Committed {
    pub(crate) ts: Timestamp,
    pub(crate) changes: Vec<Change>,
}

/// All transactions, in the order of their timestamps, and the rows after each.
#[derive(Clone, Default)]
pub(crate) struct History {
    pub(crate) transactions: Vec<Committed>,
    states: Vec<Rows>,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.transactions.iter().map(|t| t.ts)).finish()
    }
}

impl History {
    pub(crate) fn len(&self) -> usize {
        self.transactions.len()
    }

    /// The rows after so many transactions.
    pub(crate) fn rows(&self, count: usize) -> Rows {
        if count == 0 { [0; KEYS] } else { self.states[count - 1] }
    }

    pub(crate) fn push(&mut self, ts: Timestamp, changes: Vec<Change>) {
        assert!(self.transactions.last().is_none_or(|last| last.ts < ts));
        let mut rows = self.rows(self.len());
        changes.iter().for_each(|change| apply(&mut rows, ts, *change));
        self.transactions.push(Committed { ts, changes });
        self.states.push(rows);
    }

    /// How many transactions come before `ts`.
    pub(crate) fn before(&self, ts: Timestamp) -> usize {
        self.transactions.partition_point(|transaction| transaction.ts < ts)
    }

    /// The first transactions.
    pub(crate) fn prefix(&self, count: usize) -> Self {
        Self { transactions: self.transactions[..count].to_vec(), states: self.states[..count].to_vec() }
    }
}

/// A change is skipped where the row is as new.
pub(crate) fn apply(rows: &mut Rows, ts: Timestamp, change: Change) {
    let (key, value) = match change {
        Change::Insert(key) | Change::Update(key) => (key, ts.raw()),
        Change::Delete(key) => (key, 0),
        Change::Catalog => return,
    };
    let row = &mut rows[usize::from(key)];
    if *row < ts.raw() {
        *row = value;
    }
}

pub(crate) fn table(key: u8) -> TableId {
    TableId(u32::from(key % 2))
}

pub(crate) fn key_bytes(key: u8) -> [u8; 3] {
    [b'k', key, b'!']
}

pub(crate) fn key_of(bytes: &[u8]) -> Option<u8> {
    match *bytes {
        [b'k', key, b'!'] if usize::from(key) < KEYS => Some(key),
        _ => None,
    }
}

/// The bytes of a row, or of what an update changes: who wrote it, and a filling that follows from that.
pub(crate) fn value(ts: Timestamp, key: u8) -> Vec<u8> {
    let mut bytes = ts.raw().to_le_bytes().to_vec();
    let random = ts.raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    // now and then one that needs several pages
    let len = if random.is_multiple_of(61) { 9_000 } else { random as usize / 61 % 150 };
    bytes.resize(8 + len, key);
    bytes
}
