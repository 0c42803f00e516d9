//! Tables that are closed to writers, at all nodes, for changes of the schema that read or copy all their rows in many
//! transactions.
//!
//! ```text
//!   w     a row of the catalog: who has closed which tables; empty, nobody
//!
//!   a writer reads it before its first write, at its own replica: a table that is closed is a conflict
//!   a closer writes it: those who have read it before, and have not committed, do not commit
//!            reads it in each of its transactions, and empties it with the last one
//! ```
//!
//! Let C be the transaction that closes a table, and F the one that opens it. Every transaction that writes to the
//! table has read the row, so in the serial order it is before C or behind F. Every transaction of the closer has read
//! it, too, and found it as C left it, so it is behind C and not behind F. No write to the table is between two of
//! them.
//!
//! **When the members change** tables are open: a new view ends all transactions, the closer's, too, and what it has
//! not finished it begins anew. So nobody waits for a node that has failed.
//!
//! **One closer at a time.** Two that each waited for a table of the other would wait for ever.

use super::{Cluster, ClusterShared, ClusterWorker, definitions};
use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::Closure;
use scaledb_scar::Copied;
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A cluster that is made from copies of another's rows begins with open tables.
pub(crate) fn open_all(records: &mut [Copied<Key, Value>]) {
    for record in records.iter_mut().filter(|record| record.key == definitions::closed()) {
        record.now.value = Some(ClosedTables::nobody());
    }
}

/// How often a closer looks whether another one is done.
const LOOK: Duration = Duration::from_millis(10);

/// Tables that are closed, and who has closed them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ClosedTables {
    /// The view in which they are closed.
    pub(super) view: u64,
    /// The closer's node.
    node: u8,
    /// Names it among those that the node has closed in this view.
    number: u64,
    pub(super) tables: Vec<TableId>,
}

impl ClosedTables {
    pub(super) fn has(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    pub(super) fn name(&self) -> Closure {
        Closure(self.number)
    }

    /// The value of the row when no table is closed.
    pub(super) fn nobody() -> Value {
        Value([].into())
    }

    fn to_value(&self) -> Result<Value> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::BadDefinition(error.to_string()))?;
        Ok(Value(bytes.into()))
    }

    pub(super) fn of_value(value: &Value) -> Result<Option<Self>> {
        if value.0.is_empty() {
            return Ok(None);
        }
        let closed = serde_json::from_slice(&value.0);
        closed
            .map(Some)
            .map_err(|error| Error::BadDefinition(format!("the closed tables cannot be read: {error}")))
    }
}

impl ClusterShared {
    /// What the caller of a change has closed at this node.
    pub(super) fn lent(&self, closure: Closure) -> Option<Arc<ClosedTables>> {
        self.lent.lock().clone().filter(|closed| closed.name() == closure)
    }

    /// These are open again.
    pub(super) fn no_more_lent(&self, opened: &ClosedTables) {
        self.lent.lock().take_if(|closed| **closed == *opened);
    }
}

impl Cluster {
    /// Closes tables, when nobody else has closed some; waits for that as long as `go_on` says so. `before` is what the
    /// closer has closed already: these, and others.
    pub(super) fn close(
        &self,
        tables: &[TableId],
        before: Option<&ClosedTables>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Arc<ClosedTables>> {
        let node = self.shared.member.node().0;
        let number = self.shared.serial.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        loop {
            let closed = self.change(|worker| {
                let own = |found: &ClosedTables| found.node == node && found.number == number;
                if worker.closed_by()?.is_some_and(|found| !own(&found) && before != Some(&found)) {
                    return Ok(None);
                }
                let closed = ClosedTables { view: worker.view(), node, number, tables: tables.to_vec() };
                worker.put(definitions::closed(), Some(closed.to_value()?)).map(|()| Some(closed))
            })?;
            if let Some(closed) = closed {
                return Ok(Arc::new(closed));
            }
            while self.look(|worker| Ok(worker.closed_by()?.is_some())) == Some(true) {
                if !go_on() {
                    return Err(Error::Stopped);
                }
                thread::sleep(LOOK);
            }
        }
    }

    /// Opens tables, unless they are open.
    pub(super) fn open(&self, closed: &ClosedTables) {
        let open = |worker: &mut ClusterWorker| match worker.closed_by()? {
            Some(found) if found == *closed => {
                worker.put(definitions::closed(), Some(ClosedTables::nobody()))
            }
            _ => Ok(()),
        };
        // the members may be changing for longer than a change of definitions waits; behind that they are open
        while self.change(open).is_err_and(|error| error.is_conflict()) {}
    }

    /// Whether somebody has closed a table: whoever would write to it is to wait.
    pub(super) fn has_closed(&self, table: TableId) -> bool {
        if !self.shared.met_closed.load(Ordering::Relaxed) {
            return false; // a hint: who writes to a closed table meets a conflict, and asks again
        }
        let closed = self.look(|worker| worker.closed_by()).flatten();
        if closed.is_none() {
            self.shared.met_closed.store(false, Ordering::Relaxed); // a hint
        }
        closed.is_some_and(|closed| closed.has(table))
    }
}
