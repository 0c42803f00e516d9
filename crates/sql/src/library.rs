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

use crate::database::{Database, PREFIX, Shared};
use crate::session::state::same;
use scaledb_base::{Error, Result, TableId};
use scaledb_catalog::{
    Catalog, ColumnDesc, IndexDesc, KeyColumn, PrimaryKeyDesc, Relation, Store, TableDesc,
};
use scaledb_engine::{Engine, IndexInfo, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_keys::{Direction, Nulls};
use scaledb_row::{ColumnType, KeyPart, KeySpec, Projection, Schema};
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_types::{Base, SqlError, SqlState, Type};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The schema of the library's tables.
const SCHEMA: &str = "public";

/// Tables of SQL that the library uses: by oid, how many handles there are.
#[derive(Debug, Default)]
pub(crate) struct Pins(Mutex<HashMap<u32, usize>>);

impl Pins {
    /// Whether the library uses a table. It may begin to behind this.
    fn has(&self, oid: u32) -> bool {
        self.0.lock().contains_key(&oid)
    }

    /// Keeps others from beginning to use tables, while the catalog changes.
    ///
    /// # Errors
    /// 55006: the library uses a table that changes.
    pub(crate) fn hold(
        &self,
        before: &Catalog,
        now: &Catalog,
    ) -> scaledb_types::Result<MutexGuard<'_, HashMap<u32, usize>>> {
        let pins = self.0.lock();
        match pins.keys().find(|&&oid| !same(before, now, oid)) {
            Some(&oid) => Err(in_use(before.get(oid).map_or("?", Relation::name))),
            None => Ok(pins),
        }
    }
}

/// A table of SQL that the library uses. While it lives, the table's definition stays as it is.
#[derive(Debug)]
pub struct Pin {
    oid: u32,
    pins: Arc<Pins>,
    /// The engine's table, with the names that SQL has for it, its columns and indexes.
    pub info: TableInfo,
    /// Why nothing but SQL may write to it, if that is so.
    pub read_only: Option<String>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.pins.0.lock();
        if let Some(count) = pins.get_mut(&self.oid) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.oid);
            }
        }
    }
}

fn in_use(table: &str) -> SqlError {
    let what =
        format!("cannot change table \"{table}\": the program that the database is embedded in uses it");
    SqlError::new(SqlState::OBJECT_IN_USE, what).hint("Drop its handles of the table first.")
}

impl<E: Engine> Database<E> {
    /// Creates a table of the library. SQL has it under the same name, if it has such tables, and room for its
    /// definition: see [`Database::absent`].
    ///
    /// # Errors
    /// As [`Engine::create_table`]; [`Error::TableExists`], too, if SQL has something of the name of the table or of one
    /// of its indexes.
    pub fn create_table(&self, def: TableDef) -> Result<Arc<TableInfo>> {
        let shared = &self.shared;
        // nobody else changes the catalog meanwhile
        let closed = shared.gate.close();
        let before = shared.catalog();
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
        // The engine does not take a table back. So from here on there is one, and if SQL cannot be told of it, that is
        // no error of the creation: who is told of an error may rely on there being none.
        match shared.tell(&before, &mut worker, &info) {
            Ok(None) => {}
            Ok(Some(why)) => shared.is_absent(&info, why),
            Err(error) => shared.is_absent(&info, format!("its definition was not stored: {error}")),
        }
        drop(closed);
        Ok(info)
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
        let catalog = shared.catalog();
        let desc = match catalog.lookup(SCHEMA, name)? {
            Relation::Table(desc) => desc,
            other => return Some(Err(format!("is a {} of SQL, not a table", other.kind()))),
        };
        let info = match shared.engine.table(&desc.engine).map(|info| shown(desc, &info)) {
            Some(Ok(info)) => info,
            Some(Err(why)) => return Some(Err(why)),
            None => return Some(Err("has no rows in the engine".to_owned())),
        };
        *pins.entry(desc.oid).or_insert(0) += 1;
        drop(pins);
        let read_only = read_only(&catalog, desc);
        Some(Ok(Pin { oid: desc.oid, pins: shared.pins.clone(), info, read_only }))
    }

    /// The table of SQL that an id of the engine is of, be it an index's, with the names that SQL has.
    pub fn table_of(&self, id: TableId) -> Option<TableInfo> {
        let catalog = self.shared.catalog();
        let mut tables = catalog.tables();
        tables.find_map(|desc| {
            let info = self.shared.engine.table(&desc.engine)?;
            let is = info.id == id || info.indexes.iter().any(|index| index.id == id);
            if is { shown(desc, &info).ok() } else { None }
        })
    }
}

impl<E: Engine> Shared<E> {
    /// Puts a new table of the library into the catalog; or says why SQL cannot have it.
    ///
    /// # Errors
    /// The engine's: the catalog is as it was.
    fn tell(&self, before: &Catalog, worker: &mut E::Worker, info: &TableInfo) -> Result<Option<String>> {
        let mut catalog = before.clone();
        let why = describe(&mut catalog, worker, info, &mut || self.new_oid())?;
        if why.is_none() {
            catalog.version += 1;
            write(&self.store, worker, before, &catalog)?;
            self.publish(Arc::new(catalog), worker.depends_on());
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

/// Makes descriptors of the library's tables that have none, in a database that is being opened. Why some have none, by
/// name.
///
/// # Errors
/// The engine's.
pub(crate) fn adopt<E: Engine>(
    engine: &E,
    store: &Store,
    worker: &mut E::Worker,
    catalog: &mut Catalog,
    next_oid: &mut u32,
) -> Result<HashMap<String, String>> {
    let before = catalog.clone();
    let mut absent = HashMap::new();
    let mut tables = engine.tables();
    tables.retain(|table| {
        !table.name.starts_with(PREFIX) && !before.tables().any(|desc| desc.engine == table.name)
    });
    for info in tables {
        let mut oid = || {
            *next_oid += 1;
            *next_oid - 1
        };
        let why = describe(catalog, worker, &info, &mut oid)?;
        absent.extend(why.map(|why| (info.name.clone(), why)));
    }
    if catalog.relations().count() > before.relations().count() {
        catalog.version += 1;
        write(store, worker, &before, catalog)?;
    }
    Ok(absent)
}

/// Writes a changed catalog.
fn write<W: Worker>(store: &Store, worker: &mut W, before: &Catalog, now: &Catalog) -> Result<()> {
    worker.run(TxnKind::ReadWrite, |worker| match store.write(worker, before, now) {
        Ok(()) => Ok(()),
        Err(scaledb_catalog::Error::Engine(error)) => Err(error),
        Err(other) => Err(Error::BadDefinition(other.to_string())),
    })
}

/// Puts the descriptor of a table of the library into the catalog; or says why SQL cannot have it.
///
/// # Errors
/// The engine's.
fn describe<W: Worker>(
    catalog: &mut Catalog,
    worker: &mut W,
    info: &TableInfo,
    new_oid: &mut dyn FnMut() -> u32,
) -> Result<Option<String>> {
    let columns = info.schema.columns();
    let primary = info.schema.primary_key().parts();
    for column in columns {
        if let ColumnType::Fixed(_) | ColumnType::Tail = column.ty {
            return Ok(Some(format!("its column \"{}\" is of type {}", column.name, column.ty)));
        }
        if columns.iter().filter(|other| other.name == column.name).count() > 1 {
            return Ok(Some(format!("it has two columns called \"{}\"", column.name)));
        }
    }
    if let Some(part) = primary.iter().find(|part| columns[part.column].nullable) {
        let name = &columns[part.column].name;
        return Ok(Some(format!("column \"{name}\" of its primary key takes NULL")));
    }
    for id in std::iter::once(info.id).chain(info.indexes.iter().map(|index| index.id)) {
        if !is_ordered(worker, id)? {
            return Ok(Some("it, or one of its indexes, has no order (Access::HashOnly)".to_owned()));
        }
    }
    let mut names = std::iter::once(&info.name).chain(info.indexes.iter().map(|index| &index.name));
    if let Some(taken) = names.find(|name| catalog.is_taken(SCHEMA, name)) {
        return Ok(Some(format!("something else is called \"{taken}\"")));
    }
    let key = |parts: &[KeyPart]| -> Vec<KeyColumn> {
        let part = |part: &KeyPart| KeyColumn {
            attnum: attnum(part.column),
            descending: part.direction == Direction::Descending,
            nulls_first: part.nulls == Nulls::First,
        };
        parts.iter().map(part).collect()
    };
    let oid = new_oid();
    let primary_key = (!primary.is_empty()).then(|| PrimaryKeyDesc {
        oid: new_oid(),
        name: free_name(catalog, info),
        columns: key(primary),
    });
    let mut indexes = Vec::new();
    for index in &info.indexes {
        indexes.push(IndexDesc {
            oid: new_oid(),
            name: index.name.clone(),
            columns: key(index.key.parts()),
            unique: index.unique,
            constraint: false,
            primary: false,
            deferrable: None,
        });
    }
    let columns = columns.iter().enumerate().map(|(number, column)| ColumnDesc {
        name: column.name.clone(),
        attnum: attnum(number),
        type_oid: sql_type(column.ty).oid(),
        typmod: -1,
        not_null: !column.nullable,
        default: None,
        identity: None,
    });
    let columns: Vec<ColumnDesc> = columns.collect();
    catalog.put(Relation::Table(Arc::new(TableDesc {
        oid,
        schema: SCHEMA.to_owned(),
        name: info.name.clone(),
        next_attnum: attnum(columns.len()),
        placement: None,
        comments: Default::default(),
        columns,
        engine: info.name.clone(),
        primary_key,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    })));
    Ok(None)
}

/// The number of the column at a position: there are at most 1,600.
fn attnum(position: usize) -> i16 {
    i16::try_from(position + 1).unwrap_or(i16::MAX)
}

/// A name for a primary key.
fn free_name(catalog: &Catalog, info: &TableInfo) -> String {
    let base = format!("{}_pkey", info.name);
    let taken = |name: &str| catalog.is_taken(SCHEMA, name) || info.index(name).is_some();
    let mut names = std::iter::once(base.clone()).chain((1..).map(|number| format!("{base}{number}")));
    names.find(|name| !taken(name)).unwrap_or(base)
}

/// Whether a table or index can be scanned.
fn is_ordered<W: Worker>(worker: &mut W, id: TableId) -> Result<bool> {
    let none = Projection::existence();
    let scanned = worker.run(TxnKind::ReadOnly, |worker| {
        worker.scan(id, Range::ALL, Order::Forward, &none, |_, _, _| ControlFlow::Break(()))
    });
    match scanned {
        Err(Error::NotOrdered(_)) => Ok(false),
        other => other.map(|()| true),
    }
}

/// The type that SQL has for a column of the library.
fn sql_type(ty: ColumnType) -> Type {
    match ty {
        ColumnType::Bool => Type::BOOL,
        ColumnType::Int2 => Type::INT2,
        ColumnType::Int4 => Type::INT4,
        ColumnType::Int8 => Type::INT8,
        ColumnType::Float4 => Type::FLOAT4,
        ColumnType::Float8 => Type::FLOAT8,
        ColumnType::Date => Type::DATE,
        ColumnType::Time => Type::TIME,
        ColumnType::Timestamp => Type::TIMESTAMP,
        ColumnType::Uuid => Type::UUID,
        ColumnType::Text(_) => Type::TEXT,
        ColumnType::Bytes(_) | ColumnType::Fixed(_) | ColumnType::Tail => Type::BYTEA,
    }
}

/// The type of a column, if the library's rows have it.
fn shared_type(column: &ColumnDesc) -> std::result::Result<Type, String> {
    let ty = Type::from_oid(column.type_oid).map(|ty| ty.with_typmod(column.typmod));
    let has = |ty: &Type| {
        !ty.array
            && matches!(
                ty.base,
                Base::Bool
                    | Base::Int2
                    | Base::Int4
                    | Base::Int8
                    | Base::Float4
                    | Base::Float8
                    | Base::Text
                    | Base::Varchar
                    | Base::Name
                    | Base::Json
                    | Base::Bytea
                    | Base::Date
                    | Base::Time
                    | Base::Timestamp
                    | Base::Timestamptz
                    | Base::Uuid
            )
    };
    ty.filter(has).ok_or_else(|| {
        let of = ty.map_or_else(|| "an unknown type".to_owned(), |ty| format!("type {ty}"));
        format!("has a column \"{}\" of {of}, which rows of the library do not have", column.name)
    })
}

/// A table of the engine with the names of a descriptor; or why the library cannot have it.
fn shown(desc: &TableDesc, info: &TableInfo) -> std::result::Result<TableInfo, String> {
    let own = info.schema.columns();
    for column in &desc.columns {
        shared_type(column)?;
    }
    if desc.placement.is_some() {
        return Err(
            "has had columns added or dropped since its rows were written, which CREATE INDEX writes anew"
                .to_owned(),
        );
    }
    // a tail takes nothing as long as no column was added
    let tail = own.last().is_some_and(|column| column.ty == ColumnType::Tail);
    let own = &own[..own.len() - usize::from(tail)];
    if own.len() != desc.columns.len() || info.indexes.len() != desc.indexes.len() {
        return Err("is kept in a way that rows of the library do not have".to_owned());
    }
    let columns = own.iter().zip(&desc.columns).map(|(own, column)| {
        let mut own = own.clone();
        own.name.clone_from(&column.name);
        own
    });
    let schema = Schema::new(columns.collect(), info.schema.primary_key().parts());
    let schema = schema.map_err(|error| format!("cannot be described: {error}"))?;
    let index = |(own, index): (&IndexInfo, &IndexDesc)| {
        let key: KeySpec = own.key.clone();
        IndexInfo { id: own.id, name: index.name.clone(), key, unique: own.unique }
    };
    let indexes = info.indexes.iter().zip(&desc.indexes).map(index).collect();
    Ok(TableInfo { id: info.id, name: desc.name.clone(), schema, indexes })
}

/// Why nothing but SQL may write to a table, if that is so.
fn read_only(catalog: &Catalog, desc: &TableDesc) -> Option<String> {
    if let Some(check) = desc.checks.first() {
        return Some(format!("it has the CHECK constraint \"{}\"", check.name));
    }
    if let Some(key) = desc.foreign_keys.first() {
        return Some(format!("it has the foreign key \"{}\"", key.name));
    }
    if let Some(reference) = catalog.references_to(desc.oid).first() {
        let (key, from) = (&reference.constraint().name, &reference.from.name);
        return Some(format!("the foreign key \"{key}\" of table \"{from}\" refers to it"));
    }
    if let Some(index) = desc.indexes.iter().find(|index| index.deferrable.is_some()) {
        return Some(format!("its constraint \"{}\" is deferrable", index.name));
    }
    let checked = |column: &&ColumnDesc| {
        let ty = Type::from_oid(column.type_oid);
        column.typmod >= 0 || ty.is_none_or(|ty| matches!(ty.base, Base::Name | Base::Json))
    };
    let column = desc.columns.iter().find(checked)?;
    let ty = Type::from_oid(column.type_oid).map(|ty| ty.with_typmod(column.typmod));
    Some(format!("values of its column \"{}\" are checked against {}", column.name, ty.unwrap_or(Type::TEXT)))
}
