//! An engine that is correct because it is simple: ordered maps, an undo log, and one transaction at a
//! time. The oracle of tests, and a place to run workloads before (and beside) the real engines.
//!
//! It is stricter than an engine has to be: columns that a projection did not name read as garbage, so
//! that a caller who relies on one is found out.

use scaledb_base::{Error, Result, TableId, Timestamp, WorkerId, limits};
use scaledb_engine::{
    Access, Engine, IndexDef, IndexInfo, Order, Range, ReadMark, RowId, Savepoint, Stats, TableDef,
    TableInfo, TableStats, TxnKind, Worker,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{ColumnSet, KeySpec, Projection, RowBuf, RowMut, RowRef, Schema};
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// What a column reads as that was not asked for.
const GARBAGE: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// A serial database: a transaction waits at its begin until the one before it has ended.
#[derive(Clone, Default)]
pub struct Reference {
    shared: Arc<ReferenceShared>,
}

#[derive(Default)]
struct ReferenceShared {
    state: Mutex<ReferenceState>,
    idle: Condvar,
}

#[derive(Default)]
struct ReferenceState {
    /// Whether a transaction runs.
    busy: bool,
    /// Transactions that have begun.
    begun: u64,
    workers: u8,
    ticks: u64,
    tables: Vec<Slot>,
    /// All rows that ever were; a [`RowId`] names an index.
    rows: Vec<Row>,
    stats: Stats,
}

/// A table or an index.
struct Slot {
    info: Arc<TableInfo>,
    /// The name of the index; `None` for the table itself.
    index: Option<String>,
    /// Whether it may be scanned.
    ordered: bool,
    keys: BTreeMap<Box<[u8]>, usize>,
}

struct Row {
    table: TableId,
    key: Box<[u8]>,
    live: bool,
    /// A rollback has undone the insert: its name means nothing any more.
    undone: bool,
    words: Vec<u64>,
}

/// How to take a write back.
enum Undo {
    Insert(usize),
    Update(usize, Vec<u64>),
    Delete(usize),
}

/// A worker of [`Reference`].
pub struct ReferenceWorker {
    shared: Arc<ReferenceShared>,
    id: WorkerId,
    txn: Option<TxnKind>,
    /// The number of the latest transaction.
    number: u64,
    undo: Vec<Undo>,
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
        let mut state = self.shared.state.lock();
        if state.tables.iter().any(|t| t.info.name == def.name) {
            return Err(Error::TableExists(def.name));
        }
        let first = state.tables.len() as u32;
        let indexes = def.indexes.iter().enumerate().map(|(i, index)| {
            let key = def.schema.key(&index.key)?;
            Ok(IndexInfo {
                id: TableId(first + 1 + i as u32),
                name: index.name.clone(),
                key,
                unique: index.unique,
            })
        });
        let indexes = indexes.collect::<Result<Vec<_>>>()?;
        if first as usize + 1 + indexes.len() > limits::MAX_TABLES {
            return Err(Error::TooManyTables { limit: limits::MAX_TABLES });
        }
        let mut ordered = vec![def.options.access != Access::HashOnly];
        ordered.extend(def.indexes.iter().map(|index| index.options.access != Access::HashOnly));
        let info = Arc::new(TableInfo { id: TableId(first), name: def.name, schema: def.schema, indexes });
        let slots = std::iter::once(None).chain(info.indexes.iter().map(|index| Some(index.name.clone())));
        let slots = slots.zip(ordered);
        let slots =
            slots.map(|(index, ordered)| Slot { info: info.clone(), index, ordered, keys: BTreeMap::new() });
        state.tables.extend(slots);
        Ok(info)
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<Arc<TableInfo>> {
        let mut state = self.shared.state.lock();
        let mut info = (*state.table(table)?).clone();
        if state.tables.iter().any(|t| t.info.name == def.name || t.info.index(&def.name).is_some()) {
            return Err(Error::TableExists(def.name));
        }
        let (id, key) = (TableId(state.tables.len() as u32), info.schema.key(&def.key)?);
        let mut keys = BTreeMap::new();
        for (number, row) in state.rows.iter().enumerate().filter(|(_, row)| row.live && row.table == table) {
            let words = RowRef::new(info.schema.layout(), &row.words);
            let key = index_key(&info.schema, &key, def.unique, &row.key, words);
            if keys.insert(key.clone(), number).is_some() {
                return Err(Error::DuplicateKey { table, key });
            }
        }
        info.indexes.push(IndexInfo { id, name: def.name.clone(), key, unique: def.unique });
        let info = state.replace(info);
        let ordered = def.options.access != Access::HashOnly;
        state.tables.push(Slot { info: info.clone(), index: Some(def.name), ordered, keys });
        Ok(info)
    }

    fn drop_index(&self, index: TableId) -> Result<Arc<TableInfo>> {
        let mut state = self.shared.state.lock();
        let none = || Error::NoSuchTable(index.to_string());
        let slot = state.tables.get(index.index()).ok_or_else(none)?;
        let mut info = (*slot.info).clone();
        let before = info.indexes.len();
        info.indexes.retain(|other| other.id != index);
        if info.indexes.len() == before {
            return Err(none());
        }
        state.tables[index.index()].keys.clear();
        Ok(state.replace(info))
    }

    fn table(&self, name: &str) -> Option<Arc<TableInfo>> {
        let state = self.shared.state.lock();
        state.tables.iter().find(|t| t.index.is_none() && t.info.name == name).map(|t| t.info.clone())
    }

    fn tables(&self) -> Vec<Arc<TableInfo>> {
        let state = self.shared.state.lock();
        state.tables.iter().filter(|slot| slot.index.is_none()).map(|slot| slot.info.clone()).collect()
    }

    fn worker(&self) -> Result<ReferenceWorker> {
        let mut state = self.shared.state.lock();
        if usize::from(state.workers) == limits::MAX_WORKERS {
            return Err(Error::TooManyWorkers { limit: limits::MAX_WORKERS });
        }
        let id = WorkerId(state.workers);
        state.workers += 1;
        Ok(ReferenceWorker { shared: self.shared.clone(), id, txn: None, number: 0, undo: Vec::new() })
    }

    fn stats(&self) -> Stats {
        let state = self.shared.state.lock();
        let tables = state.tables.iter().enumerate().map(|(i, slot)| TableStats {
            id: Some(TableId(i as u32)),
            name: slot.index.as_ref().unwrap_or(&slot.info.name).clone(),
            entries: slot.keys.len() as u64,
            tree_entries: slot.keys.len() as u64,
            ..TableStats::default()
        });
        Stats { tables: tables.collect(), ..state.stats.clone() }
    }

    fn name(&self) -> &'static str {
        "reference"
    }
}

impl ReferenceState {
    fn info(&self, table: TableId) -> Arc<TableInfo> {
        self.tables[table.index()].info.clone()
    }

    fn table(&self, table: TableId) -> Result<Arc<TableInfo>> {
        let slot = self.tables.get(table.index()).filter(|slot| slot.index.is_none());
        slot.map(|slot| slot.info.clone()).ok_or_else(|| Error::NoSuchTable(table.to_string()))
    }

    /// A table or an index that is there.
    fn slot(&self, id: TableId) -> Result<&Slot> {
        let there = |slot: &&Slot| slot.index.as_ref().is_none_or(|name| slot.info.index(name).is_some());
        self.tables.get(id.index()).filter(there).ok_or_else(|| Error::NoSuchTable(id.to_string()))
    }

    /// A table has other indexes.
    fn replace(&mut self, info: TableInfo) -> Arc<TableInfo> {
        let info = Arc::new(info);
        for slot in self.tables.iter_mut().filter(|slot| slot.info.id == info.id) {
            slot.info = info.clone();
        }
        info
    }

    /// The key of a row's entry in each index of its table.
    fn index_keys(info: &TableInfo, primary: &[u8], words: &[u64]) -> Vec<(TableId, Box<[u8]>)> {
        let row = RowRef::new(info.schema.layout(), words);
        let entry =
            |index: &IndexInfo| (index.id, index_key(&info.schema, &index.key, index.unique, primary, row));
        info.indexes.iter().map(entry).collect()
    }

    /// Enters a row in its indexes, or in none of them.
    fn link(&mut self, row: usize) -> Result<()> {
        let Row { table, key, words, .. } = &self.rows[row];
        let mut keys = Self::index_keys(&self.info(*table), key, words);
        keys.push((*table, key.clone()));
        for (table, key) in &keys {
            if self.tables[table.index()].keys.contains_key(key) {
                return Err(Error::DuplicateKey { table: *table, key: key.clone() });
            }
        }
        for (table, key) in keys {
            self.tables[table.index()].keys.insert(key, row);
        }
        self.rows[row].live = true;
        Ok(())
    }

    fn unlink(&mut self, row: usize) {
        let Row { table, key, words, .. } = &self.rows[row];
        let mut keys = Self::index_keys(&self.info(*table), key, words);
        keys.push((*table, key.clone()));
        for (table, key) in keys {
            self.tables[table.index()].keys.remove(&key);
        }
        self.rows[row].live = false;
    }

    fn take_back(&mut self, undo: Undo) {
        match undo {
            Undo::Insert(row) => {
                self.unlink(row);
                self.rows[row].undone = true;
            }
            Undo::Delete(row) => self.link(row).expect("the row was there before"),
            Undo::Update(row, words) => {
                self.unlink(row);
                self.rows[row].words = words;
                self.link(row).expect("the row was there before");
            }
        }
    }
}

fn index_key(schema: &Schema, spec: &KeySpec, unique: bool, primary: &[u8], row: RowRef<'_>) -> Box<[u8]> {
    let mut key = KeyBuf::new();
    let has_null = spec.encode(schema, row, &mut key);
    if !unique || has_null {
        key.push_encoded(primary);
    }
    (*key).into()
}

/// A copy of a row in which only the columns of `cols` hold what they should.
fn image(schema: &Schema, words: &[u64], cols: &Projection) -> Vec<u64> {
    let fixed = schema.layout().fixed_words();
    // beyond 63 columns a column set is not exact: nothing is hidden then
    if schema.columns().len() > 63 {
        return words.to_vec();
    }
    let mut image = vec![GARBAGE; fixed];
    for span in cols.spans() {
        let words_of = span.start as usize..(span.start + span.words) as usize;
        image[words_of.clone()].copy_from_slice(&words[words_of]);
    }
    if cols.var() {
        image.extend_from_slice(&words[fixed..]);
    }
    image
}

impl ReferenceWorker {
    fn state(&self) -> Result<MutexGuard<'_, ReferenceState>> {
        if self.txn.is_none() {
            return Err(Error::TransactionEnded);
        }
        Ok(self.shared.state.lock())
    }

    fn state_for_write(&self) -> Result<MutexGuard<'_, ReferenceState>> {
        match self.txn {
            Some(TxnKind::ReadWrite) | None => self.state(),
            Some(_) => Err(Error::ReadOnlyTransaction),
        }
    }

    fn find(&self, table: TableId, key: &[u8]) -> Result<Option<usize>> {
        Ok(self.state()?.slot(table)?.keys.get(key).copied())
    }

    fn name(&self, row: usize, table: TableId) -> RowId {
        // SAFETY: the number is an index, which every use checks against the rows that there are.
        unsafe { RowId::new(row as u64, self.number, table) }
    }

    /// The number of a row that this transaction has found.
    fn number(&self, row: RowId, table: TableId) -> Result<usize> {
        let number = row.check(self.number, table)? as usize;
        if self.state()?.rows[number].undone { Err(Error::StaleRow) } else { Ok(number) }
    }

    fn end(&mut self) {
        self.txn = None;
        self.undo.clear();
        self.shared.state.lock().busy = false;
        self.shared.idle.notify_all();
    }
}

impl Worker for ReferenceWorker {
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.rollback();
        let mut state = self.shared.state.lock();
        while state.busy {
            state = self.shared.idle.wait_timeout(state, Duration::from_millis(1));
        }
        state.busy = true;
        state.begun += 1;
        self.number = state.begun;
        self.txn = Some(kind);
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        self.txn.is_some()
    }

    fn get<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let Some(row) = self.find(table, key)? else { return Ok(None) };
        let (info, words) = {
            let state = self.state()?;
            let info = state.info(table);
            let words = image(&info.schema, &state.rows[row].words, cols);
            (info, words)
        };
        Ok(Some(f(self.name(row, info.id), RowRef::new(info.schema.layout(), &words))))
    }

    fn prefetch<'k>(&mut self, _: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {}

    fn scan(
        &mut self,
        index: TableId,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let state = self.state()?;
        if range.end.is_some_and(|end| end <= range.start) {
            return Ok(());
        }
        let slot = state.slot(index)?;
        if !slot.ordered {
            return Err(Error::NotOrdered(index));
        }
        let schema = &slot.info.schema;
        let end = range.end.map_or(Bound::Unbounded, Bound::Excluded);
        let keys = slot.keys.range::<[u8], _>((Bound::Included(range.start), end));
        let mut hand_out = |key: &[u8], row: usize| {
            let words = image(schema, &state.rows[row].words, cols);
            f(self.name(row, slot.info.id), key, RowRef::new(schema.layout(), &words)).is_break()
        };
        match order {
            Order::Forward => _ = keys.into_iter().find(|&(key, &row)| hand_out(key, row)),
            Order::Backward => _ = keys.rev().find(|&(key, &row)| hand_out(key, row)),
        }
        Ok(())
    }

    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId> {
        let mut state = self.state_for_write()?;
        let info = state.info(table);
        if info.id != table {
            return Err(Error::BadDefinition("rows are inserted in tables, not in indexes".into()));
        }
        let words = row.words().to_vec();
        if words.len() * 8 > limits::MAX_ROW_BYTES {
            return Err(Error::RowTooLarge { got: words.len() * 8, limit: limits::MAX_ROW_BYTES });
        }
        let number = state.rows.len();
        let mut key = KeyBuf::new();
        if info.schema.primary_key().columns().is_empty() {
            key = key.u64(number as u64);
        } else {
            info.schema.primary_key().encode(&info.schema, row.view(&info.schema), &mut key);
        }
        if key.len() > limits::MAX_KEY_BYTES {
            return Err(Error::KeyTooLarge { got: key.len(), limit: limits::MAX_KEY_BYTES });
        }
        state.rows.push(Row { table, key: (*key).into(), live: false, undone: false, words });
        if let Err(error) = state.link(number) {
            state.rows.pop();
            return Err(error);
        }
        drop(state);
        self.undo.push(Undo::Insert(number));
        Ok(self.name(number, table))
    }

    fn update<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        match self.find(table, key)? {
            Some(row) => self.update_at(table, self.name(row, table), cols, f),
            None => Ok(None),
        }
    }

    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let number = self.number(row, table)?;
        let mut state = self.state_for_write()?;
        let info = state.info(table);
        if !state.rows[number].live {
            return Ok(None);
        }
        let old = state.rows[number].words.clone();
        let mut words = image(&info.schema, &old, cols);
        let mut edit = RowMut::new(info.schema.layout(), &mut words, 0, cols.columns());
        let result = f(&mut edit)?;
        let dirty = edit.dirty();
        if dirty.overlaps(info.schema.primary_key().columns()) {
            let columns = info.schema.columns();
            let mut key = info.schema.primary_key().parts().iter().map(|part| part.column);
            let named = key.find(|&column| dirty.has(column)).map_or("", |column| &columns[column].name);
            return Err(Error::KeyUpdate(named.to_owned()));
        }
        let image = edit.view();
        let mut new = old.clone();
        let mut target = RowMut::new(info.schema.layout(), &mut new, 0, ColumnSet::ALL);
        for column in dirty.iter(info.schema.columns().len()) {
            target.set(&info.schema, column, image.get(&info.schema, column))?;
        }
        state.unlink(number);
        state.rows[number].words = new;
        if let Err(error) = state.link(number) {
            state.rows[number].words = old;
            state.link(number).expect("the row was there before");
            return Err(error);
        }
        drop(state);
        self.undo.push(Undo::Update(number, old));
        Ok(Some(result))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        drop(self.state_for_write()?);
        match self.find(table, key)? {
            Some(row) => self.delete_at(table, self.name(row, table)),
            None => Ok(false),
        }
    }

    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool> {
        let number = self.number(row, table)?;
        let mut state = self.state_for_write()?;
        if !state.rows[number].live {
            return Ok(false);
        }
        state.unlink(number);
        drop(state);
        self.undo.push(Undo::Delete(number));
        Ok(true)
    }

    fn check_so_far(&mut self) -> Result<()> {
        self.state().map(drop)
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let number = self.number(row, table)?;
        let (info, words) = {
            let state = self.state()?;
            let info = state.info(table);
            if !state.rows[number].live {
                return Ok(None);
            }
            let words = image(&info.schema, &state.rows[number].words, cols);
            (info, words)
        };
        Ok(Some(f(RowRef::new(info.schema.layout(), &words))))
    }

    // one transaction runs at a time: what it reads stays as it is
    fn read_mark(&mut self) -> ReadMark {
        ReadMark::default()
    }

    fn forget_reads(&mut self, _: ReadMark) {}

    fn refresh(&mut self, _: ReadMark) -> Result<bool> {
        self.state().map(|_| true)
    }

    fn savepoint(&mut self) -> Result<Savepoint> {
        drop(self.state()?);
        Ok(Savepoint(self.undo.len() as u64))
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let mut state = self.state()?;
        if savepoint.0 as usize > self.undo.len() {
            return Err(Error::NoSuchSavepoint);
        }
        // the guard borrows `self`, so the log is taken out meanwhile
        drop(state);
        let undone = self.undo.split_off(savepoint.0 as usize);
        state = self.state()?;
        undone.into_iter().rev().for_each(|undo| state.take_back(undo));
        Ok(())
    }

    fn id(&self) -> WorkerId {
        self.id
    }

    fn commit(&mut self) -> Result<Timestamp> {
        let mut state = self.state()?;
        state.ticks += 1;
        state.stats.commits += 1;
        let ts = Timestamp::new(state.ticks, self.id);
        drop(state);
        self.end();
        Ok(ts)
    }

    fn rollback(&mut self) {
        if self.txn.is_none() {
            return;
        }
        let undone = std::mem::take(&mut self.undo);
        let mut state = self.shared.state.lock();
        undone.into_iter().rev().for_each(|undo| state.take_back(undo));
        state.stats.rollbacks += 1;
        drop(state);
        self.end();
    }

    fn back_off(&mut self, _: u32) {}
}

impl Drop for ReferenceWorker {
    fn drop(&mut self) {
        self.rollback();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_engine::IndexDef;
    use scaledb_row::{Column, ColumnType, KeyPart};

    fn table(db: &Reference) -> Arc<TableInfo> {
        let columns = vec![
            Column::new("k", ColumnType::Int4),
            Column::new("v", ColumnType::Int4),
            Column::new("w", ColumnType::Int4).nullable(),
        ];
        let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
        let def = TableDef::new("t", schema)
            .index(IndexDef::new("by_v", vec![KeyPart::asc(1)]))
            .index(IndexDef::unique("by_w", vec![KeyPart::asc(2)]));
        db.create_table(def).unwrap()
    }

    fn put(w: &mut ReferenceWorker, t: &TableInfo, k: i32, v: i32, unique: Option<i32>) -> Result<RowId> {
        w.insert(t.id, &RowBuf::from_values(&t.schema, &[k.into(), v.into(), unique.into()])?)
    }

    fn keys(w: &mut ReferenceWorker, t: &TableInfo, index: TableId, order: Order) -> Vec<i32> {
        let mut seen = Vec::new();
        let cols = Projection::new(&t.schema, [0]);
        w.scan(index, Range::ALL, order, &cols, |_, _, row| {
            seen.push(row.i32(0));
            ControlFlow::Continue(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn rollback_restores_rows_and_indexes() {
        let db = Reference::new();
        let t = table(&db);
        let mut w = db.worker().unwrap();
        w.run(TxnKind::ReadWrite, |w| (1..=3).try_for_each(|k| put(w, &t, k, -k, None).map(drop))).unwrap();
        w.begin(TxnKind::ReadWrite).unwrap();
        let all = Projection::all(&t.schema);
        w.update(t.id, &KeyBuf::new().i32(1), &all, |row| row.set(&t.schema, 1, (-9).into())).unwrap();
        let savepoint = w.savepoint().unwrap();
        assert!(w.delete(t.id, &KeyBuf::new().i32(2)).unwrap());
        put(&mut w, &t, 7, 0, Some(5)).unwrap();
        assert_eq!(keys(&mut w, &t, t.indexes[0].id, Order::Forward), [1, 3, 7]);
        w.rollback_to(savepoint).unwrap();
        assert_eq!(keys(&mut w, &t, t.indexes[0].id, Order::Forward), [1, 3, 2]);
        w.rollback();
        w.begin(TxnKind::ReadOnly).unwrap();
        assert_eq!(keys(&mut w, &t, t.indexes[0].id, Order::Forward), [3, 2, 1]);
        assert_eq!(keys(&mut w, &t, t.id, Order::Backward), [3, 2, 1]);
        assert!(matches!(w.delete(t.id, &[]), Err(Error::ReadOnlyTransaction)));
    }

    #[test]
    fn unique_indexes_refuse_duplicates_and_ignore_null() {
        let db = Reference::new();
        let t = table(&db);
        let mut w = db.worker().unwrap();
        w.begin(TxnKind::ReadWrite).unwrap();
        put(&mut w, &t, 1, 0, None).unwrap();
        put(&mut w, &t, 2, 0, None).unwrap();
        put(&mut w, &t, 3, 0, Some(1)).unwrap();
        let by_w = t.index("by_w").unwrap().id;
        assert!(
            matches!(put(&mut w, &t, 4, 0, Some(1)), Err(Error::DuplicateKey { table, .. }) if table == by_w)
        );
        let to_one = w.update(t.id, &KeyBuf::new().i32(1), &Projection::all(&t.schema), |row| {
            row.set(&t.schema, 2, 1.into())
        });
        assert!(matches!(to_one, Err(Error::DuplicateKey { .. })));
        assert_eq!(keys(&mut w, &t, t.id, Order::Forward), [1, 2, 3]);
        w.commit().unwrap();
    }

    #[test]
    fn columns_outside_the_projection_are_hidden() {
        let db = Reference::new();
        let t = table(&db);
        let mut w = db.worker().unwrap();
        w.begin(TxnKind::ReadWrite).unwrap();
        put(&mut w, &t, 1, 2, Some(3)).unwrap();
        let cols = Projection::existence();
        assert_ne!(w.get(t.id, &KeyBuf::new().i32(1), &cols, |_, row| row.i32(1)).unwrap(), Some(2));
        let cols = Projection::new(&t.schema, [1]);
        w.update(t.id, &KeyBuf::new().i32(1), &cols, |row| row.set(&t.schema, 1, 5.into())).unwrap();
        let cols = Projection::all(&t.schema);
        let read =
            w.get(t.id, &KeyBuf::new().i32(1), &cols, |_, row| (row.i32(0), row.i32(1), row.i32(2))).unwrap();
        assert_eq!(read, Some((1, 5, 3)));
    }

    #[test]
    fn transactions_run_one_after_another() {
        let db = Reference::new();
        let t = table(&db);
        db.worker().unwrap().run(TxnKind::ReadWrite, |w| put(w, &t, 1, 0, None).map(drop)).unwrap();
        scaledb_sync::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut w = db.worker().unwrap();
                    let all = Projection::all(&t.schema);
                    for _ in 0..100 {
                        let add =
                            |row: &mut RowMut<'_>| row.set(&t.schema, 1, (row.view().i32(1) + 1).into());
                        w.run(TxnKind::ReadWrite, |w| w.update(t.id, &KeyBuf::new().i32(1), &all, add))
                            .unwrap();
                    }
                });
            }
        });
        let mut w = db.worker().unwrap();
        w.begin(TxnKind::Snapshot).unwrap();
        let all = Projection::all(&t.schema);
        assert_eq!(w.get(t.id, &KeyBuf::new().i32(1), &all, |_, row| row.i32(1)).unwrap(), Some(300));
    }
}
