//! Compiled statements: trees of operators over a frame of slots.
//!
//! A slot holds one value: a column of the row that a scan is at, a parameter of an aggregate, a result. Slots
//! are numbered when a statement is bound; a run has a frame with all of them. Operators fill slots and
//! call the next one, so no row is ever copied from one operator to another, except where it must
//! outlive its scan (sorts, hash tables, batches).

mod access;
pub(crate) mod cache;
mod computed;
mod cte;
pub(crate) mod depends;
pub(crate) mod domain;
pub(crate) mod expr;
pub(crate) mod factor;
pub(crate) mod joins;
pub(crate) mod kind;
mod modify;
pub(crate) mod needs;
pub(crate) mod place;
pub(crate) mod point;
pub(crate) mod routine;
mod set_call;
pub(crate) mod statistics;
mod table;
pub(crate) mod trigger;
pub(crate) mod window;

use expr::Expr;
use place::Loads;
use scaledb_base::TableId;
use scaledb_locks::Mode;
use scaledb_row::Projection;
use scaledb_sync::atomic::AtomicU64;
use scaledb_types::Fields;
use std::sync::Arc;

pub(crate) use access::{Access, Bound, KeyValue};
pub(crate) use computed::Computed;
pub(crate) use cte::{Cte, Inlined, Recursive};
pub(crate) use modify::{
    Checks, ConflictUpdate, Delete, ForeignKey, Insert, Merge, MergeAction, MergeClause, Modify, OnConflict,
    Setting, Update, ViewChecks,
};
pub(crate) use set_call::SetCall;
pub(crate) use table::{BoundTable, IndexColumn, IndexRef, column_type, column_types, key_text};
pub(crate) use window::{Window, WindowFn};

/// A place in the frame.
pub(crate) type Slot = usize;

/// A scan of a table.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) table: Arc<BoundTable>,
    pub(crate) alias: String,
    /// The number of the scan in the statement: where it leaves the row's name.
    pub(crate) number: usize,
    pub(crate) index: IndexRef,
    pub(crate) access: Access,
    /// All columns while planning, the used ones afterwards.
    pub(crate) loads: Loads,
    pub(crate) projection: Projection,
    pub(crate) filter: Option<Expr>,
    /// How many rows it is thought to yield each time.
    pub(crate) rows: f64,
    /// What it is counted for: the index, or the table if it reads all of it.
    pub(crate) counted: u32,
    /// Whether its rows are fetched in batches, because what is done with them reads, too.
    pub(crate) batches: bool,
    /// How its rows are locked further up, if they are.
    pub(crate) locked: Option<Locked>,
}

/// What a scan does for the operator above that locks its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locked {
    /// Where it leaves the number of the row's name: see `Exec::names`.
    pub(crate) name: Slot,
    /// Whether the transaction is not to depend on what the scan reads: rows that are locked by others are passed by,
    /// so that it promises no state of the whole table.
    pub(crate) loose: bool,
}

/// What to do about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Policy {
    Wait,
    Skip,
    NoWait,
}

/// Rows of a table to be locked: `FOR UPDATE` and its like.
#[derive(Debug)]
pub(crate) struct RowLock {
    pub(crate) table: Arc<BoundTable>,
    /// Where the scan leaves the number of the row's name.
    pub(crate) name: Slot,
    /// With SKIP LOCKED, the columns that are compared: all while planning, the used ones afterwards.
    pub(crate) loads: Loads,
    pub(crate) projection: Projection,
    pub(crate) mode: Mode,
    pub(crate) policy: Policy,
}

/// How two inputs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
}

/// For each row of `outer`, the rows of `inner`.
#[derive(Debug)]
pub(crate) struct NestedLoop {
    pub(crate) outer: Node,
    pub(crate) inner: Node,
    pub(crate) kind: JoinKind,
    pub(crate) on: Option<Expr>,
    /// Slots of `inner`, to be NULL where nothing matches.
    pub(crate) inner_slots: Vec<Slot>,
}

/// A join by equality: `inner` is read once and kept in a hash table.
#[derive(Debug)]
pub(crate) struct HashJoin {
    pub(crate) outer: Node,
    pub(crate) inner: Node,
    pub(crate) kind: JoinKind,
    /// Whether rows of `inner` without a match come, too (a full join).
    pub(crate) full: bool,
    pub(crate) outer_keys: Vec<Expr>,
    pub(crate) inner_keys: Vec<Expr>,
    pub(crate) on: Option<Expr>,
    pub(crate) inner_slots: Vec<Slot>,
    pub(crate) outer_slots: Vec<Slot>,
    /// Whether an operator above relies on the order of the outer rows.
    pub(crate) ordered: bool,
    /// The scan whose rows are written by the statement, if it is one of `outer`.
    pub(crate) target: Option<usize>,
}

/// A key of a sort.
#[derive(Clone, Debug)]
pub(crate) struct SortKey {
    pub(crate) expr: Expr,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// An aggregate of a group.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    pub(crate) function: crate::functions::AggregateFn,
    pub(crate) args: Vec<Expr>,
    /// What is evaluated once for a group: the arguments in front of WITHIN GROUP. The values are those of `order`
    /// then.
    pub(crate) direct: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Expr>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) slot: Slot,
}

/// Several sets of keys that rows are grouped by: each row is in a group of each set.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    /// For each set, which of the keys it has; the others are NULL.
    pub(crate) sets: Vec<Vec<bool>>,
    /// Where the number of the set goes, from 1.
    pub(crate) slot: Slot,
}

/// A set operation other than UNION ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetKind {
    Union,
    Intersect,
    IntersectAll,
    Except,
    ExceptAll,
}

/// What the statement calls the rows of an operator and their columns: for EXPLAIN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) alias: String,
    pub(crate) columns: Vec<String>,
}

/// An operator, called what EXPLAIN calls it. Slots that it names are written before the next operator is called.
#[derive(Debug)]
pub(crate) enum Node {
    /// One row without columns.
    Result,
    Scan(Box<Scan>),
    /// Rows of the catalog, computed at the start.
    ComputedScan {
        rows: Computed,
        slots: Vec<Slot>,
        label: Label,
    },
    ValuesScan {
        rows: Vec<Vec<Expr>>,
        slots: Vec<Slot>,
    },
    /// A set-returning function: its elements, and their number if asked for.
    FunctionScan {
        call: SetCall,
        slots: Vec<Slot>,
        ordinality: Option<Slot>,
        label: Label,
    },
    Filter {
        input: Box<Node>,
        predicate: Expr,
    },
    NestedLoop(Box<NestedLoop>),
    HashJoin(Box<HashJoin>),
    /// Computes slots from slots.
    Project {
        input: Box<Node>,
        exprs: Vec<(Expr, Slot)>,
    },
    Aggregate {
        input: Box<Node>,
        keys: Vec<(Expr, Slot)>,
        /// The last of the keys is the number of the set then.
        sets: Option<Sets>,
        aggregates: Vec<Aggregate>,
    },
    Sort {
        input: Box<Node>,
        keys: Vec<SortKey>,
        carry: Vec<Slot>,
        /// Whether a LIMIT above lets only the first rows through, so that it keeps no more than those.
        top: bool,
    },
    /// Drops rows whose values came before.
    Distinct {
        input: Box<Node>,
        on: Vec<Expr>,
        /// Those of `on` that rows which are equal in them come by one behind the other, if that order is to stay.
        /// `None`: no operator relies on it, or on more of a row than what `on` reads, and rows that do not fit the
        /// memory may come later.
        order: Option<Vec<Expr>>,
    },
    /// Locks rows of tables; those that it passes by do not come out.
    LockRows {
        input: Box<Node>,
        locks: Vec<RowLock>,
    },
    Limit {
        input: Box<Node>,
        limit: Option<Expr>,
        offset: Option<Expr>,
        /// WITH TIES: rows behind the last one are let through as long as they are equal to it in these slots.
        ties: Vec<Slot>,
    },
    /// The rows of all inputs; the slots of each are copied to `slots`.
    Append {
        inputs: Vec<(Node, Vec<Slot>)>,
        slots: Vec<Slot>,
    },
    SetOp {
        kind: SetKind,
        left: Box<(Node, Vec<Slot>)>,
        right: Box<(Node, Vec<Slot>)>,
        slots: Vec<Slot>,
    },
    /// Reads its input once, and hands the kept rows out for as long as what they depend on is the same.
    Materialize {
        input: Box<Node>,
        number: usize,
        depends: depends::Depends,
        slots: Vec<Slot>,
    },
    /// Evaluates the common table expressions, then its input.
    With {
        ctes: Vec<Cte>,
        input: Box<Node>,
    },
    /// The rows of a common table expression.
    CteScan {
        number: usize,
        slots: Vec<Slot>,
        /// Whether the expression is recursive, so that its rows may have no end.
        recursive: bool,
        label: Label,
    },
    /// INSERT, UPDATE, DELETE or MERGE, with RETURNING in WITH or at the top.
    ModifyTable(Box<Modify>),
    /// Calls of set-returning functions in a select list: as many rows as the longest has.
    ProjectSet {
        input: Box<Node>,
        sets: Vec<SetItem>,
    },
    /// A window function: see `exec::window_agg`.
    WindowAgg {
        input: Box<Node>,
        windows: Vec<Window>,
        carry: Vec<Slot>,
    },
}

impl Node {
    /// Whether its rows are those of a recursive query, which are kept as far as they are found. There may be no end to
    /// them, so no other operator should collect them once more.
    pub(crate) fn is_kept(&self) -> bool {
        match self {
            Self::CteScan { recursive, .. } => *recursive,
            Self::Filter { input, .. } | Self::Project { input, .. } => input.is_kept(),
            _ => false,
        }
    }
}

/// A call of a set-returning function in a select list.
#[derive(Clone, Debug)]
pub(crate) struct SetItem {
    pub(crate) call: SetCall,
    /// The slots of its columns.
    pub(crate) slots: Vec<Slot>,
    /// The slot of the row as one value, and its fields, if it has several columns.
    pub(crate) row: Option<(Slot, Arc<Fields>)>,
}

impl SetItem {
    /// The slots that it fills.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().chain(self.row.as_ref().map(|(row, _)| row))
    }

    /// Whether its result is in a slot.
    pub(crate) fn makes(&self, slot: Slot) -> bool {
        self.made().any(|made| *made == slot)
    }
}

/// A statement, compiled.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) root: Node,
    /// The result's values; empty for statements without RETURNING.
    pub(crate) output: Vec<Expr>,
    pub(crate) kind: Kind,
    /// The number of slots, scans and kept inputs.
    pub(crate) slots: usize,
    pub(crate) scans: usize,
    pub(crate) keeps: usize,
    /// The nesting of the deepest expression.
    pub(crate) depth: usize,
    /// Tables that the plan depends on: oid and engine table.
    pub(crate) tables: Vec<(u32, TableId)>,
    /// Views and sequences that it was made from.
    pub(crate) relations: Vec<u32>,
    /// It reads the system catalogs: any change of the catalog is one of what it reads.
    pub(crate) whole_catalog: bool,
    /// Tables whose rows decided how they are joined, and how many that were.
    pub(crate) estimates: Vec<(Arc<BoundTable>, f64)>,
    /// When these were compared with what there is, in microseconds.
    pub(crate) compared: AtomicU64,
    pub(crate) writes: bool,
    /// Whether it writes rows of other tables than temporary ones.
    pub(crate) lasting: bool,
    /// The clause by which it locks rows, if it does: `FOR UPDATE`.
    pub(crate) locks: Option<&'static str>,
    /// Whether it has parts that write, all of which see the rows as of its start.
    pub(crate) parts: bool,
    /// Whether one of them has ON CONFLICT, and asks what others insert.
    pub(crate) conflicts: bool,
    /// Whether it calls functions that may write: a scan has found all of its rows before they see the first.
    pub(crate) calls: bool,
    /// Whether it reads a materialized view that has no rows yet: it is not to be run.
    pub(crate) unpopulated: bool,
    /// Whether it would be another one if it knew the values of parameters.
    pub(crate) wants_values: bool,
    /// What it needs to be allowed to do, if anything.
    pub(crate) needs: Option<Box<needs::Needs>>,
}

/// What the tag of a statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

impl Kind {
    /// The statement, as messages call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Merge => "MERGE",
        }
    }
}
