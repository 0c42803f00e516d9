//! Opening a database directory: the rows of its checkpoint, then the log, in the order of timestamps. How the
//! threads share it is `scaledb_durability`'s; `rebuild.rs` builds trees and secondary indexes.
//!
//! The checkpoint is not of one moment: a row may be newer than the checkpoint's begin. The last writer wins, by
//! the timestamp of its version, which the checkpoint has, too. A record has one version while this goes on.

use crate::record::Record;
use crate::shared::CicadaShared;
use crate::table::{CicadaTable, RecordEntry};
use crate::version::{Status, Version};
use scaledb_base::limits::MAX_KEY_BYTES;
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_durability::{Orphans, Restore, Routed, Staged, directory_error, inconsistent};
use scaledb_engine::CatalogEntry;
use scaledb_index::btree::Entry;
use scaledb_index::indexlet::Inserted;
use scaledb_log::{Block, Op};
use scaledb_memory::Local;
use scaledb_row::GroupSet;
use scaledb_sync::atomic::Ordering;

/// A database on its way from files into memory.
pub(crate) struct Recovery<'a> {
    pub(crate) shared: &'a CicadaShared,
    /// By table id; `None` for tables with a hash index, and for indexes.
    pub(crate) staged: Vec<Option<Staged>>,
}

/// One thread's part of it.
pub(crate) struct Applier {
    pub(crate) local: Local,
    row: Vec<u64>,
    orphans: Orphans,
}

impl Restore for Recovery<'_> {
    type Applier = Applier;

    fn applier(&self) -> Result<Applier> {
        Ok(Applier { local: self.shared.domain.register()?, row: Vec::new(), orphans: Orphans::default() })
    }

    fn catalog(&mut self, entry: CatalogEntry) -> Result<()> {
        let mut local = self.shared.domain.register()?;
        match entry {
            CatalogEntry::DropIndex { id } => return self.shared.drop_recovered(id),
            CatalogEntry::CreateTable { id, .. } | CatalogEntry::AddIndex { id, .. }
                if id.index() < self.shared.tables.len() =>
            {
                return Ok(());
            }
            CatalogEntry::CreateTable { id, def } => {
                let info = self.shared.create_recovered(&mut local, def)?;
                if info.id != id {
                    return Err(inconsistent(format!(
                        "table {} has id {} in the log and is {}",
                        info.name, id, info.id
                    )));
                }
            }
            CatalogEntry::AddIndex { table, id, def } => {
                self.shared.add_recovered(&mut local, table, id, def)?;
            }
        }
        for table in self.staged.len()..self.shared.tables.len() {
            let table = self.shared.tables.get(TableId(table as u32))?;
            let hashed = table.hash.is_some() || table.index_of.is_some();
            self.staged.push((!hashed).then(Staged::default));
        }
        Ok(())
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.shared.hasher.hash(key)
    }

    fn load(&self, applier: &mut Applier, block: &Block<'_>) -> Result<u64> {
        applier.local.enter();
        let loaded = self.load_block(applier, block);
        applier.local.exit();
        loaded
    }

    fn apply(&self, applier: &mut Applier, routed: &[Routed<'_>]) -> Result<()> {
        // what is retired here is freed when this activity, and those of the other threads, are over
        applier.local.enter();
        let result = routed.iter().try_for_each(|routed| self.apply_op(applier, routed));
        applier.local.exit();
        applier.local.collect();
        result
    }

    fn applied(&self, applier: &mut Applier) -> Result<()> {
        applier.orphans.check()
    }

    fn tables(&self) -> Result<Vec<TableId>> {
        let mut local = self.shared.domain.register()?;
        local.enter();
        let tables = by_size(self.shared, &local);
        local.exit();
        Ok(tables)
    }

    fn rebuild(&self, applier: &mut Applier, table: TableId) -> Result<u64> {
        self.rebuild_table(&mut applier.local, self.shared.tables.get(table)?)
    }
}

impl<'a> Recovery<'a> {
    pub(crate) fn new(shared: &'a CicadaShared) -> Self {
        Self { shared, staged: Vec::new() }
    }

    fn base_table(&self, id: TableId) -> Result<&'a CicadaTable> {
        let table = self.shared.tables.get(id).map_err(|_| inconsistent(format!("no table {id}")))?;
        match table.index_of {
            None => Ok(table),
            Some(_) => Err(inconsistent(format!("rows of {id}, which is an index"))),
        }
    }

    fn find(&self, local: &Local, table: &CicadaTable, hash: u64, key: &[u8]) -> Option<Record> {
        // SAFETY: the indexes and shards hold records, which are retired, never freed at once.
        let eq = |raw: u64| unsafe { RecordEntry::key(raw) } == key;
        let raw = match (&table.hash, &self.staged[table.id.index()]) {
            (Some(index), _) => index.get(local, hash, eq),
            (None, Some(staged)) => staged.find(hash, eq),
            (None, None) => None,
        };
        // SAFETY: as above.
        raw.map(|raw| unsafe { Record::from_raw(raw) })
    }

    /// Adds a record whose key is not there.
    fn add(&self, local: &mut Local, table: &CicadaTable, hash: u64, record: Record) -> Result<()> {
        // SAFETY: as in `find`.
        let key = |raw: u64| unsafe { RecordEntry::key(raw) };
        match (&table.hash, &self.staged[table.id.index()]) {
            (Some(index), _) => {
                match index.insert(local, hash, record.raw(), |raw| key(raw) == record.key())? {
                    Inserted::New => Ok(()),
                    Inserted::Existing(_) => {
                        Err(inconsistent(format!("a key of table {} stands twice", table.name)))
                    }
                    Inserted::Full => Err(Error::OutOfMemory { budget: local.domain().budget() }),
                }
            }
            (None, Some(staged)) => {
                staged.insert(hash, record.raw(), |raw| self.shared.hasher.hash(key(raw)));
                Ok(())
            }
            (None, None) => Err(inconsistent(format!("rows of {}", table.name))),
        }
    }

    fn remove(&self, local: &mut Local, table: &CicadaTable, hash: u64, record: Record) {
        match (&table.hash, &self.staged[table.id.index()]) {
            (Some(index), _) => {
                index.remove(local, hash, record.raw());
            }
            (None, Some(staged)) => staged.remove(hash, record.raw()),
            (None, None) => {}
        }
        let version = record.latest().load(Ordering::SeqCst);
        // SAFETY: both have just left the only structure that held them, and this thread has the key.
        unsafe {
            if version > Record::OBSOLETE {
                Version::from_raw(version).retire(local);
            }
            record.retire(local);
        }
    }

    /// A row as it was at `ts`, unless a later one is there. Returns whether the key is new.
    fn put(
        &self,
        applier: &mut Applier,
        table: &CicadaTable,
        (hash, key): (u64, &[u8]),
        row: &[u8],
        ts: u64,
    ) -> Result<bool> {
        let Applier { local, row: words, .. } = applier;
        table.schema.layout().decode_row(row, words).map_err(|_| malformed(table))?;
        if key.len() > MAX_KEY_BYTES {
            return Err(malformed(table));
        }
        if let Some(record) = self.find(local, table, hash, key) {
            // SAFETY: the only version, which this thread alone touches.
            if unsafe { record.wts_of(record.latest().load(Ordering::SeqCst)) } < ts {
                set(local, record, ts, words)?;
            }
            return Ok(false);
        }
        let record = create_record(self.shared, local, key, ts, words)?;
        self.add(local, table, hash, record)?;
        Ok(true)
    }

    /// The rows of a block of the checkpoint. The applier is active.
    fn load_block(&self, applier: &mut Applier, block: &Block<'_>) -> Result<u64> {
        let table = self.base_table(block.table())?;
        let mut rows = 0;
        for loaded in block.rows() {
            let loaded = loaded.map_err(directory_error)?;
            let stamps = loaded.stamps();
            let [ts] = stamps[..] else {
                return Err(inconsistent(format!("a row of table {} has several timestamps", table.name)));
            };
            let hash = self.shared.hasher.hash(loaded.key);
            // a table without order is walked while its hash index grows: a row may come twice
            rows += u64::from(self.put(applier, table, (hash, loaded.key), loaded.row, ts)?);
        }
        Ok(rows)
    }

    /// The row as it is after an update of some columns, unless a later one is there.
    fn update(
        &self,
        applier: &mut Applier,
        (hash, key): (u64, &[u8]),
        table: &CicadaTable,
        columns: &[u8],
        ts: Timestamp,
    ) -> Result<()> {
        let Some(record) = self.find(&applier.local, table, hash, key) else {
            applier.orphans.add(table.id, key, ts);
            return Ok(());
        };
        if wts(record) >= ts {
            return Ok(());
        }
        let (layout, row) = (table.schema.layout(), &mut applier.row);
        row.clear();
        // SAFETY: the only version, which this thread alone touches.
        row.extend_from_slice(unsafe { Version::from_raw(record.latest().load(Ordering::SeqCst)).row() });
        let all = (0..layout.groups()).fold(GroupSet::default(), GroupSet::with);
        layout.decode_columns(columns, all, row).map_err(|_| malformed(table))?;
        set(&mut applier.local, record, ts.raw(), row)
    }

    fn apply_op(&self, applier: &mut Applier, routed: &Routed<'_>) -> Result<()> {
        let (ts, hash) = (routed.ts, routed.hash);
        match routed.op {
            Op::Insert { table, key, row } => {
                self.put(applier, self.base_table(table)?, (hash, key), row, ts.raw())?;
                applier.orphans.explain(table, key);
                Ok(())
            }
            Op::Delete { table, key } => {
                let table = self.base_table(table)?;
                if let Some(record) = self.find(&applier.local, table, hash, key)
                    && wts(record) < ts
                {
                    self.remove(&mut applier.local, table, hash, record);
                }
                applier.orphans.explain(table.id, key);
                Ok(())
            }
            Op::Update { table, key, columns } => {
                self.update(applier, (hash, key), self.base_table(table)?, columns, ts)
            }
            Op::Catalog { .. } => Ok(()),
        }
    }
}

fn malformed(table: &CicadaTable) -> Error {
    inconsistent(format!("a row of table {} does not fit its columns", table.name))
}

/// A record with one version, in no index.
pub(crate) fn create_record(
    shared: &CicadaShared,
    local: &mut Local,
    key: &[u8],
    ts: u64,
    row: &[u64],
) -> Result<Record> {
    let inline = row.len() <= shared.config.inline_words;
    let record = Record::create(local, key, if inline { row.len() } else { 0 })?;
    if let Err(error) = set(local, record, ts, row) {
        // SAFETY: made above, in no index, without a version.
        unsafe { record.discard(local) };
        return Err(error);
    }
    Ok(record)
}

/// The timestamp of a record's only version.
pub(crate) fn wts(record: Record) -> Timestamp {
    // SAFETY: recovery alone knows the record, and gives it one version.
    Timestamp::from_raw(unsafe { record.wts_of(record.latest().load(Ordering::SeqCst)) })
}

/// Makes a row the only version of a record that no other thread touches.
fn set(local: &mut Local, record: Record, ts: u64, row: &[u64]) -> Result<()> {
    let old = record.latest().swap(Record::NOTHING, Ordering::SeqCst);
    if old > Record::OBSOLETE {
        // SAFETY: the only version; others compare the record's key at the most.
        unsafe { Version::from_raw(old).free(local) };
    }
    let version = record.new_version(local, row.len())?;
    version.fill(ts, row);
    version.settle(Status::Committed);
    record.latest().store(version.raw(), Ordering::SeqCst);
    Ok(())
}

/// The base tables, those with the most rows first, so that no large one is left for the end.
fn by_size(shared: &CicadaShared, local: &Local) -> Vec<TableId> {
    let rows = |table: &CicadaTable| table.hash.as_ref().map_or(usize::MAX, |index| index.len(local));
    let mut tables: Vec<_> =
        shared.tables.iter().filter(|t| t.index_of.is_none()).map(|t| (rows(t), t.id)).collect();
    tables.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    tables.into_iter().map(|(_, table)| table).collect()
}
