//! A transaction changes the database at once, and remembers how to take that back. Nobody else sees it before it ends:
//! nobody else has the turn.

use super::Turns;
use super::database::Database;
use scaledb_base::{Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{
    Order, Range, ReadMark, RowId, Savepoint, TxnKind, Worker, check_key, check_row, check_update,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{ColumnSet, Projection, RowBuf, RowMut, RowRef, Schema};
use scaledb_sync::Arc;
use scaledb_sync::lock::MutexGuard;
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};

/// What a column reads as that was not asked for.
const GARBAGE: u64 = 0xA5A5_A5A5_A5A5_A5A5;

/// A worker of [`Reference`](super::Reference).
pub struct ReferenceWorker {
    turns: Arc<Turns>,
    id: WorkerId,
    /// The running transaction, which has the turn.
    txn: Option<TxnKind>,
    /// The number of the latest transaction.
    number: u64,
    undo: Vec<Undo>,
    /// Rows whose inserts a savepoint has taken back: their names mean nothing any more.
    gone: HashSet<usize>,
}

/// How to take a write back.
enum Undo {
    Insert(usize),
    Update(usize, Vec<u64>),
    Delete(usize),
}

impl ReferenceWorker {
    pub(super) fn new(turns: Arc<Turns>, id: WorkerId) -> Self {
        Self { turns, id, txn: None, number: 0, undo: Vec::new(), gone: HashSet::new() }
    }

    fn read(&self) -> Result<MutexGuard<'_, Database>> {
        if self.txn.is_some() { Ok(self.turns.database.lock()) } else { Err(Error::TransactionEnded) }
    }

    fn write(&self) -> Result<MutexGuard<'_, Database>> {
        match self.txn {
            Some(TxnKind::ReadWrite) | None => self.read(),
            Some(_) => Err(Error::ReadOnlyTransaction),
        }
    }

    fn name(&self, row: usize, table: TableId) -> RowId {
        // SAFETY: rows stay in the list, and `number_of` looks whether it may be used.
        unsafe { RowId::new(row as u64, self.number, table) }
    }

    /// The number of a row that this transaction has found or inserted.
    fn number_of(&self, row: RowId, table: TableId) -> Result<usize> {
        let number = row.check(self.number, table)? as usize;
        if self.gone.contains(&number) { Err(Error::StaleRow) } else { Ok(number) }
    }

    /// Takes the writes back that were made behind the first so many.
    fn undo_to(&mut self, writes: usize) {
        let mut database = self.turns.database.lock();
        for undo in self.undo.drain(writes..).rev() {
            match undo {
                Undo::Insert(row) => {
                    database.unlink(row);
                    self.gone.insert(row);
                }
                Undo::Update(row, words) => {
                    _ = database.replace(row, words).expect("the row was there before")
                }
                Undo::Delete(row) => database.link(row).expect("the row was there before"),
            }
        }
    }

    /// The next one has the turn.
    fn end(&mut self) {
        self.txn = None;
        self.undo.clear();
        self.gone.clear();
        self.turns.database.lock().busy = false;
        self.turns.ended.notify_all();
    }
}

/// A copy of a row in which only the columns of `cols` hold what they should.
fn image(schema: &Schema, words: &[u64], cols: &Projection) -> Vec<u64> {
    let fixed = schema.layout().fixed_words();
    let mut image = vec![GARBAGE; fixed];
    for span in cols.spans() {
        let of_span = span.start as usize..(span.start + span.words) as usize;
        image[of_span.clone()].copy_from_slice(&words[of_span]);
    }
    if cols.var() {
        image.extend_from_slice(&words[fixed..]);
    }
    image
}

impl Worker for ReferenceWorker {
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.rollback();
        let mut database = self.turns.wait();
        database.busy = true;
        database.begun += 1;
        self.number = database.begun;
        self.txn = Some(kind);
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        self.txn.is_some()
    }

    fn id(&self) -> WorkerId {
        self.id
    }

    fn get<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let database = self.read()?;
        let Some(number) = database.find(table, key)? else { return Ok(None) };
        let (of, row) = (database.index(table)?.table, database.row(number));
        let schema = &database.table(of)?.schema;
        Ok(Some(f(self.name(number, of), RowRef::new(schema.layout(), &image(schema, &row.words, cols)))))
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let database = self.read()?;
        let row = database.row(self.number_of(row, table)?);
        let schema = &database.table(table)?.schema;
        Ok(row.live.then(|| f(RowRef::new(schema.layout(), &image(schema, &row.words, cols)))))
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
        let database = self.read()?;
        let scanned = database.index(index)?;
        if !scanned.ordered {
            return Err(Error::NotOrdered(index));
        }
        if range.end.is_some_and(|end| end <= range.start) {
            return Ok(());
        }
        let schema = &database.table(scanned.table)?.schema;
        let mut breaks = |key: &[u8], number: usize| {
            let words = image(schema, &database.row(number).words, cols);
            f(self.name(number, scanned.table), key, RowRef::new(schema.layout(), &words)).is_break()
        };
        let end = range.end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut keys = scanned.keys.range::<[u8], _>((Bound::Included(range.start), end));
        match order {
            Order::Forward => _ = keys.any(|(key, &number)| breaks(key, number)),
            Order::Backward => _ = keys.rev().any(|(key, &number)| breaks(key, number)),
        }
        Ok(())
    }

    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId> {
        let mut database = self.write()?;
        let info = database.table_to_write(table)?;
        check_row(table, &info.schema, row.words())?;
        let number = database.next_row();
        let mut key = KeyBuf::new();
        match info.schema.primary_key() {
            numbered if numbered.parts().is_empty() => key.push_encoded(&(number as u64).to_be_bytes()),
            primary => _ = primary.encode(&info.schema, row.view(&info.schema), &mut key),
        }
        check_key(&key)?;
        database.insert(table, (*key).into(), row.words().to_vec())?;
        drop(database);
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
        let database = self.write()?;
        database.table_to_write(table)?;
        let found = database.find(table, key)?;
        drop(database);
        found.map_or(Ok(None), |row| self.update_at(table, self.name(row, table), cols, f))
    }

    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut database = self.write()?;
        let number = self.number_of(row, table)?;
        let schema = &database.table_to_write(table)?.schema;
        let row = database.row(number);
        if !row.live {
            return Ok(None);
        }
        let mut seen = image(schema, &row.words, cols);
        let mut edit = RowMut::new(schema.layout(), &mut seen, 0, cols.columns());
        let result = f(&mut edit)?;
        let dirty = edit.dirty();
        check_update(schema, &row.key, dirty, &seen)?;
        // only what was set comes from the image: what was not asked for is garbage there
        let mut words = row.words.clone();
        let mut target = RowMut::new(schema.layout(), &mut words, 0, ColumnSet::ALL);
        let seen = RowRef::new(schema.layout(), &seen);
        for column in dirty.iter(schema.columns().len()) {
            target.set(schema, column, seen.get(schema, column))?;
        }
        let old = database.replace(number, words)?;
        drop(database);
        self.undo.push(Undo::Update(number, old));
        Ok(Some(result))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let database = self.write()?;
        database.table_to_write(table)?;
        let found = database.find(table, key)?;
        drop(database);
        found.map_or(Ok(false), |row| self.delete_at(table, self.name(row, table)))
    }

    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool> {
        let mut database = self.write()?;
        let number = self.number_of(row, table)?;
        if !database.row(number).live {
            return Ok(false);
        }
        database.unlink(number);
        drop(database);
        self.undo.push(Undo::Delete(number));
        Ok(true)
    }

    // While the transaction runs nobody else changes what it has read, so that there is nothing to validate.

    fn check_so_far(&mut self) -> Result<()> {
        self.read().map(drop)
    }

    fn read_mark(&mut self) -> ReadMark {
        ReadMark::default()
    }

    fn forget_reads(&mut self, _: ReadMark) {}

    fn refresh(&mut self, _: ReadMark) -> Result<bool> {
        self.check_so_far().map(|()| true)
    }

    /// How many writes there were says which ones to keep.
    fn savepoint(&mut self) -> Result<Savepoint> {
        self.check_so_far().map(|()| Savepoint(self.undo.len() as u64))
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.check_so_far()?;
        match usize::try_from(savepoint.0) {
            Ok(writes) if writes <= self.undo.len() => {
                self.undo_to(writes);
                Ok(())
            }
            _ => Err(Error::NoSuchSavepoint),
        }
    }

    /// Everything is done: the transaction gets its place in the serial order, which is that of the commits.
    fn commit(&mut self) -> Result<Timestamp> {
        let mut database = self.read()?;
        database.commits += 1;
        let ts = Timestamp::new(database.commits, self.id);
        drop(database);
        self.end();
        Ok(ts)
    }

    fn rollback(&mut self) {
        if self.txn.is_some() {
            self.undo_to(0);
            self.turns.database.lock().rollbacks += 1;
            self.end();
        }
    }

    fn back_off(&mut self, _: u32) {}
}

impl Drop for ReferenceWorker {
    fn drop(&mut self) {
        self.rollback();
        self.turns.database.lock().workers &= !(1 << self.id.0);
    }
}
