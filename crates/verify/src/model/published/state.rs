//! The shared memory of the published protocol.

use crate::model::cached::Cached;
use crate::model::history::{History, Row, initial_rows};
use crate::model::program::{KEYS, Key, Program, Ts, TxId, entry_key};
use crate::model::tree::{Inheritance, Rec, Tree};

/// The splits of the published tree pass nothing on.
pub(super) const NO_INHERITANCE: Inheritance =
    Inheritance { next: 0, oldest_pin: u8::MAX, on_split: false, on_coalesce: false };

/// A committed version of a row: `None` if deleted.
pub(super) type Version = Option<Row>;

/// An indexlet entry: locks live here, and the newest version of keys not merged yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entry {
    /// The worker that holds the lock.
    pub locker: Option<usize>,
    /// The newest version; `None` while the entry is only a locked claim.
    pub version: Option<Version>,
}

/// A phantom indicator: a leaf of one of the trees (by id, which is unique over both) at a version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Indicator {
    /// Leaf id.
    pub leaf: u8,
    /// Leaf version.
    pub version: u8,
}

/// An indicator's state in the phantomlet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Count {
    /// Unmerged inserts.
    pub count: u8,
    /// The worker that holds the lock.
    pub locker: Option<usize>,
}

/// What a worker has to merge.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Pending {
    /// Primary keys.
    pub keys: Vec<Key>,
    /// Own indicators, by tree.
    pub indicators: Vec<(bool, Indicator)>,
}

/// All of it.
#[derive(Clone, Hash)]
pub struct Db {
    /// The next timestamp.
    pub clock: Ts,
    /// Rows that trees lead to.
    pub rows: Cached<Vec<Row>>,
    /// Primary and secondary tree.
    pub trees: [Cached<Tree>; 2],
    /// By primary key.
    pub indexlet: Cached<[Option<Entry>; KEYS as usize]>,
    /// In order.
    pub phantomlet: Cached<Vec<(Indicator, Count)>>,
    /// By worker.
    pub pending: Cached<Vec<Pending>>,
    /// Decided transactions.
    pub history: Cached<History>,
    /// Acknowledged transactions, sorted.
    pub acknowledged: Cached<Vec<TxId>>,
}

impl Db {
    /// The initial rows are in the trees.
    pub fn new(program: &Program, capacity: usize, secondary: bool) -> Self {
        let mut db = Db {
            clock: 1,
            rows: Cached::new(vec![]),
            trees: [0, 32].map(|first_id| Cached::new(Tree::new(capacity, first_id))),
            indexlet: Cached::new([None; KEYS as usize]),
            phantomlet: Cached::new(vec![]),
            pending: Cached::new(vec![Pending::default(); program.workers.len()]),
            history: Cached::new(History::new(initial_rows(&program.rows))),
            acknowledged: Cached::new(vec![]),
        };
        for &(key, sec) in &program.rows {
            let row = Row { writer: 0, sec, counter: 0 };
            db.put(false, key, row);
            if secondary {
                db.put(true, entry_key(sec, key), row);
            }
        }
        db
    }

    /// A tree's row for a key.
    pub fn tree_row(&self, secondary: bool, key: Key) -> Option<Row> {
        self.trees[usize::from(secondary)].get(key).map(|rec| self.rows[rec as usize])
    }

    /// Inserts into a tree, or replaces there without touching the leaf version.
    pub fn put(&mut self, secondary: bool, key: Key, row: Row) {
        let tree = &mut self.trees[usize::from(secondary)];
        match tree.get(key) {
            Some(rec) => self.rows[rec as usize] = row,
            None => {
                self.rows.push(row);
                let split = tree.insert(key, (self.rows.len() - 1) as Rec, NO_INHERITANCE);
                let _ = split;
            }
        }
    }

    /// Removes from a tree.
    pub fn remove(&mut self, secondary: bool, key: Key) {
        let tree = &mut self.trees[usize::from(secondary)];
        if let Some(rec) = tree.get(key) {
            let coalesced = tree.remove(key, rec, NO_INHERITANCE);
            let _ = coalesced;
        }
    }

    /// The indicator under which an insert of `key` is announced now.
    pub fn indicator(&self, secondary: bool, key: Key, by_version: bool) -> Indicator {
        let leaf = self.trees[usize::from(secondary)].leaf(key).0;
        Indicator { leaf: leaf.id, version: if by_version { leaf.version } else { 0 } }
    }

    /// An indicator's state.
    pub fn count(&self, indicator: Indicator) -> Count {
        self.phantomlet.iter().find(|entry| entry.0 == indicator).map(|entry| entry.1).unwrap_or_default()
    }

    /// Changes an indicator's state; one that is zero and unlocked is dropped.
    pub fn set_count(&mut self, indicator: Indicator, change: impl Fn(&mut Count)) {
        let mut now = self.count(indicator);
        change(&mut now);
        self.phantomlet.retain(|entry| entry.0 != indicator);
        if now != Count::default() {
            self.phantomlet.push((indicator, now));
            self.phantomlet.sort_unstable_by_key(|entry| entry.0);
        }
    }

    /// One line for traces.
    pub fn show(&self) -> String {
        let row = |rec: Rec| format!("{:?}", self.rows[rec as usize]);
        let entries =
            self.indexlet.iter().enumerate().filter_map(|(key, e)| e.map(|e| format!("{key}:{e:?}")));
        let trees: Vec<String> = self.trees.iter().map(|tree| tree.show(row)).collect();
        format!("{} | {} | {:?}", entries.collect::<Vec<_>>().join(", "), trees.join(" | "), *self.phantomlet)
    }
}
