//! Opening a database directory: the rows of its checkpoint, then the log, in the order of timestamps. How the threads
//! share it is `scaledb_durability`'s; [`rebuild`](crate::rebuild) builds trees and secondary indexes.
//!
//! The checkpoint is not of one moment: a row may be newer than the checkpoint's begin, or belong to a transaction that
//! also wrote rows that are not there. Each row carries the timestamps of its commits, and what the log says of it at
//! or before them has happened to it already.

use crate::definitions::{add_recovered, create_unlogged, drop_recovered, drop_recovered_table};
use crate::record::Record;
use crate::records::{RecordOf, Records};
use crate::table::EngineTable;
use scaledb_base::limits::{MAX_GROUPS, MAX_KEY_BYTES};
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_durability::{Orphans, Restore, Routed, Staged, directory_error, inconsistent};
use scaledb_engine::CatalogEntry;
use scaledb_index::indexlet::Inserted;
use scaledb_log::{Block, Op};
use scaledb_memory::Local;

/// A database that is being read from its files into memory.
pub(crate) struct Recovery<'a, P> {
    pub(crate) engine: &'a P,
    /// By table id: the records of a table that has no hash index; `None` for the others, and for indexes.
    pub(crate) staged: Vec<Option<Staged>>,
    /// By table id, for tables that were cleared or dropped: what was committed before this raw timestamp is gone.
    cleared: Vec<u64>,
}

/// One thread's part of it.
pub(crate) struct Applier {
    pub(crate) local: Local,
    row: Vec<u64>,
    orphans: Orphans,
}

impl<P: Records> Restore for Recovery<'_, P> {
    type Applier = Applier;

    fn applier(&self) -> Result<Applier> {
        let local = self.engine.core().domain.register()?;
        Ok(Applier { local, row: Vec::new(), orphans: Orphans::default() })
    }

    fn catalog(&mut self, entry: CatalogEntry) -> Result<()> {
        let tables = &self.engine.core().tables;
        let mut local = self.engine.core().domain.register()?;
        match entry {
            CatalogEntry::DropIndex { id } => return drop_recovered(self.engine, id),
            CatalogEntry::ClearTable { id, before } => return self.clear(&mut local, id, before),
            CatalogEntry::DropTable { id } => return self.drop_table(&mut local, id),
            CatalogEntry::CreateTable { id, .. } | CatalogEntry::AddIndex { id, .. }
                if id.index() < tables.len() =>
            {
                return Ok(());
            }
            CatalogEntry::CreateTable { id, def } => {
                let info = create_unlogged(self.engine, &mut local, def)?;
                if info.id != id {
                    let (name, is) = (&info.name, info.id);
                    return Err(inconsistent(format!("table {name} has id {id} in the log and is {is}")));
                }
            }
            CatalogEntry::AddIndex { table, id, def } => {
                add_recovered(self.engine, &mut local, table, id, def)?;
            }
        }
        for table in self.staged.len()..tables.len() {
            let table = tables.get(TableId(table as u32))?;
            let hashed = table.hash().is_some() || table.index_of.is_some();
            self.staged.push((!hashed).then(Staged::default));
        }
        Ok(())
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.engine.core().hasher.hash(key)
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
        let core = self.engine.core();
        let mut local = core.domain.register()?;
        local.enter();
        let rows = |table: &P::Table| table.hash().map_or(usize::MAX, |hashed| hashed.len(&local));
        let mut tables: Vec<_> = core.tables.bases().map(|table| (rows(table), table.id)).collect();
        local.exit();
        tables.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
        Ok(tables.into_iter().map(|(_, table)| table).collect())
    }

    fn rebuild(&self, applier: &mut Applier, table: TableId) -> Result<u64> {
        self.rebuild_table(&mut applier.local, self.engine.core().tables.get(table)?)
    }
}

impl<'a, P: Records> Recovery<'a, P> {
    pub(crate) fn new(engine: &'a P) -> Self {
        Self { engine, staged: Vec::new(), cleared: Vec::new() }
    }

    /// A table was cleared.
    fn clear(&mut self, local: &mut Local, id: TableId, before: u64) -> Result<()> {
        let table = self.base_table(id)?;
        if !table.is_dropped() {
            self.engine.core().catalog.lock().clear(id, before);
            self.discard(local, table, before);
        }
        Ok(())
    }

    /// A table was dropped.
    fn drop_table(&mut self, local: &mut Local, id: TableId) -> Result<()> {
        let table = self.base_table(id)?;
        drop_recovered_table(self.engine, table)?;
        self.discard(local, table, u64::MAX);
        Ok(())
    }

    /// Removes what was committed to a table before a raw timestamp, and refuses what else of it comes.
    fn discard(&mut self, local: &mut Local, table: &P::Table, before: u64) {
        let id = table.id;
        self.cleared.resize(self.cleared.len().max(id.index() + 1), 0);
        self.cleared[id.index()] = before;
        local.enter();
        let mut records = Vec::new();
        match (table.hash(), &self.staged[id.index()]) {
            (Some(hashed), _) => hashed.for_each(local, |raw| records.push(raw)),
            (None, Some(staged)) => staged.for_each(|raw| records.push(raw)),
            (None, None) => {}
        }
        for raw in records {
            // SAFETY: it was found since `local` is active, and no other thread removes records now.
            let (record, key) = unsafe { stored::<P>(raw) };
            if record.committed().raw() < before {
                let hash = self.engine.core().hasher.hash(key);
                self.remove(local, table, hash, record);
            }
        }
        local.exit();
        local.collect();
    }

    /// Whether a table was cleared after what was committed at `ts`.
    fn is_cleared(&self, table: TableId, ts: u64) -> bool {
        self.cleared.get(table.index()).is_some_and(|&before| ts < before)
    }

    fn base_table(&self, id: TableId) -> Result<&'a P::Table> {
        let table = self.engine.core().tables.get(id).map_err(|_| inconsistent(format!("no table {id}")))?;
        match table.index_of {
            None => Ok(table),
            Some(_) => Err(inconsistent(format!("rows of {id}, which is an index"))),
        }
    }

    fn find(&self, local: &Local, table: &P::Table, hash: u64, key: &[u8]) -> Option<RecordOf<P>> {
        // SAFETY: called for addresses in the structure, while `local` is active.
        let eq = |raw: u64| unsafe { stored::<P>(raw) }.1 == key;
        let raw = match (table.hash(), &self.staged[table.id.index()]) {
            (Some(hashed), _) => hashed.get(local, hash, eq),
            (None, Some(staged)) => staged.find(hash, eq),
            (None, None) => None,
        };
        // SAFETY: it was found while `local` is active.
        raw.map(|raw| unsafe { stored::<P>(raw) }.0)
    }

    /// Adds a record whose key is not there.
    fn add(&self, local: &mut Local, table: &P::Table, hash: u64, record: RecordOf<P>) -> Result<()> {
        let raw = record.raw();
        match (table.hash(), &self.staged[table.id.index()]) {
            (Some(hashed), _) => {
                // SAFETY: the new record, which only this thread knows.
                let (_, key) = unsafe { stored::<P>(raw) };
                // SAFETY: called for addresses in the index, while `local` is active.
                let eq = |other| unsafe { stored::<P>(other) }.1 == key;
                match hashed.insert(local, hash, raw, eq)? {
                    Inserted::New => Ok(()),
                    Inserted::Existing(_) => {
                        Err(inconsistent(format!("a key of table {} stands twice", table.name)))
                    }
                    Inserted::Full => Err(Error::OutOfMemory { budget: local.domain().budget() }),
                }
            }
            (None, Some(staged)) => {
                // SAFETY: called for addresses in the list, which are freed only after they have left it.
                let hash_of = |raw| self.engine.core().hasher.hash(unsafe { stored::<P>(raw) }.1);
                staged.insert(hash, raw, hash_of);
                Ok(())
            }
            (None, None) => Err(inconsistent(format!("rows of {}", table.name))),
        }
    }

    fn remove(&self, local: &mut Local, table: &P::Table, hash: u64, record: RecordOf<P>) {
        match (table.hash(), &self.staged[table.id.index()]) {
            (Some(hashed), _) => {
                hashed.remove(local, hash, record.raw());
            }
            (None, Some(staged)) => staged.remove(hash, record.raw()),
            (None, None) => {}
        }
        // SAFETY: it has just left the only structure that held it.
        unsafe { record.retire(local) };
    }

    /// A row as it was at `stamps`, unless a later one is there. Returns whether the key is new.
    fn put(
        &self,
        applier: &mut Applier,
        table: &P::Table,
        (hash, key): (u64, &[u8]),
        row: &[u8],
        stamps: &[Timestamp],
    ) -> Result<bool> {
        let Applier { local, row: words, .. } = applier;
        table.schema.layout().decode_row(row, words).map_err(|_| malformed(table))?;
        if key.len() > MAX_KEY_BYTES {
            return Err(malformed(table));
        }
        if let Some(record) = self.find(local, table, hash, key) {
            self.engine.replace_older(local, table, record, words, stamps)?;
            return Ok(false);
        }
        let record = self.engine.create(local, table, key, words, stamps)?;
        self.add(local, table, hash, record)?;
        Ok(true)
    }

    /// The rows of a block of the checkpoint. The applier is active.
    fn load_block(&self, applier: &mut Applier, block: &Block<'_>) -> Result<u64> {
        let table = self.base_table(block.table())?;
        let mut stamps = [Timestamp::ZERO; MAX_GROUPS];
        let mut rows = 0;
        for loaded in block.rows() {
            let loaded = loaded.map_err(directory_error)?;
            let raw = loaded.stamps();
            if raw.len() != self.engine.stamps(table) {
                return Err(inconsistent(format!("a row of table {} has another shape", table.name)));
            }
            if self.is_cleared(table.id, raw.iter().copied().fold(0, u64::max)) {
                continue;
            }
            for (stamp, &raw) in stamps.iter_mut().zip(raw.iter()) {
                *stamp = Timestamp::from_raw(raw);
            }
            let hash = self.engine.core().hasher.hash(loaded.key);
            // a table without order is walked while its hash index grows: a row may come twice
            let new = self.put(applier, table, (hash, loaded.key), loaded.row, &stamps[..raw.len()])?;
            rows += u64::from(new);
        }
        Ok(rows)
    }

    fn apply_op(&self, applier: &mut Applier, routed: &Routed<'_>) -> Result<()> {
        let (ts, hash) = (routed.ts, routed.hash);
        match routed.op {
            Op::Insert { table, .. } | Op::Delete { table, .. } | Op::Update { table, .. }
                if self.is_cleared(table, ts.raw()) => {}
            Op::Insert { table, key, row } => {
                let table = self.base_table(table)?;
                let stamps = [ts; MAX_GROUPS];
                self.put(applier, table, (hash, key), row, &stamps[..self.engine.stamps(table)])?;
                applier.orphans.explain(table.id, key);
            }
            Op::Delete { table, key } => {
                let table = self.base_table(table)?;
                if let Some(record) = self.find(&applier.local, table, hash, key)
                    && record.committed() < ts
                {
                    self.remove(&mut applier.local, table, hash, record);
                }
                applier.orphans.explain(table.id, key);
            }
            Op::Update { table, key, columns } => {
                let table = self.base_table(table)?;
                match self.find(&applier.local, table, hash, key) {
                    None => applier.orphans.add(table.id, key, ts),
                    Some(record) => {
                        let Applier { local, row, .. } = applier;
                        self.engine.update_older(local, table, record, columns, ts, row)?;
                    }
                }
            }
            Op::Catalog { .. } => {}
        }
        Ok(())
    }
}

/// The record at an address that a hash index or a list of staged records has handed out, and its key.
///
/// # Safety
/// The record has not been freed for all of `'a`: it is in such a structure, or has left it in the thread's current
/// activity.
unsafe fn stored<'a, P: Records>(raw: u64) -> (RecordOf<P>, &'a [u8]) {
    // SAFETY: the caller's promise.
    unsafe {
        let record = RecordOf::<P>::from_raw(raw);
        (record, record.key_for())
    }
}

/// A row in a file that does not fit its table.
pub fn malformed<T: EngineTable>(table: &T) -> Error {
    inconsistent(format!("a row of table {} does not fit its columns", table.name))
}
