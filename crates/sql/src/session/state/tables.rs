//! Tables as plans have them: a descriptor, and what the engine has of it.

use super::SessionState;
use crate::adopted::in_order;
use crate::exec::tail;
use crate::stored;
use crate::system;
use scaledb_catalog::{Action, Catalog, ForeignKeyDesc, KeyColumn, Spread, TableDesc};
use scaledb_engine::{Engine, TableInfo};
use scaledb_planner::bind::{Keys, Lookup, SystemTable, Typed};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::place::{Added, ColumnPlace, Places};
use scaledb_planner::plan::secured::Reader;
use scaledb_planner::plan::statistics::TableStatistics;
use scaledb_planner::plan::{BoundTable, ForeignKey, IndexColumn, IndexRef, Setting, column_types};
use scaledb_types::{Context, Env, KeyForm, Result, SqlError, SqlState, Type, Value};
use std::sync::Arc;

impl<E: Engine> SessionState<E> {
    /// The table behind a descriptor that is not in the catalog yet, or no longer.
    pub(crate) fn table_of(&self, desc: &Arc<TableDesc>) -> Result<Arc<BoundTable>> {
        let info = self.shared.engine.table(&desc.engine).ok_or_else(|| {
            SqlError::new(SqlState::DATA_CORRUPTED, format!("table {} has no rows in the engine", desc.name))
        })?;
        if let Some(info) = in_order(desc, info.clone()) {
            return self.table_with(desc, info);
        }
        // a snapshot does without an index that is gone since; what others write by an old descriptor does not commit
        let mut left = (**desc).clone();
        left.indexes.retain(|index| info.index(&index.engine).is_some());
        let info =
            in_order(&left, info).ok_or_else(|| SqlError::internal("an index that is there and is not"))?;
        self.table_with(&Arc::new(left), info)
    }

    /// The table behind a descriptor, with what the engine has of it.
    pub(crate) fn table_with(&self, desc: &Arc<TableDesc>, info: Arc<TableInfo>) -> Result<Arc<BoundTable>> {
        let types = column_types(&self.catalog, desc)?;
        let places = Places::new(places(desc, &types)?, &info.schema);
        // behind those that the table was made with
        let made = desc.placement.as_ref().map_or(types.len(), |placement| placement.columns.len());
        let key_columns = key_columns(desc, &types, made);
        let columns = |columns: &mut dyn Iterator<Item = KeyColumn>| {
            let index = columns.filter_map(|column| {
                let position = desc.position(column.attnum)?;
                let own = key_columns.iter().find(|(of, _)| *of == position);
                let engine = match places.columns[position] {
                    ColumnPlace::Column(engine) => engine,
                    // an index is made over a copy of the rows, and that has no such columns
                    ColumnPlace::Tail(_) => return None,
                };
                Some(IndexColumn {
                    position,
                    engine: own.map_or(engine, |(_, engine)| *engine),
                    separate: own.is_some(),
                    ty: types[position],
                    descending: column.descending,
                    nulls_first: column.nulls_first,
                })
            });
            index.collect::<Vec<_>>()
        };
        Ok(Arc::new(BoundTable {
            primary: desc
                .primary_key
                .as_ref()
                .map(|key| columns(&mut key.columns.iter().copied()))
                .unwrap_or_default(),
            secondary: desc.indexes.iter().map(|index| columns(&mut index.key())).collect(),
            key_columns,
            places,
            desc: desc.clone(),
            info,
            types,
        }))
    }

    /// A foreign key, ready to be checked.
    pub(crate) fn foreign_key(&self, from: &Arc<BoundTable>, number: usize) -> Result<Arc<ForeignKey>> {
        let desc = from.desc.foreign_keys[number].clone();
        let to = if desc.table == from.desc.oid { from.clone() } else { self.table(desc.table)? };
        let broken =
            || SqlError::new(SqlState::DATA_CORRUPTED, format!("constraint {} is broken", desc.name));
        let positions = |table: &BoundTable, columns: &[i16]| -> Result<Vec<usize>> {
            columns.iter().map(|&column| table.desc.position(column).ok_or_else(broken)).collect()
        };
        let from_columns = positions(from, &desc.columns)?;
        let to_columns = positions(&to, &desc.referred)?;
        let order_in = |table: &BoundTable, index: IndexRef, columns: &[usize]| -> Option<Vec<usize>> {
            let leading = table.index_columns(index).get(..columns.len())?;
            leading.iter().map(|part| columns.iter().position(|&column| column == part.position)).collect()
        };
        let all = |table: &BoundTable| {
            std::iter::once(IndexRef::Primary).chain((0..table.secondary.len()).map(IndexRef::Secondary))
        };
        let unique = all(&to).find_map(|index| {
            let unique = match index {
                IndexRef::Primary => !to.primary.is_empty(),
                IndexRef::Secondary(number) => to.desc.indexes[number].is_key(),
            };
            let whole = to.index_columns(index).len() == to_columns.len();
            if unique && whole { order_in(&to, index, &to_columns).map(|order| (index, order)) } else { None }
        });
        let (unique, key_order) = unique.ok_or_else(broken)?;
        let index =
            all(from).find_map(|index| order_in(from, index, &from_columns).map(|order| (index, order)));
        let mut set_default = Vec::new();
        for &column in &from_columns {
            set_default.push(self.constant_default(from, column)?);
        }
        let setting = self.setting(from, &desc, &from_columns)?;
        Ok(Arc::new(ForeignKey {
            desc,
            from: from.clone(),
            to,
            from_columns,
            to_columns,
            unique,
            key_order,
            index,
            set_default,
            setting,
        }))
    }

    /// What goes along when an action of a foreign key sets its columns, if one does.
    fn setting(&self, from: &BoundTable, key: &ForeignKeyDesc, columns: &[usize]) -> Result<Setting> {
        let sets = |action: Action| matches!(action, Action::SetNull | Action::SetDefault);
        if !sets(key.on_delete) && !sets(key.on_update) && key.on_update != Action::Cascade {
            return Ok(Setting::default());
        }
        let env = Env::default();
        let mut binder = scaledb_planner::bind::Binder::new(&self.catalog, self, &env, Vec::new());
        let row = binder.new_slots(from.types.len());
        let generated = binder.generated(from, &row, Some(columns))?;
        let mut domains = Vec::new();
        for &column in columns.iter().filter(|&&column| from.types[column].domain.is_some()) {
            let (ty, value) = (from.types[column], Expr::Slot(row[column]));
            let value = Typed::new(value, ty.value_type());
            domains.push((column, binder.coerce(value, ty, Context::Assignment)?.expr));
        }
        let computed = generated.iter().map(|(position, _)| *position);
        let columns: Vec<usize> = columns.iter().copied().chain(computed).collect();
        let (not_null, checks) = binder.conditions(from, &row, Some(&columns))?;
        Ok(Setting { columns, generated, domains, not_null, checks })
    }

    /// The default of a column, if it is a constant; NULL otherwise.
    fn constant_default(&self, table: &BoundTable, position: usize) -> Result<Value> {
        let env = Env::default();
        let mut binder = scaledb_planner::bind::Binder::new(&self.catalog, self, &env, Vec::new());
        match binder.default(table, position) {
            Ok(Expr::Const(value)) => Ok(value),
            // what the domain demands is looked at when it is set
            Ok(Expr::Domain(domain)) => match domain.input {
                Expr::Const(value) => Ok(value),
                _ => Ok(Value::Null),
            },
            _ => Ok(Value::Null),
        }
    }
}

impl<E: Engine> Lookup for SessionState<E> {
    fn table(&self, oid: u32) -> Result<Arc<BoundTable>> {
        if let Some(table) = self.tables.borrow().get(&oid) {
            return Ok(table.clone());
        }
        let desc = self.catalog.table(oid).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation with OID {oid} does not exist"))
        })?;
        let table = self.table_of(desc)?;
        self.tables.borrow_mut().insert(oid, table.clone());
        Ok(table)
    }

    fn unmade(&self, desc: &TableDesc) -> Result<BoundTable> {
        let types = column_types(&self.catalog, desc)?;
        let info = Arc::new(scaledb_engine::TableInfo {
            id: scaledb_base::TableId(0),
            name: String::new(),
            schema: engine_def(&self.catalog, desc)?.schema,
            indexes: Vec::new(),
        });
        let places = Places::as_made(types.len(), &info.schema);
        Ok(BoundTable {
            desc: Arc::new(desc.clone()),
            info,
            types,
            primary: Vec::new(),
            secondary: Vec::new(),
            key_columns: Vec::new(),
            places,
        })
    }

    fn statistics(&self, table: &BoundTable) -> Option<Arc<TableStatistics>> {
        self.shared.statistics_of(table)
    }

    fn database(&self) -> Option<&str> {
        Some(&self.database_name)
    }

    fn written(&self, _: &str) -> Option<(bool, &TableDesc)> {
        None
    }

    fn absent(&self, name: &str) -> Option<String> {
        self.shared.absent.lock().get(name).cloned()
    }

    fn reader(&self) -> Reader {
        let row_security = self.settings.borrow().get("row_security").ok() != Some("off");
        Reader { role: self.identity.current(), row_security, defines: self.defines.get() }
    }

    fn foreign_keys(&self, oid: u32) -> Result<Keys> {
        if let Some(keys) = self.keys.borrow().get(&oid) {
            return Ok(keys.clone());
        }
        let table = self.table(oid)?;
        let mut references = Vec::new();
        let mut referred = Vec::new();
        // ALTER TABLE .. DISABLE TRIGGER ALL
        if table.desc.references_off {
            self.keys.borrow_mut().insert(oid, Keys::default());
            return Ok(Keys::default());
        }
        for number in 0..table.desc.foreign_keys.len() {
            references.push(self.foreign_key(&table, number)?);
        }
        for reference in self.catalog.references_to(oid) {
            let from = self.table(reference.from.oid)?;
            referred.push(self.foreign_key(&from, reference.number)?);
        }
        self.keys.borrow_mut().insert(oid, (references.clone(), referred.clone()));
        Ok((references, referred))
    }

    fn search_path(&self) -> &[String] {
        &self.path
    }

    fn system_table(&self, schema: Option<&str>, name: &str) -> Option<SystemTable> {
        system::find(schema, name)
    }
}

/// Where rows have the columns of a table.
fn places(desc: &TableDesc, types: &[Type]) -> Result<Vec<ColumnPlace>> {
    let Some(placement) = &desc.placement else {
        return Ok((0..types.len()).map(ColumnPlace::Column).collect());
    };
    let columns = desc.columns.iter().zip(types).map(|(column, &ty)| {
        if let Some(at) = placement.columns.iter().position(|&attnum| attnum == column.attnum) {
            return Ok(ColumnPlace::Column(at));
        }
        let added = placement.added.iter().find(|added| added.attnum == column.attnum).ok_or_else(|| {
            SqlError::new(SqlState::DATA_CORRUPTED, format!("column {} is in no row", column.name))
        })?;
        let missing = added.missing.clone();
        let value = missing.as_ref().map_or(Ok(Value::Null), |bytes| tail::decode(bytes, ty))?;
        Ok(ColumnPlace::Tail(Added { attnum: column.attnum, missing, value }))
    });
    columns.collect()
}

/// Columns whose keys have a form of their own, if they are in an index; their keys are the engine's columns from
/// `first` on.
fn key_columns(desc: &TableDesc, types: &[Type], first: usize) -> Vec<(usize, usize)> {
    let keys = desc.primary_key.iter().map(|key| &key.columns).chain(desc.indexes.iter().map(|i| &i.columns));
    let mut positions: Vec<usize> = keys
        .flatten()
        .filter_map(|column| desc.position(column.attnum))
        .filter(|&position| types[position].key_form() == KeyForm::Separate)
        .collect();
    positions.sort_unstable();
    positions.dedup();
    positions.into_iter().enumerate().map(|(number, position)| (position, first + number)).collect()
}

/// The schema and indexes of a table of the engine that has the columns in their order.
///
/// # Errors
/// 0A000 for a type that cannot be in an index; the engine's.
pub(crate) fn engine_def(catalog: &Catalog, desc: &TableDesc) -> Result<scaledb_engine::TableDef> {
    use scaledb_engine::{IndexDef, TableDef};
    use scaledb_keys::{Direction, Nulls};
    use scaledb_row::{Column, KeyPart, Schema};
    let types = column_types(catalog, desc)?;
    let separate = key_columns(desc, &types, types.len());
    let mut columns = Vec::new();
    for (position, (column, &ty)) in desc.columns.iter().zip(&types).enumerate() {
        let engine = Column::new(&format!("c{position}"), stored::column_type(ty));
        columns.push(if column.not_null { engine } else { engine.nullable() });
    }
    for (position, _) in &separate {
        let engine = Column::new(&format!("k{position}"), stored::key_column_type());
        columns.push(if desc.columns[*position].not_null { engine } else { engine.nullable() });
    }
    // the widest tables have no room for columns that come later
    if columns.len() < scaledb_base::limits::MAX_COLUMNS {
        columns.push(stored::tail_column());
    }
    let part = |column: &KeyColumn| -> Result<KeyPart> {
        let position =
            desc.position(column.attnum).ok_or_else(|| SqlError::internal("a key of no column"))?;
        if types[position].key_form() == KeyForm::None {
            return Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!(
                    "data type {} has no default operator class for access method \"btree\"",
                    types[position].sql_name()
                ),
            ));
        }
        Ok(KeyPart {
            column: separate.iter().find(|(of, _)| *of == position).map_or(position, |(_, engine)| *engine),
            direction: if column.descending { Direction::Descending } else { Direction::Ascending },
            nulls: if column.nulls_first { Nulls::First } else { Nulls::Last },
        })
    };
    let parts = |columns: &[KeyColumn]| columns.iter().map(&part).collect::<Result<Vec<KeyPart>>>();
    let primary = match &desc.primary_key {
        Some(key) => parts(&key.columns)?,
        None => Vec::new(),
    };
    let schema = Schema::new(columns, &primary).map_err(crate::error::plain)?;
    let mut def = TableDef::new(&desc.name, schema);
    if desc.spread == Spread::Everywhere {
        def.options.engine.set(Spread::REPLICATE, Spread::EVERYWHERE);
    }
    if let Some(columns) = desc.primary_key.as_ref().and_then(|key| desc.spread.leads(&key.columns)) {
        def.options.engine.set(Spread::PARTITION_BY, columns as u64);
    }
    for index in &desc.indexes {
        let columns: Vec<KeyColumn> = index.key().collect();
        let key = parts(&columns)?;
        let name = index.name.as_str();
        let mut index_def = match index.is_unique_at_once() {
            true => IndexDef::unique(name, key),
            false => IndexDef::new(name, key),
        };
        // entries that begin with the same columns are with the rows
        if let Some(columns) = desc.spread.leads(&columns) {
            index_def.options.engine.set(Spread::PARTITION_BY, columns as u64);
        }
        def = def.index(index_def);
    }
    Ok(def)
}
