//! What the workers of a case do.

/// A primary key, or an index key of an entry table.
pub type Key = u8;
/// A secondary key.
pub type Sec = u8;
/// A commit timestamp.
pub type Ts = u8;
/// Identifies a transaction: 0 is the initial load, else 16 * worker + action + 1.
pub type TxId = u8;

/// Primary keys are below this number.
pub const KEYS: u8 = 8;

/// The key of the entry record for a row: (secondary key ++ primary key).
pub fn entry_key(sec: Sec, key: Key) -> Key {
    sec * KEYS + key
}

/// The id of the transaction that is `worker`'s action number `action`.
pub fn tx_id(worker: usize, action: usize) -> TxId {
    (worker * 16 + action + 1) as TxId
}

/// How traces name a transaction.
pub fn tx_name(id: TxId) -> String {
    match id.checked_sub(1) {
        None => "load".to_string(),
        Some(n) => format!("{}{}", (b'A' + n / 16) as char, n % 16),
    }
}

/// One operation of a transaction. Writes take effect at commit; no transaction writes a key twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Op {
    /// Point read.
    Read(Key),
    /// Scan of the primary index, both ends included.
    Scan(Key, Key),
    /// Scan of the secondary index over secondary keys, both ends included.
    ScanSec(Sec, Sec),
    /// Insert of a row with this secondary key.
    Insert(Key, Sec),
    /// Update of a row (reads it) that keeps its secondary key.
    Update(Key),
    /// Update that changes the secondary key (reads the row).
    Move(Key, Sec),
    /// Delete (reads the row).
    Delete(Key),
    /// Blind commutative increment of the row's counter.
    Add(Key, u8),
}

/// One action of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A read-write transaction.
    Tx(Vec<Op>),
    /// A read-only transaction at a snapshot.
    Snapshot(Vec<Op>),
    /// Merge the own lane.
    Merge,
    /// Merge another worker's lane.
    Help(usize),
    /// Try once to clean up what the own lane deleted.
    Cleanup,
}

/// A whole case: the initial rows and the actions of each worker.
#[derive(Clone, Debug)]
pub struct Program {
    /// (primary key, secondary key) of the rows that are in the tree at the start.
    pub rows: Vec<(Key, Sec)>,
    /// Actions by worker.
    pub workers: Vec<Vec<Action>>,
}

impl Program {
    /// Whether a worker takes a snapshot.
    pub fn has_snapshots(&self) -> bool {
        self.workers.iter().flatten().any(|action| matches!(action, Action::Snapshot(_)))
    }
}
