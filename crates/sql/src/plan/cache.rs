//! Compiled statements, by their text.

use super::Plan;
use crate::api::Column;
use crate::parse::utility::Utility;
use crate::trace::Number;
use scaledb_sync::lock::Mutex;
use scaledb_types::Type;
use sqlparser::ast::Statement;
use std::collections::HashMap;
use std::sync::Arc;

/// What a statement is.
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
}

/// A statement, compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) text: Arc<str>,
    pub(crate) action: Action,
    pub(crate) params: Vec<Type>,
    pub(crate) columns: Option<Vec<Column>>,
    /// What stands for the text in the trace of transactions.
    pub(crate) number: Number,
    /// The version of the catalog that it was made for.
    pub(crate) version: u64,
}

/// What makes a compiled statement the one that is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The text, literals normalised.
    pub(crate) text: Arc<str>,
    /// Oids of parameter types that were given.
    pub(crate) types: Box<[u32]>,
    /// What of the session's settings matters to plans.
    pub(crate) settings: Arc<str>,
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
