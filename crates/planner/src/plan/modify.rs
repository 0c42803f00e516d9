//! Statements that write, and what they check.

use super::expr::Expr;
use super::secured::PolicyCheck;
use super::trigger::Triggers;
use super::{BoundTable, IndexRef, Node, Slot};
use scaledb_catalog::ForeignKeyDesc;
use scaledb_row::Projection;
use scaledb_types::{Type, Value};
use std::sync::Arc;

/// A statement that writes.
#[derive(Debug)]
pub enum Modify {
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    Merge(Merge),
}

impl Modify {
    /// The triggers that it fires, with its table.
    pub fn triggers(&self) -> impl Iterator<Item = (&Triggers, &Arc<BoundTable>)> {
        let (table, own, other): (_, Option<&Triggers>, Option<&Triggers>) = match self {
            Self::Insert(insert) => {
                let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
                let other = update.and_then(|update| update.triggers.as_deref());
                (&insert.table, insert.triggers.as_deref(), other)
            }
            Self::Update(update) => (&update.table, update.triggers.as_deref(), None),
            Self::Delete(delete) => (&delete.table, delete.triggers.as_deref(), None),
            Self::Merge(merge) => (&merge.table, None, None),
        };
        let merged = match self {
            Self::Merge(merge) => &merge.triggers[..],
            _ => &[],
        };
        own.into_iter().chain(other).chain(merged).map(move |triggers| (triggers, table))
    }
}

/// What is checked about a row that is written: slots hold the new row.
#[derive(Debug, Default)]
pub struct Checks {
    /// Columns that refuse NULL.
    pub not_null: Vec<usize>,
    /// CHECK constraints: name and condition.
    pub checks: Vec<(String, Expr)>,
    /// Foreign keys of this table.
    pub references: Vec<Arc<ForeignKey>>,
    /// Foreign keys of others that refer to this table.
    pub referred: Vec<Arc<ForeignKey>>,
    /// Secondary indexes whose constraints are checked late.
    pub late: Vec<usize>,
    /// Columns that the statement gives values: an error may show them to whoever runs it.
    pub given: Vec<usize>,
    /// What the views say that the row is written through.
    pub views: Option<Box<ViewChecks>>,
    /// What policies say of it, before all others.
    pub policies: Option<Box<[PolicyCheck]>>,
}

/// What views make of a row that is written through them, and say of it.
#[derive(Debug)]
pub struct ViewChecks {
    /// Columns of the views that are read, each behind those that it reads.
    pub computed: Vec<(Slot, Expr)>,
    /// Conditions that must be true: the name of the view, and the condition.
    pub conditions: Vec<(String, Expr)>,
}

impl Checks {
    /// Whether an update is compared with the row that was there.
    pub fn compares(&self) -> bool {
        !(self.references.is_empty() && self.referred.is_empty() && self.late.is_empty())
    }
}

/// A foreign key, ready to be checked from both sides.
#[derive(Debug)]
pub struct ForeignKey {
    pub desc: ForeignKeyDesc,
    pub from: Arc<BoundTable>,
    pub to: Arc<BoundTable>,
    /// Positions of the columns.
    pub from_columns: Vec<usize>,
    pub to_columns: Vec<usize>,
    /// The unique index of `to`, and for each of its columns the number of the foreign key's column.
    pub unique: IndexRef,
    pub key_order: Vec<usize>,
    /// An index of `from` that begins with the columns, if there is one, and their order in it.
    pub index: Option<(IndexRef, Vec<usize>)>,
    /// The values of SET DEFAULT.
    pub set_default: Vec<Value>,
    /// What an action that sets columns of `from` has to see to.
    pub setting: Setting,
}

impl ForeignKey {
    /// The types of the columns that refer.
    pub fn referring_types(&self) -> impl Iterator<Item = Type> + Clone {
        self.from_columns.iter().map(|&column| self.from.types[column])
    }

    /// The types of the columns that are referred to.
    pub fn referred_types(&self) -> impl Iterator<Item = Type> + Clone {
        self.to_columns.iter().map(|&column| self.to.types[column])
    }
}

/// What goes along when an action of a foreign key sets its columns, over slots that are the positions of columns.
#[derive(Debug, Default)]
pub struct Setting {
    /// The columns that change: those of the key, and generated ones.
    pub columns: Vec<usize>,
    pub generated: Vec<(usize, Expr)>,
    /// Columns of the key that are of domains, as values of these.
    pub domains: Vec<(usize, Expr)>,
    /// Columns that refuse NULL.
    pub not_null: Vec<usize>,
    /// CHECK constraints: name and condition.
    pub checks: Vec<(String, Expr)>,
}

/// INSERT.
#[derive(Debug)]
pub struct Insert {
    pub table: Arc<BoundTable>,
    pub source: Node,
    /// Whether the source reads tables, so that it must be read to its end first.
    pub reads: bool,
    /// For each column of the table its value.
    pub values: Vec<Expr>,
    /// The slots of the new row, by column.
    pub row: Vec<Slot>,
    /// Generated columns, over the slots of the new row.
    pub generated: Vec<(usize, Expr)>,
    pub checks: Checks,
    pub conflict: Option<OnConflict>,
    /// Whether its table is a view, whose triggers do what is to be done.
    pub instead: bool,
    pub triggers: Option<Box<Triggers>>,
    pub returning: Option<Vec<Expr>>,
    pub returning_slots: Vec<Slot>,
}

/// ON CONFLICT.
#[derive(Debug)]
pub struct OnConflict {
    /// The unique index; `None` for any.
    pub index: Option<IndexRef>,
    /// What to do with the row that is there; nothing if `None`.
    pub update: Option<Box<ConflictUpdate>>,
}

/// ON CONFLICT DO UPDATE.
#[derive(Debug)]
pub struct ConflictUpdate {
    /// The slots of the row that is there, by column.
    pub existing: Vec<Slot>,
    /// Columns of a view that are computed of the row that is there, and of the one that was to be inserted.
    pub computed: Vec<(Slot, Expr)>,
    pub set: Vec<(usize, Expr)>,
    /// Generated columns that change with these, over the slots of the new row.
    pub generated: Vec<(usize, Expr)>,
    /// The columns that change.
    pub columns: Vec<usize>,
    pub filter: Option<Expr>,
    /// What policies say of the row that is there, and then of the new one.
    pub policies: Option<Box<[PolicyCheck]>>,
    pub triggers: Option<Box<Triggers>>,
}

/// UPDATE.
#[derive(Debug)]
pub struct Update {
    pub table: Arc<BoundTable>,
    /// Finds the rows: scan `target` names them.
    pub source: Node,
    pub target: usize,
    /// The old row's slots, by column.
    pub old: Vec<Slot>,
    /// The new row's slots, by column.
    pub row: Vec<Slot>,
    /// What is set, generated columns last: they read the new row.
    pub set: Vec<(usize, Expr)>,
    /// Whether its table is a view, whose triggers do what is to be done.
    pub instead: bool,
    pub triggers: Option<Box<Triggers>>,
    /// Generated columns, over the slots of the new row, if triggers may change that before.
    pub generated: Vec<(usize, Expr)>,
    /// The columns that are set.
    pub columns: Vec<usize>,
    /// What the new row takes over: its slots, and those of the old row, where these are loaded.
    pub copies: Vec<(Slot, Slot)>,
    /// Whether a column of the primary key is set: rows are then deleted and inserted.
    pub moves: bool,
    /// Columns whose old values are needed (all, if rows move or constraints or RETURNING ask).
    pub projection: Projection,
    pub checks: Checks,
    pub returning: Option<Vec<Expr>>,
    pub returning_slots: Vec<Slot>,
}

/// DELETE.
#[derive(Debug)]
pub struct Delete {
    pub table: Arc<BoundTable>,
    pub source: Node,
    pub target: usize,
    pub old: Vec<Slot>,
    /// Whether its table is a view, whose triggers do what is to be done.
    pub instead: bool,
    pub triggers: Option<Box<Triggers>>,
    pub checks: Checks,
    pub returning: Option<Vec<Expr>>,
    pub returning_slots: Vec<Slot>,
}

/// MERGE.
#[derive(Debug)]
pub struct Merge {
    pub table: Arc<BoundTable>,
    /// The rows of the source with those of the table that match them.
    pub source: Node,
    /// The number of the scan of the table.
    pub target: usize,
    /// Where that leaves the number of its row's name: NULL where none matches.
    pub name: Slot,
    /// The slots of the table's row, by column.
    pub old: Vec<Slot>,
    /// Whether the row is needed as it was before.
    pub keeps_old: bool,
    /// What is done, by the first of these that applies.
    pub clauses: Vec<MergeClause>,
    /// The triggers of each event that a clause may be: of inserts, updates, deletes.
    pub triggers: Vec<Triggers>,
}

/// WHEN of a MERGE.
#[derive(Debug)]
pub struct MergeClause {
    /// Whether it is for rows of the source that match one of the table, or for all others.
    pub matched: bool,
    pub condition: Option<Expr>,
    /// What policies say of the row that matches, if it is to be changed or deleted.
    pub policies: Option<Box<[PolicyCheck]>>,
    pub action: MergeAction,
}

/// What a MERGE does with a row. The statements in it have no sources of their own.
#[derive(Debug)]
pub enum MergeAction {
    Nothing,
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
}

impl MergeAction {
    /// The expressions over the rows of the source.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (values, set): (&[Expr], &[(usize, Expr)]) = match self {
            Self::Insert(insert) => (&insert.values, &[]),
            Self::Update(update) => (&[], &update.set),
            Self::Nothing | Self::Delete(_) => (&[], &[]),
        };
        values.iter().chain(set.iter().map(|(_, expr)| expr))
    }
}
