//! Point reads (section 3.2). Rows are handed out where they are: nobody changes a version that a
//! transaction can see.

use crate::record::{Record, Visible};
use crate::table::CicadaTable;
use crate::techniques::Technique;
use crate::txn::{Op, Read, RowLocation, Write};
use crate::version::Version;
use crate::worker::{Ctx, PROMOTIONS};
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp};
use scaledb_engine::{PREFETCH, RowId, TxnKind};
use scaledb_kit::{Absent, Transaction};
use scaledb_row::{ColumnSet, Projection, RowRef};

/// A row of the running transaction.
#[derive(Clone, Copy)]
pub(crate) enum Row {
    /// In a version.
    Version(Version),
    /// This transaction's own, by its number in the write_set.
    Own(usize),
}

impl Ctx<'_> {
    /// Whether reads are remembered, to be validated.
    #[inline]
    fn tracks(&self) -> bool {
        matches!(self.txn.kind, TxnKind::ReadWrite | TxnKind::ReadOnly)
    }

    /// Looks a key up: own writes, then the index. Nothing found is remembered.
    #[inline]
    pub(crate) fn locate(&mut self, table: &CicadaTable, key: &[u8]) -> Option<RowLocation> {
        let hash = self.shared.hasher.hash(key);
        if let Some(own) = self.txn.insert_of(table.id, hash, key) {
            return Some(RowLocation::Own(own));
        }
        match table.find(self.local, hash, key) {
            Some(record) if !record.is_obsolete() => Some(RowLocation::Record(record)),
            _ => {
                if self.tracks() {
                    self.note_absent(table, hash, key);
                }
                None
            }
        }
    }

    /// Remembers that a key has no record.
    #[inline]
    pub(crate) fn note_absent(&mut self, table: &CicadaTable, hash: u64, key: &[u8]) {
        let key = self.txn.keep_key(key);
        self.txn.absents.push(Absent { table: table.id, hash, key });
    }

    /// What the transaction sees of a record.
    #[inline]
    pub(crate) fn see(&self, table: &CicadaTable, record: Record) -> Result<Visible> {
        let visible = if self.shared.config.techniques.on(Technique::WaitForPending) {
            record.visible::<true>(self.txn.ts, 0)
        } else {
            record.visible::<false>(self.txn.ts, 0)
        };
        visible.map_err(|_| conflict(ConflictKind::ReadLocked, table, record))
    }

    /// Remembers what was seen of a record. An obsolete one is a matter of chance: the next attempt finds
    /// another record, or none.
    #[inline]
    pub(crate) fn remember(&mut self, table: &CicadaTable, record: Record, visible: &Visible) -> Result<()> {
        if self.tracks() {
            if visible.version == Record::OBSOLETE {
                return Err(conflict(ConflictKind::ReadChanged, table, record));
            }
            let (seen, later) = (visible.version, visible.later);
            self.txn.reads.push(Read { record, table: table.id, seen, later });
        }
        Ok(())
    }

    /// Reads a record that the transaction has not written.
    #[inline]
    pub(crate) fn read_record(&mut self, table: &CicadaTable, record: Record) -> Result<Option<Version>> {
        let visible = self.see(table, record)?;
        if visible.version == Record::OBSOLETE && self.tracks() {
            // it became so since the index was asked: as if the index had not had it
            self.note_absent(table, self.shared.hasher.hash(record.key()), record.key());
            return Ok(None);
        }
        self.remember(table, record, &visible)?;
        if !visible.live {
            return Ok(None);
        }
        // SAFETY: visible in this transaction.
        let version = unsafe { Version::from_raw(visible.version) };
        if !version.is_inlined() && self.txn.kind == TxnKind::ReadWrite {
            self.maybe_promote(table, record, version, &visible);
        }
        Ok(Some(version))
    }

    /// Section 3.3: an early version that is read from outside of its record, with nothing inside, is written
    /// again inside, as an update that changes nothing.
    fn maybe_promote(&mut self, table: &CicadaTable, record: Record, version: Version, visible: &Visible) {
        // SAFETY: visible in this transaction.
        let row = unsafe { version.row() };
        if self.state.promotions >= PROMOTIONS
            || visible.outdated
            || !record.can_inline(row.len())
            || version.wts() >= self.state.min_rts
        {
            return;
        }
        self.state.promotions += 1;
        let image = self.txn.keep_row(row);
        let write = Write {
            table: table.id,
            op: Op::Update,
            record: Some(record),
            hash: 0,
            key: 0..0,
            image,
            dirty: ColumnSet::EMPTY,
            base: None,
        };
        // a transaction that has no room for more writes goes without
        let _ = self.txn.push_write(write);
    }

    /// Reads a row where it was found, with this transaction's own writes on top.
    #[inline]
    pub(crate) fn read_place(&mut self, table: &CicadaTable, place: RowLocation) -> Result<Option<Row>> {
        let own = match place {
            RowLocation::Own(number) => number,
            RowLocation::Record(record) => match self.txn.write_of(record) {
                None => return Ok(self.read_record(table, record)?.map(Row::Version)),
                Some(number) => number,
            },
        };
        match self.txn.writes[own].op {
            Op::Delete | Op::Nothing => Ok(None),
            Op::Insert | Op::Update => Ok(Some(Row::Own(own))),
        }
    }

    /// The words of a row.
    #[inline]
    pub(crate) fn words(&self, row: Row) -> &[u64] {
        match row {
            // SAFETY: visible in this transaction, which outlives the slice.
            Row::Version(version) => unsafe { version.row() },
            Row::Own(number) => &self.txn.images[self.txn.writes[number].image.clone()],
        }
    }

    /// `get` of one row.
    #[inline]
    pub(crate) fn get<R>(
        &mut self,
        table: &CicadaTable,
        key: &[u8],
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let Some(place) = self.locate(table, key) else { return Ok(None) };
        let (home, place) = match &table.index_of {
            None => (table, place),
            Some(of) => match self.entry_target(table, place)? {
                Some(target) => (self.shared.tables.get(of.base)?, target),
                None => return Ok(None),
            },
        };
        let Some(row) = self.read_place(home, place)? else {
            return self.lost_base(table, home, place).map(|()| None);
        };
        let view = RowRef::new(home.schema.layout(), self.words(row));
        Ok(Some(f(self.txn.row_id(home.id, place), view)))
    }

    /// `get` of a row that the transaction has a name for.
    pub(crate) fn get_named<R>(
        &mut self,
        table: &CicadaTable,
        row: RowId,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let place = self.txn.place(table.id, row)?;
        let Some(row) = self.read_place(table, place)? else { return Ok(None) };
        Ok(Some(f(RowRef::new(table.schema.layout(), self.words(row)))))
    }

    /// The base row that an index entry stands for; `None` if there is no entry.
    pub(crate) fn entry_target(
        &mut self,
        index: &CicadaTable,
        place: RowLocation,
    ) -> Result<Option<RowLocation>> {
        let Some(row) = self.read_place(index, place)? else { return Ok(None) };
        if let Row::Own(number) = row
            && let Some(base) = self.txn.writes[number].base
        {
            let record = self.txn.writes[base].record;
            return Ok(Some(record.map_or(RowLocation::Own(base), RowLocation::Record)));
        }
        // SAFETY: the entry is visible, so its base record is: one commit deletes both, and the record is kept
        // as long as somebody runs who can see the entry, or could when he read it.
        Ok(Some(RowLocation::Record(unsafe { Record::from_raw(self.words(row)[0]) })))
    }

    /// An entry without its row: fine for the row itself; through an index, the two reads do not belong
    /// together.
    pub(crate) fn lost_base(
        &self,
        table: &CicadaTable,
        base: &CicadaTable,
        place: RowLocation,
    ) -> Result<()> {
        match place {
            RowLocation::Record(record) if table.index_of.is_some() => {
                Err(conflict(ConflictKind::ReadChanged, base, record))
            }
            _ => Ok(()),
        }
    }
}

/// A conflict over a record, with nobody in particular.
#[cold]
pub(crate) fn conflict(kind: ConflictKind, table: &CicadaTable, record: Record) -> Error {
    conflict_with(kind, table, record, 0)
}

/// A conflict over a record with the transaction that has this timestamp, if it is not 0.
#[cold]
pub(crate) fn conflict_with(kind: ConflictKind, table: &CicadaTable, record: Record, ts: u64) -> Error {
    let with = trace(ts);
    Conflict { kind, table: table.id, key: record.key().into(), with }.into()
}

/// A timestamp of a version or a guard, if there is one.
pub(crate) fn trace(ts: u64) -> Option<Timestamp> {
    (1..=Timestamp::MAX.raw()).contains(&ts).then(|| Timestamp::from_raw(ts))
}

impl Ctx<'_> {
    /// Asks for the places in the hash structures where inserts will put their keys.
    pub(crate) fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        let shared = self.shared;
        for (table, key) in keys.take(PREFETCH) {
            if let Ok(table) = shared.tables.get(table)
                && let Some(index) = &table.hash
            {
                index.prefetch_to_write(self.local, shared.hasher.hash(key));
            }
        }
    }

    /// Asks for the leaves in which scans will begin.
    pub(crate) fn prefetch_ranges<'k>(&mut self, starts: impl Iterator<Item = (TableId, &'k [u8])>) {
        let shared = self.shared;
        for (table, start) in starts.take(PREFETCH) {
            if let Ok(tree) = shared.tables.get(table).and_then(|table| table.tree()) {
                tree.prefetch(self.local, start);
            }
        }
    }

    /// Asks for the memory of rows that will be read soon: first for all places in the hash structure, then
    /// for all records, so that the misses overlap.
    pub(crate) fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {
        let shared = self.shared;
        let mut round = [const { None }; PREFETCH];
        for ((table, key, _), place) in rows.zip(&mut round) {
            if let Ok(table) = shared.tables.get(table) {
                let hash = shared.hasher.hash(key);
                table.prefetch(self.local, hash, key);
                *place = Some((table, hash));
            }
        }
        for (table, hash) in round.into_iter().flatten() {
            table.prefetch_record(self.local, hash);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Cicada, CicadaWorker, Config};
    use scaledb_base::TableId;
    use scaledb_engine::{Access, Engine, TableDef, TableOptions, Worker};
    use scaledb_keys::KeyBuf;
    use scaledb_row::{Column, ColumnType, Datum, KeyPart, RowBuf, Schema};
    use std::time::Duration;

    fn is_inlined(worker: &mut CicadaWorker, table: TableId, key: &[u8]) -> bool {
        worker.begin(TxnKind::ReadOnly).unwrap();
        let ctx = worker.ctx();
        let table = ctx.shared.tables.get(table).unwrap();
        let record = table.find(ctx.local, ctx.shared.hasher.hash(key), key).unwrap();
        let visible = ctx.see(table, record).unwrap();
        assert!(visible.live);
        // SAFETY: visible in this transaction.
        let inlined = unsafe { Version::from_raw(visible.version) }.is_inlined();
        worker.rollback();
        inlined
    }

    /// Clean-up may come between the look at the index and that at the record: nobody else is there to be in conflict
    /// with.
    #[test]
    fn a_record_that_is_cleaned_up_while_it_is_read_has_no_row() {
        let engine = Cicada::open(Config { background: false, ..Config::default() }).unwrap();
        let schema = Schema::new(vec![Column::new("id", ColumnType::Int8)], &[KeyPart::asc(0)]).unwrap();
        let table = engine.create_table(TableDef::new("t", schema.clone())).unwrap().id;
        let row = RowBuf::from_values(&schema, &[Datum::Int8(1)]).unwrap();
        let key = KeyBuf::new().i64(1);
        let mut worker = engine.worker().unwrap();
        worker.run(TxnKind::ReadWrite, |w| w.insert(table, &row).map(|_| ())).unwrap();
        worker.run(TxnKind::ReadWrite, |w| w.delete(table, &key).map(|_| ())).unwrap();
        worker.begin(TxnKind::ReadWrite).unwrap();
        let ctx = &mut worker.ctx();
        let table = ctx.shared.tables.get(table).unwrap();
        let record = table.find(ctx.local, ctx.shared.hasher.hash(&key), &key).unwrap();
        let newest = record.latest().load(scaledb_sync::atomic::Ordering::SeqCst);
        // as clean-up does, which takes the record's item off the queue
        ctx.shared.lanes[ctx.local.id().index()].lock().clear();
        assert!(record.make_obsolete(newest));
        assert!(ctx.read_record(table, record).unwrap().is_none());
        // that the key has no row is what was read
        assert_eq!((ctx.txn.reads.len(), ctx.txn.absents.len()), (0, 1));
        worker.commit().unwrap();
    }

    /// A record that never had a row leaves the index when its insert fails, and takes along what another transaction
    /// has inserted over it: that one must not commit what it has seen without its own row.
    #[test]
    fn who_has_lost_an_insert_conflicts() {
        let engine = Cicada::open(Config { background: false, ..Config::default() }).unwrap();
        let schema = Schema::new(vec![Column::new("id", ColumnType::Int8)], &[KeyPart::asc(0)]).unwrap();
        let options = TableOptions { access: Access::HashOnly, ..TableOptions::default() };
        let table = engine.create_table(TableDef::new("t", schema.clone()).options(options)).unwrap().id;
        let row = |id| RowBuf::from_values(&schema, &[Datum::Int8(id)]).unwrap();
        let key = KeyBuf::new().i64(1);
        let mut worker = engine.worker().unwrap();
        worker.begin(TxnKind::ReadWrite).unwrap();
        let ctx = &mut worker.ctx();
        let index = ctx.shared.tables.get(table).unwrap().hash.as_ref().unwrap();
        let record = Record::create(ctx.local, &key, 0).unwrap();
        assert!(index.insert(ctx.local, ctx.shared.hasher.hash(&key), record.raw(), |_| false).is_ok());
        let savepoint = worker.savepoint().unwrap();
        worker.insert(table, &row(1)).unwrap();
        let ctx = &mut worker.ctx();
        assert!(record.make_obsolete(Record::NOTHING));
        // SAFETY: it has just become obsolete, and its chain is empty.
        unsafe { crate::gc::remove(ctx.shared, ctx.local, record, table, Record::NOTHING) };
        assert!(!worker.delete(table, &key).unwrap(), "its own row is not found");
        worker.rollback_to(savepoint).unwrap();
        worker.insert(table, &row(2)).unwrap();
        assert!(worker.commit().is_err_and(|error| error.is_conflict()));
    }

    #[test]
    fn a_row_that_is_read_and_not_written_moves_into_its_record() {
        let config = Config { background: false, quiescence: Duration::ZERO, ..Config::default() };
        let engine = Cicada::open(config).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
        let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
        let cols = Projection::all(&schema);
        let table = engine.create_table(TableDef::new("t", schema.clone())).unwrap().id;
        let row = RowBuf::from_values(&schema, &[Datum::Int8(1), Datum::Int8(0)]).unwrap();
        let mut worker = engine.worker().unwrap();
        worker.run(TxnKind::ReadWrite, |w| w.insert(table, &row).map(|_| ())).unwrap();
        let key = KeyBuf::new().i64(1);
        assert!(is_inlined(&mut worker, table, &key), "the first version");
        let set = |w: &mut CicadaWorker| {
            w.update(table, &key, &cols, |row| {
                row.set_i64(1, 7);
                Ok(())
            })
        };
        worker.run(TxnKind::ReadWrite, set).unwrap();
        assert!(!is_inlined(&mut worker, table, &key), "the place is taken");
        let read = |w: &mut CicadaWorker| w.get(table, &key, &cols, |_, row| row.i64(1));
        let mut reads = 0;
        while !is_inlined(&mut worker, table, &key) {
            assert_eq!(worker.run(TxnKind::ReadWrite, read).unwrap(), Some(7));
            reads += 1;
            assert!(reads < 100, "not promoted");
        }
        assert_eq!(worker.run(TxnKind::ReadOnly, read).unwrap(), Some(7));
    }
}
