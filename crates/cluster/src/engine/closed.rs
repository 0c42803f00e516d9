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

use super::definitions::{self, ClosedTables, Entry};
use super::{Cluster, ClusterShared, ClusterWorker};
use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::Closure;
use scaledb_scar::Copied;
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread;
use std::time::Duration;

/// A cluster that is made from copies of another's rows begins with open tables, and none of its closers has built what
/// one of the other's had: views and numbers begin again.
pub(crate) fn open_all(records: &mut [Copied<Key, Value>]) -> Result<()> {
    for record in records.iter_mut().filter(|record| record.key.space == Key::CATALOG) {
        if record.key == definitions::closed() {
            record.now.value = Some(ClosedTables::nobody());
        } else if let Some(value) = &record.now.value
            && definitions::is_entry(&record.key)
            && let Entry::Table(mut stored) = Entry::from_value(value)?
            && !stored.unsettled.is_empty()
        {
            stored.unsettled.iter_mut().for_each(|(_, by)| by.view = 0);
            record.now.value = Some(Entry::Table(stored).to_value()?);
        }
    }
    Ok(())
}

/// How often a closer looks whether another one is done.
const LOOK: Duration = Duration::from_millis(10);

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
        let new = || self.shared.serial.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        let number = before.map_or_else(new, |before| before.number);
        loop {
            let closed = self.change(|worker| {
                let closed = ClosedTables { view: worker.view(), node, number, tables: tables.to_vec() };
                if worker.closed_by()?.is_some_and(|found| !found.is_of(&closed)) {
                    return Ok(None);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::definitions::Stored;
    use scaledb_engine::{IndexDef, TableDef};
    use scaledb_row::{Column, ColumnType, KeyPart, Schema};
    use scaledb_scar::{Epoch, Time, Version};

    #[test]
    fn a_copied_cluster_has_nothing_of_the_closers_of_the_other() {
        let table = TableId(3);
        let closed = ClosedTables { view: 2, node: 0, number: 5, tables: vec![table] };
        let columns = vec![Column::new("a", ColumnType::Int4), Column::new("b", ColumnType::Int4)];
        let def = TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
        let index = IndexDef::new("t_b", vec![KeyPart::asc(1)]);
        let mut stored = Stored::new(table.0, def).with_index(TableId(4), index);
        stored.unsettled.push((TableId(4), closed.clone()));
        let entry = Entry::Table(Box::new(stored)).to_value().unwrap();
        let of_index = Entry::IndexOf(table).to_value().unwrap();
        let record = |key, value| Copied {
            key,
            now: Version { value: Some(value), wts: Time(1), epoch: Epoch(1) },
            rts: Time(1),
            before: None,
            gap: (Time(0), Time(0)),
        };
        let mut records = [
            record(definitions::counter(), definitions::id_to_value(5)),
            record(definitions::entry(table), entry),
            record(definitions::entry(TableId(4)), of_index.clone()),
            record(definitions::closed(), closed.to_value().unwrap()),
        ];
        open_all(&mut records).unwrap();
        let value = |at: usize| records[at].now.value.as_ref().unwrap();
        assert_eq!(*value(0), definitions::id_to_value(5));
        assert_eq!(*value(2), of_index);
        assert_eq!(ClosedTables::of_value(value(3)).unwrap(), None);
        let Entry::Table(mut stored) = Entry::from_value(value(1)).unwrap() else { panic!("a table") };
        // it is still nobody's, and that of no closer to come
        assert_eq!(stored.unsettled.len(), 1);
        assert!(!stored.settle(&closed));
    }
}
