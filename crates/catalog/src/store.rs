//! The catalog's rows in the engine.

use crate::access::{AccessDesc, DATABASE, RoleDesc};
use crate::databases::DatabaseDesc;
use crate::desc::{EnumDesc, IndexDesc, Relation, SchemaDesc, SequenceDesc, TableDesc, ViewDesc};
use crate::domain::DomainDesc;
use crate::extensions::ExtensionDesc;
use crate::local::{FIRST_LOCAL_OID, is_local, local_oids};
use crate::routine::{RoutineDesc, TriggerDesc};
use crate::snapshot::{Catalog, PUBLIC};
use scaledb_base::TableId;
use scaledb_base::limits::MAX_ROW_BYTES;
use scaledb_engine::{Engine, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, RowRef, Schema};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The row that holds the catalog's version: every change writes it, so that two changes conflict.
const VERSION: i64 = 0;
/// Under which oid it is kept that the schema `public` has been dropped: its own in PostgreSQL, where no other can be.
const OID_OF_PUBLIC: u32 = 2_200;
/// How many values of sequences one transaction forgets.
const FORGOTTEN: usize = 1_000;
const DESCRIPTORS: &str = "#descriptors";
const SEQUENCES: &str = "#sequences";

/// Why the catalog could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine refused.
    #[error(transparent)]
    Engine(#[from] scaledb_base::Error),
    /// Nothing is there of the catalog of a database.
    #[error("database {0} has been dropped")]
    Dropped(u32),
    /// A descriptor that this version cannot read.
    #[error("descriptor {oid} cannot be read; was it written by a later version? {source}")]
    Malformed {
        /// The descriptor.
        oid: i64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A result of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// How far a sequence got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceValue {
    /// The last value that was given, or the first to be given.
    pub last: i64,
    /// Whether `last` was given.
    pub called: bool,
}

/// Descriptors under names that earlier versions do not know, so that these refuse the database: they would read it
/// without what they do not know of, and write rows that are wrong.
#[derive(Serialize)]
enum Later<'a> {
    /// Values of columns are computed, those of generated columns and of partial indexes.
    ComputingTable(&'a TableDesc),
    /// A table that has unique indexes in which NULL equals NULL.
    OneNullTable(&'a TableDesc),
    /// A table that has EXCLUDE constraints.
    ExcludingTable(&'a TableDesc),
    /// A table that has triggers.
    TriggeringTable(&'a TableDesc),
    /// A table that has triggers that may fire at the end of a transaction, or see all rows of a statement.
    LateTriggeringTable(&'a TableDesc),
    /// A table whose foreign keys set some of their columns only, or are not looked at.
    ReferringTable(&'a TableDesc),
    /// A table whose policies say who sees which rows, or would if that were enabled.
    SecuredTable(&'a TableDesc),
    /// A materialized view: a table that nobody writes to.
    MaterializedView(&'a TableDesc),
    /// A view that says which rows are written through it, or has triggers.
    WrittenView(&'a ViewDesc),
    /// A view that is a security barrier.
    BarrierView(&'a ViewDesc),
    /// An enum type.
    Enum(&'a EnumDesc),
    /// A domain.
    Domain(&'a DomainDesc),
    /// A schema.
    Schema(&'a SchemaDesc),
    /// The schema `public` has been dropped.
    WithoutPublic(()),
    /// A function or a procedure.
    Routine(&'a RoutineDesc),
    /// A role.
    Role(&'a RoleDesc),
    /// Who owns an object, and what others may do with it. It stands under the object's oid, made negative.
    Access(&'a AccessDesc),
    /// A database, or what ALTER DATABASE has set of the first one.
    Database(&'a DatabaseDesc),
    /// An extension.
    Extension(&'a ExtensionDesc),
}

/// What a row describes.
#[derive(Deserialize)]
enum Descriptor {
    #[serde(alias = "ComputingTable", alias = "TriggeringTable", alias = "ExcludingTable")]
    #[serde(alias = "LateTriggeringTable", alias = "OneNullTable")]
    #[serde(alias = "MaterializedView", alias = "ReferringTable", alias = "SecuredTable")]
    Table(Arc<TableDesc>),
    Sequence(Arc<SequenceDesc>),
    #[serde(alias = "WrittenView", alias = "BarrierView")]
    View(Arc<ViewDesc>),
    Enum(Arc<EnumDesc>),
    Domain(Arc<DomainDesc>),
    Schema(Arc<SchemaDesc>),
    WithoutPublic(()),
    Routine(Arc<RoutineDesc>),
    Role(Arc<RoleDesc>),
    Access(Box<AccessDesc>),
    Database(Arc<DatabaseDesc>),
    Extension(Arc<ExtensionDesc>),
}

/// The descriptor of a relation as it is kept.
fn text(relation: &Relation) -> serde_json::Result<String> {
    // the latest first: who knows a name knows what the names behind it are for
    match relation {
        Relation::Table(table) if table.indexes.iter().any(IndexDesc::takes_one_null) => {
            serde_json::to_string(&Later::OneNullTable(table))
        }
        Relation::Table(table) if table.triggers.iter().any(TriggerDesc::is_late) => {
            serde_json::to_string(&Later::LateTriggeringTable(table))
        }
        Relation::Table(table) if table.row_security.is_some() => {
            serde_json::to_string(&Later::SecuredTable(table))
        }
        Relation::Table(table)
            if table.references_off
                || table.foreign_keys.iter().any(|key| !key.on_delete_sets.is_empty()) =>
        {
            serde_json::to_string(&Later::ReferringTable(table))
        }
        Relation::Table(table) if table.is_materialized() => {
            serde_json::to_string(&Later::MaterializedView(table))
        }
        Relation::Table(table) if table.indexes.iter().any(|index| index.exclusion.is_some()) => {
            serde_json::to_string(&Later::ExcludingTable(table))
        }
        Relation::Table(table) if !table.triggers.is_empty() => {
            serde_json::to_string(&Later::TriggeringTable(table))
        }
        Relation::Table(table) if table.generates() => serde_json::to_string(&Later::ComputingTable(table)),
        Relation::View(view) if view.security_barrier == Some(true) => {
            serde_json::to_string(&Later::BarrierView(view))
        }
        Relation::View(view) if view.is_written() => serde_json::to_string(&Later::WrittenView(view)),
        other => serde_json::to_string(other),
    }
}

/// What a change of the catalog writes: descriptors by their keys, and none where one is removed.
#[derive(Debug)]
pub struct Changes(Vec<(i64, Option<String>)>);

impl Changes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn put(&mut self, oid: impl Into<i64>, later: &Later<'_>) -> Result<()> {
        let oid = oid.into();
        let body = serde_json::to_string(later).map_err(|source| Error::Malformed { oid, source })?;
        self.0.push((oid, Some(body)));
        Ok(())
    }
}

/// The engine's tables that hold the catalog.
#[derive(Clone, Debug)]
pub struct Store {
    descriptors: Arc<TableInfo>,
    /// The values of the sequences of all databases: no two have one oid.
    sequences: Arc<TableInfo>,
    /// The database whose catalog it is.
    database: u32,
    /// Whether processes have local relations, which are not stored.
    has_local: bool,
}

impl Store {
    /// The catalog of the first database; an empty one is set up.
    ///
    /// # Errors
    /// The engine's; [`Error::Malformed`].
    pub fn open<E: Engine>(engine: &E) -> Result<(Self, Catalog)> {
        let descriptors = match engine.table(DESCRIPTORS) {
            Some(table) => table,
            None => create_table(engine, Self::descriptors(engine, DESCRIPTORS)?)?,
        };
        let columns = vec![
            Column::new("oid", ColumnType::Int8),
            Column::new("last", ColumnType::Int8),
            Column::new("called", ColumnType::Bool),
        ];
        let sequences = match engine.table(SEQUENCES) {
            Some(table) => table,
            None => create_table(engine, table_def(engine, SEQUENCES, columns)?)?,
        };
        let store = Self { descriptors, sequences, database: DATABASE, has_local: engine.is_shared() };
        let mut worker = engine.worker()?;
        let catalog = loop {
            worker.begin(TxnKind::ReadWrite)?;
            let loaded = match store.load(&mut worker) {
                Err(Error::Dropped(_)) => {
                    store.insert(&mut worker, VERSION, "0").map(|()| Catalog::default())
                }
                loaded => loaded,
            };
            match loaded {
                Err(Error::Engine(error)) if error.is_conflict() => worker.back_off(1),
                Err(error) => return Err(error),
                Ok(catalog) => match worker.commit() {
                    Ok(_) => break catalog,
                    Err(error) if error.is_conflict() => worker.back_off(1),
                    Err(error) => return Err(error.into()),
                },
            }
        };
        Ok((store, catalog))
    }

    /// The engine's table that holds the descriptors of a database, as it is to be made.
    ///
    /// # Errors
    /// The engine's.
    pub fn descriptors<E: Engine>(engine: &E, name: &str) -> Result<TableDef> {
        let columns =
            vec![Column::new("oid", ColumnType::Int8), Column::new("body", ColumnType::Text(TEXT_BYTES))];
        table_def(engine, name, columns)
    }

    /// The catalog of another database, which this table of the engine holds.
    #[must_use]
    pub fn of_database(&self, database: u32, descriptors: Arc<TableInfo>) -> Self {
        Self { descriptors, database, ..self.clone() }
    }

    /// The database whose catalog it is.
    pub fn database(&self) -> u32 {
        self.database
    }

    /// The engine's table that holds the descriptors.
    pub fn table(&self) -> &Arc<TableInfo> {
        &self.descriptors
    }

    /// The catalog as it is now, in a transaction of its own.
    ///
    /// # Errors
    /// The engine's; [`Error::Malformed`].
    pub fn read<W: Worker>(&self, worker: &mut W) -> Result<Catalog> {
        let mut attempt = 0;
        loop {
            worker.begin(TxnKind::ReadOnly)?;
            let read =
                self.load(worker).and_then(|catalog| worker.commit().map(|_| catalog).map_err(Error::from));
            match read {
                Err(Error::Engine(error)) if error.is_conflict() => {
                    attempt += 1;
                    worker.back_off(attempt);
                }
                Err(error) => {
                    worker.rollback();
                    return Err(error);
                }
                Ok(catalog) => return Ok(catalog),
            }
        }
    }

    /// The version of the catalog. The running transaction depends on it: it does not commit if a change of the catalog
    /// does before.
    ///
    /// # Errors
    /// The engine's; [`Error::Malformed`].
    pub fn version<W: Worker>(&self, worker: &mut W) -> Result<u64> {
        let all = Projection::all(&self.descriptors.schema);
        let key = KeyBuf::new().i64(VERSION);
        let body = worker.get(self.descriptors.id, &key, &all, |_, row| row.text(1).to_owned())?;
        let malformed = |source| Error::Malformed { oid: VERSION, source };
        body.map_or(Ok(0), |body| serde_json::from_str(&body).map_err(malformed))
    }

    fn load<W: Worker>(&self, worker: &mut W) -> Result<Catalog> {
        let mut rows: Vec<(i64, String)> = Vec::new();
        let all = Projection::all(&self.descriptors.schema);
        worker.scan(self.descriptors.id, Range::ALL, Order::Forward, &all, |_, _, row| {
            rows.push((row.i64(0), row.text(1).to_owned()));
            ControlFlow::Continue(())
        })?;
        let mut version = 0;
        let (mut relations, mut enums, mut schemas) = (Vec::new(), Vec::new(), Vec::new());
        let mut domains = Vec::new();
        let (mut routines, mut roles, mut access) = (Vec::new(), Vec::new(), Vec::new());
        let (mut databases, mut extensions) = (Vec::new(), Vec::new());
        let mut without_public = false;
        for (oid, body) in &rows {
            let malformed = |source| Error::Malformed { oid: *oid, source };
            if *oid == VERSION {
                version = serde_json::from_str(body).map_err(malformed)?;
            } else {
                match serde_json::from_str(body).map_err(malformed)? {
                    Descriptor::Table(desc) => relations.push(Relation::Table(desc)),
                    Descriptor::Sequence(desc) => relations.push(Relation::Sequence(desc)),
                    Descriptor::View(desc) => relations.push(Relation::View(desc)),
                    Descriptor::Enum(desc) => enums.push(desc),
                    Descriptor::Domain(desc) => domains.push(desc),
                    Descriptor::Schema(desc) => schemas.push(desc),
                    Descriptor::WithoutPublic(()) => without_public = true,
                    Descriptor::Routine(desc) => routines.push(desc),
                    Descriptor::Role(desc) => roles.push(desc),
                    Descriptor::Access(desc) => access.push(*desc),
                    Descriptor::Database(desc) => databases.push(desc),
                    Descriptor::Extension(desc) => extensions.push(desc),
                }
            }
        }
        if rows.is_empty() {
            return Err(Error::Dropped(self.database));
        }
        let mut catalog = Catalog::new(version, relations);
        enums.into_iter().for_each(|desc| catalog.put_enum(desc));
        domains.into_iter().for_each(|desc| catalog.put_domain(desc));
        schemas.into_iter().for_each(|desc| catalog.put_schema(desc));
        routines.into_iter().for_each(|desc| catalog.put_routine(desc));
        roles.into_iter().for_each(|desc| catalog.put_role(desc));
        access.into_iter().for_each(|desc| catalog.put_access(desc));
        databases.into_iter().for_each(|desc| catalog.put_database(desc));
        extensions.into_iter().for_each(|desc| catalog.put_extension(desc));
        catalog.belong_to(self.database);
        if without_public {
            catalog.remove_schema(PUBLIC);
        }
        Ok(catalog)
    }

    fn insert<W: Worker>(&self, worker: &mut W, oid: i64, body: &str) -> Result<()> {
        let row = RowBuf::from_values(&self.descriptors.schema, &[Datum::Int8(oid), Datum::Text(body)])?;
        worker.insert(self.descriptors.id, &row)?;
        Ok(())
    }

    fn upsert<W: Worker>(&self, worker: &mut W, oid: i64, body: &str) -> Result<()> {
        let schema = &self.descriptors.schema;
        let all = Projection::all(schema);
        let done = worker.update(self.descriptors.id, &KeyBuf::new().i64(oid), &all, |row| {
            row.set(schema, 1, Datum::Text(body))
        })?;
        if done.is_none() {
            self.insert(worker, oid, body)?;
        }
        Ok(())
    }

    /// Writes, within the running transaction, what is different in a new catalog. Two such transactions conflict.
    ///
    /// # Errors
    /// The engine's.
    pub fn write<W: Worker>(&self, worker: &mut W, before: &Catalog, now: &Catalog) -> Result<()> {
        self.write_changes(worker, &self.changes(before, now)?, now)
    }

    /// Writes, within the running transaction, the [`changes`](Self::changes) that a new catalog needs.
    ///
    /// # Errors
    /// The engine's.
    pub fn write_changes<W: Worker>(&self, worker: &mut W, changes: &Changes, now: &Catalog) -> Result<()> {
        self.upsert(worker, VERSION, &now.stored_version().to_string())?;
        for (oid, body) in &changes.0 {
            match body {
                Some(body) => self.upsert(worker, *oid, body)?,
                None => {
                    worker.delete(self.descriptors.id, &KeyBuf::new().i64(*oid))?;
                }
            }
        }
        Ok(())
    }

    /// What is different in a new catalog, of what is stored.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn changes(&self, before: &Catalog, now: &Catalog) -> Result<Changes> {
        let mut changes = Changes(Vec::new());
        let is_stored = |oid: u32| !self.has_local || !is_local(oid);
        let is_kept = |relation: &&Relation| is_stored(relation.oid());
        for relation in now.relations().filter(is_kept).filter(|relation| !before.has(relation)) {
            let oid = i64::from(relation.oid());
            let body = text(relation).map_err(|source| Error::Malformed { oid, source })?;
            changes.0.push((oid, Some(body)));
        }
        for desc in now.enums().filter(|desc| !now.has_same(before, desc.oid)) {
            changes.put(desc.oid, &Later::Enum(desc))?;
        }
        for desc in now.domains().filter(|desc| !now.has_same(before, desc.oid)) {
            changes.put(desc.oid, &Later::Domain(desc))?;
        }
        let had = |desc: &SchemaDesc| before.schemas().any(|known| **known == *desc);
        for desc in now.schemas().filter(|desc| !had(desc)) {
            changes.put(desc.oid, &Later::Schema(desc))?;
        }
        let had =
            |desc: &&Arc<RoutineDesc>| before.routine(desc.oid).is_some_and(|old| Arc::ptr_eq(old, desc));
        for desc in now.routines().filter(|desc| !had(desc)) {
            changes.put(desc.oid, &Later::Routine(desc))?;
        }
        let had = |desc: &RoleDesc| before.role(desc.oid).is_some_and(|old| **old == *desc);
        for desc in now.roles().filter(|desc| !had(desc)) {
            changes.put(desc.oid, &Later::Role(desc))?;
        }
        let had = |desc: &Arc<AccessDesc>| before.access(desc.object).is_some_and(|old| old == desc);
        for desc in now.accesses().filter(|desc| is_stored(desc.object) && !had(desc)) {
            changes.put(key_of_access(desc.object), &Later::Access(desc))?;
        }
        let had = |desc: &DatabaseDesc| before.database(desc.oid).is_some_and(|old| **old == *desc);
        for desc in now.databases().filter(|desc| !had(desc)) {
            changes.put(desc.oid, &Later::Database(desc))?;
        }
        let had = |desc: &ExtensionDesc| before.extensions().any(|old| **old == *desc);
        for desc in now.extensions().filter(|desc| !had(desc)) {
            changes.put(desc.oid, &Later::Extension(desc))?;
        }
        if before.has_public() && !now.has_public() {
            changes.put(OID_OF_PUBLIC, &Later::WithoutPublic(()))?;
        }
        let public = (!before.has_public() && now.has_public()).then_some(OID_OF_PUBLIC);
        let relations = before.relations().filter(is_kept).map(Relation::oid);
        let relations = relations.filter(|oid| now.get(*oid).is_none());
        let enums = before.enums().map(|desc| desc.oid).filter(|oid| now.enum_of(*oid).is_none());
        let domains = before.domains().map(|desc| desc.oid).filter(|oid| now.domain_of(*oid).is_none());
        let kept = |oid: u32| now.schemas().any(|desc| desc.oid == oid);
        let schemas = before.schemas().map(|desc| desc.oid).filter(|oid| !kept(*oid));
        let routines = before.routines().map(|desc| desc.oid).filter(|oid| now.routine(*oid).is_none());
        let roles = before.roles().map(|desc| desc.oid).filter(|oid| now.role(*oid).is_none());
        let access = before.accesses().map(|desc| desc.object).filter(|oid| is_stored(*oid));
        let access = access.filter(|oid| now.access(*oid).is_none());
        let databases = before.databases().map(|desc| desc.oid).filter(|oid| now.database(*oid).is_none());
        let gone = relations.chain(enums).chain(schemas).chain(public).chain(routines).chain(roles);
        let kept = |oid: u32| now.extensions().any(|desc| desc.oid == oid);
        let extensions = before.extensions().map(|desc| desc.oid).filter(|oid| !kept(*oid));
        let gone = gone.chain(databases).chain(domains).chain(extensions);
        changes.0.extend(gone.map(i64::from).chain(access.map(key_of_access)).map(|key| (key, None)));
        Ok(changes)
    }

    /// The greatest oid that a sequence has had, of those that are stored: its value outlives it.
    ///
    /// # Errors
    /// The engine's.
    pub fn max_sequence_oid<W: Worker>(&self, worker: &mut W) -> Result<u32> {
        let oid = Projection::all(&self.sequences.schema);
        let mut greatest = 0;
        let end = KeyBuf::new().i64(i64::from(FIRST_LOCAL_OID));
        let stored = Range { end: self.has_local.then_some(&end), ..Range::ALL };
        worker.run(TxnKind::ReadOnly, |w| {
            w.scan(self.sequences.id, stored, Order::Backward, &oid, |_, _, row| {
                greatest = row.i64(0);
                ControlFlow::Break(())
            })
        })?;
        Ok(u32::try_from(greatest).unwrap_or(0))
    }

    /// Forgets the values of the local sequences that a process had in an earlier life.
    ///
    /// # Errors
    /// The engine's.
    pub fn forget_local<W: Worker>(&self, worker: &mut W, process: u8) -> Result<()> {
        let none = Projection::existence();
        let oids = local_oids(process);
        let key = |oid: u32| KeyBuf::new().i64(i64::from(oid));
        let (first, behind) = (key(*oids.start()), KeyBuf::new().i64(i64::from(*oids.end()) + 1));
        loop {
            let left = worker.run(TxnKind::ReadWrite, |worker| {
                let mut rows = Vec::new();
                let range = Range::new(&first, &behind);
                worker.scan(self.sequences.id, range, Order::Forward, &none, |row, _, _| {
                    rows.push(row);
                    if rows.len() < FORGOTTEN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                rows.iter().try_for_each(|&row| worker.delete_at(self.sequences.id, row).map(|_| ()))?;
                Ok(rows.len() == FORGOTTEN)
            })?;
            if !left {
                return Ok(());
            }
        }
    }

    /// Deletes all that is kept of the catalog, within the running transaction: the database is dropped.
    ///
    /// # Errors
    /// The engine's.
    pub fn clear<W: Worker>(&self, worker: &mut W, catalog: &Catalog) -> Result<()> {
        let mut nothing = Catalog::default();
        nothing.belong_to(self.database);
        if !catalog.has_public() {
            nothing.remove_schema(PUBLIC);
        }
        self.write(worker, catalog, &nothing)?;
        let public = (!catalog.has_public()).then_some(i64::from(OID_OF_PUBLIC));
        for key in public.into_iter().chain([VERSION]) {
            worker.delete(self.descriptors.id, &KeyBuf::new().i64(key))?;
        }
        Ok(())
    }

    /// How far a sequence got, in a transaction of its own.
    ///
    /// # Errors
    /// The engine's.
    pub fn sequence<W: Worker>(&self, worker: &mut W, oid: u32) -> Result<Option<SequenceValue>> {
        Ok(worker.run(TxnKind::ReadOnly, |w| self.sequence_in(w, oid))?)
    }

    fn sequence_in<W: Worker>(
        &self,
        worker: &mut W,
        oid: u32,
    ) -> scaledb_base::Result<Option<SequenceValue>> {
        let all = Projection::all(&self.sequences.schema);
        let key = KeyBuf::new().i64(i64::from(oid));
        let read = |_, row: RowRef<'_>| SequenceValue { last: row.i64(1), called: row.bool(2) };
        worker.get(self.sequences.id, &key, &all, read)
    }

    /// Notes how far a sequence goes, in a transaction of its own: `next` gets how far it got, and says it.
    ///
    /// # Errors
    /// The engine's. Within: what `next` returns; nothing is noted then.
    pub fn advance_sequence<W: Worker, F>(
        &self,
        worker: &mut W,
        oid: u32,
        mut next: impl FnMut(Option<SequenceValue>) -> std::result::Result<SequenceValue, F>,
    ) -> Result<std::result::Result<(), F>> {
        Ok(worker.run(TxnKind::ReadWrite, |w| match next(self.sequence_in(w, oid)?) {
            Ok(value) => self.set_sequence_in(w, oid, value).map(Ok),
            Err(error) => Ok(Err(error)),
        })?)
    }

    /// Whether the engine's table is one of the catalog's.
    pub fn has(&self, table: TableId) -> bool {
        [&self.descriptors, &self.sequences].iter().any(|own| own.id == table)
    }

    /// Notes how far a sequence got, in a transaction of its own.
    ///
    /// # Errors
    /// The engine's.
    pub fn set_sequence<W: Worker>(&self, worker: &mut W, oid: u32, value: SequenceValue) -> Result<()> {
        Ok(worker.run(TxnKind::ReadWrite, |w| self.set_sequence_in(w, oid, value))?)
    }

    /// Deletes what was noted of a sequence, in a transaction of its own.
    ///
    /// # Errors
    /// The engine's.
    pub fn forget_sequence<W: Worker>(&self, worker: &mut W, id: u32) -> Result<()> {
        let key = KeyBuf::new().i64(i64::from(id));
        worker.run(TxnKind::ReadWrite, |w| w.delete(self.sequences.id, &key))?;
        Ok(())
    }

    fn set_sequence_in<W: Worker>(
        &self,
        worker: &mut W,
        oid: u32,
        value: SequenceValue,
    ) -> scaledb_base::Result<()> {
        let schema = &self.sequences.schema;
        let all = Projection::all(schema);
        let oid = i64::from(oid);
        let done = worker.update(self.sequences.id, &KeyBuf::new().i64(oid), &all, |row| {
            row.set_i64(1, value.last);
            row.set_bool(2, value.called);
            Ok(())
        })?;
        if done.is_none() {
            let values = [Datum::Int8(oid), Datum::Int8(value.last), Datum::Bool(value.called)];
            worker.insert(self.sequences.id, &RowBuf::from_values(schema, &values)?)?;
        }
        Ok(())
    }
}

/// Under which key it is kept who owns an object.
fn key_of_access(object: u32) -> i64 {
    -i64::from(object)
}

const TEXT_BYTES: u32 = (MAX_ROW_BYTES / 2) as u32;

fn table_def<E: Engine>(engine: &E, name: &str, columns: Vec<Column>) -> Result<TableDef> {
    let schema = Schema::new(columns, &[KeyPart::asc(0)])?;
    let mut def = TableDef::new(name, schema);
    // every node reads it for each transaction
    if engine.table_options().iter().any(|option| option.name == "replicate") {
        def.options = def.options.with("replicate", "everywhere");
    }
    Ok(def)
}

fn create_table<E: Engine>(engine: &E, def: TableDef) -> Result<Arc<TableInfo>> {
    let name = def.name.clone();
    match engine.create_table(def) {
        // by another node, at the same time
        Err(scaledb_base::Error::TableExists(_)) if engine.is_shared() => {
            engine.table(&name).ok_or_else(|| scaledb_base::Error::NoSuchTable(name).into())
        }
        created => Ok(created?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desc::{CheckOption, ExclusionDesc, IndexDesc, Initially, KeyColumn};
    use crate::materialized::MaterializedDesc;
    use crate::routine::{TriggerConstraint, TriggerEvents, TriggerTiming};

    /// Relations as versions had them that could not compute columns.
    #[derive(Debug, Deserialize)]
    enum Earlier {
        #[allow(dead_code, reason = "what was read is of no interest")]
        Table(serde_json::Value),
    }

    fn read(kept: &str) -> Relation {
        match serde_json::from_str(kept).expect("it is read") {
            Descriptor::Table(desc) => Relation::Table(desc),
            Descriptor::View(desc) => Relation::View(desc),
            _ => panic!("a table or a view"),
        }
    }

    #[test]
    fn a_version_that_cannot_compute_columns_refuses_tables_that_have_some() {
        let plain = r#"{"Table":{"oid":16384,"schema":"public","name":"t","columns":[{"name":"a","attnum":1,
            "type_oid":23,"typmod":-1,"not_null":false,"default":null,"identity":null}],"next_attnum":2,
            "engine":"\u0023t","primary_key":null,"indexes":[],"checks":[],"foreign_keys":[]}}"#;
        let relation = read(plain);
        let kept = text(&relation).expect("it can be written");
        serde_json::from_str::<Earlier>(&kept).expect("an earlier version reads it");
        let Relation::Table(table) = relation else { panic!("a table") };
        let mut desc = (*table).clone();
        desc.columns[0].generated = Some("1".to_owned());
        let computing = Relation::Table(Arc::new(desc));
        let kept = text(&computing).expect("it can be written");
        serde_json::from_str::<Earlier>(&kept).expect_err("an earlier version would not compute it");
        assert_eq!(read(&kept), computing);
        let Relation::Table(table) = &computing else { panic!("a table") };
        let mut desc = (**table).clone();
        let exclusion = ExclusionDesc { method: "gist".to_owned(), overlaps: false };
        desc.indexes.push(IndexDesc {
            oid: 16_385,
            name: "t_a_excl".to_owned(),
            columns: vec![KeyColumn { attnum: 1, descending: false, nulls_first: false }],
            unique: false,
            constraint: true,
            primary: false,
            deferrable: None,
            engine: String::new(),
            predicate: None,
            nulls_not_distinct: false,
            exclusion: Some(exclusion),
        });
        let excluding = Relation::Table(Arc::new(desc));
        let later = text(&excluding).expect("it can be written");
        assert!(later.starts_with("{\"ExcludingTable\""), "a version that checks no rows would read {later}");
        assert_eq!(read(&later), excluding);
        let Relation::Table(table) = &excluding else { panic!("a table") };
        let mut desc = (**table).clone();
        (desc.indexes[0].unique, desc.indexes[0].nulls_not_distinct) = (true, true);
        let one_null = Relation::Table(Arc::new(desc));
        let later = text(&one_null).expect("it can be written");
        assert!(later.starts_with("{\"OneNullTable\""), "a version that lets NULLs pass would read {later}");
        assert_eq!(read(&later), one_null);
        let Relation::Table(table) = &excluding else { panic!("a table") };
        let mut desc = (**table).clone();
        desc.materialized = Some(MaterializedDesc {
            query: "SELECT 1 AS a".to_owned(),
            uses: Vec::new(),
            path: vec!["public".to_owned()],
            known: Vec::new(),
            populated: false,
        });
        let materialized = Relation::Table(Arc::new(desc));
        let latest = text(&materialized).expect("it can be written");
        assert!(latest.starts_with("{\"MaterializedView\""), "a version would write to {latest}");
        assert_eq!(read(&latest), materialized);
        let Relation::Table(table) = &excluding else { panic!("a table") };
        let unchecked = Relation::Table(Arc::new(TableDesc { references_off: true, ..(**table).clone() }));
        let last = text(&unchecked).expect("it can be written");
        assert!(last.starts_with("{\"ReferringTable\""), "a version would refuse rows of {last}");
        assert_eq!(read(&last), unchecked);
        // as versions wrote it for some days that compute columns
        let named = kept.replace("ComputingTable", "Table");
        assert_eq!(read(&named), computing);
    }

    #[test]
    fn a_version_that_knows_no_domains_refuses_them() {
        let desc = DomainDesc {
            oid: 16_390,
            array_oid: 16_391,
            schema: "public".to_owned(),
            name: "pos".to_owned(),
            type_oid: 23,
            typmod: -1,
            not_null: true,
            default: Some("1".to_owned()),
            checks: vec![crate::domain::DomainCheckDesc {
                oid: 16_392,
                name: "pos_check".to_owned(),
                expression: "VALUE > 0".to_owned(),
                validated: false,
            }],
            comments: Vec::new(),
        };
        let kept = serde_json::to_string(&Later::Domain(&desc)).expect("it can be written");
        serde_json::from_str::<Earlier>(&kept).expect_err("an earlier version would not look at its values");
        let Ok(Descriptor::Domain(read)) = serde_json::from_str(&kept) else { panic!("a domain") };
        assert_eq!(*read, desc);
        // one that is over another one is found whatever their order
        let over = DomainDesc {
            oid: 16_395,
            array_oid: 16_396,
            type_oid: 16_390,
            checks: Vec::new(),
            ..desc.clone()
        };
        let over = DomainDesc { name: "over".to_owned(), ..over };
        let mut catalog = Catalog::default();
        catalog.put_domain(Arc::new(over));
        catalog.put_domain(read);
        let ty = catalog.type_of_oid(16_395).expect("it is there");
        assert_eq!(ty.as_domain().map(|domain| domain.chain().count()), Some(2));
        assert_eq!(catalog.type_of_oid(16_396), ty.to_array());
        assert_eq!(catalog.max_oid(), 16_396);
    }

    #[test]
    fn a_version_that_knows_no_policies_refuses_what_has_some() {
        let plain = r#"{"Table":{"oid":16384,"schema":"public","name":"t","columns":[],"next_attnum":1,"engine":"t",
            "primary_key":null,"indexes":[],"checks":[],"foreign_keys":[]}}"#;
        let Relation::Table(table) = read(plain) else { panic!("a table") };
        assert!(text(&Relation::Table(table.clone())).expect("it can be written").starts_with("{\"Table\""));
        let mut secured = (*table).clone();
        secured.change_row_security(|own| own.forced = true);
        let secured = Relation::Table(Arc::new(secured));
        let kept = text(&secured).expect("it can be written");
        assert!(kept.starts_with("{\"SecuredTable\""), "an earlier version would show all rows of {kept}");
        assert_eq!(read(&kept), secured);
        let Relation::Table(table) = &secured else { panic!("a table") };
        let mut again = (**table).clone();
        again.change_row_security(|own| own.forced = false);
        assert_eq!(again.row_security, None, "nothing is left of what was undone");
        let view = r#"{"View":{"oid":16385,"schema":"public","name":"v","columns":[["a",23,-1]],"query":"SELECT 1 AS a",
            "uses":[]}}"#;
        let Relation::View(view) = read(view) else { panic!("a view") };
        let barrier = Relation::View(Arc::new(ViewDesc { security_barrier: Some(true), ..(*view).clone() }));
        let kept = text(&barrier).expect("it can be written");
        assert!(kept.starts_with("{\"BarrierView\""), "an earlier version would tell of rows of {kept}");
        assert_eq!(read(&kept), barrier);
    }

    #[test]
    fn a_version_that_writes_to_no_view_refuses_one_that_says_what_is_written() {
        let plain = r#"{"View":{"oid":16384,"schema":"public","name":"v","columns":[["a",23,-1]],"query":"SELECT 1 AS a",
            "uses":[]}}"#;
        let relation = read(plain);
        let kept = text(&relation).expect("it can be written");
        assert!(kept.starts_with("{\"View\""), "an earlier version reads {kept}");
        let Relation::View(view) = relation else { panic!("a view") };
        let trigger = trigger(TriggerTiming::InsteadOf);
        for written in [
            ViewDesc { check_option: Some(CheckOption::Local), ..(*view).clone() },
            ViewDesc { defaults: vec![(1, "2".to_owned())], ..(*view).clone() },
            ViewDesc { triggers: vec![trigger], ..(*view).clone() },
        ] {
            let written = Relation::View(Arc::new(written));
            let kept = text(&written).expect("it can be written");
            assert!(kept.starts_with("{\"WrittenView\""), "an earlier version would forget parts of {kept}");
            assert_eq!(read(&kept), written);
        }
    }

    #[test]
    fn a_version_that_fires_no_triggers_late_refuses_a_table_that_has_some() {
        let relation_with_triggers = |triggers| {
            let plain = r#"{"Table":{"oid":16384,"schema":"public","name":"t","columns":[],"next_attnum":1,
                "engine":"t","primary_key":null,"indexes":[],"checks":[],"foreign_keys":[]}}"#;
            let Relation::Table(table) = read(plain) else { panic!("a table") };
            Relation::Table(Arc::new(TableDesc { triggers, ..(*table).clone() }))
        };
        let plain = relation_with_triggers(vec![trigger(TriggerTiming::After)]);
        let kept = text(&plain).expect("it can be written");
        assert!(kept.starts_with("{\"TriggeringTable\""), "an earlier version reads {kept}");
        let constraint =
            TriggerConstraint { oid: 16_387, name: "x".to_owned(), deferrable: Some(Initially::Deferred) };
        for late in [
            TriggerDesc { constraint: Some(constraint), ..trigger(TriggerTiming::After) },
            TriggerDesc { old_table: Some("gone".to_owned()), ..trigger(TriggerTiming::After) },
            TriggerDesc { new_table: Some("come".to_owned()), ..trigger(TriggerTiming::After) },
        ] {
            let late = relation_with_triggers(vec![late]);
            let kept = text(&late).expect("it can be written");
            assert!(
                kept.starts_with("{\"LateTriggeringTable\""),
                "an earlier version would fire none of {kept}"
            );
            assert_eq!(read(&kept), late);
        }
    }

    fn trigger(timing: TriggerTiming) -> TriggerDesc {
        TriggerDesc {
            oid: 16_385,
            name: "x".to_owned(),
            timing,
            events: TriggerEvents { insert: true, ..TriggerEvents::default() },
            columns: Vec::new(),
            for_each_row: true,
            condition: None,
            function: 16_386,
            arguments: Vec::new(),
            enabled: true,
            always: false,
            constraint: None,
            old_table: None,
            new_table: None,
            comment: None,
        }
    }
}
