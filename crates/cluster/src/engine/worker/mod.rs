//! A worker: reads at the node's replicas or at primaries, writes in its own memory, and a commit that hands them over.

mod closed;
mod read;
mod write;

use write::IndexEntry;

use super::ClusterShared;
use super::definitions::{self, ClosedTables, ClusterTable, Space};
use super::others::Refusal;
use super::own::Own;
use super::talk::{Ended, Talk, conflict};
use crate::rows::{Key, Value};
use scaledb_base::{ConflictKind, Error, Result, TableId, Timestamp, WorkerId};
use scaledb_engine::{
    Closure, Order, Range, ReadMark, RowId, Savepoint, TxnKind, Worker, check_key, check_row,
};
use scaledb_keys::KeyBuf;
use scaledb_row::{Projection, RowBuf, RowMut, RowRef};
use scaledb_scar::{Item, Kind, Mark, TxnId, Why};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A worker of a [`Cluster`](super::Cluster).
pub struct ClusterWorker {
    shared: Arc<ClusterShared>,
    talk: Talk,
    id: WorkerId,
    txn: Option<Running>,
    /// Why the transaction has ended, when nobody could be told: the next call says it.
    unheard: Option<Error>,
    /// What the last committed transaction depends on.
    depends_on: Timestamp,
    /// Definitions as they were last read: decoding one takes longer than comparing its bytes.
    known: HashMap<TableId, (Value, Arc<ClusterTable>)>,
    /// The tables of indexes. An id is never given again.
    index_of: HashMap<TableId, TableId>,
    /// The closed tables that it may write to.
    passes: Option<Arc<ClosedTables>>,
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
    tables: Vec<Arc<ClusterTable>>,
    /// What it had read, by [`ReadMark`].
    marks: Vec<Mark>,
    /// Whether it has read which tables are closed, and depends on that.
    has_looked: bool,
    /// The tables that are closed for it.
    closed: Option<ClosedTables>,
}

/// A table, or one of its indexes.
#[derive(Clone)]
struct TableOrIndex {
    table: Arc<ClusterTable>,
    index: Option<usize>,
}

impl TableOrIndex {
    fn space(&self) -> &Space {
        self.index.map_or(&self.table.space, |index| &self.table.indexes[index])
    }
}

impl ClusterWorker {
    pub(super) fn new(shared: Arc<ClusterShared>, id: WorkerId) -> Self {
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
            passes: None,
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

    /// A table to write to.
    fn writable(&mut self, id: TableId) -> Result<Arc<ClusterTable>> {
        self.writing()?;
        let table = self.table(id)?;
        self.check_open(table.info.id)?;
        Ok(table)
    }

    /// The transaction has ended.
    #[cold]
    fn ended(&mut self, ended: Ended, table: TableId, key: &[u8]) -> Error {
        let (own, tables) =
            self.txn.take().map_or((None, Vec::new()), |running| (Some(running.id), running.tables));
        let (why, item) = match ended {
            // it had not begun to commit
            Ended::Lost(lost) => return self.shared.not_here(lost),
            Ended::Aborted(why, item) => (why, item),
        };
        let mut kind = match why {
            Why::TooLarge => return Error::TooManyWrites { limit: scaledb_scar::MAX_OPERATIONS },
            Why::Deaf => return Error::TooManyAnnouncements,
            Why::Full => {
                let (_, budget) = self.shared.member.call(|node, _| node.memory());
                return Error::OutOfMemory { budget: budget as u64 };
            }
            Why::Locked(_) => ConflictKind::WriteLocked,
            Why::View => ConflictKind::MembersChanged,
            Why::Changed | Why::SnapshotTooOld | Why::RolledBack => ConflictKind::ReadChanged,
        };
        let key = match item.clone() {
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
        let conflict = conflict(kind, table_of(&key), &key.bytes);
        if let (Some(own), Some(item)) = (own, item) {
            self.shared.others.refused(Refusal { conflict: conflict.clone(), own, why, item });
        }
        conflict.into()
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
            Err(ended) => Err(self.ended(ended, TableId(0), &[])),
        }
    }

    /// What was read so far is of one state.
    fn check_holds(&mut self) -> Result<()> {
        let id = self.running()?.id;
        let checked = self.talk.check(id);
        self.if_holds(checked)
    }

    fn now(&mut self) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}

fn table_of(key: &Key) -> TableId {
    TableId(key.space.wrapping_sub(1))
}

impl Worker for ClusterWorker {
    /// Snapshots of every kind read the end of the last epoch that may have committed anywhere: all that was answered
    /// before.
    fn begin(&mut self, kind: TxnKind) -> Result<()> {
        self.rollback();
        let reads = if kind.is_snapshot() { Kind::Snapshot } else { Kind::Serializable };
        let id = self.talk.begin(reads).map_err(|ended| self.ended(ended, TableId(0), &[]))?;
        self.shared.others.begins(self.id, id);
        let serial = self.shared.serial.fetch_add(1, Ordering::Relaxed); // only uniqueness matters
        self.txn = Some(Running {
            id,
            serial,
            kind,
            own: Own::new(kind != TxnKind::ReadWrite),
            tables: Vec::new(),
            marks: Vec::new(),
            has_looked: false,
            closed: None,
        });
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
        self.fetch_ahead(rows.map(|(table, key, _)| (table, key)));
    }

    /// So are the keys that are to be absent.
    fn prefetch_inserts<'k>(&mut self, keys: impl Iterator<Item = (TableId, &'k [u8])>) {
        self.fetch_ahead(keys);
    }

    fn foresees(&self) -> bool {
        true
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
            let row = running.own.name_found(running.serial, place.table.info.id, &key, &value);
            Ok(f(row, &key.bytes, RowRef::new(layout, &worker.words)))
        })
    }

    fn insert(&mut self, table: TableId, row: &RowBuf) -> Result<RowId> {
        let table = self.writable(table)?;
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
        for IndexEntry { number, key, alone } in &entries {
            if *alone {
                self.refuse_taken(table.indexes[*number].id, key)?;
            }
        }
        for entry in entries {
            self.put(entry.key, Some(Value(key.bytes.clone())))?;
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
        let table = self.writable(table)?;
        let key = table.space.key(key, self.shared.partitions);
        let value = self.read(&key)?;
        self.change(&table, &key, value, cols, f)
    }

    fn update_at<R>(
        &mut self,
        table: TableId,
        row: RowId,
        cols: &Projection,
        f: impl FnOnce(&mut RowMut<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let table = self.writable(table)?;
        let (_, key) = self.named(table.info.id, row)?;
        let value = self.read_named(row, &key)?;
        self.change(&table, &key, value, cols, f)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.writable(table)?;
        let key = table.space.key(key, self.shared.partitions);
        let value = self.read(&key)?;
        self.remove(&table, &key, value)
    }

    fn delete_at(&mut self, table: TableId, row: RowId) -> Result<bool> {
        let table = self.writable(table)?;
        let (_, key) = self.named(table.info.id, row)?;
        let value = self.read_named(row, &key)?;
        self.remove(&table, &key, value)
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

    fn key_of(&mut self, table: TableId, row: RowId) -> Result<Vec<u8>> {
        let running = self.running()?;
        Ok(running.own.key(row, running.serial, table)?.bytes.to_vec())
    }

    fn read_mark(&mut self) -> ReadMark {
        let Some(running) = &mut self.txn else { return ReadMark::default() };
        running.marks.extend(self.talk.mark(running.id));
        ReadMark([running.marks.len(), running.tables.len(), usize::from(running.has_looked), 0, 0])
    }

    fn forget_reads(&mut self, mark: ReadMark) {
        let Some(running) = &mut self.txn else { return };
        running.own.forget_found();
        // a definition is read again when it is used again
        running.tables.truncate(mark.0[1]);
        // nothing has been written since, or it would not be forgotten
        running.has_looked &= mark.0[2] != 0;
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

    /// Announcements are writes that the protocol hands out at all nodes.
    fn announce(&mut self, announcement: &[u8]) -> Result<()> {
        let running = self.running()?;
        // its place is that of its begin, and others may have announced since what it has not seen
        if running.kind.is_snapshot() {
            return Err(Error::ReadOnlyTransaction);
        }
        let number = running.own.len();
        if number >= scaledb_scar::MAX_OPERATIONS {
            return Err(Error::TooManyWrites { limit: scaledb_scar::MAX_OPERATIONS });
        }
        running.own.put(Key::of_announcement(running.id, number as u32), Some(Value(announcement.into())));
        Ok(())
    }

    fn commit(&mut self) -> Result<Timestamp> {
        self.open_with_commit()?;
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
        if let Some(opened) = self.passes.take() {
            self.shared.no_more_lent(&opened);
        }
        let place = super::horizon::place(epoch, cts);
        self.shared.others.decided(self.id, place);
        if self.shared.waits {
            self.shared.wait_durable(place)?;
        }
        self.shared.commits.fetch_add(1, Ordering::Relaxed); // a statistic
        self.depends_on = place;
        Ok(place)
    }

    fn pass(&mut self, closure: Option<Closure>) {
        self.passes = closure.and_then(|closure| self.shared.lent(closure));
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
