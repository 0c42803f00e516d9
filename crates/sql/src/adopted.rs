//! Tables that the library has made, as SQL has them, and those of SQL as the library has them; and which of the
//! engine's indexes a descriptor means.

use crate::stored::{shared_type, sql_type};
use scaledb_base::{Error, Result, TableId};
use scaledb_catalog::{
    Catalog, ColumnDesc, IndexDesc, KeyColumn, PrimaryKeyDesc, Relation, Store, TableDesc,
};
use scaledb_engine::{Engine, IndexInfo, Order, Range, TableInfo, TxnKind, Worker};
use scaledb_keys::{Direction, Nulls};
use scaledb_row::{ColumnType, KeyPart, KeySpec, Projection, Schema};
use scaledb_types::{Base, Type};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the names of the engine's tables begin with; a number follows. The library makes no table of such a name.
pub(crate) const PREFIX: char = '#';

/// The schema of the library's tables.
pub(crate) const SCHEMA: &str = "public";

/// Makes descriptors of the library's tables that have none, in a database that is being opened, and removes those of
/// tables that it has dropped while there was no SQL. Why some have none, by name.
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
    for gone in before.tables().filter(|desc| !desc.engine.starts_with(PREFIX)) {
        if engine.table(&gone.engine).is_none() {
            catalog.remove(gone.oid);
        }
    }
    let has_changed = |relation: &Relation| !before.has(relation);
    if catalog.relations().any(has_changed) || catalog.relations().count() < before.relations().count() {
        catalog.version += 1;
        write(store, worker, &before, catalog)?;
    }
    Ok(absent)
}

/// Writes a changed catalog.
pub(crate) fn write<W: Worker>(store: &Store, worker: &mut W, before: &Catalog, now: &Catalog) -> Result<()> {
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
pub(crate) fn describe<W: Worker>(
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
    let oid = new_oid();
    let primary_key = (!primary.is_empty()).then(|| PrimaryKeyDesc {
        oid: new_oid(),
        name: free_name(catalog, info),
        columns: key_columns(primary),
    });
    let mut indexes = Vec::new();
    for index in &info.indexes {
        indexes.push(describe_index(index, new_oid()));
    }
    let columns = columns.iter().enumerate().map(|(number, column)| ColumnDesc {
        name: column.name.clone(),
        attnum: attnum(number),
        type_oid: sql_type(column.ty).oid(),
        typmod: -1,
        not_null: !column.nullable,
        default: None,
        identity: None,
        generated: None,
        hidden: false,
        key: None,
    });
    let columns: Vec<ColumnDesc> = columns.collect();
    catalog.put(Relation::Table(Arc::new(TableDesc {
        oid,
        schema: SCHEMA.to_owned(),
        name: info.name.clone(),
        next_attnum: attnum(columns.len()),
        placement: None,
        spread: Default::default(),
        comments: Default::default(),
        columns,
        engine: info.name.clone(),
        primary_key,
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        references_off: false,
        parameters: Vec::new(),
        included: Vec::new(),
        materialized: None,
        row_security: None,
    })));
    Ok(None)
}

/// The descriptor of an index of a table of the library.
pub(crate) fn describe_index(index: &IndexInfo, oid: u32) -> IndexDesc {
    IndexDesc {
        oid,
        name: index.name.clone(),
        columns: key_columns(index.key.parts()),
        unique: index.unique,
        constraint: false,
        primary: false,
        deferrable: None,
        engine: index.name.clone(),
        predicate: None,
        nulls_not_distinct: false,
        exclusion: None,
    }
}

fn key_columns(parts: &[KeyPart]) -> Vec<KeyColumn> {
    let part = |part: &KeyPart| KeyColumn {
        attnum: attnum(part.column),
        descending: part.direction == Direction::Descending,
        nulls_first: part.nulls == Nulls::First,
    };
    parts.iter().map(part).collect()
}

/// Says in descriptors of earlier versions which of the engine's indexes they mean: those of their names in a table of
/// the library, else those at the same places, for no index has come or gone without its table.
pub(crate) fn name_indexes<E: Engine>(engine: &E, catalog: &mut Catalog) {
    let unnamed = |desc: &&Arc<TableDesc>| desc.indexes.iter().any(|index| index.engine.is_empty());
    let tables: Vec<Arc<TableDesc>> = catalog.tables().filter(unnamed).cloned().collect();
    for desc in tables {
        let Some(info) = engine.table(&desc.engine) else { continue };
        let mut desc = (*desc).clone();
        let of_library = !desc.engine.starts_with(PREFIX);
        for (index, made) in desc.indexes.iter_mut().zip(&info.indexes) {
            index.engine.clone_from(if of_library { &index.name } else { &made.name });
        }
        catalog.put(Relation::Table(Arc::new(desc)));
    }
}

/// Takes over what the library has done to the indexes of its tables while there was no SQL, or what SQL did not
/// hear of before the database was killed.
///
/// # Errors
/// The engine's.
pub(crate) fn adopt_indexes<E: Engine>(
    engine: &E,
    store: &Store,
    worker: &mut E::Worker,
    catalog: &mut Catalog,
    next_oid: &mut u32,
) -> Result<()> {
    let before = catalog.clone();
    for old in before.tables().filter(|desc| !desc.engine.starts_with(PREFIX)) {
        let Some(info) = engine.table(&old.engine) else { continue };
        let mut desc = (**old).clone();
        desc.indexes.retain(|index| info.index(&index.engine).is_some());
        for index in &info.indexes {
            if desc.indexes.iter().any(|known| known.engine == index.name) {
                continue;
            }
            let mut made = describe_index(index, *next_oid);
            *next_oid += 1;
            let own = |name: &str| desc.indexes.iter().any(|known| known.name == name);
            let taken = |name: &str| own(name) || catalog.is_taken(SCHEMA, name);
            let others = (1..).map(|number| format!("{}{number}", index.name));
            let mut names = std::iter::once(index.name.clone()).chain(others);
            made.name = names.find(|name| !taken(name)).unwrap_or_default();
            desc.indexes.push(made);
        }
        if desc.indexes != old.indexes {
            catalog.put(Relation::Table(Arc::new(desc)));
            catalog.version = before.version + 1;
        }
    }
    if catalog.version > before.version { write(store, worker, &before, catalog) } else { Ok(()) }
}

/// Drops indexes of the engine that no descriptor names: those of changes that did not commit before the database was
/// closed or killed, and those that the last commits have left.
///
/// # Errors
/// The engine's.
pub(crate) fn drop_left_over<E: Engine>(engine: &E, catalog: &Catalog) -> Result<()> {
    for desc in catalog.tables().filter(|desc| desc.engine.starts_with(PREFIX)) {
        let Some(info) = engine.table(&desc.engine) else { continue };
        let named = |index: &&IndexInfo| desc.indexes.iter().any(|own| own.engine == index.name);
        for index in info.indexes.iter().filter(|index| !named(index)) {
            engine.drop_index(index.id)?;
        }
    }
    Ok(())
}

/// The engine's index that one of a descriptor stands for.
pub(crate) fn index_of<'a>(desc: &TableDesc, info: &'a TableInfo, number: usize) -> Option<&'a IndexInfo> {
    info.index(&desc.indexes.get(number)?.engine)
}

/// A table of the engine with the indexes of its descriptor, in their order; `None` if one is missing.
pub(crate) fn in_order(desc: &TableDesc, info: Arc<TableInfo>) -> Option<Arc<TableInfo>> {
    let own = (0..desc.indexes.len()).map(|number| index_of(desc, &info, number));
    let own = own.collect::<Option<Vec<_>>>()?;
    if own.len() == info.indexes.len() && own.iter().zip(&info.indexes).all(|(a, b)| a.id == b.id) {
        return Some(info);
    }
    let indexes = own.into_iter().cloned().collect();
    Some(Arc::new(TableInfo { indexes, ..(*info).clone() }))
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

/// A table of the engine with the names of a descriptor; or why the library cannot have it.
pub(crate) fn shown(desc: &TableDesc, info: &TableInfo) -> std::result::Result<TableInfo, String> {
    if let Some(index) = desc.indexes.iter().find(|index| index.predicate.is_some()) {
        return Err(format!("has the partial index \"{}\", which the library cannot keep", index.name));
    }
    if let Some(index) = desc.indexes.iter().find(|index| desc.has_expressions(index)) {
        let what = "has the index \"{}\" on an expression, which the library cannot keep";
        return Err(what.replace("{}", &index.name));
    }
    let own = info.schema.columns();
    for column in &desc.columns {
        shared_type(column)?;
    }
    if desc.placement.is_some() {
        return Err(
            "has had columns added or dropped since its rows were written, which ALTER COLUMN .. TYPE writes anew"
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

/// Why nothing but SQL may write to a table, if that is so. `info` is what the library has of it.
pub(crate) fn read_only(catalog: &Catalog, desc: &TableDesc, info: &TableInfo) -> Option<String> {
    let mut columns = desc.columns.iter().zip(info.schema.columns());
    if let Some((column, _)) = columns.find(|(column, own)| column.not_null && own.nullable) {
        let why =
            "has become NOT NULL, which rows do not know until ALTER COLUMN .. TYPE has written them anew";
        return Some(format!("its column \"{}\" {why}", column.name));
    }
    if let Some(column) = desc.columns.iter().find(|column| column.generated.is_some()) {
        return Some(format!("its column \"{}\" is a generated one", column.name));
    }
    if desc.is_materialized() {
        return Some("it is a materialized view".to_owned());
    }
    if let Some(trigger) = desc.triggers.first() {
        return Some(format!("it has the trigger \"{}\"", trigger.name));
    }
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
    if let Some(index) = desc.indexes.iter().find(|index| index.exclusion.is_some()) {
        return Some(format!("its constraint \"{}\" is EXCLUDE", index.name));
    }
    if let Some(index) = desc.indexes.iter().find(|index| index.takes_one_null()) {
        return Some(format!("its index \"{}\" is NULLS NOT DISTINCT", index.name));
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
