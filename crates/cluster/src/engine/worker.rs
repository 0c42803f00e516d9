//! A worker: reads at the node's replicas or at primaries, writes in its own memory, and a commit that hands them over.

use super::Shared;
use super::definitions::{self, Entry, Space, Table};
use super::own::Own;
use super::spread::Spread;
use super::stream::{self, Stream};
use super::talk::{Ended, Talk, conflict};
use crate::rows::{Key, Value};
use scaledb_base::{ConflictKind, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{
    IndexInfo, Order, PREFETCH, Range, ReadMark, RowId, Savepoint, TxnKind, Worker, check_key, check_row,
    check_update,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_scar::{Item, Mark, TxnId, Wanted, Why};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A worker of a [`Cluster`](super::Cluster).
pub struct ClusterWorker {
    shared: Arc<Shared>,
    talk: Talk,
    id: WorkerId,
    txn: Option<Running>,
    /// Why the transaction has ended, when nobody could be told: the next call says it.
    unheard: Option<Error>,
    /// What the last committed transaction depends on.
    depends_on: Timestamp,
    /// Definitions as they were last read: decoding one takes longer than comparing its bytes.
    known: HashMap<TableId, (Value, Arc<Table>)>,
    /// The tables of indexes. An id is never given again.
    index_of: HashMap<TableId, TableId>,
    words: Vec<u64>,
    random: u64,
}

/// A transaction.
struct Running {
    id: TxnId,
    /// Names it among all transactions of the node.
    serial: u64,
    kind: TxnKind,
    own: Own,
    /// The definitions that it has used, and depends on.
    tables: Vec<Arc<Table>>,
    /// What it had read, by [`ReadMark`].
    marks: Vec<Mark>,
}

/// A table, or one of its indexes.
#[derive(Clone)]
struct Place {
    table: Arc<Table>,
    index: Option<usize>,
}

impl Place {
    fn space(&self) -> &Space {
        self.index.map_or(&self.table.space, |index| &self.table.indexes[index])
    }
}

impl ClusterWorker {
    pub(super) fn new(shared: Arc<Shared>, id: WorkerId) -> Self {
        let talk = Talk::new(&shared.member);
        Self {
            shared,
            talk,
            id,
            txn: None,
            unheard: None,
            depends_on: Timestamp::ZERO,
            known: HashMap::new(),
            index_of: HashMap::new(),
            words: Vec::new(),
            random: 0x9E37_79B9_7F4A_7C15 ^ u64::from(id.0) << 32,
        }
    }

    fn running(&mut self) -> Result<&mut Running> {
        match &mut self.txn {
            Some(running) => Ok(running),
            None => Err(self.unheard.take().unwrap_or(Error::TransactionEnded)),
        }
    }

    fn writing(&mut self) -> Result<&mut Running> {
        match self.running()?.kind {
            TxnKind::ReadWrite => self.running(),
            _ => Err(Error::ReadOnlyTransaction),
        }
    }

    /// The transaction has ended.
    #[cold]
    fn ended(&mut self, ended: Ended, table: TableId, key: &[u8]) -> Error {
        let tables = self.txn.take().map_or_else(Vec::new, |running| running.tables);
        let (why, item) = match ended {
            // it had not begun to commit
            Ended::Lost(lost) => return self.shared.not_here(lost),
            Ended::Aborted(why, item) => (why, item),
        };
        let mut kind = match why {
            Why::TooLarge => return Error::TooManyWrites { limit: scaledb_scar::MAX_OPERATIONS },
            Why::Full => {
                let (_, budget) = self.shared.member.call(|node, _| node.memory());
                return Error::OutOfMemory { budget: budget as u64 };
            }
            Why::Locked(_) => ConflictKind::WriteLocked,
            Why::View => ConflictKind::MembersChanged,
            Why::Changed | Why::SnapshotTooOld | Why::RolledBack => ConflictKind::ReadChanged,
        };
        let key = match item {
            None => Key::new(definitions::EVERYWHERE, table.0.wrapping_add(1), key),
            Some(Item::Record(key)) => key,
            Some(Item::Gap(partition, low, high)) => {
                kind = ConflictKind::RangePhantom;
                // a gap may reach from one table to the next
                let uses = |key: &Key| {
                    let id = table_of(key);
                    tables.iter().any(|table| table.info.id == id || table.indexes.iter().any(|i| i.id == id))
                };
                // none of its ends is of a table that was used: then it is the only one that can be meant, if it is
                let everywhere = partition == definitions::EVERYWHERE;
                let mut may_be =
                    tables.iter().filter(|table| table.space.spread.is_everywhere() == everywhere);
                let only = may_be.next().filter(|_| may_be.next().is_none());
                let space = only.map_or(Key::CATALOG, |table| table.space.number());
                let ends = low.iter().chain(&high).find(|key| uses(key)).cloned();
                ends.unwrap_or_else(|| Key::new(partition, space, &[]))
            }
        };
        if key.space == Key::CATALOG && kind == ConflictKind::ReadChanged {
            kind = ConflictKind::DefinitionChanged;
        }
        self.shared.count(kind);
        conflict(kind, table_of(&key), &key.bytes).into()
    }

    /// What was read cannot be of one state.
    #[cold]
    fn torn(&mut self, table: TableId, key: &[u8]) -> Error {
        if let Some(running) = &self.txn {
            self.talk.rollback(running.id);
        }
        self.ended(Ended::Aborted(Why::Changed, None), table, key)
    }

    /// Whether what was read so far is of one state, as `checked` says.
    fn if_holds(&mut self, checked: Result<bool, Ended>) -> Result<()> {
        match checked {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.torn(TableId(0), &[])),
            Err(ended) => {
                // one that waits for its epoch in vain
                if let (Ended::Lost(_), Some(running)) = (&ended, &self.txn) {
                    self.talk.rollback(running.id);
                }
                Err(self.ended(ended, TableId(0), &[]))
            }
        }
    }

    /// What was read so far is of one state.
    fn check_holds(&mut self) -> Result<()> {
        let id = self.running()?.id;
        let checked = self.talk.check(id);
        self.if_holds(checked)
    }

    /// What is under a key: an own write, or what the node finds.
    pub(super) fn read(&mut self, key: &Key) -> Result<Option<Value>> {
        let running =
            self.txn.as_ref().ok_or_else(|| self.unheard.take().unwrap_or(Error::TransactionEnded))?;
        if let Some(own) = running.own.get(key) {
            return Ok(own.clone());
        }
        let id = running.id;
        self.talk.read(id, key).map_err(|ended| self.ended(ended, table_of(key), &key.bytes))
    }

    /// Writes a key, at the commit.
    pub(super) fn put(&mut self, key: Key, value: Option<Value>) -> Result<()> {
        let running = self.writing()?;
        // what locks and validation need has the same limit
        if running.own.len() >= scaledb_scar::MAX_OPERATIONS {
            return Err(Error::TooManyWrites { limit: scaledb_scar::MAX_OPERATIONS });
        }
        running.own.put(key, value);
        Ok(())
    }

    /// The first keys and values of a space, in all partitions that may have some.
    fn collect(&mut self, space: &Space, limit: usize) -> Result<Vec<(Key, Value)>> {
        let mut rows = Vec::new();
        self.walk(space, Range::ALL, Order::Forward, |_, key, value| {
            rows.push((key, value));
            Ok(if rows.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(rows)
    }

    /// The entries of the catalog.
    pub(super) fn definitions(&mut self) -> Result<Vec<Value>> {
        let id = self.running()?.id;
        let mut values = Vec::new();
        let mut streams = [Stream::of_catalog(definitions::entries())];
        loop {
            let running =
                self.txn.as_ref().ok_or_else(|| self.unheard.take().unwrap_or(Error::TransactionEnded))?;
            let next = stream::next(&mut streams, &mut self.talk, id, &running.own);
            match next.map_err(|ended| self.ended(ended, table_of(&definitions::counter()), &[]))? {
                Some((_, value)) => values.push(value),
                None => return Ok(values),
            }
        }
    }

    /// The name of a table or an index; none if there is no such one.
    pub(super) fn name_of(&mut self, id: TableId) -> Result<Option<String>> {
        match self.place(id) {
            Ok(Place { table, index }) => {
                let name = index.map_or(&table.info.name, |index| &table.info.indexes[index].name);
                Ok(Some(name.clone()))
            }
            Err(Error::NoSuchTable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How the keys of a table or an index are spread, and how many columns they have; none if there is no such one.
    pub(super) fn spread_of(&mut self, id: TableId) -> Result<Option<(Spread, usize)>> {
        match self.place(id) {
            Ok(place) => {
                let info = &place.table.info;
                let key = place.index.map_or(info.schema.primary_key(), |index| &info.indexes[index].key);
                Ok(Some((place.space().spread.clone(), key.parts().len())))
            }
            Err(Error::NoSuchTable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the first rows of a space, and says how many.
    pub(super) fn sweep(&mut self, space: &Space, limit: usize) -> Result<usize> {
        let rows = self.collect(space, limit)?;
        let count = rows.len();
        rows.into_iter().try_for_each(|(key, _)| self.put(key, None))?;
        Ok(count)
    }

    fn walk(
        &mut self,
        space: &Space,
        range: Range<'_>,
        order: Order,
        mut f: impl FnMut(&mut Self, Key, Value) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut streams = self.streams(space, range, order);
        while let Some((key, value)) = self.next_of(space, &mut streams, range.start)? {
            if f(self, key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Scans of all partitions that may have keys of a range.
    fn streams(&mut self, space: &Space, range: Range<'_>, order: Order) -> Vec<Stream> {
        if range.end.is_some_and(|end| end <= range.start) {
            return Vec::new();
        }
        let partitions = space.spread.partitions(range.start, range.end, self.shared.partitions);
        let kept = self.talk.kept();
        let stream = |partition| {
            let how = (order, kept.here(partition));
            Stream::new(partition, space.number(), range.start, range.end, how)
        };
        partitions.into_iter().map(stream).collect()
    }

    /// The next row of a scan.
    fn next_of(
        &mut self,
        space: &Space,
        streams: &mut [Stream],
        start: &[u8],
    ) -> Result<Option<(Key, Value)>> {
        let running =
            self.txn.as_ref().ok_or_else(|| self.unheard.take().unwrap_or(Error::TransactionEnded))?;
        let next = stream::next(streams, &mut self.talk, running.id, &running.own);
        next.map_err(|ended| self.ended(ended, space.id, start))
    }

    /// Reads index entries ahead, and then their rows: of each window one message goes to each node that has some.
    fn walk_index(
        &mut self,
        place: &Place,
        range: Range<'_>,
        order: Order,
        mut f: impl FnMut(&mut Self, RowId, &Key) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut streams = self.streams(place.space(), range, order);
        let mut window = stream::FIRST as usize;
        loop {
            let mut entries = Vec::with_capacity(window);
            while entries.len() < window {
                match self.next_of(place.space(), &mut streams, range.start)? {
                    Some(entry) => entries.push(entry),
                    None => break,
                }
            }
            let rows = entries.iter().map(|(_, row)| place.table.space.key(&row.0, self.shared.partitions));
            let rows = rows.collect();
            self.fetch(rows).map_err(|ended| self.ended(ended, place.space().id, range.start))?;
            let ended = entries.len() < window;
            for (entry, primary) in entries {
                let row = self.row_of_entry(place, &entry, &primary)?;
                if f(self, row, &entry).is_break() {
                    return Ok(());
                }
            }
            if ended {
                return Ok(());
            }
            window = (2 * window).min(stream::LARGEST as usize);
        }
    }

    /// Fetches what is under keys, as far as it is not kept here or written.
    fn fetch(&mut self, mut keys: Vec<Key>) -> Result<(), Ended> {
        let kept = self.talk.kept();
        let Some(running) = &self.txn else { return Ok(()) };
        keys.retain(|key| !kept.here(key.partition) && running.own.get(key).is_none());
        // one key is asked for when it is read
        if keys.len() < 2 {
            return Ok(());
        }
        self.talk.fetch(running.id, Wanted { keys, ranges: Vec::new() })
    }

    /// A table that is there, or an index of one. The transaction depends on the definition from here on.
    fn place(&mut self, id: TableId) -> Result<Place> {
        let used = |table: &Arc<Table>| {
            if table.info.id == id {
                return Some(Place { table: table.clone(), index: None });
            }
            let index = table.indexes.iter().position(|index| index.id == id)?;
            Some(Place { table: table.clone(), index: Some(index) })
        };
        if let Some(place) = self.running()?.tables.iter().find_map(used) {
            return Ok(place);
        }
        let none = || Error::NoSuchTable(id.to_string());
        let of = self.index_of.get(&id).copied().unwrap_or(id);
        let value = self.read(&definitions::entry(of))?.ok_or_else(none)?;
        let known = self.known.get(&of).filter(|(known, _)| *known == value).map(|(_, table)| table.clone());
        let table = match known {
            Some(table) => table,
            None => match Entry::from_value(&value)? {
                Entry::IndexOf(table) if of == id => {
                    self.index_of.insert(id, table);
                    return self.place(id);
                }
                Entry::IndexOf(_) => return Err(none()),
                Entry::Table(stored) => {
                    let table = Arc::new(stored.table()?);
                    self.known.insert(of, (value, table.clone()));
                    table
                }
            },
        };
        let place = used(&table).ok_or_else(none)?;
        self.running()?.tables.push(table);
        Ok(place)
    }

    /// A table; its indexes are none.
    fn table(&mut self, id: TableId) -> Result<Arc<Table>> {
        let place = self.place(id)?;
        match place.index {
            None => Ok(place.table),
            Some(_) => Err(Error::BadDefinition("rows are written in tables, not in indexes".into())),
        }
    }

    /// Reads the words of a row.
    fn decode(&mut self, table: &Table, key: &[u8], value: &Value) -> Result<()> {
        let mut words = std::mem::take(&mut self.words);
        let read = table.info.schema.layout().decode_row(&value.0, &mut words);
        self.words = words;
        read.map_err(|_| {
            let row = KeyBuf::from(key);
            Error::BadDefinition(format!(
                "row {row:?} of table {} does not have its columns",
                table.info.name
            ))
        })
    }

    /// The row under a key of the table, and its name.
    fn row(&mut self, table: &Table, key: &Key) -> Result<Option<RowId>> {
        let Some(value) = self.read(key)? else { return Ok(None) };
        self.decode(table, &key.bytes, &value)?;
        let running = self.running()?;
        Ok(Some(running.own.name_found(running.serial, table.info.id, key)))
    }

    /// The row that an index entry stands for.
    fn row_of_entry(&mut self, place: &Place, entry: &Key, primary: &Value) -> Result<RowId> {
        let key = place.table.space.key(&primary.0, self.shared.partitions);
        match self.row(&place.table, &key)? {
            Some(row) => Ok(row),
            None => Err(self.torn(place.space().id, &entry.bytes)),
        }
    }

    /// The keys of a row's entries, in the order of the indexes; with each whether it must be the only one.
    fn entries(&self, table: &Table, primary: &[u8], words: &[u64]) -> Result<Vec<(Key, bool)>> {
        let row = RowRef::new(table.info.schema.layout(), words);
        let entry = |(info, space): (&IndexInfo, &Space)| {
            let mut key = KeyBuf::new();
            let has_null = info.key.encode(&table.info.schema, row, &mut key);
            let alone = info.unique && !has_null;
            if !alone {
                key.push_encoded(primary);
            }
            check_key(&key)?;
            Ok((space.key(&key, self.shared.partitions), alone))
        };
        table.info.indexes.iter().zip(&table.indexes).map(entry).collect()
    }

    /// Refuses a key that is taken, if what was read so far is of one state.
    fn refuse_taken(&mut self, table: TableId, key: &Key) -> Result<()> {
        if self.read(key)?.is_none() {
            return Ok(());
        }
        // whoever tells a client of it has it confirmed: ON CONFLICT does not
        self.check_holds()?;
        Err(Error::DuplicateKey { table, key: (*key.bytes).into() })
    }

    fn encode(table: &Table, words: &[u64]) -> Value {
        let mut bytes = Vec::new();
        table.info.schema.layout().encode_row(words, &mut bytes);
        Value(bytes.into())
    }

    /// Changes the row under a key of the table.
    fn change<R>(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(value) = self.read(key)? else { return Ok(None) };
        self.decode(table, &key.bytes, &value)?;
        let schema = &table.info.schema;
        let old = self.words.clone();
        let mut new = self.words.clone();
        let mut edit = RowMut::new(schema.layout(), &mut new, 0, cols.columns());
        let result = f(&mut edit)?;
        let dirty = edit.dirty();
        check_update(schema, &key.bytes, dirty, &new)?;
        let value = Self::encode(table, &new);
        let entries =
            self.entries(table, &key.bytes, &old)?.into_iter().zip(self.entries(table, &key.bytes, &new)?);
        let moved: Vec<_> = entries.enumerate().filter(|(_, (old, new))| old.0 != new.0).collect();
        for (number, (_, (entry, alone))) in &moved {
            if *alone {
                self.refuse_taken(table.indexes[*number].id, entry)?;
            }
        }
        self.put(key.clone(), Some(value))?;
        for (_, ((old, _), (new, _))) in moved {
            self.put(old, None)?;
            self.put(new, Some(Value(key.bytes.clone())))?;
        }
        Ok(Some(result))
    }

    fn remove(&mut self, table: &Arc<Table>, key: &Key) -> Result<bool> {
        let Some(value) = self.read(key)? else { return Ok(false) };
        self.decode(table, &key.bytes, &value)?;
        let words = std::mem::take(&mut self.words);
        let entries = self.entries(table, &key.bytes, &words);
        self.words = words;
        for (entry, _) in entries? {
            self.put(entry, None)?;
        }
        self.put(key.clone(), None)?;
        Ok(true)
    }

    /// The table and the key of a row that this transaction has found or inserted.
    fn named(&mut self, table: TableId, row: RowId) -> Result<(Arc<Table>, Key)> {
        let running = self.running()?;
        let key = running.own.key(row, running.serial, table)?;
        Ok((self.table(table)?, key))
    }

    fn now(&mut self) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    /// Writes the entries of a new index for all rows of its table.
    ///
    /// # Errors
    /// Two rows that would share a key; those of reads and writes.
    pub(super) fn fill(&mut self, table: &Arc<Table>, number: usize) -> Result<()> {
        for (key, value) in self.collect(&table.space, usize::MAX)? {
            self.decode(table, &key.bytes, &value)?;
            let words = std::mem::take(&mut self.words);
            let entries = self.entries(table, &key.bytes, &words);
            self.words = words;
            let (entry, alone) = entries?.swap_remove(number);
            if alone && self.running()?.own.get(&entry).is_some() {
                self.check_so_far()?;
                return Err(Error::DuplicateKey { table: table.info.id, key: (*entry.bytes).into() });
            }
            self.put(entry, Some(Value(key.bytes.clone())))?;
        }
        Ok(())
    }
}

fn table_of(key: &Key) -> TableId {
    TableId(key.space.wrapping_sub(1))
}

impl Worker for ClusterWorker {
    /// Snapshots of every kind run as read-only transactions of the present, validated as others are: stronger than
    /// what was asked for, and they may conflict.
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.rollback();
        let id = self.talk.begin().map_err(|ended| self.ended(ended, TableId(0), &[]))?;
        let serial = self.shared.serial.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        self.txn =
            Some(Running { id, serial, kind, own: Own::default(), tables: Vec::new(), marks: Vec::new() });
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        self.txn.is_some() || self.unheard.is_some()
    }

    fn get<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        _: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let place = self.place(table)?;
        let key = place.space().key(key, self.shared.partitions);
        let found = match place.index {
            None => self.row(&place.table, &key)?,
            Some(_) => match self.read(&key)? {
                None => None,
                Some(primary) => Some(self.row_of_entry(&place, &key, &primary)?),
            },
        };
        let layout = place.table.info.schema.layout();
        Ok(found.map(|row| f(row, RowRef::new(layout, &self.words))))
    }

    /// The rows that are not kept here are fetched with one message to each node that has some.
    fn prefetch<'k>(&mut self, rows: impl Iterator<Item = (TableId, &'k [u8], &'k Projection)>) {
        if self.txn.is_none() {
            return;
        }
        let mut keys = Vec::new();
        for (table, key, _) in rows.take(PREFETCH) {
            let place = match self.place(table) {
                Ok(place) => place,
                Err(error) => {
                    // whoever reads it hears what is wrong, also if the transaction has ended by it
                    self.unheard = self.txn.is_none().then_some(error);
                    return;
                }
            };
            keys.push(place.space().key(key, self.shared.partitions));
        }
        // a transaction that has ended meanwhile says so at the next call
        let _ = self.fetch(keys);
    }

    fn scan(
        &mut self,
        index: TableId,
        range: Range<'_>,
        order: Order,
        _: &Projection,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let place = self.place(index)?;
        if !place.space().ordered {
            return Err(Error::NotOrdered(index));
        }
        let layout = place.table.info.schema.layout();
        if place.index.is_some() {
            return self.walk_index(&place, range, order, |worker, row, entry| {
                f(row, &entry.bytes, RowRef::new(layout, &worker.words))
            });
        }
        self.walk(place.space(), range, order, |worker, key, value| {
            worker.decode(&place.table, &key.bytes, &value)?;
            let running = worker.running()?;
            let row = running.own.name_found(running.serial, place.table.info.id, &key);
            Ok(f(row, &key.bytes, RowRef::new(layout, &worker.words)))
        })
    }

    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId> {
        self.writing()?;
        let table = self.table(table)?;
        let schema = &table.info.schema;
        check_row(table.info.id, schema, row.words())?;
        let key = loop {
            let mut key = KeyBuf::new();
            let numbered = schema.primary_key().columns().is_empty();
            if numbered {
                key = key.u64(self.shared.next_row());
            } else {
                schema.primary_key().encode(schema, row.view(schema), &mut key);
            }
            check_key(&key)?;
            let key = table.space.key(&key, self.shared.partitions);
            if !numbered {
                self.refuse_taken(table.info.id, &key)?;
            } else if self.read(&key)?.is_some() {
                continue;
            }
            break key;
        };
        let value = Self::encode(&table, row.words());
        let entries = self.entries(&table, &key.bytes, row.words())?;
        for ((entry, alone), space) in entries.iter().zip(&table.indexes) {
            if *alone {
                self.refuse_taken(space.id, entry)?;
            }
        }
        for (entry, _) in entries {
            self.put(entry, Some(Value(key.bytes.clone())))?;
        }
        self.put(key.clone(), Some(value))?;
        let running = self.running()?;
        Ok(running.own.name_inserted(running.serial, table.info.id, key))
    }

    fn update<R>(
        &mut self,
        table: TableId,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.writing()?;
        let table = self.table(table)?;
        let key = table.space.key(key, self.shared.partitions);
        self.change(&table, &key, cols, f)
    }

    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.writing()?;
        let (table, key) = self.named(table, row)?;
        self.change(&table, &key, cols, f)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.writing()?;
        let table = self.table(table)?;
        let key = table.space.key(key, self.shared.partitions);
        self.remove(&table, &key)
    }

    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool> {
        self.writing()?;
        let (table, key) = self.named(table, row)?;
        self.remove(&table, &key)
    }

    fn check_so_far(&mut self) -> Result<()> {
        let id = self.running()?.id;
        let confirmed = self.talk.confirm(id);
        self.if_holds(confirmed)
    }

    fn get_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        _: &Projection,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let (table, key) = self.named(table, row)?;
        let found = self.row(&table, &key)?;
        Ok(found.map(|_| f(RowRef::new(table.info.schema.layout(), &self.words))))
    }

    fn read_mark(&mut self) -> ReadMark {
        let Some(running) = &mut self.txn else { return ReadMark::default() };
        running.marks.extend(self.talk.mark(running.id));
        ReadMark([running.marks.len(), running.tables.len(), 0, 0, 0])
    }

    fn forget_reads(&mut self, mark: ReadMark) {
        let Some(running) = &mut self.txn else { return };
        // a definition is read again when it is used again
        running.tables.truncate(mark.0[1]);
        running.marks.truncate(mark.0[0]);
        if let Some(&mark) = running.marks.last() {
            self.talk.forget(running.id, mark);
        }
    }

    fn refresh(&mut self, mark: ReadMark) -> Result<bool> {
        let id = self.running()?.id;
        match self.talk.check(id) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(ended) => return Err(self.ended(ended, TableId(0), &[])),
        }
        self.forget_reads(mark);
        self.check_holds().map(|()| false)
    }

    fn savepoint(&mut self) -> Result<Savepoint> {
        Ok(self.running()?.own.savepoint())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.running()?.own.rollback_to(savepoint)
    }

    fn commit(&mut self) -> Result<Timestamp> {
        let running = self.running()?;
        let (id, writes) = (running.id, running.own.take());
        let (epoch, cts) = match self.talk.commit(id, writes) {
            Ok(place) => place,
            Err(Ended::Lost(lost)) => {
                self.txn = None;
                return Err(super::lost(lost));
            }
            Err(ended) => return Err(self.ended(ended, TableId(0), &[])),
        };
        self.txn = None;
        let place = super::horizon::place(epoch, cts);
        if self.shared.waits {
            self.shared.wait_durable(place)?;
        }
        self.shared.commits.fetch_add(1, Ordering::Relaxed); // a statistic
        self.depends_on = place;
        Ok(place)
    }

    fn id(&self) -> WorkerId {
        self.id
    }

    fn depends_on(&self) -> Timestamp {
        self.depends_on
    }

    fn wait_durable(&self) -> Result<()> {
        self.shared.wait_durable(self.depends_on)
    }

    fn rollback(&mut self) {
        self.unheard = None;
        if let Some(running) = self.txn.take() {
            self.talk.rollback(running.id);
            self.shared.rollbacks.fetch_add(1, Ordering::Relaxed); // a statistic
        }
    }

    fn back_off(&mut self, attempt: u32) {
        // a lock of another lives for some messages: up to a few milliseconds where many want one key
        let most = 50_u64 << attempt.min(7);
        let wait = self.now() % most;
        scaledb_sync::thread::sleep(std::time::Duration::from_micros(wait));
    }
}

impl Drop for ClusterWorker {
    fn drop(&mut self) {
        self.rollback();
        self.shared.free(self.id);
    }
}
