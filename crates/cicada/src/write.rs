//! Buffered writes: what a transaction will do when it commits. All of it stays in the worker's own memory
//! until then (section 3.6: *deferred index updates*).

use crate::read::{Row, conflict_with};
use crate::record::{Record, Visible};
use crate::rules::Rule;
use crate::table::CicadaTable;
use crate::techniques::Technique;
use crate::txn::{Op, RowLocation, Write};
use crate::version::Version;
use crate::worker::Ctx;
use scaledb_base::{ConflictKind, Error, Result};
use scaledb_engine::{ReadMark, RowId, check_key};
use scaledb_keys::KeyBuf;
use scaledb_kit::{WriteMark, delete_with_entries, insert_row, replace_entries};
use scaledb_row::{ColumnSet, Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::atomic::Ordering;
use scaledb_sync::hint::Backoff;

impl Ctx<'_> {
    /// `insert` of a base row and its index entries. Changes nothing if it fails.
    pub(crate) fn insert(&mut self, table: &CicadaTable, row: &RowBuf) -> Result<RowId> {
        insert_row(self.shared, self, table, row)
    }

    /// The key of the next row of a table without a primary key: unique, and ascending per worker.
    pub(crate) fn next_row_number(&mut self, table: &CicadaTable) -> u64 {
        let rows = &mut self.state.row_numbers;
        if rows.len() <= table.id.index() {
            rows.resize(table.id.index() + 1, 0..0);
        }
        let mine = &mut rows[table.id.index()];
        if mine.is_empty() {
            *mine = table.take_row_numbers();
        }
        let number = mine.start;
        mine.start += 1;
        number
    }

    /// Adds an insert to the write_set, after looking whether the key is taken. Returns its number.
    pub(crate) fn insert_record(
        &mut self,
        table: &CicadaTable,
        key: &[u8],
        words: &[u64],
        base: Option<usize>,
    ) -> Result<usize> {
        check_key(key)?;
        let hash = self.shared.hasher.hash(key);
        let mut own = self.txn.insert_of(table.id, hash, key);
        let mut record = None;
        if own.is_none() && !table.is_numbered() {
            let mut backoff = Backoff::new();
            loop {
                record = table.find(self.local, hash, key);
                let Some(found) = record else { break };
                own = self.txn.write_of(found);
                if own.is_some() || self.keep_absent(table, found)? {
                    break;
                }
                // clean-up is removing the record from the index: look again
                if !backoff.wait() {
                    return Err(conflict_with(ConflictKind::WriteLocked, table, found, 0));
                }
            }
        }
        let image = self.txn.keep_row(words);
        if let Some(number) = own {
            let op = match self.txn.writes[number].op {
                Op::Delete => Op::Update,
                Op::Nothing => Op::Insert,
                Op::Insert | Op::Update => {
                    self.check_so_far()?;
                    return Err(Error::DuplicateKey { table: table.id, key: key.into() });
                }
            };
            let write = self.txn.writes.rewrite(number);
            (write.op, write.image, write.dirty, write.base) = (op, image, ColumnSet::ALL, base);
            return Ok(number);
        }
        let key = if record.is_some() { 0..0 } else { self.txn.keep_key(key) };
        let dirty = ColumnSet::ALL;
        self.txn.push_write(Write { table: table.id, op: Op::Insert, record, hash, key, image, dirty, base })
    }

    /// Fails if the record is live; else that it is not was read, and, if its row was deleted, it stays in the
    /// indexes for as long as the transaction runs. (One that never had a row leaves them if its first insert
    /// fails.) False if it is leaving them.
    fn keep_absent(&mut self, table: &CicadaTable, record: Record) -> Result<bool> {
        if record.is_obsolete() {
            return Ok(false);
        }
        let seen = self.refuse_live(table, record)?.version;
        let deleted = seen > Record::OBSOLETE;
        if deleted && record.pin() {
            self.txn.pins.push((table.id, record));
            return Ok(true);
        }
        Ok(!deleted)
    }

    /// Fails if the record is live; else that it is not was read.
    fn refuse_live(&mut self, table: &CicadaTable, record: Record) -> Result<Visible> {
        let visible = self.see(table, record)?;
        self.remember(table, record, &visible)?;
        if visible.live {
            // a duplicate that follows from a stale read is a conflict
            self.check_so_far()?;
            return Err(Error::DuplicateKey { table: table.id, key: record.key().into() });
        }
        self.refuse_late_write(table, record, &visible)?;
        Ok(visible)
    }

    /// Early abort (section 3.2): a version that a later transaction has read cannot be overwritten, nor one
    /// that is not the newest (*write latest version only*, for every write here depends on what was there).
    fn refuse_late_write(&self, table: &CicadaTable, record: Record, visible: &Visible) -> Result<()> {
        // SAFETY: seen in this transaction.
        let rts = unsafe { record.rts_of(visible.version) };
        // a hint: the commit looks again
        let rts = rts.load(Ordering::Relaxed);
        let outdated = visible.outdated && self.shared.config.techniques.on(Technique::LatestOnly);
        if outdated || rts > self.txn.ts {
            let ts = if visible.outdated { record.later(self.txn.ts) } else { rts };
            return Err(conflict_with(ConflictKind::WriteChanged, table, record, ts));
        }
        Ok(())
    }

    /// The row that a write begins with, where it was found; what is not there was read.
    fn read_to_write(&mut self, table: &CicadaTable, place: RowLocation) -> Result<Option<Row>> {
        let record = match place {
            RowLocation::Record(record) if self.txn.write_of(record).is_none() => record,
            _ => return self.read_place(table, place),
        };
        let visible = self.see(table, record)?;
        self.remember(table, record, &visible)?;
        if !visible.live {
            return Ok(None);
        }
        self.refuse_late_write(table, record, &visible)?;
        // SAFETY: visible in this transaction.
        Ok(Some(Row::Version(unsafe { Version::from_raw(visible.version) })))
    }

    /// `update` of a row.
    pub(crate) fn update<R>(
        &mut self,
        table: &CicadaTable,
        place: RowLocation,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(row) = self.read_to_write(table, place)? else { return Ok(None) };
        let start = self.txn.images.len();
        match row {
            // SAFETY: visible in this transaction.
            Row::Version(version) => self.txn.images.extend_from_slice(unsafe { version.row() }),
            Row::Own(number) => self.txn.images.extend_from_within(self.txn.writes[number].image.clone()),
        }
        let mut edit = RowMut::new(table.schema.layout(), &mut self.txn.images, start, cols.columns());
        let result = f(&mut edit);
        let dirty = edit.dirty();
        let key = match &place {
            RowLocation::Record(record) => record.key(),
            RowLocation::Own(number) => &self.txn.keys[self.txn.writes[*number].key.clone()],
        };
        let image = &self.txn.images[start..];
        let value = match result.and_then(|value| table.check_update(key, dirty, image).map(|()| value)) {
            Ok(value) if !dirty.is_empty() => value,
            unchanged => {
                self.txn.images.truncate(start);
                return unchanged.map(Some);
            }
        };
        let image = start..self.txn.images.len();
        let mark = self.txn.writes.mark();
        let number = match (row, place) {
            (Row::Own(number), _) | (_, RowLocation::Own(number)) => {
                let old = self.txn.writes[number].image.clone();
                let write = self.txn.writes.rewrite(number);
                (write.image, write.dirty) = (image, write.dirty.union(dirty));
                self.move_entries(table, number, dirty, &OldRow::Image(old)).map(|()| number)
            }
            (Row::Version(version), RowLocation::Record(record)) => {
                let (record, op) = (Some(record), Op::Update);
                let (table_id, base) = (table.id, None);
                let write = Write { table: table_id, op, record, hash: 0, key: 0..0, image, dirty, base };
                self.txn
                    .push_write(write)
                    .and_then(|n| self.move_entries(table, n, dirty, &OldRow::Version(version)).map(|()| n))
            }
        };
        match number {
            Ok(_) => Ok(Some(value)),
            Err(error) => {
                self.txn.undo_to(mark, true);
                Err(error)
            }
        }
    }

    /// The primary key of a row in the write_set.
    fn key_of(&self, number: usize) -> KeyBuf {
        let write = &self.txn.writes[number];
        match write.record {
            Some(record) => record.key().into(),
            None => self.txn.keys[write.key.clone()].into(),
        }
    }

    /// Moves the index entries of a row whose columns `dirty` were set by write `number`.
    fn move_entries(
        &mut self,
        table: &CicadaTable,
        number: usize,
        dirty: ColumnSet,
        old: &OldRow,
    ) -> Result<()> {
        if !table.indexes.get().columns.overlaps(dirty) {
            return Ok(());
        }
        let pk = self.key_of(number);
        let layout = table.schema.layout();
        replace_entries(self.shared, self, table, (number, dirty), |ctx, index, old_key, new_key| {
            let new_row = &ctx.txn.images[ctx.txn.writes[number].image.clone()];
            index.entry_key(&table.schema, RowRef::new(layout, old.words(&ctx.txn.images)), &pk, old_key);
            index.entry_key(&table.schema, RowRef::new(layout, new_row), &pk, new_key);
        })
    }

    /// `delete` of a row and its index entries.
    pub(crate) fn delete(&mut self, table: &CicadaTable, place: RowLocation) -> Result<bool> {
        if table.indexes.get().ids.is_empty() {
            return self.delete_record(table, place);
        }
        let Some(row) = self.read_to_write(table, place)? else { return Ok(false) };
        let old = match row {
            Row::Version(version) => OldRow::Version(version),
            Row::Own(number) => OldRow::Image(self.txn.writes[number].image.clone()),
        };
        let pk: KeyBuf = match place {
            RowLocation::Record(record) => record.key().into(),
            RowLocation::Own(number) => self.key_of(number),
        };
        let mark = self.txn.writes.mark();
        let result = delete_with_entries(self.shared, self, table, place, |ctx, index, key| {
            let row = RowRef::new(table.schema.layout(), old.words(&ctx.txn.images));
            index.entry_key(&table.schema, row, &pk, key);
        });
        if result.is_err() {
            self.txn.undo_to(mark, true);
        }
        result
    }

    /// Deletes one record: an entry whose row has no need of it any more, or a row whose entries are gone.
    pub(crate) fn delete_lone_record(&mut self, table: &CicadaTable, record: Record) -> Result<()> {
        self.delete_record(table, RowLocation::Record(record)).map(|_| ())
    }

    /// Adds the delete of one record to the write_set. False if there is no row.
    pub(crate) fn delete_record(&mut self, table: &CicadaTable, place: RowLocation) -> Result<bool> {
        let Some(row) = self.read_to_write(table, place)? else { return Ok(false) };
        match (row, place) {
            (Row::Own(number), _) | (_, RowLocation::Own(number)) => {
                let write = self.txn.writes.rewrite(number);
                write.op = if write.op == Op::Insert { Op::Nothing } else { Op::Delete };
            }
            (Row::Version(_), RowLocation::Record(record)) => {
                let (record, op) = (Some(record), Op::Delete);
                let write = Write {
                    table: table.id,
                    op,
                    record,
                    hash: 0,
                    key: 0..0,
                    image: 0..0,
                    dirty: ColumnSet::ALL,
                    base: None,
                };
                self.txn.push_write(write)?;
            }
        }
        Ok(true)
    }

    /// Whether what the running transaction has read still holds: else an error that it found is no news.
    pub(crate) fn check_so_far(&mut self) -> Result<()> {
        self.check_since(ReadMark::default())
    }

    /// As [`Ctx::check_so_far`], for what was read since a mark.
    pub(crate) fn check_since(&mut self, ReadMark([reads, absents, ranges, ..]): ReadMark) -> Result<()> {
        self.check_reads(reads, false)?;
        self.check_absents(absents)?;
        self.check_ranges(ranges, false)?;
        self.shared.definitions_hold(self.txn, self.txn.ts)
    }

    /// `rollback_to`: see [`Txn::undo_to`](crate::txn::Txn::undo_to).
    pub(crate) fn roll_back_to(&mut self, mark: WriteMark) {
        let keep = self.shared.config.rules.on(Rule::UndoneReads);
        self.txn.undo_to(mark, keep);
    }
}

/// A row as it was before a write of this transaction.
enum OldRow {
    Version(Version),
    /// In `Txn::images`.
    Image(std::ops::Range<usize>),
}

impl OldRow {
    /// Its words; `images` are those of the transaction.
    fn words<'a>(&'a self, images: &'a [u64]) -> &'a [u64] {
        match self {
            // SAFETY: visible in this transaction.
            Self::Version(version) => unsafe { version.row() },
            Self::Image(image) => &images[image.clone()],
        }
    }
}
