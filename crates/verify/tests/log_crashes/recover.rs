//! Opens a directory, and compares what is found with what was committed.

use crate::history::{Change, History, KEYS, apply, key_bytes, key_of, table, value};
use scaledb_base::Timestamp;
use scaledb_log::{DatabaseDir, LogError, LoggedTransaction, Op, Replay};
use scaledb_sync::Arc;
use scaledb_verify::disk::SimDisk;

pub(crate) const ENGINE: &str = "test";

/// What is wrong with a recovery.
#[derive(Debug)]
#[expect(dead_code, reason = "for the message")]
pub(crate) enum Violation {
    /// The directory could not be opened.
    Refused(LogError),
    /// Something else was found than a prefix of what was committed.
    Wrong(String),
    /// Less was found than was acknowledged.
    Lost { acknowledged: usize, recovered: usize },
}

impl From<LogError> for Violation {
    fn from(error: LogError) -> Self {
        Self::Refused(error)
    }
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Violation> {
    Err(Violation::Wrong(what.into()))
}

/// A directory that was opened and read, and not started yet.
pub(crate) struct Recovered {
    pub(crate) directory: DatabaseDir,
    pub(crate) replay: Replay,
    /// How many transactions of the history were found.
    pub(crate) count: usize,
}

/// Reads all of a directory: it must hold the first transactions of the history, `acknowledged` of them at
/// least, and nothing else.
pub(crate) fn recover(
    disk: &SimDisk,
    history: &History,
    acknowledged: usize,
) -> Result<Recovered, Violation> {
    let directory = DatabaseDir::open(Arc::new(disk.clone()), ENGINE)?;
    let mut rows = [0; KEYS];
    let mut begin = Timestamp::ZERO;
    if let Some(checkpoint) = directory.checkpoint() {
        begin = checkpoint.begin();
        if checkpoint.catalog() != CATALOG {
            return wrong("the catalog of the checkpoint");
        }
        let mut buffer = Vec::new();
        for part in 0..checkpoint.parts() {
            let mut part = checkpoint.part(part)?;
            while let Some(block) = part.next_block(&mut buffer)? {
                for row in block.rows() {
                    let row = row?;
                    let ts = Timestamp::from_raw(row.stamps()[0]);
                    let Some(key) = key_of(row.key) else { return wrong("a key of the checkpoint") };
                    if block.table() != table(key) || row.row != value(ts, key) {
                        return wrong(format!("the row of key {key} in the checkpoint"));
                    }
                    rows[usize::from(key)] = ts.raw();
                }
            }
        }
    }
    let mut replay = directory.replay()?;
    let mut count = history.before(begin);
    while let Some(batch) = replay.next_batch()? {
        for found in batch.transactions() {
            let Some(expected) = history.transactions.get(count) else {
                return wrong(format!("{:?} was never committed, or was cut off", found.ts));
            };
            if found.ts != expected.ts {
                return wrong(format!("{:?} found where {:?} was committed", found.ts, expected.ts));
            }
            same_changes(&found, &expected.changes)?;
            expected.changes.iter().for_each(|change| apply(&mut rows, found.ts, *change));
            count += 1;
        }
    }
    if rows != history.rows(count) {
        return wrong(format!("rows {rows:?} instead of {:?} after {count}", history.rows(count)));
    }
    if count < acknowledged {
        return Err(Violation::Lost { acknowledged, recovered: count });
    }
    if count > 0 && replay.newest() < history.transactions[count - 1].ts {
        return wrong("the clock would step back");
    }
    Ok(Recovered { directory, replay, count })
}

/// What the catalog of each checkpoint says.
pub(crate) const CATALOG: &[u8] = b"{\"tables\":[\"even\",\"odd\"]}";
/// What each change of the catalog says.
pub(crate) const ENTRY: &[u8] = b"an entry";

fn same_changes(found: &LoggedTransaction<'_>, expected: &[Change]) -> Result<(), Violation> {
    let ts = found.ts;
    let mut ops = found.ops();
    for change in expected {
        let Some(op) = ops.next().transpose()? else { return wrong(format!("{ts:?} is not whole")) };
        let same = match (*change, op) {
            (Change::Insert(key), Op::Insert { table: t, key: k, row }) => {
                t == table(key) && k == key_bytes(key) && row == value(ts, key)
            }
            (Change::Update(key), Op::Update { table: t, key: k, columns }) => {
                t == table(key) && k == key_bytes(key) && columns == value(ts, key)
            }
            (Change::Delete(key), Op::Delete { table: t, key: k }) => t == table(key) && k == key_bytes(key),
            (Change::Catalog, Op::Catalog { entry }) => entry == ENTRY,
            _ => false,
        };
        if !same {
            return wrong(format!("{ts:?} has {op:?} instead of {change:?}"));
        }
    }
    match ops.next() {
        None => Ok(()),
        Some(_) => wrong(format!("{ts:?} has more than was committed")),
    }
}
