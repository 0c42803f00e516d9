//! What committed, and whether a serial execution explains it.

use super::program::{KEYS, Key, Op, Sec, Ts, TxId, tx_name};

/// A row as the checker sees it: who wrote it last, its secondary key, its counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Row {
    /// The transaction that wrote this version.
    pub writer: TxId,
    /// The secondary key.
    pub sec: Sec,
    /// What increments add to.
    pub counter: u8,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/s{}/c{}", tx_name(self.writer), self.sec, self.counter)
    }
}

/// What can be broken, from weak to strong: a history that breaks a stronger one breaks the weaker ones too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Property {
    /// Running the transactions one by one in commit_ts order gives the same answers, and commit_ts order respects
    /// real time.
    TimestampOrder,
    /// Some serial order that respects real time gives the same answers.
    StrictOrder,
    /// Some serial order gives the same answers.
    AnyOrder,
    /// At the end the indexes hold exactly the rows that the serial execution leaves, and nothing is left behind.
    FinalState,
    /// An invariant that the protocol's own steps rely on.
    Invariant,
    /// Some worker can always move.
    Deadlock,
}

/// The answer of a scan.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ScanRecord {
    /// Over the secondary index?
    pub secondary: bool,
    /// First key, or secondary key.
    pub low: Key,
    /// Last one.
    pub high: Key,
    /// Primary keys and rows found, by primary key.
    pub rows: Vec<(Key, Row)>,
}

/// A committed transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TxRecord {
    /// commit_ts, or snapshot_ts.
    pub ts: Ts,
    /// Read-only at a snapshot: sees the commits with a smaller ts, and may lag behind real time.
    pub read_write: bool,
    /// Who.
    pub id: TxId,
    /// Transactions whose commit had been acknowledged before this one began.
    pub after: Vec<TxId>,
    /// Point reads.
    pub reads: Vec<(Key, Option<Row>)>,
    /// Scans.
    pub scans: Vec<ScanRecord>,
    /// Writes.
    pub writes: Vec<Op>,
}

/// The plain map that the serial execution runs on.
pub type Rows = [Option<Row>; KEYS as usize];

/// The rows before the first transaction.
pub fn initial_rows(rows: &[(Key, Sec)]) -> Rows {
    let mut map = Rows::default();
    for &(key, sec) in rows {
        map[key as usize] = Some(Row { writer: 0, sec, counter: 0 });
    }
    map
}

impl TxRecord {
    /// Would the transaction have got these answers on `rows`?
    fn explained_by(&self, rows: &Rows) -> bool {
        let at = |key: Key| rows[key as usize];
        let scan_ok = |scan: &ScanRecord| {
            let selected = (0..KEYS).filter_map(|key| at(key).map(|row| (key, row))).filter(|(key, row)| {
                let by = if scan.secondary { row.sec } else { *key };
                (scan.low..=scan.high).contains(&by)
            });
            selected.eq(scan.rows.iter().copied())
        };
        self.reads.iter().all(|&(key, row)| at(key) == row)
            && self.scans.iter().all(scan_ok)
            && self.writes.iter().all(|op| match *op {
                Op::Insert(key, _) => at(key).is_none(),
                Op::Update(key) | Op::Move(key, _) | Op::Delete(key) | Op::Add(key, _) => at(key).is_some(),
                Op::Read(_) | Op::Scan(..) | Op::ScanSec(..) => true,
            })
    }

    fn apply(&self, rows: &mut Rows) {
        for op in &self.writes {
            let change = |rows: &mut Rows, key: Key, f: &dyn Fn(&mut Row)| {
                if let Some(row) = &mut rows[key as usize] {
                    row.writer = self.id;
                    f(row);
                }
            };
            match *op {
                Op::Insert(key, sec) => rows[key as usize] = Some(Row { writer: self.id, sec, counter: 0 }),
                Op::Update(key) => change(rows, key, &|_| ()),
                Op::Move(key, sec) => change(rows, key, &|row| row.sec = sec),
                Op::Add(key, delta) => change(rows, key, &|row| row.counter += delta),
                Op::Delete(key) => rows[key as usize] = None,
                Op::Read(_) | Op::Scan(..) | Op::ScanSec(..) => {}
            }
        }
    }
}

/// The committed transactions, kept in commit_ts order (a snapshot at S before a commit at S).
#[derive(Clone, Hash, Debug)]
pub struct History {
    initial: Rows,
    committed: Vec<TxRecord>,
}

impl History {
    /// Nothing committed yet.
    pub fn new(initial: Rows) -> Self {
        History { initial, committed: Vec::new() }
    }

    /// Adds a committed transaction.
    pub fn push(&mut self, record: TxRecord) {
        let at = self.committed.partition_point(|other| *other < record);
        self.committed.insert(at, record);
    }

    /// Number of committed transactions.
    pub fn len(&self) -> usize {
        self.committed.len()
    }

    /// Nothing committed?
    pub fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }

    /// The commit_ts of a committed transaction, 0 for the initial load.
    pub fn ts_of(&self, id: TxId) -> Ts {
        self.committed.iter().find(|tx| tx.id == id).map_or(0, |tx| tx.ts)
    }

    /// The rows that the serial execution in commit_ts order leaves.
    pub fn final_rows(&self) -> Rows {
        let mut rows = self.initial;
        self.committed.iter().for_each(|tx| tx.apply(&mut rows));
        rows
    }

    /// The strongest property that this history breaks.
    pub fn check(&self) -> Result<(), (Property, String)> {
        let Err(detail) = self.check_timestamp_order() else { return Ok(()) };
        let order = |strict| self.some_order(0, self.initial, strict);
        let property = match (order(true), order(false)) {
            (true, _) => Property::TimestampOrder,
            (false, true) => Property::StrictOrder,
            (false, false) => Property::AnyOrder,
        };
        Err((property, detail))
    }

    fn check_timestamp_order(&self) -> Result<(), String> {
        let mut rows = self.initial;
        for tx in &self.committed {
            if !tx.explained_by(&rows) {
                return Err(format!(
                    "{} at ts {} got answers that the commits before it do not give",
                    tx_name(tx.id),
                    tx.ts
                ));
            }
            tx.apply(&mut rows);
            let early = self.committed.iter().find(|other| tx.after.contains(&other.id) && other.ts >= tx.ts);
            if let Some(other) = early.filter(|_| tx.read_write) {
                let (one, two) = (tx_name(other.id), tx_name(tx.id));
                return Err(format!("{one} committed before {two} began but has the larger commit_ts"));
            }
        }
        Ok(())
    }

    /// Is there a serial order of the transactions not in the set `used` that explains them from `rows` on?
    fn some_order(&self, used: u32, rows: Rows, strict: bool) -> bool {
        if used.count_ones() as usize == self.committed.len() {
            return true;
        }
        let is_used = |id: TxId| match self.committed.iter().position(|tx| tx.id == id) {
            Some(i) => used & (1 << i) != 0,
            None => true,
        };
        self.committed.iter().enumerate().any(|(i, tx)| {
            let ready = !strict || !tx.read_write || tx.after.iter().all(|&id| is_used(id));
            used & (1 << i) == 0 && ready && tx.explained_by(&rows) && {
                let mut rows = rows;
                tx.apply(&mut rows);
                self.some_order(used | (1 << i), rows, strict)
            }
        })
    }

    /// One line for each transaction.
    pub fn show(&self) -> Vec<String> {
        let show = |tx: &TxRecord| {
            let after: Vec<String> = tx.after.iter().map(|&id| tx_name(id)).collect();
            format!(
                "     {} ts={} reads={:?} scans={:?} writes={:?} began after {:?}",
                tx_name(tx.id),
                tx.ts,
                tx.reads,
                tx.scans.iter().map(|s| &s.rows).collect::<Vec<_>>(),
                tx.writes,
                after
            )
        };
        self.committed.iter().map(show).collect()
    }
}
