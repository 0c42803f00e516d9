//! Buffered writes: they are applied when the transaction commits.

use crate::read::conflict;
use crate::record::{Presence, Record, Word};
use crate::rules::Rule;
use crate::table::AccTable;
use crate::txn::{Op, RowLocation, Txn, Write};
use crate::worker::Ctx;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{ConflictKind, Error, Result};
use scaledb_engine::{RowId, check_key};
use scaledb_keys::KeyBuf;
use scaledb_kit::{WriteMark, delete_with_entries, insert_row, replace_entries};
use scaledb_row::{ColumnSet, GroupSet, Projection, RowBuf, RowMut, RowRef};
use scaledb_sync::atomic::Ordering;

impl Ctx<'_> {
    /// `insert` of a base row and its index entries. Changes nothing if it fails.
    pub(crate) fn insert(&mut self, table: &AccTable, row: &RowBuf) -> Result<RowId> {
        insert_row(self.shared, self, table, row)
    }

    /// The key of the next row of a table without a primary key: unique, and ascending per worker.
    pub(crate) fn next_row_number(&mut self, table: &AccTable) -> Result<u64> {
        let mine = table.of_me(self.local)?;
        // only this worker touches the two
        let mut next = mine.next_row.load(Ordering::Relaxed);
        if next == mine.end_of_rows.load(Ordering::Relaxed) {
            let block = table.take_row_numbers();
            next = block.start;
            mine.end_of_rows.store(block.end, Ordering::Relaxed); // only this worker touches it
        }
        mine.next_row.store(next + 1, Ordering::Relaxed);
        Ok(next)
    }

    /// Adds an insert to the write_set, after looking whether the key is taken. Returns its number.
    pub(crate) fn insert_record(
        &mut self,
        table: &AccTable,
        key: &[u8],
        words: &[u64],
        base: Option<usize>,
    ) -> Result<usize> {
        check_key(key)?;
        let hash = self.shared.hasher.hash(key);
        let numbered = table.is_numbered();
        // the commit will write the cache line that the look-up below reads: fetching it for writing now saves one
        // transfer
        table.prefetch_insert(self.local, hash);
        let mut own = self.txn.insert_of(table.id, hash, key);
        let mut leaf = None;
        if own.is_none() && !numbered {
            let look = table.find(self.local, hash, key, &mut self.txn.finger);
            if look.record.is_none() {
                leaf = look.leaf;
            }
            if let Some(record) = look.record {
                own = self.txn.write_of(record);
                if own.is_none() {
                    self.refuse_live(table, record)?;
                }
            }
        }
        let start = self.txn.images.len();
        self.txn.images.extend_from_slice(words);
        let image = start..self.txn.images.len();
        if let Some(number) = own {
            let op = match self.txn.writes[number].op {
                Op::Delete => Op::Replace,
                Op::Nothing => Op::Insert,
                Op::Insert | Op::Update | Op::Replace => return self.refuse_duplicate(table, key),
            };
            let write = self.txn.writes.rewrite(number);
            write.op = op;
            write.image = image;
            write.loaded = ColumnSet::ALL;
            write.dirty = ColumnSet::ALL;
            write.base = base;
            return Ok(number);
        }
        let key = self.txn.keep_key(key);
        self.txn.push_write(Write {
            table: table.id,
            op: Op::Insert,
            record: None,
            hash,
            key,
            leaf,
            image,
            loaded: ColumnSet::ALL,
            dirty: ColumnSet::ALL,
            base,
            seen: [Word(0); MAX_GROUPS],
            read: GroupSet::default(),
        })
    }

    /// Fails if the record is live, and adds that to the read_set.
    fn refuse_live(&mut self, table: &AccTable, record: Record) -> Result<()> {
        match self.read_record(table, record, &Projection::existence())? {
            Ok(Some(_)) => self.refuse_duplicate(table, record.key()),
            Ok(None) => {
                // absence is not added to the read_set: the commit checks it again under the lock
                self.txn.reads.pop();
                Ok(())
            }
            Err(()) => Ok(()),
        }
    }

    /// Fails with a duplicate, or with a conflict if what was read so far holds no more: it may follow from that.
    #[cold]
    fn refuse_duplicate<R>(&mut self, table: &AccTable, key: &[u8]) -> Result<R> {
        self.check_so_far()?;
        Err(Error::DuplicateKey { table: table.id, key: key.into() })
    }

    /// `update` of a row.
    pub(crate) fn update<R>(
        &mut self,
        table: &AccTable,
        place: RowLocation,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let own = match place {
            RowLocation::Own(number) => Some(number),
            RowLocation::Record(record) => self.txn.write_of(record),
        };
        match own {
            Some(number) => self.update_again(table, number, cols, f),
            None => {
                let RowLocation::Record(record) = place else { return Ok(None) };
                self.update_first(table, record, cols, f)
            }
        }
    }

    /// The first write of this transaction to a record.
    fn update_first<R>(
        &mut self,
        table: &AccTable,
        record: Record,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let layout = table.schema.layout();
        let mut seen = [Word(0); MAX_GROUPS];
        let presence = record
            .read(layout, cols, &mut self.txn.row, &mut seen)
            .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
        let Presence::Live(words) = presence else {
            self.note_absent(table, record, cols.groups(), &seen)?;
            return Ok(None);
        };
        let Txn { images, row, .. } = &mut *self.txn;
        let start = images.len();
        images.extend_from_slice(&row[..if cols.var() { words } else { layout.fixed_words().min(words) }]);
        let mut edit = RowMut::new(layout, images, start, cols.columns());
        let result = f(&mut edit);
        let dirty = edit.dirty();
        let image = &self.txn.images[start..];
        let checked = result.and_then(|value| table.check_update(record.key(), dirty, image).map(|()| value));
        let value = match checked {
            Ok(value) if !dirty.is_empty() => value,
            unchanged => {
                self.txn.images.truncate(start);
                self.txn.remember(table.id, record, cols.groups(), &seen);
                return unchanged.map(Some);
            }
        };
        let written = layout.groups_of(dirty);
        let mark = self.txn.writes.mark();
        let image = start..self.txn.images.len();
        let pushed = self.txn.push_write(Write {
            table: table.id,
            op: Op::Update,
            record: Some(record),
            hash: 0,
            key: 0..0,
            leaf: None,
            image,
            loaded: cols.columns(),
            dirty,
            base: None,
            seen,
            read: cols.groups(),
        });
        let number = match pushed {
            Ok(number) => number,
            Err(error) => {
                self.txn.images.truncate(start);
                self.txn.remember(table.id, record, cols.groups(), &seen);
                return Err(error);
            }
        };
        // groups that were only read are validated as reads; the others when they are locked
        self.txn.forget_reads(record, written, &seen);
        self.txn.remember(table.id, record, GroupSet(cols.groups().0 & !written.0), &seen);
        for group in written.iter() {
            self.txn.latest = self.txn.latest.max(seen[group].ts());
        }
        if let Err(error) = self.move_entries(table, number, dirty, None) {
            // the words that the write has read go back to the read_set
            self.undo_statement(mark);
            return Err(error);
        }
        Ok(Some(value))
    }

    /// A further write of this transaction to a record.
    fn update_again<R>(
        &mut self,
        table: &AccTable,
        number: usize,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let write = &self.txn.writes[number];
        let (op, old_dirty) = (write.op, write.dirty);
        let start = self.txn.images.len();
        let mut seen = write.seen;
        let mut read = write.read;
        match op {
            Op::Delete | Op::Nothing => return Ok(None),
            Op::Insert | Op::Replace => self.txn.images.extend_from_within(write.image.clone()),
            Op::Update => {
                // the record's columns, old and new, under what this transaction has set
                let record = write.record.expect("an update has a record");
                let mut words = [Word(0); MAX_GROUPS];
                let all = &table.all;
                let presence = record
                    .read(table.schema.layout(), all, &mut self.txn.row, &mut words)
                    .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
                let changed = read.iter().any(|g| words[g] != seen[g]);
                let Presence::Live(len) = presence else {
                    return Err(conflict(ConflictKind::WriteChanged, table, record));
                };
                if changed {
                    return Err(conflict(ConflictKind::WriteChanged, table, record));
                }
                self.txn.remember(table.id, record, GroupSet(all.groups().0 & !read.0), &words);
                seen = words;
                read = all.groups();
                let len = self.overlay(table, number, len);
                let Txn { images, row, .. } = &mut *self.txn;
                images.extend_from_slice(&row[..len]);
            }
        }
        let mut edit = RowMut::new(table.schema.layout(), &mut self.txn.images, start, cols.columns());
        let result = f(&mut edit);
        let dirty = edit.dirty();
        let write = &self.txn.writes[number];
        let key = write.record.as_ref().map_or(&self.txn.keys[write.key.clone()], Record::key);
        let image = &self.txn.images[start..];
        let value = match result.and_then(|value| table.check_update(key, dirty, image).map(|()| value)) {
            Ok(value) => value,
            Err(error) => {
                self.txn.images.truncate(start);
                return Err(error);
            }
        };
        let mark = self.txn.writes.mark();
        let image = start..self.txn.images.len();
        // entries are found by the row as it was before this statement
        let old = self.txn.writes[number].clone();
        let write = self.txn.writes.rewrite(number);
        write.image = image;
        write.loaded = ColumnSet::ALL;
        write.dirty = old_dirty.union(dirty);
        write.seen = seen;
        write.read = read;
        if let Err(error) = self.move_entries(table, number, dirty, Some(&old)) {
            self.undo_statement(mark);
            return Err(error);
        }
        Ok(Some(value))
    }

    /// Moves the index entries of a row whose columns `dirty` were set by write `number`; `old` is this
    /// transaction's write before that, if there was one.
    fn move_entries(
        &mut self,
        table: &AccTable,
        number: usize,
        dirty: ColumnSet,
        old: Option<&Write>,
    ) -> Result<()> {
        if !table.indexes.get().columns.overlaps(dirty) {
            return Ok(());
        }
        let write = self.txn.writes[number].clone();
        let before = match old {
            Some(old) => old.clone(),
            None => Write { dirty: ColumnSet::EMPTY, ..write.clone() },
        };
        let pk: KeyBuf = match write.record {
            Some(record) => record.key().into(),
            None => self.txn.keys[write.key.clone()].into(),
        };
        let mut old_row = std::mem::take(&mut self.txn.old_row);
        let mut new_row = std::mem::take(&mut self.txn.row);
        let result = self
            .whole_row(table, &before, &mut old_row)
            .and_then(|()| self.whole_row(table, &write, &mut new_row))
            .and_then(|()| {
                let layout = table.schema.layout();
                replace_entries(self.shared, self, table, (number, dirty), |_, index, old, new| {
                    index.entry_key(&table.schema, RowRef::new(layout, &old_row), &pk, old);
                    index.entry_key(&table.schema, RowRef::new(layout, &new_row), &pk, new);
                })
            });
        self.txn.old_row = old_row;
        self.txn.row = new_row;
        result
    }

    /// The whole row as a write leaves it.
    fn whole_row(&mut self, table: &AccTable, write: &Write, out: &mut Vec<u64>) -> Result<()> {
        let image = &self.txn.images[write.image.clone()];
        out.clear();
        let (Some(record), Op::Update) = (write.record, write.op) else {
            out.extend_from_slice(image);
            return Ok(());
        };
        let layout = table.schema.layout();
        let mut words = [Word(0); MAX_GROUPS];
        let presence = record
            .read(layout, &table.all, out, &mut words)
            .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
        let Presence::Live(len) = presence else {
            return Err(conflict(ConflictKind::WriteChanged, table, record));
        };
        if write.read.iter().any(|g| words[g] != write.seen[g]) {
            return Err(conflict(ConflictKind::WriteChanged, table, record));
        }
        out.truncate(len);
        layout.for_each_word(write.dirty, |w| out[w] = image[w]);
        if layout.any_var(write.dirty) {
            out.truncate(layout.fixed_words());
            out.extend_from_slice(&image[layout.fixed_words()..]);
        }
        self.txn.remember(table.id, record, GroupSet(table.all.groups().0 & !write.read.0), &words);
        Ok(())
    }

    /// `delete` of a row and its index entries.
    pub(crate) fn delete(&mut self, table: &AccTable, place: RowLocation) -> Result<bool> {
        let mark = self.txn.writes.mark();
        if table.indexes.get().ids.is_empty() {
            return self.delete_record(table, place);
        }
        let words = match (self.read_place(table, place, &table.all)?, place) {
            (Ok(Some(words)), _) => words,
            (Err(()), RowLocation::Record(record)) => {
                return Err(conflict(ConflictKind::ReadChanged, table, record));
            }
            _ => return Ok(false),
        };
        let Txn { row, old_row, .. } = &mut *self.txn;
        old_row.clear();
        old_row.extend_from_slice(&row[..words]);
        let pk: KeyBuf = match place {
            RowLocation::Record(record) => record.key().into(),
            RowLocation::Own(number) => self.txn.keys[self.txn.writes[number].key.clone()].into(),
        };
        let result = delete_with_entries(self.shared, self, table, place, |ctx, index, key| {
            let row = RowRef::new(table.schema.layout(), &ctx.txn.old_row[..words]);
            index.entry_key(&table.schema, row, &pk, key);
        });
        if result.is_err() {
            self.undo_statement(mark);
        }
        result
    }

    /// Deletes one record: an index entry that its row does not have any more, or a row whose entries are deleted.
    pub(crate) fn delete_lone_record(&mut self, table: &AccTable, record: Record) -> Result<()> {
        self.delete_record(table, RowLocation::Record(record)).map(|_| ())
    }

    /// Adds the delete of one record to the write_set. False if there is no row.
    pub(crate) fn delete_record(&mut self, table: &AccTable, place: RowLocation) -> Result<bool> {
        let own = match place {
            RowLocation::Own(number) => Some(number),
            RowLocation::Record(record) => self.txn.write_of(record),
        };
        if let Some(number) = own {
            let op = match self.txn.writes[number].op {
                Op::Insert => Op::Nothing,
                Op::Update | Op::Replace => Op::Delete,
                Op::Delete | Op::Nothing => return Ok(false),
            };
            if op == Op::Nothing {
                self.note_free(number);
            }
            if op == Op::Delete {
                self.see_all_groups(table, number)?;
            }
            self.txn.writes.rewrite(number).op = op;
            return Ok(true);
        }
        let RowLocation::Record(record) = place else { return Ok(false) };
        let mut seen = [Word(0); MAX_GROUPS];
        let presence = record
            .read(table.schema.layout(), &table.existence, &mut self.txn.row, &mut seen)
            .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
        if presence == Presence::Absent {
            self.note_absent(table, record, table.existence.groups(), &seen)?;
            return Ok(false);
        }
        let pushed = self.txn.push_write(Write {
            table: table.id,
            op: Op::Delete,
            record: Some(record),
            hash: 0,
            key: 0..0,
            leaf: None,
            image: 0..0,
            loaded: ColumnSet::EMPTY,
            dirty: ColumnSet::EMPTY,
            base: None,
            seen,
            read: table.existence.groups(),
        });
        if let Err(error) = pushed {
            // the row's existence is part of the read_set
            self.txn.remember(table.id, record, table.existence.groups(), &seen);
            return Err(error);
        }
        // a word that is locked unchanged needs no validation
        self.txn.forget_reads(record, table.existence.groups(), &seen);
        for group in table.existence.groups().iter() {
            self.txn.latest = self.txn.latest.max(seen[group].ts());
        }
        Ok(true)
    }

    /// A row that was to be written is absent: its record is added to the read_set. An obsolete record means that the
    /// key must be looked up again: the next attempt of the transaction does that.
    fn note_absent(
        &mut self,
        table: &AccTable,
        record: Record,
        groups: GroupSet,
        seen: &[Word; MAX_GROUPS],
    ) -> Result<()> {
        if groups.iter().any(|g| seen[g].is_obsolete()) && self.shared.config.rules.on(Rule::LookAgain) {
            return Err(conflict(ConflictKind::ReadChanged, table, record));
        }
        self.txn.remember(table.id, record, groups, seen);
        Ok(())
    }

    /// An insert that has found its key absent is undone: the absence becomes a read of its own.
    pub(crate) fn note_free(&mut self, number: usize) {
        let Write { table: id, hash, key, .. } = self.txn.writes[number].clone();
        let Ok(table) = self.shared.tables.get(id) else { return };
        let found = table.find(self.local, hash, &self.txn.keys[key.clone()], &mut self.txn.finger).record;
        if let Some(record) = found {
            // each word is loaded once, so that the checked value is the one in the read_set
            let (groups, mut seen) = (table.existence.groups(), [Word(0); MAX_GROUPS]);
            groups.iter().for_each(|group| seen[group] = record.after_clean_up(group));
            // a deleted record that awaits clean-up; in any other state the commit's validation fails
            if groups.iter().all(|group| seen[group].is_deleted()) {
                self.txn.remember(id, record, groups, &seen);
                return;
            }
        }
        self.txn.absents.push(scaledb_kit::Absent { table: id, hash, key });
    }

    /// Rolls back to a savepoint: keys that inserts since then have found absent become reads.
    pub(crate) fn roll_back_to(&mut self, mark: WriteMark) {
        if self.shared.config.rules.on(Rule::UndoneReads) {
            return self.undo_statement(mark);
        }
        let reads = self.txn.reads.len();
        self.txn.undo_to(mark);
        self.txn.reads.truncate(reads);
    }

    /// Rolls back a statement that failed. Keys that it has found absent before become reads, because its error may
    /// depend on them.
    pub(crate) fn undo_statement(&mut self, mark: WriteMark) {
        for undone in self.txn.inserts_since(mark) {
            self.note_free(undone);
        }
        self.txn.undo_to(mark);
    }

    /// Before an update of some groups becomes a delete of all: the words of the others.
    fn see_all_groups(&mut self, table: &AccTable, number: usize) -> Result<()> {
        let write = &self.txn.writes[number];
        let (read, Some(record)) = (write.read, write.record) else { return Ok(()) };
        let missing = GroupSet(table.existence.groups().0 & !read.0);
        if missing.0 == 0 {
            return Ok(());
        }
        let mut words = [Word(0); MAX_GROUPS];
        record
            .read(table.schema.layout(), &table.existence, &mut self.txn.row, &mut words)
            .map_err(|_| conflict(ConflictKind::ReadLocked, table, record))?;
        let write = self.txn.writes.rewrite(number);
        for group in missing.iter() {
            write.seen[group] = words[group];
        }
        write.read = table.existence.groups();
        Ok(())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::{Acc, Config};
    use scaledb_base::Error;
    use scaledb_engine::{Engine, TableDef, TxnKind, Worker};
    use scaledb_keys::KeyBuf;
    use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};

    /// A write that exceeds the limit of the write_set has still read its row: earlier reads of the row stay to be
    /// validated.
    #[test]
    fn a_write_too_many_has_read_its_row() {
        let db = Acc::open(Config { background: false, ..Config::default() }).unwrap();
        let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
        let t =
            db.create_table(TableDef::new("t", Schema::new(columns, &[KeyPart::asc(0)]).unwrap())).unwrap();
        let row = |id| RowBuf::from_values(&t.schema, &[Datum::Int4(id), Datum::Int8(0)]).unwrap();
        let (all, key) = (Projection::all(&t.schema), KeyBuf::new().i32(1));
        let (mut a, mut b) = (db.worker().unwrap(), db.worker().unwrap());
        let mut next = 2;
        for (deletes, reads) in [(false, true), (false, false), (true, true), (true, false)] {
            a.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(1)).map(|_| ())).unwrap();
            a.begin(TxnKind::ReadWrite).unwrap();
            if reads {
                a.get(t.id, &key, &all, |_, _| ()).unwrap();
            }
            let full = loop {
                next += 1;
                if let Err(error) = a.insert(t.id, &row(next)) {
                    break error;
                }
            };
            assert!(matches!(full, Error::TooManyWrites { .. }));
            let set = |w: &mut crate::AccWorker, n| {
                w.update(t.id, &key, &all, |row| {
                    row.set_i64(1, n);
                    Ok(())
                })
                .map(|_| ())
            };
            let refused = if deletes { a.delete(t.id, &key).map(|_| ()) } else { set(&mut a, 1) };
            assert!(matches!(refused, Err(Error::TooManyWrites { .. })));
            b.run(TxnKind::ReadWrite, |w| set(w, 2)).unwrap();
            let result = a.commit();
            assert!(matches!(&result, Err(error) if error.is_conflict()), "{deletes} {reads}: {result:?}");
            assert!(b.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key)).unwrap());
        }
    }
}
