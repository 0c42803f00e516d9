//! What a transaction reads: keys and ranges, tables by their definitions, rows.

use super::{ClusterWorker, TableOrIndex, table_of};
use crate::engine::definitions::{self, ClusterTable, Entry, Space, Stored};
use crate::engine::spread::Spread;
use crate::engine::stream::{self, Stream};
use crate::engine::talk::Ended;
use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId};
use scaledb_engine::{Order, PREFETCH, Range, RowId};
use scaledb_keys::KeyBuf;
use scaledb_scar::Wanted;
use scaledb_sync::Arc;
use std::ops::ControlFlow;

impl ClusterWorker {
    /// What is under a key: an own write, or what the node finds.
    pub(in crate::engine) fn read(&mut self, key: &Key) -> Result<Option<Value>> {
        let running =
            self.txn.as_ref().ok_or_else(|| self.unheard.take().unwrap_or(Error::TransactionEnded))?;
        if let Some(own) = running.own.get(key) {
            return Ok(own.clone());
        }
        let id = running.id;
        self.talk.read(id, key).map_err(|ended| self.ended(ended, table_of(key), &key.bytes))
    }

    /// The first keys and values of a space from `start` on, in all partitions that may have some.
    pub(super) fn collect(&mut self, space: &Space, start: &[u8], limit: usize) -> Result<Vec<(Key, Value)>> {
        let mut rows = Vec::new();
        self.walk(space, Range { start, end: None }, Order::Forward, |_, key, value| {
            rows.push((key, value));
            Ok(if rows.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(rows)
    }

    /// The entries of the catalog.
    pub(in crate::engine) fn definitions(&mut self) -> Result<Vec<Value>> {
        self.of_catalog(definitions::entries())
    }

    /// The tables with indexes that are being built, or were when somebody failed; that index is the last.
    pub(in crate::engine) fn unfinished(&mut self) -> Result<Vec<Stored>> {
        let stored = |value: &Value| match Entry::from_value(value)? {
            Entry::Table(stored) => Ok(*stored),
            Entry::IndexOf(table) => Err(Error::NoSuchTable(table.to_string())),
        };
        self.of_catalog(definitions::all_unfinished())?.iter().map(stored).collect()
    }

    /// The values of the catalog between two keys.
    fn of_catalog(&mut self, range: (Key, Key)) -> Result<Vec<Value>> {
        let id = self.running()?.id;
        let mut values = Vec::new();
        let mut streams = [Stream::of_catalog(range)];
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
    pub(in crate::engine) fn name_of(&mut self, id: TableId) -> Result<Option<String>> {
        match self.place(id) {
            Ok(TableOrIndex { table, index }) => {
                let name = index.map_or(&table.info.name, |index| &table.info.indexes[index].name);
                Ok(Some(name.clone()))
            }
            Err(Error::NoSuchTable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How the keys of a table or an index are spread, and how many columns they have; none if there is no such one.
    pub(in crate::engine) fn spread_of(&mut self, id: TableId) -> Result<Option<(Spread, usize)>> {
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

    pub(super) fn walk(
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
    pub(super) fn streams(&mut self, space: &Space, range: Range<'_>, order: Order) -> Vec<Stream> {
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
    pub(super) fn next_of(
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
    pub(super) fn walk_index(
        &mut self,
        place: &TableOrIndex,
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

    /// Fetches what is under keys that will be read.
    pub(super) fn fetch_ahead<'k>(&mut self, ahead: impl Iterator<Item = (TableId, &'k [u8])>) {
        if self.txn.is_none() {
            return;
        }
        let mut keys = Vec::new();
        for (table, key) in ahead.take(PREFETCH) {
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
        // one that has ended meanwhile says so at the next call
        if let Err(ended) = self.fetch(keys) {
            self.unheard = Some(self.ended(ended, TableId(0), &[]));
        }
    }

    /// Fetches what is under keys, as far as it is not kept here or written.
    pub(super) fn fetch(&mut self, mut keys: Vec<Key>) -> Result<(), Ended> {
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
    pub(super) fn place(&mut self, id: TableId) -> Result<TableOrIndex> {
        let used = |table: &Arc<ClusterTable>| {
            if table.info.id == id {
                return Some(TableOrIndex { table: table.clone(), index: None });
            }
            let index = table.indexes.iter().position(|index| index.id == id)?;
            Some(TableOrIndex { table: table.clone(), index: Some(index) })
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
    pub(super) fn table(&mut self, id: TableId) -> Result<Arc<ClusterTable>> {
        let place = self.place(id)?;
        match place.index {
            None => Ok(place.table),
            Some(_) => Err(Error::BadDefinition("rows are written in tables, not in indexes".into())),
        }
    }

    /// Reads the words of a row.
    pub(super) fn decode(&mut self, table: &ClusterTable, key: &[u8], value: &Value) -> Result<()> {
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
    pub(super) fn row(&mut self, table: &ClusterTable, key: &Key) -> Result<Option<RowId>> {
        let Some(value) = self.read(key)? else { return Ok(None) };
        self.decode(table, &key.bytes, &value)?;
        let running = self.running()?;
        Ok(Some(running.own.name_found(running.serial, table.info.id, key, &value)))
    }

    /// The row that an index entry stands for.
    pub(super) fn row_of_entry(
        &mut self,
        place: &TableOrIndex,
        entry: &Key,
        primary: &Value,
    ) -> Result<RowId> {
        let key = place.table.space.key(&primary.0, self.shared.partitions);
        match self.row(&place.table, &key)? {
            Some(row) => Ok(row),
            None => Err(self.torn(place.space().id, &entry.bytes)),
        }
    }

    /// What is under the key of a row that this transaction has found or inserted: as it was read then, or written.
    pub(super) fn read_named(&mut self, row: RowId, key: &Key) -> Result<Option<Value>> {
        match self.running()?.own.value(row, key) {
            Some(value) => Ok(Some(value)),
            None => self.read(key),
        }
    }

    /// The table and the key of a row that this transaction has found or inserted.
    pub(super) fn named(&mut self, table: TableId, row: RowId) -> Result<(Arc<ClusterTable>, Key)> {
        let running = self.running()?;
        let key = running.own.key(row, running.serial, table)?;
        Ok((self.table(table)?, key))
    }
}
