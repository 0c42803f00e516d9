//! What a session is, apart from its transaction: names, settings, the catalog that it works with.

use super::settings::Settings;
use crate::activity::Known;
use crate::adopted::in_order;
use crate::api::{Notice, Severity};
use crate::bind::names::{is_temporary, temporary_schema};
use crate::bind::{Keys, Lookup, SystemTable};
use crate::counts::{Collected, RelationSize, TableNumbers};
use crate::error::Statements;
use crate::exec::context::Host;
use crate::exec::tail;
use crate::functions::SessionFn;
use crate::memory::Reservation;
use crate::pins::same;
use crate::plan::place::{Added, Place, Places};
use crate::plan::statistics::TableStatistics;
use crate::plan::{Computed, ForeignKey, IndexColumn, IndexRef, Table, column_type};
use crate::reclamation::Reclamation;
use crate::shared::Shared;
use crate::stored;
use crate::system::{self, Facts};
use crate::trace::Number;
use scaledb_base::ConflictKind;
use scaledb_catalog::{Catalog, KeyColumn, Relation, Spread, TableDesc};
use scaledb_engine::{Engine, TableInfo};
use scaledb_locks::{Locks, Mode, Owner, Tag};
use scaledb_sync::atomic::Ordering;
use scaledb_types::{DateOrder, Env, IntervalStyle, KeyForm, Result, SqlError, SqlState, Type, Value, Zone};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Locks whose memory is reserved at once, beyond as many that are not counted.
const LOCKS: usize = 1_024;
/// What a lock takes: its entry in the table, and in the lists of its owner.
const LOCK: usize = 256;

/// A session without its transaction.
pub(crate) struct State<E: Engine> {
    pub(crate) shared: Arc<Shared<E>>,
    pub(crate) id: u32,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) settings: RefCell<Settings>,
    /// The catalog of the transaction at hand.
    pub(crate) catalog: Arc<Catalog>,
    /// Schemas to look names up in; that of the session's temporary relations first, if it has had any.
    pub(crate) path: Vec<String>,
    /// It has made temporary relations.
    pub(crate) has_temporary: bool,
    pub(crate) notices: RefCell<Vec<Notice>>,
    tables: RefCell<HashMap<u32, Arc<Table>>>,
    keys: RefCell<HashMap<u32, Keys>>,
    /// The last values that this session took of sequences.
    currents: RefCell<HashMap<u32, i64>>,
    /// Whether the statement at hand must not count sequences: its transaction only reads.
    pub(super) read_only: Cell<bool>,
    last: Cell<Option<u32>>,
    /// The statement that runs, or was the last to.
    pub(crate) running: Cell<Number>,
    /// What of the catalog the transaction at hand depends on besides the tables of its statements.
    pub(crate) used: Used,
    pub(crate) owner: RefCell<Owner>,
    /// The memory of the transaction's locks, and of those of the session.
    locks_memory: RefCell<Vec<Reservation>>,
    kept_memory: RefCell<Vec<Reservation>>,
    /// The transaction has waited for a lock since its last statement began.
    pub(crate) waited: Cell<bool>,
}

/// What of the catalog a transaction has used.
#[derive(Debug, Default)]
pub(crate) struct Used {
    relations: RefCell<Vec<u32>>,
    whole: Cell<bool>,
}

impl Used {
    /// It has used a relation.
    pub(crate) fn note(&self, oid: u32) {
        let mut relations = self.relations.borrow_mut();
        if !relations.contains(&oid) {
            relations.push(oid);
        }
    }

    /// Whether it has used a relation.
    pub(crate) fn contains(&self, oid: u32) -> bool {
        self.relations.borrow().contains(&oid)
    }

    /// It has read something that any change of the catalog may change.
    pub(crate) fn note_all(&self) {
        self.whole.set(true);
    }

    /// The end of the transaction.
    pub(crate) fn clear(&self) {
        self.relations.borrow_mut().clear();
        self.whole.set(false);
    }

    /// Whether a transaction that began with one catalog has found what it would find in another.
    pub(crate) fn is_same(&self, before: &Catalog, now: &Catalog) -> bool {
        !self.whole.get() && self.relations.borrow().iter().all(|&oid| same(before, now, oid))
    }
}

impl<E: Engine> State<E> {
    pub(crate) fn new(shared: Arc<Shared<E>>, id: u32, user: &str, database: &str) -> Self {
        let catalog = shared.catalog();
        let mut settings = Settings::default();
        // the name is no setting that a client may change, so it cannot be refused
        let _ = settings.init("session_authorization", user);
        let path = settings.search_path(user);
        let owner = RefCell::new(Owner::new(shared.locks.clone(), id));
        Self {
            shared,
            id,
            user: user.to_owned(),
            database: database.to_owned(),
            settings: RefCell::new(settings),
            catalog,
            path: with_system(path),
            has_temporary: false,
            notices: RefCell::new(Vec::new()),
            tables: RefCell::new(HashMap::new()),
            keys: RefCell::new(HashMap::new()),
            currents: RefCell::new(HashMap::new()),
            read_only: Cell::new(false),
            last: Cell::new(None),
            running: Cell::new(0),
            used: Used::default(),
            owner,
            locks_memory: RefCell::default(),
            kept_memory: RefCell::default(),
            waited: Cell::new(false),
        }
    }

    /// The end of a transaction: its locks are released.
    #[inline]
    pub(crate) fn release_locks(&self) {
        let mut owner = self.owner.borrow_mut();
        if owner.count() > 0 {
            owner.end();
        }
        // there may be some without a lock, behind an error
        let mut memory = self.locks_memory.borrow_mut();
        if !memory.is_empty() {
            *memory = Vec::new();
        }
        self.waited.set(false);
    }

    /// Releases what the transaction has locked since the mark, or all.
    pub(crate) fn release_locks_to(&self, mark: Option<scaledb_locks::Mark>) {
        let mut owner = self.owner.borrow_mut();
        match mark {
            Some(mark) => owner.release_to(mark),
            None => owner.end(),
        }
        give_room(&self.locks_memory, owner.count());
    }

    /// Gives all locks of the session back.
    pub(crate) fn give_all_locks_back(&self) {
        let mut owner = self.owner.borrow_mut();
        owner.give_all_back();
        give_room(&self.kept_memory, owner.kept());
    }

    /// A statement that was run again has ended.
    #[cold]
    pub(crate) fn end_repeated(&self) {
        let mut owner = self.owner.borrow_mut();
        owner.end_repeated();
        give_room(&self.kept_memory, owner.kept());
    }

    /// Room for one more lock.
    fn need_room(&self, memory: &RefCell<Vec<Reservation>>, count: usize) -> Result<()> {
        let reserved = memory.borrow().len() * LOCKS;
        if count >= reserved + LOCKS {
            let room = Reservation::new(&self.shared.memory, LOCKS * LOCK)?;
            memory.borrow_mut().push(room);
        }
        Ok(())
    }

    /// Refuses what sessions of other nodes would not see.
    fn may_lock(&self, tag: Tag) -> Result<()> {
        match tag {
            Tag::Advisory { .. } if self.shared.is_shared => Err(crate::error::no_locks("an advisory lock")),
            _ => Ok(()),
        }
    }

    /// Works with another catalog from here on.
    pub(crate) fn use_catalog(&mut self, catalog: Arc<Catalog>) {
        self.catalog = catalog;
        self.tables.borrow_mut().clear();
        self.keys.borrow_mut().clear();
    }

    /// Derives what depends on settings.
    pub(crate) fn refresh(&mut self, env: &mut Env) {
        let settings = self.settings.borrow();
        self.path = with_system(settings.search_path(&self.user));
        if self.has_temporary {
            let own = temporary_schema(self.id);
            match self.path.iter_mut().find(|schema| *schema == "pg_temp") {
                Some(schema) => *schema = own,
                None => self.path.insert(0, own),
            }
        }
        let get = |name: &str| settings.get(name).unwrap_or_default().to_owned();
        env.zone = zone(&get("timezone")).unwrap_or_else(Zone::utc);
        env.date_order = match get("datestyle").rsplit(", ").next() {
            Some("DMY") => DateOrder::Dmy,
            Some("YMD") => DateOrder::Ymd,
            _ => DateOrder::Mdy,
        };
        env.interval_style = match get("intervalstyle").as_str() {
            "iso_8601" => IntervalStyle::Iso8601,
            _ => IntervalStyle::Postgres,
        };
        env.bytea_output = match get("bytea_output").as_str() {
            "escape" => scaledb_types::ByteaOutput::Escape,
            _ => scaledb_types::ByteaOutput::Hex,
        };
        env.extra_float_digits = get("extra_float_digits").parse().unwrap_or(1);
    }

    /// Notes what of the catalog a statement depends on, besides its tables.
    #[inline]
    pub(crate) fn note_uses(&self, plan: &crate::plan::Plan) {
        plan.relations.iter().for_each(|&oid| self.used.note(oid));
        if plan.whole_catalog {
            self.used.note_all();
        }
    }

    /// Keeps a notice for the client.
    pub(crate) fn notice(&self, severity: Severity, fields: SqlError) {
        let least = self.settings.borrow().get("client_min_messages").unwrap_or_default().to_owned();
        let heard = match least.as_str() {
            "error" | "fatal" | "panic" => false,
            "warning" => severity == Severity::Warning,
            _ => true,
        };
        if !heard {
            return;
        }
        self.notices.borrow_mut().push(Notice { severity, fields });
    }

    /// Refuses a statement that would change who may do what; or warns, if scripts are to get through.
    ///
    /// # Errors
    /// 0A000.
    pub(crate) fn no_privileges(&self, statement: &str) -> Result<()> {
        if self.settings.borrow().get("compat_ignore_privileges").ok() != Some("on") {
            let what = format!("{statement} is not supported: every user may do everything");
            let hint = "SET compat_ignore_privileges = on makes a warning of it, for scripts that need it.";
            return Err(SqlError::unsupported(what).hint(hint));
        }
        let what = format!("{statement} is ignored: every user may do everything");
        self.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
        Ok(())
    }

    /// The table behind a descriptor that is not in the catalog yet, or no longer.
    pub(crate) fn table_of(&self, desc: &Arc<TableDesc>) -> Result<Arc<Table>> {
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
    pub(crate) fn table_with(&self, desc: &Arc<TableDesc>, info: Arc<TableInfo>) -> Result<Arc<Table>> {
        let types: Vec<Type> = desc.columns.iter().map(column_type).collect::<Result<_>>()?;
        let places = Places::new(places(desc, &types)?, &info.schema);
        // behind those that the table was made with
        let made = desc.placement.as_ref().map_or(types.len(), |placement| placement.columns.len());
        let key_columns = key_columns(desc, &types, made);
        let columns = |columns: &[KeyColumn]| {
            let index = columns.iter().filter_map(|column| {
                let position = desc.position(column.attnum)?;
                let own = key_columns.iter().find(|(of, _)| *of == position);
                let engine = match places.columns[position] {
                    Place::Column(engine) => engine,
                    // an index is made over a copy of the rows, and that has no such columns
                    Place::Tail(_) => return None,
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
        Ok(Arc::new(Table {
            primary: desc.primary_key.as_ref().map(|key| columns(&key.columns)).unwrap_or_default(),
            secondary: desc.indexes.iter().map(|index| columns(&index.columns)).collect(),
            key_columns,
            places,
            desc: desc.clone(),
            info,
            types,
        }))
    }

    /// A foreign key, ready to be checked.
    pub(crate) fn foreign_key(&self, from: &Arc<Table>, number: usize) -> Result<Arc<ForeignKey>> {
        let desc = from.desc.foreign_keys[number].clone();
        let to = if desc.table == from.desc.oid { from.clone() } else { self.table(desc.table)? };
        let broken =
            || SqlError::new(SqlState::DATA_CORRUPTED, format!("constraint {} is broken", desc.name));
        let positions = |table: &Table, columns: &[i16]| -> Result<Vec<usize>> {
            columns.iter().map(|&column| table.desc.position(column).ok_or_else(broken)).collect()
        };
        let from_columns = positions(from, &desc.columns)?;
        let to_columns = positions(&to, &desc.referred)?;
        let order_in = |table: &Table, index: IndexRef, columns: &[usize]| -> Option<Vec<usize>> {
            let leading = table.index(index).get(..columns.len())?;
            leading.iter().map(|part| columns.iter().position(|&column| column == part.position)).collect()
        };
        let all = |table: &Table| {
            std::iter::once(IndexRef::Primary).chain((0..table.secondary.len()).map(IndexRef::Secondary))
        };
        let unique = all(&to).find_map(|index| {
            let unique = match index {
                IndexRef::Primary => !to.primary.is_empty(),
                IndexRef::Secondary(number) => to.desc.indexes[number].is_unique_at_once(),
            };
            let whole = to.index(index).len() == to_columns.len();
            if unique && whole { order_in(&to, index, &to_columns).map(|order| (index, order)) } else { None }
        });
        let (unique, key_order) = unique.ok_or_else(broken)?;
        let index =
            all(from).find_map(|index| order_in(from, index, &from_columns).map(|order| (index, order)));
        let mut set_default = Vec::new();
        for &column in &from_columns {
            set_default.push(self.constant_default(from, column)?);
        }
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
        }))
    }

    /// The default of a column, if it is a constant; NULL otherwise.
    fn constant_default(&self, table: &Table, position: usize) -> Result<Value> {
        let env = Env::default();
        let mut binder = crate::bind::Binder::new(&self.catalog, self, &env, Vec::new());
        match binder.default(table, position) {
            Ok(crate::plan::expr::Expr::Const(value)) => Ok(value),
            _ => Ok(Value::Null),
        }
    }

    fn sequence_desc(&self, value: &Value) -> Result<Option<Arc<scaledb_catalog::SequenceDesc>>> {
        let Value::Oid(oid) = value else { return Ok(None) };
        match self.catalog.get(*oid) {
            Some(Relation::Sequence(desc)) => {
                self.used.note(*oid);
                Ok(Some(desc.clone()))
            }
            Some(other) => {
                let what = format!("\"{}\" is not a sequence", other.name());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
            None => {
                let what = format!("relation with OID {oid} does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    fn sequence_call(&self, name: &str, args: &[Value]) -> Result<Value> {
        if name == "lastval" {
            let current = self.last.get().and_then(|oid| self.currents.borrow().get(&oid).copied());
            return current.map(Value::Int8).ok_or_else(|| {
                SqlError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "lastval is not yet defined in this session",
                )
            });
        }
        let Some(desc) = args.first().map_or(Ok(None), |arg| self.sequence_desc(arg))? else {
            return Ok(Value::Null);
        };
        if self.read_only.get() && name != "currval" && !is_temporary(&desc.schema) {
            let what = format!("cannot execute {name}() in a read-only transaction");
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        match name {
            "nextval" => {
                let value = self.shared.next_value(&desc)?;
                self.currents.borrow_mut().insert(desc.oid, value);
                self.last.set(Some(desc.oid));
                Ok(Value::Int8(value))
            }
            "currval" => {
                self.currents.borrow().get(&desc.oid).map(|value| Value::Int8(*value)).ok_or_else(|| {
                    let what =
                        format!("currval of sequence \"{}\" is not yet defined in this session", desc.name);
                    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
                })
            }
            _ => {
                let Some(value) = args.get(1).and_then(Value::as_i64) else { return Ok(Value::Null) };
                let called = args.get(2).is_none_or(Value::is_true);
                self.shared.set_value(&desc, value, called)?;
                if called {
                    self.currents.borrow_mut().insert(desc.oid, value);
                }
                Ok(Value::Int8(value))
            }
        }
    }
}

/// Gives back what was reserved for more locks than there are.
fn give_room(memory: &RefCell<Vec<Reservation>>, count: usize) {
    let mut memory = memory.borrow_mut();
    let needed = count.saturating_sub(LOCKS).div_ceil(LOCKS);
    if memory.len() > needed {
        memory.truncate(needed);
        memory.shrink_to_fit();
    }
}

fn with_system(mut path: Vec<String>) -> Vec<String> {
    if !path.iter().any(|schema| schema == "pg_catalog") {
        path.insert(0, "pg_catalog".to_owned());
    }
    path
}

/// The zone of a name or a number of hours.
fn zone(name: &str) -> Option<Zone> {
    if let Ok(hours) = name.parse::<f64>() {
        return Zone::fixed((hours * 3_600.0) as i32);
    }
    Zone::named(name)
}

/// Where rows have the columns of a table.
fn places(desc: &TableDesc, types: &[Type]) -> Result<Vec<Place>> {
    let Some(placement) = &desc.placement else { return Ok((0..types.len()).map(Place::Column).collect()) };
    let columns = desc.columns.iter().zip(types).map(|(column, &ty)| {
        if let Some(at) = placement.columns.iter().position(|&attnum| attnum == column.attnum) {
            return Ok(Place::Column(at));
        }
        let added = placement.added.iter().find(|added| added.attnum == column.attnum).ok_or_else(|| {
            SqlError::new(SqlState::DATA_CORRUPTED, format!("column {} is in no row", column.name))
        })?;
        let missing = added.missing.clone();
        let value = missing.as_ref().map_or(Ok(Value::Null), |bytes| tail::decode(bytes, ty))?;
        Ok(Place::Tail(Added { attnum: column.attnum, missing, value }))
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

impl<E: Engine> Lookup for State<E> {
    fn table(&self, oid: u32) -> Result<Arc<Table>> {
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

    fn statistics(&self, table: &Table) -> Option<Arc<TableStatistics>> {
        self.shared.statistics_of(table)
    }

    fn absent(&self, name: &str) -> Option<String> {
        self.shared.absent.lock().get(name).cloned()
    }

    fn foreign_keys(&self, oid: u32) -> Result<Keys> {
        if let Some(keys) = self.keys.borrow().get(&oid) {
            return Ok(keys.clone());
        }
        let table = self.table(oid)?;
        let mut references = Vec::new();
        for number in 0..table.desc.foreign_keys.len() {
            references.push(self.foreign_key(&table, number)?);
        }
        let mut referred = Vec::new();
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

impl<E: Engine> State<E> {
    /// An error of the engine, with the names of what it is about. `own` is the statement of this transaction that
    /// has used a table.
    pub(crate) fn explain(&self, error: scaledb_base::Error, own: impl Fn(u32) -> Number) -> SqlError {
        let scaledb_base::Error::Conflict(conflict) = &error else { return crate::error::plain(error) };
        // whoever has used the catalog of a cluster depends on it
        if self.shared.is_shared && self.shared.store.has(conflict.table) {
            return crate::error::changed_definition();
        }
        let env = Env::default();
        let tables = self.catalog.tables().filter_map(|desc| self.table(desc.oid).ok());
        let table = tables.into_iter().find(|table| {
            table.info.id == conflict.table
                || table.info.indexes.iter().any(|index| index.id == conflict.table)
        });
        let index = table.as_ref().and_then(|table| {
            let number = table.info.indexes.iter().position(|index| index.id == conflict.table)?;
            Some(table.desc.indexes[number].oid)
        });
        let place = table
            .as_ref()
            .and_then(|table| super::conflict::describe(table, conflict.table, &conflict.key, &env));
        if let Some(table) = &table {
            let key = place.as_ref().map_or("", |(_, key)| key.as_str());
            self.shared.collected.conflict(index.unwrap_or(table.desc.oid), key);
        }
        let trace = &self.shared.trace;
        let statements = Statements {
            own: trace.text(own(table.map_or(0, |table| table.desc.oid))),
            other: conflict.with.and_then(|ts| trace.statement(ts)),
            elsewhere: self.shared.is_shared,
        };
        crate::error::conflict_error(conflict, place, &statements)
    }
}

impl<E: Engine> Host for State<E> {
    fn engine_error(&self, error: scaledb_base::Error) -> SqlError {
        self.explain(error, |_| self.running.get())
    }

    fn call(&self, function: &SessionFn, args: &[Value]) -> Result<Value> {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        match function.name {
            "nextval" | "currval" | "lastval" | "setval" => self.sequence_call(function.name, args),
            "current_setting" => {
                let Some(name) = text(0) else { return Ok(Value::Null) };
                match self.settings.borrow().get(&name.to_lowercase()) {
                    Ok(value) => Ok(Value::text(value)),
                    Err(_) if args.get(1).is_some_and(Value::is_true) => Ok(Value::Null),
                    Err(error) => Err(error),
                }
            }
            "set_config" => {
                let (Some(name), local) = (text(0), args[2].is_true()) else { return Ok(Value::Null) };
                if name.eq_ignore_ascii_case("role")
                    && !matches!(text(1), Some(role) if role == "none" || role == self.user)
                {
                    self.no_privileges("SET ROLE")?;
                    return Ok(args[1].clone());
                }
                self.settings.borrow_mut().set(name, Some(text(1).unwrap_or_default()), local)?;
                Ok(args[1].clone())
            }
            "current_schemas" | "current_schema" => {
                let hidden = function.name == "current_schema" || !args[0].is_true();
                let mut names: Vec<Value> = self
                    .path
                    .iter()
                    .filter(|schema| {
                        *schema == "public" || (*schema == "pg_catalog" || is_temporary(schema)) && !hidden
                    })
                    .map(Value::text)
                    .collect();
                if function.name == "current_schema" {
                    return Ok(if names.is_empty() { Value::Null } else { names.remove(0) });
                }
                Ok(Value::Array(Arc::new(scaledb_types::Array::new(Type::NAME, names))))
            }
            "pg_postmaster_start_time" | "pg_conf_load_time" => Ok(Value::Timestamptz(self.shared.opened_at)),
            "scaledb_stat_statements_reset" => {
                self.shared.collected.reset();
                Ok(Value::text(""))
            }
            "pg_backend_pid" => Ok(Value::Int4(self.id as i32)),
            "pg_cancel_backend" | "pg_terminate_backend" | "pg_reload_conf" => {
                self.ask_server(function.name, args.first())
            }
            _ => {
                let result = system::functions::call(self, function, args)?;
                match (function.name, &result) {
                    // the names of sequences, for the most part: what matters is that they still mean the same
                    ("cast", Value::Oid(oid)) if self.catalog.get(*oid).is_some() => self.used.note(*oid),
                    (name, _) if system::functions::reads_catalog(name) => self.used.note_all(),
                    _ => {}
                }
                Ok(result)
            }
        }
    }

    fn computed(&self, table: Computed) -> Result<Vec<Vec<Value>>> {
        system::rows(self, table)
    }

    fn referred(&self, table: u32) -> Result<Vec<Arc<ForeignKey>>> {
        let referred = self.foreign_keys(table)?.1;
        // the plan names the tables that are one step away; rows that go along lead farther
        for key in &referred {
            self.used.note(key.from.desc.oid);
            key.from.desc.foreign_keys.iter().for_each(|other| self.used.note(other.table));
        }
        Ok(referred)
    }

    fn take_lock(&self, tag: Tag, mode: Mode) -> Result<bool> {
        self.may_lock(tag)?;
        let mut owner = self.owner.borrow_mut();
        self.need_room(&self.locks_memory, owner.count())?;
        Ok(owner.try_take(tag, mode))
    }

    fn keep_lock(&self, tag: Tag, mode: Mode) -> Result<bool> {
        self.may_lock(tag)?;
        let mut owner = self.owner.borrow_mut();
        self.need_room(&self.kept_memory, owner.kept())?;
        Ok(owner.try_keep(tag, mode))
    }

    fn give_lock_back(&self, tag: Tag, mode: Mode) -> bool {
        let mut owner = self.owner.borrow_mut();
        let given = owner.give_back(tag, mode);
        give_room(&self.kept_memory, owner.kept());
        given
    }

    fn give_locks_back(&self) {
        self.give_all_locks_back();
    }

    fn owner(&self) -> &RefCell<Owner> {
        &self.owner
    }

    fn note_wait(&self) {
        self.waited.set(true);
    }

    fn warn(&self, code: SqlState, what: &str) {
        self.notice(Severity::Warning, SqlError::new(code, what.to_owned()));
    }
}

impl<E: Engine> Facts for State<E> {
    fn path(&self) -> &[String] {
        &self.path
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let stats = self.shared.engine.stats();
        let count = |name: &str, value: u64| (name.to_owned(), value);
        let mut counters = vec![
            count("transactions committed", stats.commits),
            count("transactions rolled back", stats.rollbacks),
            count("statements run again", self.shared.retries.load(Ordering::Relaxed)), // a statistic
        ];
        if let Some(temporary) = self.shared.temporary.get() {
            let (files, bytes, now) = temporary.counts();
            counters.extend([
                count("temporary files", files),
                count("bytes written to temporary files", bytes),
                count("bytes in temporary files now", now),
            ]);
        }
        let kinds = ConflictKind::ALL.iter().zip(stats.conflicts);
        counters.extend(kinds.map(|(kind, value)| count(&format!("conflicts: {}", kind.name()), value)));
        counters
    }

    fn collected(&self) -> &Collected {
        &self.shared.collected
    }

    fn size(&self, oid: u32) -> Option<RelationSize> {
        self.shared.size(&self.catalog, oid)
    }

    fn memory(&self) -> u64 {
        self.shared.engine.memory().bytes
    }

    fn reclamation(&self) -> (Reclamation, Vec<(u32, Known)>) {
        self.shared.reclamation()
    }

    fn table_numbers(&self) -> Vec<TableNumbers> {
        self.shared.table_numbers(&self.catalog)
    }

    fn status(&self) -> Vec<(String, String)> {
        self.status_lines()
    }

    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.settings.borrow().all()
    }

    fn statement(&self, number: Number) -> Option<Arc<str>> {
        self.shared.trace.text(number)
    }

    fn sessions(&self) -> Vec<(u32, Known)> {
        self.shared.sessions.all()
    }

    fn names(&self) -> (&str, &str) {
        (&self.user, &self.database)
    }

    fn sequence(&self, oid: u32) -> Result<(i64, bool)> {
        match self.sequence_desc(&Value::Oid(oid))? {
            Some(desc) => self.shared.last_value(&desc),
            None => Ok((0, false)),
        }
    }

    fn locks(&self) -> &Locks {
        &self.shared.locks
    }
}

/// The schema and indexes of a table of the engine that has the columns in their order.
///
/// # Errors
/// 0A000 for a type that cannot be in an index; the engine's.
pub(crate) fn engine_def(desc: &TableDesc) -> Result<scaledb_engine::TableDef> {
    use scaledb_engine::{IndexDef, TableDef};
    use scaledb_keys::{Direction, Nulls};
    use scaledb_row::{Column, KeyPart, Schema};
    let types: Vec<Type> = desc.columns.iter().map(column_type).collect::<Result<_>>()?;
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
        let key = parts(&index.columns)?;
        let name = index.name.as_str();
        let mut index_def = match index.is_unique_at_once() {
            true => IndexDef::unique(name, key),
            false => IndexDef::new(name, key),
        };
        // entries that begin with the same columns are with the rows
        if let Some(columns) = desc.spread.leads(&index.columns) {
            index_def.options.engine.set(Spread::PARTITION_BY, columns as u64);
        }
        def = def.index(index_def);
    }
    Ok(def)
}
