//! Opening a database directory: the rows of its checkpoint, then the log, in the order of timestamps.
//!
//! How the threads share it is `scaledb_durability`'s; `rebuild.rs` builds trees and secondary indexes.
//!
//! The checkpoint is not of one moment: a row may be newer than the checkpoint's begin, or belong to a
//! transaction that also wrote rows that are not there. Each row carries the timestamps of its conflict
//! groups, and what the log says of a group at or before its timestamp has happened to it already.

use crate::shared::AccShared;
use crate::table::{AccTable, Points, RecordEntry};
use scaledb_base::limits::{MAX_GROUPS, MAX_KEY_BYTES};
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_durability::{Orphans, Restore, Routed, Staged, directory_error, inconsistent};
use scaledb_engine::CatalogEntry;
use scaledb_index::btree::Entry;
use scaledb_index::indexlet::Inserted as Put;
use scaledb_log::{Block, Op};
use scaledb_memory::Local;
use scaledb_row::GroupSet;
use scaledb_storage::{Overflow, Record, Word};

/// A database on its way from files into memory.
pub(crate) struct Recovery<'a> {
    pub(crate) shared: &'a AccShared,
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
            let hashed = matches!(table.points, Points::Hash(_)) || table.index_of.is_some();
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
    pub(crate) fn new(shared: &'a AccShared) -> Self {
        Self { shared, staged: Vec::new() }
    }

    fn base_table(&self, id: TableId) -> Result<&'a AccTable> {
        let table = self.shared.tables.get(id).map_err(|_| inconsistent(format!("no table {id}")))?;
        match table.index_of {
            None => Ok(table),
            Some(_) => Err(inconsistent(format!("rows of {id}, which is an index"))),
        }
    }

    fn find(&self, local: &Local, table: &AccTable, hash: u64, key: &[u8]) -> Option<Record> {
        // SAFETY: the indexes and shards hold records, which are retired, never freed at once.
        let eq = |raw: u64| unsafe { RecordEntry::key(raw) } == key;
        let raw = match (&table.points, &self.staged[table.id.index()]) {
            (Points::Hash(hashed), _) => hashed.get(local, hash, eq),
            (_, Some(staged)) => staged.find(hash, eq),
            (_, None) => None,
        };
        // SAFETY: as above.
        raw.map(|raw| unsafe { Record::from_raw(raw) })
    }

    /// Adds a record whose key is not there.
    fn add(&self, local: &mut Local, table: &AccTable, hash: u64, record: Record) -> Result<()> {
        let hasher = |raw: u64| {
            // SAFETY: as in `find`.
            self.shared.hasher.hash(unsafe { RecordEntry::key(raw) })
        };
        match (&table.points, &self.staged[table.id.index()]) {
            (Points::Hash(hashed), _) => {
                // SAFETY: as in `find`.
                let eq = |raw: u64| unsafe { RecordEntry::key(raw) } == record.key();
                match hashed.insert(local, hash, record.raw(), eq)? {
                    Put::New => Ok(()),
                    Put::Existing(_) => {
                        Err(inconsistent(format!("a key of table {} stands twice", table.name)))
                    }
                    Put::Full => Err(Error::OutOfMemory { budget: local.domain().budget() }),
                }
            }
            (_, Some(staged)) => {
                staged.insert(hash, record.raw(), hasher);
                Ok(())
            }
            (_, None) => Err(inconsistent(format!("rows of {}", table.name))),
        }
    }

    fn remove(&self, local: &mut Local, table: &AccTable, hash: u64, record: Record) {
        match (&table.points, &self.staged[table.id.index()]) {
            (Points::Hash(hashed), _) => {
                hashed.remove(local, hash, record.raw());
            }
            (_, Some(staged)) => staged.remove(hash, record.raw()),
            (_, None) => {}
        }
        // SAFETY: it has just left the only structure that held it.
        unsafe { record.retire(local) };
    }

    /// The rows of a block of the checkpoint. The applier is active.
    fn load_block(&self, applier: &mut Applier, block: &Block<'_>) -> Result<u64> {
        let table = self.base_table(block.table())?;
        let layout = table.schema.layout();
        let Applier { local, row, .. } = applier;
        let mut rows = 0;
        for loaded in block.rows() {
            let loaded = loaded.map_err(directory_error)?;
            let stamps = loaded.stamps();
            if stamps.len() != layout.groups() || loaded.key.len() > MAX_KEY_BYTES {
                return Err(inconsistent(format!("a row of table {} has another shape", table.name)));
            }
            layout.decode_row(loaded.row, row).map_err(|_| malformed(table))?;
            let hash = self.shared.hasher.hash(loaded.key);
            if let Some(record) = self.find(local, table, hash, loaded.key) {
                // a table without order is walked while its hash index grows: a row may come twice
                let newer = (0..layout.groups()).any(|g| record.word(g).ts().raw() < stamps[g]);
                if newer {
                    overwrite(local, record, row)?;
                    set_stamps(record, stamps.iter().map(|&ts| Word::live(Timestamp::from_raw(ts))));
                }
                continue;
            }
            let record = Record::create(local, layout.groups(), loaded.key, row)?;
            set_stamps(record, stamps.iter().map(|&ts| Word::live(Timestamp::from_raw(ts))));
            self.add(local, table, hash, record)?;
            rows += 1;
        }
        Ok(rows)
    }

    fn apply_op(&self, applier: &mut Applier, routed: &Routed<'_>) -> Result<()> {
        let (ts, hash) = (routed.ts, routed.hash);
        match routed.op {
            Op::Insert { table, key, row } => {
                let table = self.base_table(table)?;
                let layout = table.schema.layout();
                layout.decode_row(row, &mut applier.row).map_err(|_| malformed(table))?;
                if key.len() > MAX_KEY_BYTES {
                    return Err(malformed(table));
                }
                let live = std::iter::repeat_n(Word::live(ts), layout.groups());
                match self.find(&applier.local, table, hash, key) {
                    Some(record) if record.word(0).ts() >= ts => {}
                    Some(record) => {
                        overwrite(&mut applier.local, record, &applier.row)?;
                        set_stamps(record, live);
                    }
                    None => {
                        let record = Record::create(&mut applier.local, layout.groups(), key, &applier.row)?;
                        set_stamps(record, live);
                        self.add(&mut applier.local, table, hash, record)?;
                    }
                }
                applier.orphans.explain(table.id, key);
            }
            Op::Delete { table, key } => {
                let table = self.base_table(table)?;
                if let Some(record) = self.find(&applier.local, table, hash, key)
                    && record.word(0).ts() < ts
                {
                    self.remove(&mut applier.local, table, hash, record);
                }
                applier.orphans.explain(table.id, key);
            }
            Op::Update { table, key, columns } => {
                let table = self.base_table(table)?;
                let layout = table.schema.layout();
                let Some(record) = self.find(&applier.local, table, hash, key) else {
                    applier.orphans.add(table.id, key, ts);
                    return Ok(());
                };
                let groups = (0..layout.groups())
                    .filter(|&g| record.word(g).ts() < ts)
                    .fold(GroupSet::default(), GroupSet::with);
                record.copy_locked(&mut applier.row);
                let changed =
                    layout.decode_columns(columns, groups, &mut applier.row).map_err(|_| malformed(table))?;
                overwrite(&mut applier.local, record, &applier.row)?;
                for group in changed.iter() {
                    record.set_word(group, Word::live(ts));
                }
            }
            Op::Catalog { .. } => {}
        }
        Ok(())
    }
}

fn malformed(table: &AccTable) -> Error {
    inconsistent(format!("a row of table {} does not fit its columns", table.name))
}

fn set_stamps(record: Record, words: impl Iterator<Item = Word>) {
    for (group, word) in words.enumerate().take(MAX_GROUPS) {
        record.set_word(group, word);
    }
}

/// Replaces the row of a record that no other thread touches.
fn overwrite(local: &mut Local, record: Record, row: &[u64]) -> Result<()> {
    if !record.fits(row.len()) {
        let overflow = Overflow::create(local, row.len() + row.len() / 4)?;
        record.move_to_overflow(local, overflow);
    }
    record.store_row(row);
    Ok(())
}

/// The base tables, those with the most rows first, so that no large one is left for the end.
fn by_size(shared: &AccShared, local: &Local) -> Vec<TableId> {
    let rows = |table: &AccTable| match &table.points {
        Points::Hash(hashed) => hashed.len(local),
        Points::Indexlet(_) => usize::MAX,
    };
    let mut tables: Vec<_> =
        shared.tables.iter().filter(|t| t.index_of.is_none()).map(|t| (rows(t), t.id)).collect();
    tables.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    tables.into_iter().map(|(_, table)| table).collect()
}
