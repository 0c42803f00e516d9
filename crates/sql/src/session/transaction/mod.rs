//! Transactions of a session.

mod barred;
mod begin;
mod block;
mod confirm;
mod deferred;
mod end;

use super::Session;
use super::record::Record;
use super::savepoint::Mark;
use super::settings::Settings;
use super::state::SessionState;
use crate::api::Status;
use crate::exec::late::Check;
use crate::shared::{PerDatabase, beside};
use crate::trace::Number;
use scaledb_base::TableId;
use scaledb_catalog::{Catalog, Store};
use scaledb_engine::{Closure, Engine, ReadMark, SerializationPoint, TableInfo};
use scaledb_notify::Ticket;
use scaledb_parse::utility::{Isolation, Modes};
use scaledb_planner::bind::Lookup;
use scaledb_types::Result;
use std::sync::Arc;
use std::time::Duration;

/// Where a session stands between BEGIN and COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// Statements commit by themselves.
    #[default]
    None,
    /// Statements that arrived together commit together.
    Implicit,
    Explicit,
    Failed,
}

/// The tables that a transaction has closed to the writers of all nodes.
struct Closed {
    closure: Closure,
    tables: Vec<TableId>,
}

/// A table of the engine that a transaction has made.
pub(super) struct Created {
    pub(super) info: Arc<TableInfo>,
    /// Rows were committed to it beside the transaction: it is emptied if that rolls back.
    pub(super) filled: bool,
}

/// An index that a transaction has added to a table of the engine.
pub(super) struct Added {
    pub(super) table: TableId,
    pub(super) index: TableId,
    pub(super) name: String,
}

/// The transaction of a session.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) block: Block,
    /// Its place among those that have something to say, once it has committed.
    pub(super) ticket: Option<Ticket>,
    pub(super) modes: Modes,
    /// What the settings say of transactions that do not.
    pub(super) defaults: Modes,
    /// The engine's transaction has begun, with this version of the catalog.
    pub(super) version: Option<u64>,
    /// Whether it reads a snapshot.
    pub(super) snapshot: bool,
    /// It is to read one if that is to be had within this time: its only statement reads much.
    pub(super) wants_snapshot: Option<Duration>,
    /// What it has read when its first query had ended and was compared, as long as that is all.
    pub(super) checked: Option<ReadMark>,
    /// What it has run, as long as that may be run again.
    pub(super) record: Record,
    /// Commits of others before it began, where they are counted.
    pub(super) commits: u64,
    /// Tables that it has used: oid, the engine's table, and the last statement that did.
    pub(super) touched: Vec<(u32, TableId, Number)>,
    /// The last statement that wrote, or the last one of all.
    pub(super) statement: Number,
    pub(super) writes: bool,
    pub(super) savepoints: Vec<Mark>,
    /// Foreign keys that wait for the commit.
    pub(super) deferred: Vec<Check>,
    /// A statement has run in it that is not a change of the catalog.
    pub(super) ran: bool,
    /// Whether it has put bars before tables.
    pub(super) barred: bool,
    /// Tables that are closed to the writers of all nodes.
    closure: Option<Closed>,
    /// Tables of the engine that it has made.
    pub(super) created: Vec<Created>,
    /// The tables of these whose statement was rolled back.
    pub(super) abandoned: Vec<Created>,
    /// The oids of tables that it has emptied.
    pub(super) truncated: Vec<u32>,
    /// Tables of the engine that nothing names after its commit.
    pub(super) dropped: Vec<Arc<TableInfo>>,
    /// Indexes that it has added to tables of the engine.
    pub(super) added: Vec<Added>,
    /// Indexes of the engine that nothing names after its commit.
    pub(super) gone: Vec<TableId>,
    /// The database that it makes: where its catalog is kept.
    pub(super) made: Option<Store>,
    /// Databases that it keeps sessions from until its end.
    pub(super) closed: Vec<Arc<PerDatabase>>,
    /// Whether it has changed the catalog.
    pub(super) changed: bool,
    /// The catalog before its changes.
    pub(super) unchanged: Option<Arc<Catalog>>,
    /// When it began, for `now()`.
    pub(super) time: Option<i64>,
}

impl Transaction {
    pub(super) fn status(&self) -> Status {
        match self.block {
            Block::None | Block::Implicit => Status::Idle,
            Block::Explicit => Status::InTransaction,
            Block::Failed => Status::Failed,
        }
    }

    pub(super) fn begin_implicit(&mut self) {
        if self.block == Block::None {
            self.block = Block::Implicit;
        }
    }

    pub(super) fn is_implicit(&self) -> bool {
        self.block == Block::Implicit
    }

    pub(super) fn is_failed(&self) -> bool {
        self.block == Block::Failed
    }

    /// Whether statements commit by themselves.
    pub(super) fn is_alone(&self) -> bool {
        self.block == Block::None
    }

    pub(super) fn in_block(&self) -> bool {
        self.block == Block::Explicit
    }

    /// Whether the engine's transaction runs.
    pub(super) fn has_begun(&self) -> bool {
        self.version.is_some()
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.modes.read_only.or(self.defaults.read_only).unwrap_or(false)
    }

    /// The modes of the transaction, the session's defaults included.
    pub(super) fn effective_modes(&self) -> Modes {
        let mut modes = self.defaults;
        merge(&mut modes, self.modes);
        modes
    }

    /// Notes the tables that a statement uses.
    pub(super) fn touch(&mut self, tables: &[(u32, TableId)], statement: Number) {
        for &(oid, id) in tables {
            match self.touched.iter_mut().find(|known| (known.0, known.1) == (oid, id)) {
                Some(known) => known.2 = statement,
                None => self.touched.push((oid, id, statement)),
            }
        }
    }

    /// The catalog of the transaction with what others have committed since it began, if neither matters to the other.
    pub(super) fn beside_others<E: Engine>(&self, state: &SessionState<E>) -> Option<Catalog> {
        // where a transaction has the place of its begin, its changes would come before those that it is to be put upon
        let is_placed = state.shared.engine.serialization_point() == SerializationPoint::Begin;
        if is_placed || state.used.is_whole() {
            return None;
        }
        let begun = self.unchanged.as_ref().unwrap_or(&state.catalog);
        let now = state.database.catalog();
        // in a cluster the engine compares the version that is stored
        if state.shared.is_shared && begun.stored_version() != now.stored_version() {
            return None;
        }
        beside(&state.catalog, begun, &now)
    }

    /// Notes a statement, for the messages of transactions that conflict with this one.
    pub(super) fn note(&mut self, statement: Number, writes: bool) {
        self.ran = true;
        if writes || !self.writes {
            self.statement = statement;
            self.writes = writes;
        }
    }

    /// The tables that it has closed to the writers of all nodes.
    fn closed_tables(&self) -> &[TableId] {
        self.closure.as_ref().map_or(&[], |closed| &closed.tables)
    }

    /// Whether it has not done anything in the engine but to begin.
    fn is_clean(&self) -> bool {
        !self.ran && !self.writes && self.savepoints.is_empty()
    }

    /// Whether the table is one that it has used.
    pub(super) fn has_touched(&self, table: u32) -> bool {
        self.touched.iter().any(|(oid, ..)| *oid == table)
    }

    /// Whether it may have written rows of the table.
    pub(super) fn has_written(&self, table: u32) -> bool {
        self.writes && self.has_touched(table)
    }

    /// The last statement that has used a table, or the transaction's last one.
    pub(super) fn statement_on(&self, table: u32) -> Number {
        let used = self.touched.iter().rev().find(|(oid, ..)| *oid == table);
        used.map(|(.., statement)| *statement).filter(|statement| *statement > 0).unwrap_or(self.statement)
    }
}

/// What settings say of transactions that do not.
pub(super) fn modes_by_default(settings: &Settings) -> Modes {
    let on = |name: &str| settings.get(name).is_ok_and(|value| value == "on");
    let level = settings.get("default_transaction_isolation").unwrap_or_default();
    Modes {
        read_only: Some(on("default_transaction_read_only")),
        deferrable: Some(on("default_transaction_deferrable")),
        isolation: Isolation::ALL.into_iter().find(|known| known.name() == level),
    }
}

fn merge(modes: &mut Modes, with: Modes) {
    modes.read_only = with.read_only.or(modes.read_only);
    modes.deferrable = with.deferrable.or(modes.deferrable);
    modes.isolation = with.isolation.or(modes.isolation);
}

impl<E: Engine> Session<E> {
    /// The table of an oid, as the transaction sees it.
    pub(super) fn table(&self, oid: u32) -> Result<Arc<scaledb_planner::plan::BoundTable>> {
        self.state.table(oid)
    }
}
