//! Tables and indexes come and go: definitions into the catalog and the log, tables into the list of all.

use crate::build::Build;
use crate::catalog::Catalog;
use crate::closed::Closed;
use crate::protocol::Protocol;
use crate::records::Records;
use crate::table::{IndexSet, TableCore};
use scaledb_base::{Error, Result, TableId, Timestamp};
use scaledb_durability::inconsistent;
use scaledb_engine::{CatalogEntry, IndexDef, TableDef, TableInfo};
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;
use std::sync::Arc;

/// A definition, and when the log has it: durable, then.
pub(crate) type Logged = (Arc<TableInfo>, Timestamp);

/// Creates a table and its indexes, and logs it.
pub(crate) fn create_table<P: Protocol>(engine: &P, local: &mut Local, def: TableDef) -> Result<Logged> {
    create(engine, local, def, |local, entry| engine.log_definition(local, entry))
}

/// Creates a table, and tells no log: one that the log, or a checkpoint, tells of; or one for tests of an engine's
/// parts.
///
/// # Errors
/// As [`Engine::create_table`](scaledb_engine::Engine::create_table).
pub fn create_unlogged<P: Records>(engine: &P, local: &mut Local, def: TableDef) -> Result<Arc<TableInfo>> {
    create(engine, local, def, |_, _| Ok(Timestamp::ZERO)).map(|(info, _)| info)
}

fn create<P: Records>(
    engine: &P,
    local: &mut Local,
    def: TableDef,
    log: impl FnOnce(&Local, &CatalogEntry) -> Result<Timestamp>,
) -> Result<Logged> {
    let core = engine.core();
    let mut catalog = core.catalog.lock();
    let id = core.tables.next_id(1 + def.indexes.len())?;
    let info = catalog.describe_table(id, &def)?;
    let mut tables = vec![engine.make_table(local, TableCore::of_table(&info), &def.options)?];
    for (index, def) in info.indexes.iter().zip(&def.indexes) {
        tables.push(engine.make_table(local, TableCore::of_index(&info, index), &def.options)?);
    }
    // logged before anybody can use it: its timestamp is before those of its rows
    let entry = CatalogEntry::CreateTable { id, def };
    let ts = log(local, &entry)?;
    core.tables.add(tables);
    catalog.add(info.clone(), entry);
    Ok((info, ts))
}

/// Adds an index to a table, made from the rows that it has, and logs it. Meanwhile nobody writes to the table.
pub(crate) fn add_index<P: Protocol>(
    engine: &P,
    local: &mut Local,
    table: TableId,
    def: IndexDef,
    go_on: &dyn Fn() -> bool,
) -> Result<Logged> {
    let core = engine.core();
    let _turn = core.changes.wait_for_turn(go_on)?;
    let base = core.tables.get(table)?;
    check_not_clearing(engine, table)?;
    let (info, mut index_info) = core.catalog.lock().describe_index(table, &def)?;
    let index = engine.make_table(local, TableCore::of_index(&info, &index_info), &def.options)?;
    let mut closed = Closed::new(engine, base);
    local.enter();
    let mut build = Build::new(core.domain.clone(), index);
    let built = build.fill(engine, local, base, go_on);
    let mut catalog = core.catalog.lock();
    let logged = built.and_then(|()| log_added(engine, local, &catalog, table, def));
    let (id, entry, ts) = match logged {
        Ok(logged) => logged,
        Err(error) => {
            drop(catalog);
            build.discard(local);
            local.exit();
            return Err(error);
        }
    };
    local.exit();
    let mut index = build.finish();
    (index.id, index_info.id) = (id, id);
    // entries of what was there before have never been made
    index.since.store(engine.begin_definition(), Ordering::SeqCst);
    core.tables.add(vec![index]);
    let info = catalog.attach(&info, index_info, entry);
    closed.next = IndexSet { since: closed.next.since, ..IndexSet::of(&info) };
    Ok((info, ts))
}

/// Gives a new index its id, and logs it.
fn log_added<P: Protocol>(
    engine: &P,
    local: &Local,
    catalog: &Catalog,
    table: TableId,
    def: IndexDef,
) -> Result<(TableId, CatalogEntry, Timestamp)> {
    // another one may have been made meanwhile
    if catalog.has(&def.name) {
        return Err(Error::TableExists(def.name));
    }
    let id = engine.core().tables.next_id(1)?;
    let entry = CatalogEntry::AddIndex { table, id, def };
    let ts = engine.log_definition(local, &entry)?;
    Ok((id, entry, ts))
}

/// Drops an index, and logs it. Its entries are still there: see [`empty_some`](crate::empty::empty_some).
pub(crate) fn drop_index<P: Protocol>(engine: &P, local: &Local, id: TableId) -> Result<Logged> {
    let core = engine.core();
    let _turn = core.changes.turn.lock();
    let index = core.tables.get(id)?;
    let base = match &index.index_of {
        Some(of) if !index.is_dropped() => core.tables.get(of.base)?,
        _ => return Err(Error::NoSuchTable(id.to_string())),
    };
    check_not_clearing(engine, base.id)?;
    let mut closed = Closed::new(engine, base);
    let mut catalog = core.catalog.lock();
    let entry = CatalogEntry::DropIndex { id };
    let ts = engine.log_definition(local, &entry)?;
    let info = catalog.detach(base.id, id, entry)?;
    drop(catalog);
    // before a transaction writes without it: one that has used the index sees this when it commits, or has committed
    let until = engine.end_definition();
    index.set_dropped(until);
    closed.next = IndexSet { since: until, ..IndexSet::of(&info) };
    drop(closed);
    core.changes.emptying.lock().push((id, Vec::new()));
    Ok((info, ts))
}

/// Drops a table and its indexes, and logs it. Their records are still there: see
/// [`empty_some`](crate::empty::empty_some).
pub(crate) fn drop_table<P: Protocol>(engine: &P, local: &Local, id: TableId) -> Result<Logged> {
    let core = engine.core();
    let _turn = core.changes.turn.lock();
    let table = open_table(engine, id)?;
    let mut closed = Closed::new(engine, table);
    let mut catalog = core.catalog.lock();
    let ts = engine.log_definition(local, &CatalogEntry::DropTable { id })?;
    let info = catalog.remove(id)?;
    drop(catalog);
    // entries first: they name records
    let all: Vec<_> = closed.next.ids.iter().copied().chain([id]).collect();
    // one that has used it sees this when it commits, or has committed
    let until = engine.end_definition();
    for &id in &all {
        core.tables.get(id)?.set_dropped(until);
    }
    // for good
    closed.next.closed = true;
    drop(closed);
    core.changes.emptying.lock().extend(all.into_iter().map(|id| (id, Vec::new())));
    Ok((info, ts))
}

/// A table that is there, and is not being cleared.
fn open_table<P: Protocol>(engine: &P, id: TableId) -> Result<&P::Table> {
    let table = engine.core().tables.get(id)?;
    if table.index_of.is_some() || table.is_dropped() {
        return Err(Error::NoSuchTable(id.to_string()));
    }
    check_not_clearing(engine, id)?;
    Ok(table)
}

/// Clears a table, and logs it: it stays closed until it is empty. Its records are still there: see
/// [`empty_some`](crate::empty::empty_some).
pub(crate) fn clear_table<P: Protocol>(engine: &P, local: &Local, id: TableId) -> Result<()> {
    let core = engine.core();
    let _turn = core.changes.turn.lock();
    let base = core.tables.get(id)?;
    if base.index_of.is_some() || base.is_dropped() {
        return Err(Error::NoSuchTable(id.to_string()));
    }
    if core.changes.is_clearing(id) {
        return Ok(());
    }
    let mut closed = Closed::new(engine, base);
    let before = engine.begin_definition();
    let mut catalog = core.catalog.lock();
    engine.log_definition(local, &CatalogEntry::ClearTable { id, before })?;
    catalog.clear(id, before);
    drop(catalog);
    // who had a timestamp before that must not write to the table when it is open again
    closed.next = IndexSet { since: before, closed: true, ..closed.next.clone() };
    // entries first: they name records
    let all: Vec<_> = closed.next.ids.iter().copied().chain([id]).map(|id| (id, Vec::new())).collect();
    drop(closed);
    core.changes.emptying.lock().extend(all);
    Ok(())
}

/// The error of a change of a table that is being cleared.
fn check_not_clearing<P: Protocol>(engine: &P, table: TableId) -> Result<()> {
    if engine.core().changes.is_clearing(table) { Err(Error::NoSuchTable(table.to_string())) } else { Ok(()) }
}

/// Adds an index that the log, or a checkpoint, tells of; it is filled later.
pub(crate) fn add_recovered<P: Records>(
    engine: &P,
    local: &mut Local,
    table: TableId,
    id: TableId,
    def: IndexDef,
) -> Result<()> {
    let core = engine.core();
    let base = core.tables.get(table)?;
    let mut catalog = core.catalog.lock();
    let (info, mut index_info) = catalog.describe_index(table, &def)?;
    index_info.id = core.tables.next_id(1)?;
    if index_info.id != id {
        let (name, is) = (&def.name, index_info.id);
        return Err(inconsistent(format!("index {name} has id {id} in the log and is {is}")));
    }
    let index = engine.make_table(local, TableCore::of_index(&info, &index_info), &def.options)?;
    let info = catalog.attach(&info, index_info, CatalogEntry::AddIndex { table, id, def });
    base.indexes.replace(IndexSet::of(&info));
    core.tables.add(vec![index]);
    Ok(())
}

/// Drops an index that the log, or a checkpoint, says is gone, unless that has been done.
pub(crate) fn drop_recovered<P: Records>(engine: &P, id: TableId) -> Result<()> {
    let core = engine.core();
    let index = core.tables.get(id).map_err(|_| inconsistent(format!("no index {id}")))?;
    let Some(of) = &index.index_of else { return Err(inconsistent(format!("{id} is not an index"))) };
    if !index.is_dropped() {
        index.set_dropped(0);
        let info = core.catalog.lock().detach(of.base, id, CatalogEntry::DropIndex { id })?;
        core.tables.get(of.base)?.indexes.replace(IndexSet::of(&info));
    }
    Ok(())
}

/// Drops a table that the log, or a checkpoint, says is gone, unless that has been done.
pub(crate) fn drop_recovered_table<P: Records>(engine: &P, table: &P::Table) -> Result<()> {
    let core = engine.core();
    if !table.is_dropped() {
        let info = core.catalog.lock().remove(table.id)?;
        for index in &info.indexes {
            core.tables.get(index.id)?.set_dropped(0);
        }
        table.set_dropped(0);
        table.indexes.replace(IndexSet { closed: true, ..IndexSet::none() });
    }
    Ok(())
}
