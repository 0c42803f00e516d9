//! The shared memory of the protocol: records, tables, phantomlet cells, lanes.

use super::rules::{Config, Mutation, PointIndex};
use crate::model::cached::Cached;
use crate::model::history::{History, Row, initial_rows};
use crate::model::program::{KEYS, Key, Program, Ts, TxId, entry_key};
use crate::model::tree::{Generation, Inheritance, Rec, Tree};

/// Number of a table.
pub type TableId = usize;
/// The rows, by primary key.
pub const ROWS: TableId = 0;
/// The entry records of the secondary index, by (secondary key ++ primary key).
pub const ENTRIES: TableId = 1;
/// In the place of the worker: clean-up has the lock. It waits for nobody meanwhile, so that others may wait for it.
pub const CLEANER: usize = usize::MAX;

/// The record word.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word {
    /// When the current version was committed.
    pub ts: Ts,
    /// The worker that holds the lock (the engine's word has only a bit; its owner knows its own locks).
    pub locker: Option<usize>,
    /// No row: a placeholder, or deleted.
    pub absent: bool,
    /// Unlinked for ever; whoever meets it looks the key up again.
    pub obsolete: bool,
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let locked = self
            .locker
            .map_or(String::new(), |worker| format!(" locked by {}", (b'A' + worker as u8) as char));
        let absent = if self.absent { " absent" } else { "" };
        let obsolete = if self.obsolete { " obsolete" } else { "" };
        write!(f, "ts{}{absent}{locked}{obsolete}", self.ts)
    }
}

/// An older version in a record's chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// When it was committed.
    pub ts: Ts,
    /// `None`: the key was absent.
    pub row: Option<Row>,
}

/// A stable record: of a row, or of an index entry.
#[derive(Clone, Hash)]
pub struct Record {
    /// Its table.
    pub table: TableId,
    /// Its key there.
    pub key: Key,
    /// The word.
    pub word: Word,
    /// The current row, updated in place under the lock.
    pub row: Row,
    /// Older versions, oldest first.
    pub chain: Vec<Version>,
}

/// A table: point index and tree.
#[derive(Clone, Hash)]
pub struct Table {
    /// Indexlet or resident hash.
    pub point: Vec<(Key, Rec)>,
    /// The B+ tree.
    pub tree: Tree,
}

impl Table {
    /// Looks into the point index.
    pub fn probe(&self, key: Key) -> Option<Rec> {
        self.point.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
    }
}

/// A phantomlet cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cell {
    /// Items posted and not merged or taken back.
    pub count: u8,
    /// Items ever posted.
    pub seq: u8,
    /// Bit per lane with items here.
    pub owners: u8,
}

/// An unmerged index key in a pending list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Item {
    /// Table of the key.
    pub table: TableId,
    /// The key.
    pub key: Key,
    /// Its record.
    pub rec: Rec,
    /// The cell that counts it.
    pub cell: u8,
    /// The generation of the commit that has posted it.
    pub generation: Generation,
}

/// What a lane deleted and has to clean up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Garbage {
    /// The absent record.
    pub rec: Rec,
    /// The delete's commit_ts.
    pub ts: Ts,
}

/// What a lane announces to clean-up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Active {
    /// A read-write transaction that began at this ts.
    Tx(Ts),
    /// A snapshot at this ts (0 while it is being chosen).
    Snapshot(Ts),
}

/// A worker's lane.
#[derive(Clone, Hash, Default)]
pub struct Lane {
    /// Held by the owner from C3 to C6 or abort, and by whoever merges.
    pub locked: bool,
    /// The pin: the clock.
    pub pin: Option<Ts>,
    /// The owner is between C1 and C6.
    pub in_flight: bool,
    /// The generation that the commit in flight has published.
    pub flight: Option<Generation>,
    /// The running transaction.
    pub active: Option<Active>,
    /// Unmerged items.
    pub pending: Vec<Item>,
    /// Deletes to clean up.
    pub garbage: Vec<Garbage>,
}

impl Lane {
    /// The smallest generation of the items of a table.
    pub fn oldest_item(&self, config: &Config, table: TableId) -> Generation {
        let counts = |item: &&Item| item.table == table && !config.breaks(Mutation::NoGenerationOfLists);
        self.pending.iter().filter(counts).map(|item| item.generation).min().unwrap_or(Generation::MAX)
    }
}

/// All of it.
#[derive(Clone, Hash)]
pub struct Db {
    /// The next timestamp.
    pub clock: Ts,
    /// The latest boundary announced: commits keep the rows from before it that they overwrite.
    pub announced: Ts,
    /// The latest boundary that all commits from it on know of.
    pub confirmed: Ts,
    /// The snapshot horizon: the largest snapshot_ts ever given out or used to clean up; it never goes back.
    pub horizon: Ts,
    /// The split generation G.
    pub generation: Generation,
    /// All records ever made (memory reclamation is not modelled).
    pub records: Cached<Vec<Cached<Record>>>,
    /// Rows and entries.
    pub tables: Vec<Cached<Table>>,
    /// The phantomlet, one array for all tables.
    pub cells: Cached<Vec<Cell>>,
    /// By worker.
    pub lanes: Vec<Cached<Lane>>,
    /// Decided transactions.
    pub history: Cached<History>,
    /// Acknowledged transactions, sorted.
    pub acknowledged: Cached<Vec<TxId>>,
}

impl Db {
    /// The initial rows are in the trees (and the resident hash).
    pub fn new(program: &Program, config: &Config) -> Self {
        let table =
            |first_id| Cached::new(Table { point: vec![], tree: Tree::new(config.leaf_capacity, first_id) });
        let mut db = Db {
            clock: 1,
            announced: 1,
            confirmed: 1,
            horizon: 1,
            generation: 0,
            records: Cached::new(vec![]),
            tables: vec![table(0), table(32)],
            cells: Cached::new(vec![Cell::default(); config.cells as usize]),
            lanes: vec![Cached::new(Lane::default()); program.workers.len()],
            history: Cached::new(History::new(initial_rows(&program.rows))),
            acknowledged: Cached::new(vec![]),
        };
        for &(key, sec) in &program.rows {
            let row = Row { writer: 0, sec, counter: 0 };
            let entry = config.secondary.then(|| (ENTRIES, entry_key(sec, key)));
            for (table, key) in std::iter::once((ROWS, key)).chain(entry) {
                let rec =
                    db.new_record(table, key, Word { ts: 0, locker: None, absent: false, obsolete: false });
                db.records[rec as usize].row = row;
                if matches!(config.point_index, PointIndex::Resident { .. }) {
                    db.tables[table].point.push((key, rec));
                }
                db.tree_insert(config, table, key, rec);
            }
        }
        db
    }

    /// Makes a record.
    pub fn new_record(&mut self, table: TableId, key: Key, word: Word) -> Rec {
        self.records.push(Cached::new(Record { table, key, word, row: Row::default(), chain: vec![] }));
        (self.records.len() - 1) as Rec
    }

    /// Makes a locked, absent record: what an insert claims.
    pub fn new_placeholder(&mut self, table: TableId, key: Key, worker: usize) -> Rec {
        self.new_record(table, key, Word { ts: 0, locker: Some(worker), absent: true, obsolete: false })
    }

    /// A record.
    pub fn record(&self, rec: Rec) -> &Record {
        &self.records[rec as usize]
    }

    /// A record, to be changed.
    pub fn record_mut(&mut self, rec: Rec) -> &mut Record {
        &mut self.records[rec as usize]
    }

    /// The smallest generation of the commits in flight, and of what is on a table's lists.
    pub fn oldest_pin(&self, config: &Config, table: TableId) -> Generation {
        let lanes = || self.lanes.iter();
        let flights = lanes().filter_map(|lane| lane.flight);
        let lists = lanes().map(|lane| lane.oldest_item(config, table));
        flights.chain(lists).min().unwrap_or(Generation::MAX)
    }

    fn inheritance(&self, config: &Config, table: TableId) -> Inheritance {
        Inheritance {
            next: self.generation + 1,
            oldest_pin: self.oldest_pin(config, table),
            on_split: !config.breaks(Mutation::NoInherit),
            on_coalesce: !config.breaks(Mutation::NoInheritOnCoalesce),
        }
    }

    /// Inserts into a tree; a split advances G.
    pub fn tree_insert(&mut self, config: &Config, table: TableId, key: Key, rec: Rec) {
        let inheritance = self.inheritance(config, table);
        if self.tables[table].tree.insert(key, rec, inheritance) {
            self.generation += 1;
        }
    }

    /// Removes from a tree; coalescing advances G.
    pub fn tree_remove(&mut self, config: &Config, table: TableId, key: Key, rec: Rec) {
        let inheritance = self.inheritance(config, table);
        if self.tables[table].tree.remove(key, rec, inheritance) {
            self.generation += 1;
        }
    }

    /// Removes from a point index, if it is there with this record.
    pub fn point_remove(&mut self, table: TableId, key: Key, rec: Rec) {
        if self.tables[table].probe(key) == Some(rec) {
            self.tables[table].point.retain(|entry| entry.0 != key);
        }
    }

    /// Clears a lane's owner bit at a cell if it has no more items there.
    pub fn clear_owner(&mut self, lane: usize, cell: u8) {
        if !self.lanes[lane].pending.iter().any(|item| item.cell == cell) {
            self.cells[cell as usize].owners &= !(1 << lane);
        }
    }

    /// Unpins a lane if it is empty and its owner is not in flight.
    pub fn unpin_if_idle(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        if lane.pending.is_empty() && !lane.in_flight {
            lane.pin = None;
        }
    }

    /// Every key of every table, for checks.
    pub fn all_keys(config: &Config) -> impl Iterator<Item = (TableId, Key)> {
        let entries = if config.secondary { KEYS * KEYS } else { 0 };
        (0..KEYS).map(|key| (ROWS, key)).chain((0..entries).map(|key| (ENTRIES, key)))
    }

    /// One line for traces.
    pub fn show(&self) -> String {
        let record = |rec: Rec| {
            let record = self.record(rec);
            let row = if record.word.absent { String::new() } else { format!("{:?} ", record.row) };
            format!("[r{rec} {row}{:?}]", record.word)
        };
        let point = |table: &Table| -> Vec<String> {
            table.point.iter().map(|&(key, rec)| format!("{key}:{}", record(rec))).collect()
        };
        let tables: Vec<String> = self
            .tables
            .iter()
            .map(|t| format!("point {} tree {}", point(t).join(","), t.tree.show(record)))
            .collect();
        let lanes: Vec<String> =
            self.lanes.iter().map(|l| format!("pin {:?} pending {:?}", l.pin, l.pending)).collect();
        let cells: Vec<String> = self
            .cells
            .iter()
            .enumerate()
            .filter(|(_, c)| c.seq > 0)
            .map(|(i, c)| format!("{i}:{c:?}"))
            .collect();
        format!("{} | {} | {}", tables.join(" | "), lanes.join("; "), cells.join(" "))
    }
}
