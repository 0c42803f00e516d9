//! Compiled statements, by their text.

mod kind;

use crate::api::Column;
use crate::trace::Number;
use hashbrown::HashTable;
pub(crate) use kind::StatementKind;
use rapidhash::fast::RandomState;
use scaledb_catalog::RoutineDesc;
use scaledb_parse::utility::Utility;
use scaledb_planner::plan::Plan;
use scaledb_planner::plan::point::PointKey;
use scaledb_planner::plan::secured::Reader;
use scaledb_sync::lock::Mutex;
use scaledb_types::Type;
use sqlparser::ast::Statement;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::Arc;

/// What a statement is.
#[expect(clippy::large_enum_variant, reason = "nearly all are plans, and each is behind an Arc of its own")]
#[derive(Debug)]
pub(crate) enum Action {
    /// No statement at all.
    Empty,
    Plan(Plan),
    Utility(Utility),
    /// A change of the catalog.
    Ddl(Box<Statement>),
    /// TRUNCATE of these tables.
    Truncate(Box<Statement>),
    Call(Box<Call>),
}

/// CALL.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) desc: Arc<RoutineDesc>,
    /// The only row of its plan has the arguments.
    pub(crate) args: Held,
    /// What the procedure returns: of which types, and for which parameters of this statement, where an argument is
    /// one.
    pub(crate) types: Vec<Type>,
    pub(crate) places: Vec<Option<usize>>,
}

/// A statement, compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) text: Arc<str>,
    pub(crate) action: Action,
    pub(crate) params: Vec<Type>,
    pub(crate) columns: Option<Vec<Column>>,
    /// The row that it is about, if it is about one.
    pub(crate) point: Option<PointKey>,
    /// The statement whose plan EXPLAIN shows, in a routine.
    pub(crate) explained: Option<Held>,
    /// Of the query of a cursor in a routine: the same with the keys of a table behind its columns, and that table.
    pub(crate) keyed: Option<(Held, u32)>,
    /// What stands for the text in the trace of transactions.
    pub(crate) number: Number,
    /// Its number in statistics, which no other compilation has.
    pub(crate) serial: u64,
    pub(crate) kind: StatementKind,
    /// The version of the catalog that it was made for.
    pub(crate) version: u64,
}

impl Compiled {
    /// Whom it was made for, if policies of tables say who may run it.
    pub(crate) fn reader(&self) -> Option<Reader> {
        match (&self.action, &self.explained) {
            (_, Some(explained)) => explained.reader(),
            (Action::Plan(plan), _) => plan.secured.as_ref().map(|secured| secured.reader),
            (Action::Call(call), _) => call.args.reader(),
            _ => None,
        }
    }

    /// Whether it has no plan, nor a query that has one.
    pub(crate) fn is_without_plan(&self) -> bool {
        match &self.action {
            Action::Empty | Action::Plan(_) => false,
            Action::Call(_) | Action::Truncate(_) => true,
            Action::Utility(utility) => {
                !matches!(utility, Utility::Declare { .. } | Utility::Materialized(_))
            }
            Action::Ddl(statement) => {
                !matches!(&**statement, Statement::CreateTable(create) if create.query.is_some())
            }
        }
    }
}

/// A session's hold on a compiled statement. Each run takes another one: its owners are counted in memory of the
/// session, not in the statement's, which all sessions read.
#[derive(Clone, Debug)]
#[expect(clippy::redundant_allocation, reason = "the second count is the point")]
pub(crate) struct Held(Arc<Arc<Compiled>>);

impl Held {
    pub(crate) fn new(compiled: Arc<Compiled>) -> Self {
        Self(Arc::new(compiled))
    }

    /// Whether both hold on to the same statement, in the same place.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Held {
    type Target = Compiled;

    #[inline]
    fn deref(&self) -> &Compiled {
        &self.0
    }
}

/// The key of a compiled statement in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The text, literals normalised.
    pub(crate) text: Arc<str>,
    /// Oids of parameter types that were given.
    pub(crate) types: Box<[u32]>,
    /// What of the session's settings matters to plans.
    pub(crate) settings: Arc<str>,
}

/// A statement of a session, with the types of parameters that were given.
struct Entry {
    types: Box<[u32]>,
    held: Held,
}

/// Statements that a session keeps; all are dropped when there are more.
const MAX_OWN: usize = 1_000;

/// The compiled statements of one session, for one version of the catalog and one state of its settings: those of the
/// database, found without its lock, and without a copy of the text.
#[derive(Default)]
pub(crate) struct OwnPlans {
    entries: HashTable<Entry>,
    hasher: RandomState,
}

impl OwnPlans {
    /// The statement.
    #[inline]
    pub(crate) fn get(&self, text: &str, types: &[u32]) -> Option<&Held> {
        let hash = self.hasher.hash_one((text, types));
        let same = |entry: &Entry| *entry.held.text == *text && *entry.types == *types;
        self.entries.find(hash, same).map(|entry| &entry.held)
    }

    /// Keeps a statement.
    pub(crate) fn put(&mut self, types: &[u32], held: Held) {
        if self.entries.len() >= MAX_OWN {
            self.entries.clear();
        }
        let Self { entries, hasher } = self;
        let hash = |entry: &Entry| hasher.hash_one((&*entry.held.text, &*entry.types));
        let entry = Entry { types: types.into(), held };
        entries.insert_unique(hash(&entry), entry, hash);
    }

    /// The catalog or the settings have changed.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

/// Statements that a database keeps; all are dropped when there are more.
const MAX_PLANS: usize = 10_000;

/// The compiled statements that sessions share.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<HashMap<Key, Arc<Compiled>>>);

impl Plans {
    /// The statement, if it was compiled for this version of the catalog.
    pub(crate) fn get(&self, key: &Key, version: u64) -> Option<Arc<Compiled>> {
        self.0.lock().get(key).filter(|compiled| compiled.version == version).cloned()
    }

    /// Keeps a statement.
    pub(crate) fn put(&self, key: Key, compiled: Arc<Compiled>) {
        let mut plans = self.0.lock();
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(key, compiled);
    }

    /// The catalog has changed.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
