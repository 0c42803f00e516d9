//! What a session is, apart from its transaction: names, settings, the catalog that it works with.

mod domains;
mod drawn;
mod facts;
mod host;
mod locks;
mod populated;
pub(crate) mod roles;
mod routines;
mod sequences;
mod tables;
mod used;

use self::drawn::Drawn;
use super::portals::{PortalMark, Portals};
use super::settings::Settings;
use crate::api::{Notice, Severity};
use crate::compiled::Held;
use crate::error::Statements;
use crate::exec::context::Host;
use crate::exec::triggers::Written;
use crate::identity::Identity;
use crate::memory::Reservation;
use crate::routine::Loaded;
use crate::shared::{PerDatabase, Shared};
use crate::told::Listed;
use crate::trace::Number;
use scaledb_base::{Conflict, ConflictKind};
use scaledb_catalog::Catalog;
use scaledb_engine::Engine;
use scaledb_locks::Owner;
use scaledb_notify::{Bell, Pending, PendingMark};
use scaledb_parse::utility::Modes;
use scaledb_planner::bind::names::{is_temporary, temporary_schema};
use scaledb_planner::bind::{Keys, Lookup};
use scaledb_planner::functions::Seeded;
use scaledb_planner::plan::BoundTable;
use scaledb_types::{DateOrder, DateStyle, Env, IntervalStyle, Result, SqlError, Type, Zone};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use tables::engine_def;
use used::Used;

/// What a routine is loaded for: its oid, the table whose triggers call it, and what the call says of it.
type RoutineKey = (u32, u32, Option<Arc<scaledb_catalog::Instance>>);

/// A session without its transaction.
pub(crate) struct SessionState<E: Engine> {
    pub(crate) shared: Arc<Shared<E>>,
    /// The database that it is in.
    pub(crate) database: Arc<PerDatabase>,
    pub(crate) id: u32,
    /// Who the session is.
    pub(crate) identity: Identity,
    pub(crate) database_name: String,
    pub(crate) settings: RefCell<Settings>,
    /// The catalog of the transaction at hand.
    pub(crate) catalog: Arc<Catalog>,
    /// Schemas to look names up in; that of the session's temporary relations first, if it has had any.
    pub(crate) path: Vec<String>,
    /// Whether the session has made temporary relations.
    pub(crate) has_temporary: bool,
    /// The prepared statements and cursors of the session, as the statement at hand sees them if it reads catalogs.
    pub(crate) listed: RefCell<Listed>,
    /// The portals that have names.
    pub(in crate::session) portals: Arc<Portals>,
    pub(crate) notices: RefCell<Vec<Notice>>,
    /// What the transaction at hand says to those who listen, and to what it will listen.
    pub(crate) pending: RefCell<Pending>,
    /// The last conflict, whose other transaction was not asked for, and the detail of its error: at a node of a
    /// cluster. A statement that is run again needs no answer.
    pub(crate) unnamed: RefCell<Option<(Conflict, String)>>,
    /// Counts the catalogs that the session has worked with.
    pub(crate) catalog_changes: u64,
    /// What rings when there is something to hear; without it the session cannot LISTEN.
    pub(crate) bell: Option<Arc<dyn Bell>>,
    /// Routines that are ready to run, by their oids and that of the table whose triggers call them.
    routines: RefCell<HashMap<RoutineKey, Arc<Loaded>>>,
    /// The rows that statements have written, for the triggers that run now and see them, the innermost last.
    written: RefCell<Vec<Arc<Written>>>,
    /// What values become ones of domains by.
    domains: RefCell<HashMap<Type, Held>>,
    /// Whether a function that a statement has called has written something.
    pub(crate) wrote: Cell<bool>,
    tables: RefCell<HashMap<u32, Arc<BoundTable>>>,
    keys: RefCell<HashMap<u32, Keys>>,
    /// The last values that this session took of sequences.
    currents: RefCell<HashMap<u32, i64>>,
    /// Values of sequences that the steps of the block at hand have taken.
    pub(crate) drawn: RefCell<Drawn>,
    /// The statement at hand has done something that is not undone with its transaction.
    pub(crate) acted: Cell<bool>,
    /// A function of the statement at hand has read the catalog, or what the session has taken of sequences.
    pub(crate) looked: Cell<bool>,
    /// The modes of the transaction of the statement at hand.
    pub(super) modes: Cell<Modes>,
    last: Cell<Option<u32>>,
    /// The statement that runs, or was the last to.
    pub(crate) running: Cell<Number>,
    /// What of the catalog the transaction at hand depends on besides the tables of its statements.
    pub(crate) used: Used,
    pub(crate) owner: RefCell<Owner>,
    /// The memory of the transaction's locks, and of those of the session.
    locks_memory: RefCell<Vec<Reservation>>,
    kept_memory: RefCell<Vec<Reservation>>,
    /// Makes the random numbers of a session that has called `setseed`.
    random: RefCell<Option<Seeded>>,
    /// The number of the transaction at hand, if somebody has asked for it.
    pub(crate) txid: Cell<Option<i64>>,
    /// The transaction has waited for a lock since its last statement began.
    pub(crate) waited: Cell<bool>,
    /// What is compiled now is what a view is made of, and no row is read.
    pub(crate) defines: Cell<bool>,
}

/// How much was told, and set, at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    notices: usize,
    pending: PendingMark,
    settings: usize,
    portals: PortalMark,
}

impl<E: Engine> SessionState<E> {
    pub(crate) fn new(
        shared: Arc<Shared<E>>,
        database: Arc<PerDatabase>,
        id: u32,
        identity: Identity,
        name: &str,
    ) -> Self {
        let catalog = database.catalog();
        let mut settings = Settings::default();
        // the name is no setting that a client may change, so it cannot be refused
        let user = identity.login_name();
        let _ = settings.init("session_authorization", user);
        let path = settings.search_path(user);
        let owner = RefCell::new(Owner::new(database.locks.clone(), id));
        let portals = Arc::new(Portals::new(shared.memory.clone()));
        Self {
            shared,
            id,
            identity,
            database,
            database_name: name.to_owned(),
            settings: RefCell::new(settings),
            catalog,
            path: with_system(path),
            has_temporary: false,
            listed: RefCell::default(),
            portals,
            notices: RefCell::new(Vec::new()),
            pending: RefCell::default(),
            bell: None,
            unnamed: RefCell::default(),
            catalog_changes: 0,
            routines: RefCell::default(),
            written: RefCell::default(),
            domains: RefCell::default(),
            wrote: Cell::new(false),
            tables: RefCell::new(HashMap::new()),
            keys: RefCell::new(HashMap::new()),
            currents: RefCell::new(HashMap::new()),
            drawn: RefCell::default(),
            acted: Cell::new(false),
            looked: Cell::new(false),
            modes: Cell::default(),
            last: Cell::new(None),
            running: Cell::new(0),
            used: Used::default(),
            owner,
            locks_memory: RefCell::default(),
            kept_memory: RefCell::default(),
            random: RefCell::new(None),
            txid: Cell::new(None),
            waited: Cell::new(false),
            defines: Cell::new(false),
        }
    }

    /// Whether what is in a schema is known to this process of a cluster only.
    pub(crate) fn is_local(&self, schema: &str) -> bool {
        self.shared.is_shared && is_temporary(schema)
    }

    /// An oid for what is in a schema, that nothing has.
    pub(crate) fn new_oid(&self, schema: &str) -> u32 {
        if self.is_local(schema) { self.shared.new_local_oid() } else { self.shared.new_oid() }
    }

    /// Works with another catalog from here on.
    pub(crate) fn use_catalog(&mut self, catalog: Arc<Catalog>) {
        self.catalog = catalog;
        self.catalog_changes += 1;
        self.identity.look(&self.catalog);
        self.forget_routines();
        self.tables.borrow_mut().clear();
        self.keys.borrow_mut().clear();
    }

    /// Forgets what was compiled of routines and domains: the settings have changed.
    pub(crate) fn forget_routines(&self) {
        self.routines.borrow_mut().clear();
        self.domains.borrow_mut().clear();
    }

    /// Derives what depends on settings.
    pub(crate) fn refresh(&mut self, env: &mut Env) {
        let settings = self.settings.borrow();
        roles::follow(&self.identity, &self.catalog, &settings);
        self.path = with_system(settings.search_path(&self.role_name(self.identity.current())));
        if self.has_temporary {
            let own = temporary_schema(self.id);
            match self.path.iter_mut().find(|schema| *schema == "pg_temp") {
                Some(schema) => *schema = own,
                None => self.path.insert(0, own),
            }
        }
        let get = |name: &str| settings.get(name).unwrap_or_default().to_owned();
        env.zone = super::settings::zone(&get("timezone")).unwrap_or_else(Zone::utc);
        env.date_style = match get("datestyle").split(", ").next() {
            Some("SQL") => DateStyle::Sql,
            Some("German") => DateStyle::German,
            Some("Postgres") => DateStyle::Postgres,
            _ => DateStyle::Iso,
        };
        env.date_order = match get("datestyle").rsplit(", ").next() {
            Some("DMY") => DateOrder::Dmy,
            Some("YMD") => DateOrder::Ymd,
            _ => DateOrder::Mdy,
        };
        env.interval_style = match get("intervalstyle").as_str() {
            "iso_8601" => IntervalStyle::Iso8601,
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            _ => IntervalStyle::Postgres,
        };
        env.bytea_output = match get("bytea_output").as_str() {
            "escape" => scaledb_types::ByteaOutput::Escape,
            _ => scaledb_types::ByteaOutput::Hex,
        };
        env.extra_float_digits = get("extra_float_digits").parse().unwrap_or(1);
    }

    /// Whether the transaction at hand only reads.
    pub(crate) fn is_read_only(&self) -> bool {
        self.modes.get().read_only.unwrap_or(false)
    }

    /// The value of a setting; those of the transaction are its modes.
    ///
    /// # Errors
    /// 42704.
    pub(crate) fn value_of_setting(&self, name: &str) -> Result<String> {
        let name = name.to_lowercase();
        let mode = self.modes.get().shown(&name);
        mode.map_or_else(|| self.settings.borrow().get(&name).map(str::to_owned), |mode| Ok(mode.to_owned()))
    }

    /// Notes what of the catalog a statement depends on, besides its tables.
    #[inline]
    pub(crate) fn note_uses(&self, plan: &scaledb_planner::plan::Plan) {
        plan.relations.iter().for_each(|&oid| self.used.note(oid));
        if plan.whole_catalog {
            self.used.note_all();
        }
    }

    /// How much the statement at hand has told the client and those who listen, what it has set, and what portals there
    /// are.
    pub(crate) fn said(&self) -> Said {
        Said {
            notices: self.notices.borrow().len(),
            pending: self.pending.borrow().mark(),
            settings: self.settings.borrow().mark(),
            portals: self.portals.mark(),
        }
    }

    /// What was told since stays.
    #[inline]
    pub(crate) fn settle(&self, said: Said) {
        self.portals.settle(said.portals);
    }

    /// Whether the client was told anything since.
    pub(crate) fn has_told(&self, said: Said) -> bool {
        self.notices.borrow().len() > said.notices
    }

    /// Whether the client or those who listen were told anything since.
    pub(crate) fn has_said(&self, said: Said) -> bool {
        self.has_told(said) || self.pending.borrow().mark() != said.pending
    }

    /// Takes back what was told, set and done to portals since: it will be done again.
    pub(crate) fn unsay(&self, said: Said) {
        self.notices.borrow_mut().truncate(said.notices);
        self.pending.borrow_mut().truncate(said.pending);
        self.settings.borrow_mut().rollback_to(said.settings);
        self.portals.undo_to(said.portals);
    }

    /// Keeps a notice for the client.
    pub(crate) fn notice(&self, severity: Severity, fields: SqlError) {
        let least = self.settings.borrow().get("client_min_messages").unwrap_or_default().to_owned();
        let least = match least.as_str() {
            "error" | "fatal" | "panic" => Severity::Info,
            "warning" => Severity::Warning,
            "log" => Severity::Log,
            "debug5" | "debug4" | "debug3" | "debug2" | "debug1" | "debug" => Severity::Debug,
            _ => Severity::Notice,
        };
        if severity < least {
            return;
        }
        self.notices.borrow_mut().push(Notice { severity, fields });
    }
}

fn with_system(mut path: Vec<String>) -> Vec<String> {
    if !path.iter().any(|schema| schema == "pg_catalog") {
        path.insert(0, "pg_catalog".to_owned());
    }
    path
}

impl<E: Engine> SessionState<E> {
    /// An error of the engine, with the names of what it is about. `own` is the statement of this transaction that
    /// has used a table.
    pub(crate) fn explain(&self, error: scaledb_base::Error, own: impl Fn(u32) -> Number) -> SqlError {
        let scaledb_base::Error::Conflict(conflict) = &error else { return crate::error::plain(error) };
        // every statement that has used the catalog of a cluster depends on it
        let is_somewhere = !conflict.key.is_empty() || conflict.kind == ConflictKind::RangePhantom;
        if self.shared.is_shared && is_somewhere && self.database.store.has(conflict.table) {
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
            own: trace.text(own(table.as_ref().map_or(0, |table| table.desc.oid))),
            other: conflict.with.and_then(|ts| trace.statement(ts)),
            elsewhere: self.shared.is_shared,
        };
        // neither the key of a row that policies hide, nor what others have done with it
        let hides = table.as_ref().is_some_and(|table| Host::hides_rows(self, table.desc.oid));
        let (place, statements) = match hides {
            true => {
                (place.map(|(place, _)| (place, String::new())), Statements { other: None, ..statements })
            }
            false => (place, statements),
        };
        let told = crate::error::conflict_error(conflict, place, &statements);
        if !hides && self.shared.is_shared && conflict.kind != ConflictKind::MembersChanged {
            let detail = told.fields().detail.clone().unwrap_or_default();
            *self.unnamed.borrow_mut() = Some(((**conflict).clone(), detail));
        }
        told
    }

    /// The error as the client is told it: of a conflict at a node of a cluster, with the statement of the other
    /// transaction, for which the nodes are asked now.
    #[cold]
    pub(crate) fn with_other(&self, mut error: SqlError) -> SqlError {
        let Some((conflict, detail)) = self.unnamed.take() else { return error };
        // else the statement was run again, and has failed for another reason
        let detail_of = &mut error.fields_mut().detail;
        if detail_of.as_ref() == Some(&detail) {
            let other = crate::error::other_of(&self.shared.engine.other_statements(&conflict));
            *detail_of = Some(format!("{detail}\n{other}"));
        }
        error
    }
}
