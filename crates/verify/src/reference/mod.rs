//! The reference engine: the smallest engine there is, and the first to read. It is correct because it is simple: one
//! lock, one transaction at a time, a `BTreeMap` for each index, and a list of what a rollback takes back.
//!
//! ```text
//!   Reference ─┐
//!              ├─► Turns: a transaction, or a change of indexes, waits until the one before has ended
//!   Worker ────┘     Database
//!                      tables    id ─► TableInfo
//!                      indexes   id ─► key ─► number of a row; a table's own id is that of its primary index
//!                      rows      number ─► table, key, words; no number is given twice
//! ```
//!
//! `docs/internals/adding-an-engine.md` says what an engine is; this one is written to that page. Tests compare engines
//! with it (`conformance/oracle.rs`), and workloads are tried on it. It is stricter than an engine has to be: columns
//! that a projection does not name read as garbage, so that a caller who relies on one is found out.

mod database;
mod worker;

pub use worker::ReferenceWorker;

use database::{Database, Index};
use scaledb_base::{Error, Result, TableId, WorkerId, limits};
use scaledb_engine::{Engine, IndexDef, Stats, TableDef, TableInfo, TableStats};
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A database whose transactions run one after the other.
#[derive(Clone, Default)]
pub struct Reference {
    turns: Arc<Turns>,
}

/// The database, and the turn to use it.
#[derive(Default)]
struct Turns {
    database: Mutex<Database>,
    ended: Condvar,
}

impl Turns {
    /// The database while no transaction runs.
    fn wait(&self) -> MutexGuard<'_, Database> {
        let mut database = self.database.lock();
        while database.busy {
            database = self.ended.wait_timeout(database, Duration::from_millis(1));
        }
        database
    }
}

impl Reference {
    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Engine for Reference {
    type Worker = ReferenceWorker;

    fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        def.check_options(self.name(), self.table_options())?;
        let mut database = self.turns.database.lock();
        let table =
            TableInfo::new(database.next_id(1 + def.indexes.len())?, &def, |name| Ok(database.has(name)))?;
        let ids = std::iter::once(table.id).chain(table.indexes.iter().map(|index| index.id));
        let options = std::iter::once(&def.options).chain(def.indexes.iter().map(|index| &index.options));
        for (id, options) in ids.zip(options) {
            database.add_index(id, Index::new(table.id, options));
        }
        Ok(database.set_table(table))
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>> {
        def.options.engine.check(self.name(), self.table_options())?;
        let mut database = self.turns.wait();
        let mut info = TableInfo::clone(database.table(table)?);
        let new = info.new_index(database.next_id(1)?, &def, |name| Ok(database.has(name)))?;
        let mut index = Index::new(table, &def.options);
        for (number, row) in database.rows_of(table) {
            let key = row.entry(&info, &new)?;
            if index.keys.insert(key.clone(), number).is_some() {
                return Err(Error::DuplicateKey { table, key });
            }
        }
        database.add_index(new.id, index);
        info.indexes.push(new);
        Ok(database.set_table(info))
    }

    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>> {
        let mut database = self.turns.wait();
        let table = database.index(index)?.table;
        if table == index {
            return Err(Error::NoSuchTable(index.to_string()));
        }
        let mut info = TableInfo::clone(database.table(table)?);
        info.indexes.retain(|other| other.id != index);
        database.remove_index(index);
        Ok(database.set_table(info))
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.turns.wait().remove_table(table)
    }

    fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        self.tables().into_iter().find(|table| table.name == name)
    }

    fn tables(&self) -> Vec<Arc<TableInfo>> {
        self.turns.database.lock().tables().cloned().collect()
    }

    fn worker(&self) -> Result<ReferenceWorker> {
        let mut database = self.turns.database.lock();
        let free = database.workers.trailing_ones();
        if free as usize >= limits::MAX_WORKERS {
            return Err(Error::TooManyWorkers { limit: limits::MAX_WORKERS });
        }
        database.workers |= 1 << free;
        Ok(ReferenceWorker::new(self.turns.clone(), WorkerId(free as u8)))
    }

    fn stats(&self) -> Stats {
        let database = self.turns.database.lock();
        let tables = database.indexes().map(|(id, name, index)| {
            let entries = index.keys.len() as u64;
            let name = name.to_owned();
            TableStats { id: Some(id), name, entries, tree_entries: entries, ..TableStats::default() }
        });
        let (commits, rollbacks) = (database.commits, database.rollbacks);
        Stats { commits, rollbacks, tables: tables.collect(), ..Stats::default() }
    }

    fn name(&self) -> &'static str {
        "reference"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_engine::{TxnKind, Worker};
    use scaledb_keys::KeyBuf;
    use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, RowMut, Schema};

    fn table(db: &Reference) -> Arc<TableInfo> {
        let columns = ["k", "v", "w"].map(|name| Column::new(name, ColumnType::Int4));
        db.create_table(TableDef::new("t", Schema::new(columns.into(), &[KeyPart::asc(0)]).unwrap())).unwrap()
    }

    fn insert(w: &mut ReferenceWorker, t: &TableInfo, row: [i32; 3]) {
        let row = RowBuf::from_values(&t.schema, &row.map(Into::into)).unwrap();
        w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row).map(drop)).unwrap();
    }

    #[test]
    fn columns_outside_the_projection_are_hidden() {
        let db = Reference::new();
        let (t, mut w, key) = (table(&db), db.worker().unwrap(), KeyBuf::new().i32(1));
        insert(&mut w, &t, [1, 2, 3]);
        w.begin(TxnKind::ReadWrite).unwrap();
        let hidden = w.get(t.id, &key, &Projection::existence(), |_, row| row.i32(1)).unwrap();
        assert_ne!(hidden, Some(2));
        let cols = Projection::new(&t.schema, [1]);
        w.update(t.id, &key, &cols, |row| row.set(&t.schema, 1, 5.into())).unwrap();
        let all = Projection::all(&t.schema);
        let read = w.get(t.id, &key, &all, |_, row| [0, 1, 2].map(|column| row.i32(column))).unwrap();
        assert_eq!(read, Some([1, 5, 3]), "an update writes nothing that was hidden from it");
    }

    #[test]
    fn transactions_run_one_after_another() {
        let db = Reference::new();
        let (t, all) = (table(&db), Projection::all(&table(&Reference::new()).schema));
        insert(&mut db.worker().unwrap(), &t, [1, 0, 0]);
        scaledb_sync::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut w = db.worker().unwrap();
                    let add = |row: &mut RowMut<'_>| row.set(&t.schema, 1, (row.view().i32(1) + 1).into());
                    for _ in 0..100 {
                        w.run(TxnKind::ReadWrite, |w| w.update(t.id, &KeyBuf::new().i32(1), &all, add))
                            .unwrap();
                    }
                });
            }
        });
        let mut w = db.worker().unwrap();
        w.begin(TxnKind::Snapshot).unwrap();
        assert_eq!(w.get(t.id, &KeyBuf::new().i32(1), &all, |_, row| row.i32(1)).unwrap(), Some(300));
    }

    #[test]
    fn numbers_of_workers_are_free_again() {
        let db = Reference::new();
        let all: Vec<_> = (0..limits::MAX_WORKERS).map(|_| db.worker().unwrap()).collect();
        assert!(matches!(db.worker(), Err(Error::TooManyWorkers { .. })));
        drop(all);
        db.worker().unwrap();
    }
}
