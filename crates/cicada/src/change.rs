//! Indexes that come and go while their table is used. docs/internals/schema-changes.md has the argument.
//!
//! ```text
//!  1  the table is closed: who would write to it waits         its IndexSet
//!  2  the change is counted: who wrote before conflicts         Changes, Table::changed
//!  3  a commit puts its versions where they are found, and then looks at 2
//!  4  entries of all rows, sorted, into a new tree; or the index is marked as gone
//!  5  the table is open, with the new set; and the change is counted once more
//! ```

use crate::indexes::IndexSet;
use crate::rebuild::{Headed, head, key, load_index, sort};
use crate::record::Record;
use crate::recovery::create_record;
use crate::shared::{Catalog, CicadaShared};
use crate::table::CicadaTable;
use crate::txn::Op;
use crate::version::Version;
use crate::worker::{CicadaWorker, Ctx};
use scaledb_base::limits::{MAX_INDEXES, MAX_KEY_BYTES};
use scaledb_base::{Conflict, ConflictKind, Error, Result, TableId, Timestamp};
use scaledb_durability::{failed, inconsistent, log_table};
use scaledb_engine::{CatalogEntry, IndexDef, IndexInfo, TableInfo, TxnKind, Worker};
use scaledb_index::btree::{LeafRead, Position};
use scaledb_keys::KeyBuf;
use scaledb_memory::{Local, Private};
use scaledb_row::{ColumnSet, RowRef};
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::{Arc, thread};
use std::time::Duration;

/// How often a writer looks whether its table is open again.
const LOOK: Duration = Duration::from_millis(1);

/// Entries of a dropped index that are deleted at a time.
const AT_ONCE: usize = if scaledb_sync::MODEL { 2 } else { 1 << 14 };

/// Rows that are looked at, and entries that are loaded, before the caller is asked whether to go on.
const ASK: usize = if cfg!(debug_assertions) { 16 } else { 1 << 12 };
const LOAD: usize = if cfg!(debug_assertions) { 64 } else { 1 << 16 };

/// A table that nobody writes to. It opens when this is dropped.
struct Closed<'a> {
    shared: &'a CicadaShared,
    table: &'a CicadaTable,
    /// The indexes that it will have.
    next: IndexSet,
}

impl<'a> Closed<'a> {
    /// Steps 1 and 2.
    fn new(shared: &'a CicadaShared, table: &'a CicadaTable) -> Self {
        let next = table.indexes.get().clone();
        table.indexes.replace(IndexSet { closed: true, ..next.clone() });
        let closed = Self { shared, table, next };
        closed.count();
        // pairs with the fences of those who insert, and with their look at the count
        fence(Ordering::SeqCst);
        closed
    }

    fn count(&self) {
        let next = self.shared.changes.count.load(Ordering::Relaxed) + 1; // changed under `turn` only
        self.table.changed.store(next, Ordering::SeqCst);
        self.shared.changes.count.store(next, Ordering::SeqCst);
    }
}

impl Drop for Closed<'_> {
    /// Step 5.
    fn drop(&mut self) {
        self.table.indexes.replace(self.next.clone());
        self.count();
    }
}

impl CicadaShared {
    /// Adds an index to a table, durably.
    pub(crate) fn make_and_add_index(
        &self,
        local: &mut Local,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<std::sync::Arc<TableInfo>> {
        let _turn = self.changes.wait_for_turn(go_on)?;
        let base = self.tables.get(table)?;
        let (info, mut index_info) = describe(&self.catalog.lock(), table, &def)?;
        let mut index = self.make_index(local, &info, &index_info, &def.options)?;
        let mut closed = Closed::new(self, base);
        local.enter();
        let mut made = Made { entries: Vec::new(), room: Private::new(self.domain.clone()) };
        let built = build(self, local, base, &index, &mut made, go_on);
        let mut catalog = self.catalog.lock();
        let logged = built.and_then(|()| self.log_added(local, &catalog, table, def));
        let (id, entry) = match logged {
            Ok(logged) => logged,
            Err(error) => {
                drop(catalog);
                discard(local, &index, &made.entries);
                local.exit();
                return Err(error);
            }
        };
        local.exit();
        (index.id, index_info.id) = (id, id);
        // entries of what was there before have never been made
        index.since.store(self.begin_anew(), Ordering::SeqCst);
        self.tables.add(vec![index]);
        let info = attach(&mut catalog, &info, index_info, entry);
        closed.next = IndexSet { since: closed.next.since, ..set_of(&info) };
        Ok(info)
    }

    /// A raw timestamp that is behind all that were given out, and before all that will be.
    fn begin_anew(&self) -> u64 {
        let ticks = self.horizon.latest() + 1;
        self.horizon.raise_floor(ticks);
        Timestamp::start_of(ticks).raw()
    }

    /// Logs a change, and waits until it is durable: a transaction that began before may use what is new, and postpones
    /// its own timestamp when it sees how far the log is.
    fn log_change(&self, local: &Local, entry: &CatalogEntry) -> Result<()> {
        let Some(log) = self.log() else { return Ok(()) };
        let ts = log_table(log, &self.clock, local.id(), entry)?;
        log.wait(ts).map_err(failed)
    }

    /// Gives a new index its id, and logs it.
    fn log_added(
        &self,
        local: &Local,
        catalog: &Catalog,
        table: TableId,
        def: IndexDef,
    ) -> Result<(TableId, CatalogEntry)> {
        // another one may have been made meanwhile
        if catalog.has(&def.name) {
            return Err(Error::TableExists(def.name));
        }
        let id = self.next_id(1)?;
        let entry = CatalogEntry::AddIndex { table, id, def };
        self.log_change(local, &entry)?;
        Ok((id, entry))
    }

    /// Drops an index, durably.
    pub(crate) fn mark_dropped(&self, local: &Local, id: TableId) -> Result<std::sync::Arc<TableInfo>> {
        let _turn = self.changes.turn.lock();
        let index = self.tables.get(id)?;
        let base = match &index.index_of {
            Some(of) if index.until.load(Ordering::SeqCst) == u64::MAX => self.tables.get(of.base)?,
            _ => return Err(Error::NoSuchTable(id.to_string())),
        };
        let mut closed = Closed::new(self, base);
        let mut catalog = self.catalog.lock();
        let entry = CatalogEntry::DropIndex { id };
        self.log_change(local, &entry)?;
        let info = detach(&mut catalog, base.id, id, entry)?;
        drop(catalog);
        // who writes without it comes after all who have used it
        let since = self.begin_anew();
        index.until.store(since, Ordering::SeqCst);
        closed.next = IndexSet { since, ..set_of(&info) };
        drop(closed);
        self.changes.dropped.lock().push((id, Vec::new()));
        Ok(info)
    }

    /// Adds an index that the log, or a checkpoint, tells of; it is filled later.
    pub(crate) fn add_recovered(
        &self,
        local: &mut Local,
        table: TableId,
        id: TableId,
        def: IndexDef,
    ) -> Result<()> {
        let base = self.tables.get(table)?;
        let mut catalog = self.catalog.lock();
        let (info, mut index_info) = describe(&catalog, table, &def)?;
        index_info.id = self.next_id(1)?;
        if index_info.id != id {
            let (name, is) = (&def.name, index_info.id);
            return Err(inconsistent(format!("index {name} has id {id} in the log and is {is}")));
        }
        let index = self.make_index(local, &info, &index_info, &def.options)?;
        let info = attach(&mut catalog, &info, index_info, CatalogEntry::AddIndex { table, id, def });
        base.indexes.replace(set_of(&info));
        self.tables.add(vec![index]);
        Ok(())
    }

    /// Drops an index, unless that has been done.
    pub(crate) fn drop_recovered(&self, id: TableId) -> Result<()> {
        let index = self.tables.get(id).map_err(|_| inconsistent(format!("no index {id}")))?;
        let Some(of) = &index.index_of else { return Err(inconsistent(format!("{id} is not an index"))) };
        if index.until.swap(0, Ordering::SeqCst) == u64::MAX {
            let entry = CatalogEntry::DropIndex { id };
            let info = detach(&mut self.catalog.lock(), of.base, id, entry)?;
            self.tables.get(of.base)?.indexes.replace(set_of(&info));
        }
        Ok(())
    }
}

/// Tells of a new index.
fn attach(
    catalog: &mut Catalog,
    info: &TableInfo,
    index: IndexInfo,
    entry: CatalogEntry,
) -> std::sync::Arc<TableInfo> {
    let mut info = info.clone();
    info.indexes.push(index);
    let info = std::sync::Arc::new(info);
    catalog.entries.push(entry);
    catalog.names.insert(info.name.clone(), info.clone());
    info
}

/// A table, and an index that it is to have, with an id that is none yet.
fn describe(
    catalog: &Catalog,
    table: TableId,
    def: &IndexDef,
) -> Result<(std::sync::Arc<TableInfo>, IndexInfo)> {
    let info = catalog.names.values().find(|info| info.id == table);
    let info = info.ok_or_else(|| Error::NoSuchTable(table.to_string()))?;
    if catalog.has(&def.name) {
        return Err(Error::TableExists(def.name.clone()));
    }
    if info.indexes.len() >= MAX_INDEXES {
        return Err(Error::BadDefinition(format!("a table has at most {MAX_INDEXES} indexes")));
    }
    if def.key.is_empty() {
        return Err(Error::BadDefinition(format!("index {} has no columns", def.name)));
    }
    let key = info.schema.key(&def.key)?;
    let index = IndexInfo { id: TableId(u32::MAX), name: def.name.clone(), key, unique: def.unique };
    Ok((info.clone(), index))
}

/// Tells that an index is gone.
fn detach(
    catalog: &mut Catalog,
    table: TableId,
    id: TableId,
    entry: CatalogEntry,
) -> Result<std::sync::Arc<TableInfo>> {
    let info = catalog.names.values().find(|info| info.id == table);
    let mut info = TableInfo::clone(info.ok_or_else(|| Error::NoSuchTable(table.to_string()))?);
    info.indexes.retain(|index| index.id != id);
    let info = std::sync::Arc::new(info);
    catalog.entries.push(entry);
    catalog.names.insert(info.name.clone(), info.clone());
    Ok(info)
}

fn set_of(info: &TableInfo) -> IndexSet {
    let columns = info.indexes.iter().fold(ColumnSet::EMPTY, |set, index| set.union(index.key.columns()));
    IndexSet { ids: info.indexes.iter().map(|index| index.id).collect(), columns, since: 0, closed: false }
}

/// Entries that were made for an index.
struct Made {
    entries: Vec<Headed>,
    /// What the list takes.
    room: Private,
}

/// Step 4: fills an index that nobody knows. Nobody writes to the table, and `local` is active. On an error, what was
/// made is to be discarded.
fn build(
    shared: &CicadaShared,
    local: &mut Local,
    base: &CicadaTable,
    index: &CicadaTable,
    made: &mut Made,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let ask = || if go_on() { Ok(()) } else { Err(Error::Stopped) };
    let rows = rows(local, base)?;
    made.room.raise_to(rows.len() * (size_of::<u64>() + size_of::<Headed>()), false)?;
    made.entries.reserve_exact(rows.len());
    let layout = base.schema.layout();
    let mut entry_key = KeyBuf::new();
    for (number, raw) in rows.into_iter().enumerate() {
        if number.is_multiple_of(ASK) {
            ask()?;
        }
        // SAFETY: the table holds it, or held it in this activity.
        let record = unsafe { Record::from_raw(raw) };
        // a commit that has looked at the count before settles its versions soon, one that looks now aborts them
        let visible = loop {
            match record.visible::<true>(u64::MAX, 0) {
                Ok(visible) => break visible,
                Err(_) => thread::yield_now(),
            }
        };
        if !visible.live {
            continue;
        }
        // SAFETY: the newest row, which stays so: nobody writes.
        let version = unsafe { Version::from_raw(visible.version) };
        // SAFETY: as above.
        let row = unsafe { version.row() };
        index.entry_key(&base.schema, RowRef::new(layout, row), record.key(), &mut entry_key);
        if entry_key.len() > MAX_KEY_BYTES {
            return Err(Error::KeyTooLarge { got: entry_key.len(), limit: MAX_KEY_BYTES });
        }
        // an entry is as old as the row that it was made from
        let entry = create_record(shared, local, &entry_key, version.wts(), &[raw])?;
        made.entries.push((head(&entry_key), entry.raw()));
    }
    sort(&mut made.entries);
    if let Some(twice) = made.entries.windows(2).find(|pair| key(pair[0].1) == key(pair[1].1)) {
        return Err(Error::DuplicateKey { table: base.id, key: key(twice[0].1).into() });
    }
    for entries in made.entries.chunks(LOAD) {
        ask()?;
        load_index(shared, local, index, entries)?;
    }
    Ok(())
}

/// The records of a table, each once. None comes meanwhile that stays.
fn rows(local: &Local, table: &CicadaTable) -> Result<Vec<u64>> {
    let mut rows = Vec::new();
    match &table.hash {
        Some(index) => index.for_each(local, |raw| rows.push(raw)),
        None => {
            let (tree, mut leaf, mut from) = (table.tree()?, LeafRead::new(), Vec::new());
            loop {
                tree.open_leaf(local, Position::At(&from), &mut leaf);
                while !tree.read_entries(local, &mut leaf) {
                    tree.open_leaf(local, Position::At(&from), &mut leaf);
                }
                rows.extend_from_slice(leaf.values());
                match leaf.high() {
                    Some(high) => from = high.to_vec(),
                    None => break,
                }
            }
        }
    }
    // a structure that grows may show one twice: some come whose commits fail
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// Takes back what was made of an index that nobody knows. `local` is active.
fn discard(local: &mut Local, index: &CicadaTable, entries: &[Headed]) {
    if let Some(tree) = &index.tree {
        // SAFETY: nobody has the index, which goes without a further look at its tree.
        unsafe { tree.free_all(local) };
    }
    for &(_, raw) in entries {
        // SAFETY: made for the index, which nobody has, each with one version.
        unsafe {
            let record = Record::from_raw(raw);
            let version = Version::from_raw(record.latest().load(Ordering::SeqCst));
            if !version.is_inlined() {
                version.free(local);
            }
            record.discard(local);
        }
    }
}

/// Deletes some entries of a dropped index, as a transaction does: snapshots may see them. Returns whether there are
/// more.
///
/// # Errors
/// [`Error::TooManyWorkers`] and others: there are more.
pub(crate) fn empty_some(shared: &Arc<CicadaShared>) -> Result<bool> {
    let Some((id, from)) = shared.changes.dropped.lock().first().cloned() else { return Ok(false) };
    let index = shared.tables.get(id)?;
    let local = shared.domain.register()?;
    let mut worker = CicadaWorker::without_log(shared.clone(), local);
    worker.begin(TxnKind::ReadWrite)?;
    let deleted = worker.ctx().delete_some(index, from);
    let next = deleted.and_then(|next| worker.commit().map(|_| next));
    worker.rollback();
    drop(worker);
    let mut dropped = shared.changes.dropped.lock();
    // nobody else takes one away but who has done the same
    let at = dropped.iter().position(|(other, _)| *other == id);
    match (next, at) {
        (Ok(Some(next)), Some(at)) => dropped[at].1 = next,
        (Ok(None), Some(at)) => {
            dropped.remove(at);
        }
        (Err(error), _) if !error.is_conflict() => return Err(error),
        _ => {}
    }
    Ok(!dropped.is_empty())
}

impl Ctx<'_> {
    /// Notes which changes of indexes there have been.
    #[inline]
    pub(crate) fn note_changes(&mut self) {
        // pairs with the stores in `count`: who sees the count sees the closed table
        let changes = self.shared.changes.count.load(Ordering::Acquire);
        (self.txn.changes, self.txn.write_changes) = (changes, changes);
    }

    /// Whether the transaction may write to a table now. Waits while its indexes change.
    ///
    /// # Errors
    /// A conflict: they have changed.
    #[inline]
    pub(crate) fn may_write(&mut self, table: &CicadaTable) -> Result<()> {
        if self.txn.writes.is_empty() {
            // before the set is read that the first write keeps
            self.txn.write_changes = self.shared.changes.count.load(Ordering::Acquire);
        }
        let set = table.indexes.get();
        if set.closed || self.txn.ts < set.since { self.wait_for_change(table) } else { Ok(()) }
    }

    #[cold]
    fn wait_for_change(&self, table: &CicadaTable) -> Result<()> {
        while table.indexes.get().closed {
            thread::sleep(LOOK);
        }
        Err(changed(table.id))
    }

    /// Whether the transaction may read through an index.
    ///
    /// # Errors
    /// A conflict if it could when it began, or can if it begins anew; [`Error::NoSuchTable`] if it is gone for it.
    #[inline]
    pub(crate) fn may_use(&self, index: &CicadaTable) -> Result<()> {
        let (since, until) = (index.since.load(Ordering::Acquire), index.until.load(Ordering::Acquire));
        if (since..until).contains(&self.txn.ts) { Ok(()) } else { self.may_not_use(index, since) }
    }

    #[cold]
    fn may_not_use(&self, index: &CicadaTable, since: u64) -> Result<()> {
        let had = self.txn.changes != self.shared.changes.count.load(Ordering::SeqCst);
        if had || self.txn.ts < since {
            return Err(changed(index.id));
        }
        Err(Error::NoSuchTable(index.id.to_string()))
    }

    /// Whether the indexes of the tables that were written are those that were kept, and those that were used are
    /// there.
    ///
    /// # Errors
    /// A conflict.
    #[inline]
    pub(crate) fn definitions_hold(&self) -> Result<()> {
        // SeqCst: behind the versions that this commit has installed
        let now = self.shared.changes.count.load(Ordering::SeqCst);
        if now == self.txn.changes { Ok(()) } else { self.compare_definitions() }
    }

    #[cold]
    fn compare_definitions(&self) -> Result<()> {
        let txn = &*self.txn;
        for write in txn.writes.iter().filter(|write| write.op != Op::Nothing) {
            let table = self.shared.tables.get(write.table)?;
            if table.changed.load(Ordering::SeqCst) > txn.write_changes {
                return Err(changed(table.id));
            }
        }
        let reads = txn.reads.iter().map(|read| read.table);
        let reads = reads.chain(txn.absents.iter().map(|absent| absent.table));
        for id in reads.chain(txn.ranges.iter().map(|range| range.table)) {
            let table = self.shared.tables.get(id)?;
            if table.until.load(Ordering::SeqCst) <= txn.ts {
                return Err(changed(id));
            }
        }
        Ok(())
    }

    /// Deletes entries of a dropped index from a key on. Returns the key behind the last, if there may be more.
    fn delete_some(&mut self, index: &CicadaTable, from: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let mut raws = Vec::new();
        let mut next = Some(from);
        if let Some(tree) = &index.tree {
            let mut leaf = LeafRead::new();
            while let Some(from) = next.take_if(|_| raws.len() < AT_ONCE) {
                tree.open_leaf(self.local, Position::At(&from), &mut leaf);
                while !tree.read_entries(self.local, &mut leaf) {
                    tree.open_leaf(self.local, Position::At(&from), &mut leaf);
                }
                raws.extend_from_slice(leaf.values());
                next = leaf.high().map(<[u8]>::to_vec);
            }
        } else if let Some(hashed) = &index.hash {
            next = None;
            hashed.for_each(self.local, |raw| raws.push(raw));
        }
        for raw in raws {
            // SAFETY: the index held it in this activity.
            let record = unsafe { Record::from_raw(raw) };
            if !record.is_obsolete() {
                self.delete_entry_record(index, record)?;
            }
        }
        Ok(next)
    }
}

#[cold]
fn changed(table: TableId) -> Error {
    Conflict { kind: ConflictKind::DefinitionChanged, table, key: Box::default(), with: None }.into()
}
