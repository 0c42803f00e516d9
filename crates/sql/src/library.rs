//! The tables of the library that the database is embedded in, and its use of tables that SQL has made.
//!
//! ```text
//!  made by   engine's table   descriptor           SQL                        the library
//!  SQL       #16387           names, types         everything                 by a pin: rows under SQL's names
//!  library   its own name     made from its types  rows, not its definition   everything
//! ```
//!
//! The library knows no catalog, and its commits do not pass the gate. So the definition of a table that it uses stays
//! as it is: its own tables are not changed by SQL, and those of SQL not while there is a [`Pin`].

use crate::adopted::{PREFIX, SCHEMA, describe, describe_index, in_order, read_only, shown, write};
use crate::database::Database;
use crate::pins::{Pin, in_use};
use crate::shared::Shared;
use scaledb_base::{Error, Result, TableId};
use scaledb_catalog::{Catalog, Relation, TableDesc};
use scaledb_engine::{Engine, IndexDef, IndexInfo, TableDef, TableInfo, Worker};
use scaledb_types::SqlError;
use std::sync::Arc;

impl<E: Engine> Database<E> {
    /// Creates a table of the library. SQL has it under the same name, if it has such tables, and room for its
    /// definition: see [`Database::absent`].
    ///
    /// # Errors
    /// As [`Engine::create_table`]; [`Error::TableExists`], too, if SQL has something of the name of the table or of
    /// one of its indexes.
    pub fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        let shared = &self.shared;
        // no other session changes the catalog meanwhile
        let closed = shared.gate.close();
        let before = shared.first.catalog();
        let mut names = std::iter::once(&def.name).chain(def.indexes.iter().map(|index| &index.name));
        if let Some(taken) = names.find(|name| before.is_taken(SCHEMA, name)) {
            return Err(Error::TableExists(taken.clone()));
        }
        let mut worker = loop {
            match shared.engine.worker() {
                Err(Error::TooManyWorkers { .. }) if shared.workers.discard_one() => {}
                worker => break worker?,
            }
        };
        let info = loop {
            match shared.engine.create_table(def.clone()) {
                Err(Error::TooManyWorkers { .. }) if shared.workers.discard_one() => {}
                created => break created?,
            }
        };
        // From here on there is one, which others may be using. So if SQL cannot be told of it, that is not an error of
        // the creation: a caller that gets an error may rely on the table not being there
        match shared.tell(&before, &mut worker, &info) {
            Ok(None) => {}
            Ok(Some(why)) => shared.is_absent(&info, why),
            Err(error) => shared.is_absent(&info, format!("its definition was not stored: {error}")),
        }
        drop(closed);
        Ok(info)
    }

    /// Adds an index to a table of the library. SQL has it, too, if it has the table.
    ///
    /// # Errors
    /// As [`Engine::add_index`]; [`Error::TableExists`], too, if SQL has something of its name. Everything is
    /// as it was.
    pub fn add_index(&self, table: TableId, def: &IndexDef) -> Result<Arc<TableInfo>> {
        let shared = &self.shared;
        let taken = || Error::TableExists(def.name.clone());
        if shared.first.catalog().is_taken(SCHEMA, &def.name) {
            return Err(taken());
        }
        let info = shared.add_index(table, def, &|| true)?;
        shared.settle(table);
        let Some(index) = info.index(&def.name).cloned() else { return Ok(info) };
        let told = shared.change(&info.name, |catalog, mut desc| {
            if catalog.is_taken(SCHEMA, &def.name) {
                return Err(taken());
            }
            desc.indexes.push(describe_index(&index, shared.new_oid()));
            Ok(Some(desc))
        });
        if told.is_err() {
            shared.drop_index(index.id);
        }
        told.map(|()| info)
    }

    /// Drops an index of a table of the library, for SQL, too.
    ///
    /// # Errors
    /// As [`Engine::drop_index`]; [`Error::NotShared`]: a foreign key of SQL needs it.
    pub fn drop_index(&self, table: &TableInfo, index: &IndexInfo) -> Result<Arc<TableInfo>> {
        self.shared.change(&table.name, |catalog, mut desc| {
            let references = if index.unique { catalog.references_to(desc.oid) } else { Vec::new() };
            if let Some(reference) = references.first() {
                let why = format!("is referred to by the foreign key \"{}\"", reference.constraint().name);
                return Err(Error::NotShared { table: desc.name.clone(), why });
            }
            desc.indexes.retain(|known| known.engine != index.name);
            Ok(Some(desc))
        })?;
        loop {
            match self.shared.engine.drop_index(index.id) {
                Err(Error::TooManyWorkers { .. }) if self.shared.workers.discard_one() => {}
                dropped => return dropped,
            }
        }
    }

    /// Drops a table of the library, for SQL, too.
    ///
    /// # Errors
    /// As [`Engine::drop_table`]; [`Error::NotShared`]: a view, a foreign key or a sequence of SQL needs it.
    pub fn drop_table(&self, table: &TableInfo) -> Result<()> {
        let shared = &self.shared;
        shared.change(&table.name, |catalog, desc| match user(catalog, &desc) {
            Some(why) => Err(Error::NotShared { table: desc.name, why }),
            None => Ok(None),
        })?;
        shared.absent.lock().remove(&table.name);
        loop {
            match shared.engine.drop_table(table.id) {
                Err(Error::TooManyWorkers { .. }) if shared.workers.discard_one() => {}
                dropped => return dropped,
            }
        }
    }

    /// Why SQL does not have a table of the library, if it does not.
    pub fn absent(&self, table: &str) -> Option<String> {
        self.shared.absent.lock().get(table).cloned()
    }

    /// The table that SQL has under a name, for rows as the library has them: `None` if there is none.
    ///
    /// # Errors
    /// Why the library cannot have it.
    pub fn pin(&self, name: &str) -> Option<std::result::Result<Pin, String>> {
        let shared = &self.shared;
        let mut pins = shared.pins.0.lock();
        // behind the lock: a change that was not in force before waits for it
        let catalog = shared.first.catalog();
        let desc = match catalog.lookup(SCHEMA, name)? {
            Relation::Table(desc) if desc.is_unpopulated() => {
                return Some(Err("is a materialized view that has not been populated".to_owned()));
            }
            Relation::Table(desc) => desc,
            other => return Some(Err(format!("is a {} of SQL, not a table", other.kind()))),
        };
        let info = shared.engine.table(&desc.engine).and_then(|info| in_order(desc, info));
        let info = match info.map(|info| shown(desc, &info)) {
            Some(Ok(info)) => info,
            Some(Err(why)) => return Some(Err(why)),
            None => return Some(Err("has no rows in the engine".to_owned())),
        };
        *pins.entry(desc.oid).or_insert(0) += 1;
        drop(pins);
        let read_only = read_only(&catalog, desc, &info);
        Some(Ok(Pin { oid: desc.oid, pins: shared.pins.clone(), info, read_only }))
    }

    /// The table of SQL that an id of the engine is of, be it an index's, with the names that SQL has.
    pub fn table_of(&self, id: TableId) -> Option<TableInfo> {
        let catalog = self.shared.first.catalog();
        let mut tables = catalog.tables();
        tables.find_map(|desc| {
            let info = in_order(desc, self.shared.engine.table(&desc.engine)?)?;
            let is = info.id == id || info.indexes.iter().any(|index| index.id == id);
            if is { shown(desc, &info).ok() } else { None }
        })
    }
}

impl<E: Engine> Shared<E> {
    /// Changes the descriptor of a table of the library, if there is one, or takes it away, and puts that in force.
    ///
    /// # Errors
    /// The engine's, and what `f` says: the catalog is as it was.
    fn change(
        &self,
        table: &str,
        f: impl FnOnce(&Catalog, TableDesc) -> Result<Option<TableDesc>>,
    ) -> Result<()> {
        // no other session changes the catalog meanwhile
        let _closed = self.gate.close();
        let before = self.first.catalog();
        let Some(desc) = before.tables().find(|desc| desc.engine == table) else { return Ok(()) };
        let changed = f(&before, (**desc).clone())?;
        let mut worker = loop {
            match self.engine.worker() {
                Err(Error::TooManyWorkers { .. }) if self.workers.discard_one() => {}
                worker => break worker?,
            }
        };
        let mut catalog = (*before).clone();
        match changed {
            Some(desc) => catalog.put(Relation::Table(Arc::new(desc))),
            None => _ = catalog.remove(desc.oid),
        }
        catalog.version += 1;
        write(&self.first.store, &mut worker, &before, &catalog)?;
        self.publish(&self.first, Arc::new(catalog), worker.depends_on());
        Ok(())
    }

    /// Puts a new table of the library into the catalog; or says why SQL cannot have it.
    ///
    /// # Errors
    /// The engine's: the catalog is as it was.
    fn tell(&self, before: &Catalog, worker: &mut E::Worker, info: &TableInfo) -> Result<Option<String>> {
        let mut catalog = before.clone();
        let why = describe(&mut catalog, worker, info, &mut || self.new_oid())?;
        if why.is_none() {
            catalog.version += 1;
            write(&self.first.store, worker, before, &catalog)?;
            self.publish(&self.first, Arc::new(catalog), worker.depends_on());
        }
        Ok(why)
    }

    /// SQL does not have a table; it has another look when the database is opened again.
    fn is_absent(&self, info: &TableInfo, why: String) {
        self.absent.lock().insert(info.name.clone(), why);
    }

    /// Refuses to change the definition of a table that the library has made or uses.
    ///
    /// # Errors
    /// 0A000, 55006.
    pub(crate) fn may_change(&self, desc: &TableDesc) -> scaledb_types::Result<()> {
        if !desc.engine.starts_with(PREFIX) {
            let what = format!("cannot change the definition of table \"{}\"", desc.name);
            return Err(SqlError::unsupported(what)
                .detail("It was made by the program that the database is embedded in, with the library.")
                .hint("What SQL has made, the library can use: CREATE TABLE another one."));
        }
        if self.pins.has(desc.oid) { Err(in_use(&desc.name)) } else { Ok(()) }
    }
}

/// What of SQL needs a table, if something does, as the end of a sentence about the table.
fn user(catalog: &Catalog, desc: &TableDesc) -> Option<String> {
    let of_others = |reference: &scaledb_catalog::Reference| reference.from.oid != desc.oid;
    if let Some(reference) = catalog.references_to(desc.oid).into_iter().find(of_others) {
        return Some(format!("is referred to by the foreign key \"{}\"", reference.constraint().name));
    }
    catalog.relations().find_map(|relation| match relation {
        view if view.reads(desc.oid) => Some(format!("is read by the {} \"{}\"", view.kind(), view.name())),
        Relation::Sequence(sequence) if sequence.owned_by.is_some_and(|(table, _)| table == desc.oid) => {
            Some(format!("owns the sequence \"{}\"", sequence.name))
        }
        _ => None,
    })
}
