//! A database that is open.

use crate::background::Background;
use crate::checkpoint;
use crate::definitions::{self, Logged};
use crate::empty::empty_some;
use crate::inspect::inspect;
use crate::protocol::{Protocol, Settings};
use crate::recovery::Recovery;
use crate::worker::InstanceWorker;
use scaledb_base::{Result, TableId, Timestamp};
use scaledb_durability::{Checkpointer, Directory, Durability, Inspected, Recovered, failed};
use scaledb_engine::{
    Engine, IndexDef, Memory, Metric, OptionSpec, Reclamation, SerializationPoint, Stats, TableDef,
    TableInfo, TableStats,
};
use scaledb_log::Log;
use scaledb_memory::Local;
use scaledb_sync::Arc;
use scaledb_sync::atomic::AtomicBool;

/// A database of an engine, in memory and, if it has a directory, on disk.
pub struct Instance<P: Protocol> {
    // first: the threads end before the rest goes
    background: Option<Background>,
    checkpointer: Option<Checkpointer>,
    recovered: Recovered,
    shared: Arc<P>,
}

impl<P: Protocol> Instance<P> {
    /// The database of the configuration's directory, as it was acknowledged; without one, an empty database.
    ///
    /// # Errors
    /// [`Error::Directory`](scaledb_base::Error::Directory): the directory cannot be read, is damaged, in use, or
    /// another engine's. [`Error::OutOfMemory`](scaledb_base::Error::OutOfMemory).
    pub fn open(config: P::Config) -> Result<Self> {
        let Settings { reserve, background, durability } = P::settings(&config);
        let (shared, recovered) = match &durability {
            Some(durability) => {
                let (shared, recovered, directory) = restore::<P>(config, reserve, durability)?;
                let core = shared.core();
                core.start_logging(directory.start(durability, core.clock.clone())?);
                (shared, recovered)
            }
            None => (create::<P>(config, reserve, 0), Recovered::default()),
        };
        let core = shared.core();
        let background = match background {
            true => Some(Background::start(shared.clone(), core.domain.register()?)),
            false => None,
        };
        let checkpointer = durability.as_ref().zip(core.log()).map(|(durability, log)| {
            let (ours, its_log) = (shared.clone(), log.clone());
            let write = move |pace, stop: &AtomicBool| checkpoint::write(&*ours, &its_log, pace, stop);
            Checkpointer::start(log, durability, recovered.log_bytes, write)
        });
        Ok(Self { background, checkpointer, recovered, shared })
    }

    /// Reads a directory into memory, compares its tables with their indexes, and leaves the directory as it is:
    /// what `scaledb check` does behind the check of all checksums.
    ///
    /// # Errors
    /// As [`Instance::open`], and whatever does not fit together.
    pub fn inspect(config: P::Config) -> Result<(Recovered, Inspected)> {
        let Settings { reserve, durability, .. } = P::settings(&config);
        let Some(durability) = durability else { return Ok(Default::default()) };
        let (shared, recovered, _directory) = restore::<P>(config, reserve, &durability)?;
        let mut local = shared.core().domain.register()?;
        local.enter();
        let inspected = inspect(&*shared, &local);
        local.exit();
        Ok((recovered, inspected?))
    }

    /// What the workers share.
    pub fn shared(&self) -> &Arc<P> {
        &self.shared
    }

    /// The memory that rows and indexes lie in.
    pub fn memory(&self) -> &scaledb_memory::Domain {
        &self.shared.core().domain
    }

    /// Bytes taken from the system for rows and indexes; the memory budget bounds them. One load, unlike
    /// [`Engine::stats`].
    pub fn memory_bytes(&self) -> u64 {
        self.memory().used()
    }

    /// What opening the directory found.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// The redo log; `None` for a database in memory only.
    #[inline]
    pub fn log(&self) -> Option<&Arc<Log>> {
        self.shared.core().log()
    }

    /// Writes a checkpoint with all speed, and returns when it is in force: the next opening starts from it, and
    /// the log before it is gone. Does nothing for a database in memory only.
    ///
    /// # Errors
    /// [`Error::LogFailed`](scaledb_base::Error::LogFailed): the checkpoint before stays in force.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpointer.as_ref().map_or(Ok(()), Checkpointer::write)
    }
}

impl<P: Protocol> Instance<P> {
    /// Changes definitions with a worker's access to memory, and waits until that is durable.
    fn define(&self, change: impl FnOnce(&mut Local) -> Result<Logged>) -> Result<std::sync::Arc<TableInfo>> {
        let mut local = self.shared.core().domain.register()?;
        let (info, ts) = change(&mut local)?;
        drop(local);
        self.wait_durable(ts)?;
        Ok(info)
    }

    /// Deletes the records of what was dropped or cleared, unless a thread of the background does.
    fn empty(&self) {
        if self.background.is_none() {
            // what cannot be deleted now goes with the next one
            while empty_some(&self.shared).unwrap_or(false) {}
        }
    }
}

fn create<P: Protocol>(config: P::Config, reserve: u64, after: u64) -> Arc<P> {
    let shared = Arc::new(P::new(config, after));
    shared.core().domain.reserve(reserve);
    shared
}

/// Reads a directory into memory.
fn restore<P: Protocol>(
    config: P::Config,
    reserve: u64,
    durability: &Durability,
) -> Result<(Arc<P>, Recovered, Directory)> {
    let mut directory = Directory::open(durability, P::NAME)?;
    let shared: Arc<P> = create(config, reserve, directory.newest().ticks() + 1);
    let recovered = directory.restore(&mut Recovery::new(&*shared), durability)?;
    shared.recovered();
    Ok((shared, recovered, directory))
}

impl<P: Protocol> Engine for Instance<P> {
    type Worker = InstanceWorker<P>;

    fn create_table(&self, def: TableDef) -> Result<std::sync::Arc<TableInfo>> {
        def.check_options(P::NAME, P::TABLE_OPTIONS)?;
        self.define(|local| definitions::create_table(&*self.shared, local, def))
    }

    fn add_index(&self, table: TableId, def: IndexDef) -> Result<std::sync::Arc<TableInfo>> {
        self.add_index_while(table, def, &|| true)
    }

    fn add_index_while(
        &self,
        table: TableId,
        def: IndexDef,
        go_on: &dyn Fn() -> bool,
    ) -> Result<std::sync::Arc<TableInfo>> {
        def.options.engine.check(P::NAME, P::TABLE_OPTIONS)?;
        self.define(|local| definitions::add_index(&*self.shared, local, table, def, go_on))
    }

    fn drop_index(&self, index: TableId) -> Result<std::sync::Arc<TableInfo>> {
        let info = self.define(|local| definitions::drop_index(&*self.shared, local, index))?;
        self.empty();
        Ok(info)
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.define(|local| definitions::drop_table(&*self.shared, local, table))?;
        self.empty();
        Ok(())
    }

    fn clear_table(&self, table: TableId) -> Result<bool> {
        let local = self.shared.core().domain.register()?;
        definitions::clear_table(&*self.shared, &local, table)?;
        drop(local);
        self.empty();
        Ok(true)
    }

    fn is_clearing(&self, table: TableId) -> bool {
        self.shared.core().changes.is_clearing(table)
    }

    fn table(&self, name: &str) -> Option<std::sync::Arc<TableInfo>> {
        self.shared.core().catalog.lock().table(name)
    }

    fn tables(&self) -> Vec<std::sync::Arc<TableInfo>> {
        self.shared.core().catalog.lock().tables()
    }

    fn worker(&self) -> Result<InstanceWorker<P>> {
        Ok(InstanceWorker::new(self.shared.clone(), self.shared.core().domain.register()?))
    }

    fn stats(&self) -> Stats {
        let core = self.shared.core();
        // without a free worker id the structures cannot be walked: their sizes stay 0 then
        let mut reader = self.shared.reader().ok();
        // what was dropped is about to be empty
        let tables = core.tables.iter().filter(|table| !table.is_dropped());
        let tables = tables.map(|table| TableStats {
            write_to_scan: table.sampled.get(),
            ..self.shared.table_stats(table, reader.as_mut())
        });
        let tables = tables.collect();
        Stats { tables, ..core.stats() }
    }

    fn table_stats(&self, id: TableId) -> Option<TableStats> {
        let table = self.shared.core().tables.get(id).ok().filter(|table| !table.is_dropped())?;
        let stats = self.shared.table_stats(table, self.shared.reader().ok().as_mut());
        Some(TableStats { write_to_scan: table.sampled.get(), ..stats })
    }

    fn memory(&self) -> Memory {
        let domain = &self.shared.core().domain;
        Memory { bytes: domain.used(), budget: domain.budget() }
    }

    fn loosen(&self) {
        self.shared.core().domain.loosen();
    }

    fn reclamation(&self) -> Reclamation {
        let domain = &self.shared.core().domain;
        Reclamation {
            waiting: self.shared.waiting(),
            waiting_bytes: domain.waiting_bytes(),
            active: domain.active(),
        }
    }

    fn name(&self) -> &'static str {
        P::NAME
    }

    fn serialization_point(&self) -> SerializationPoint {
        P::SERIALIZATION_POINT
    }

    fn table_options(&self) -> &'static [OptionSpec] {
        P::TABLE_OPTIONS
    }

    fn table_metrics(&self) -> &'static [Metric] {
        P::TABLE_METRICS
    }

    #[inline]
    fn durable(&self) -> Timestamp {
        self.log().map_or(Timestamp::MAX, |log| log.durable())
    }

    fn wait_durable(&self, ts: Timestamp) -> Result<()> {
        self.shared.core().wait_durable(ts)
    }

    fn close(&self) -> Result<()> {
        self.log().map_or(Ok(()), |log| log.close().map_err(failed))
    }

    fn checkpoint(&self) -> Result<()> {
        Self::checkpoint(self)
    }

    fn log_failure(&self) -> Option<String> {
        self.log().and_then(|log| log.failure()).map(|error| error.to_string())
    }
}
