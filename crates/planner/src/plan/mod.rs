//! Compiled statements: trees of operators over a frame of slots.
//!
//! A slot holds one value: a column of the row that a scan is at, a parameter of an aggregate, a result. Slots
//! are numbered when a statement is bound; a run has a frame with all of them. Operators fill slots and
//! call the next one, so no row is ever copied from one operator to another, except where it must
//! outlive its scan (sorts, hash tables, batches).

mod access;
mod computed;
mod cte;
pub mod depends;
pub mod domain;
pub mod expr;
pub mod factor;
pub mod joins;
mod modify;
pub mod needs;
pub mod place;
pub mod point;
pub mod routine;
pub mod secured;
mod set_call;
pub mod statistics;
mod table;
pub mod trigger;
pub mod window;

use expr::Expr;
use place::Loads;
use scaledb_base::TableId;
use scaledb_locks::Mode;
use scaledb_row::Projection;
use scaledb_sync::atomic::{AtomicBool, AtomicU64};
use scaledb_types::Fields;
use std::sync::Arc;

pub use access::{Access, Bound, KeyValue};
pub use computed::Computed;
pub use cte::{Cte, Inlined, Recursive};
pub use modify::{
    Checks, ConflictUpdate, Delete, ForeignKey, Insert, Merge, MergeAction, MergeClause, Modify, OnConflict,
    Setting, Update, ViewChecks,
};
pub use set_call::SetCall;
pub use table::{BoundTable, IndexColumn, IndexRef, column_type, column_types, key_text};
pub use window::{Window, WindowFn};

/// A place in the frame.
pub type Slot = usize;

/// A scan of a table.
#[derive(Debug)]
pub struct Scan {
    pub table: Arc<BoundTable>,
    pub alias: String,
    /// The number of the scan in the statement: where it leaves the row's name.
    pub number: usize,
    pub index: IndexRef,
    pub access: Access,
    /// All columns while planning, the used ones afterwards.
    pub loads: Loads,
    pub projection: Projection,
    pub filter: Option<Expr>,
    /// How many of the conditions of the filter are asked before all that may tell of a row: those of policies, and
    /// what tells of none.
    pub secured: usize,
    /// How many rows it is thought to yield each time.
    pub rows: f64,
    /// What it is counted for: the index, or the table if it reads all of it.
    pub counted: u32,
    /// Whether its rows are fetched in batches, because what is done with them reads, too.
    pub batches: bool,
    /// What is looked up with the values of each row, if the rows come in batches.
    pub upcoming: Vec<Upcoming>,
    /// How its rows are locked further up, if they are.
    pub locked: Option<Locked>,
}

impl Scan {
    /// The conditions of its filter: none of them consists of others.
    fn conjuncts(&mut self) -> Vec<Expr> {
        match self.filter.take() {
            None => Vec::new(),
            Some(Expr::And(list)) => list,
            Some(one) => vec![one],
        }
    }

    /// From here on all that may tell of a row is asked behind its filter.
    pub fn secure(&mut self) {
        let own = self.conjuncts();
        self.secured = own.len();
        self.filter = Expr::together(own);
    }

    /// Adds conditions to its filter.
    pub fn filter_by(&mut self, more: Expr) {
        let mut new = Vec::new();
        more.into_conjuncts(&mut new);
        let mut first = self.conjuncts();
        if self.secured == 0 {
            first.extend(new);
            self.filter = Expr::all(first);
            return;
        }
        let mut rest = first.split_off(self.secured.min(first.len()));
        let (tells_nothing, tells): (Vec<Expr>, Vec<Expr>) = new.into_iter().partition(Expr::is_leakproof);
        first.extend(tells_nothing);
        rest.extend(tells);
        Expr::sort(&mut first);
        Expr::sort(&mut rest);
        self.secured = first.len();
        first.extend(rest);
        self.filter = Expr::together(first);
    }
}

/// What a scan does for the operator above that locks its rows.
#[derive(Clone, Copy, Debug)]
pub struct Locked {
    /// Where it leaves the number of the row's name: see `Exec::names`.
    pub name: Slot,
    /// Whether the transaction is not to depend on what the scan reads: rows that are locked by others are passed by,
    /// so that it promises no state of the whole table.
    pub loose: bool,
}

/// What to do about a row that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    Wait,
    Skip,
    NoWait,
}

/// Rows of a table to be locked: `FOR UPDATE` and its like.
#[derive(Debug)]
pub struct RowLock {
    pub table: Arc<BoundTable>,
    /// Where the scan leaves the number of the row's name.
    pub name: Slot,
    /// With SKIP LOCKED, the columns that are compared: all while planning, the used ones afterwards.
    pub loads: Loads,
    pub projection: Projection,
    pub mode: Mode,
    pub policy: Policy,
}

/// A look-up that follows on the rows of a scan. It is foreseen to have its memory at hand; what it finds is not known.
#[derive(Debug)]
pub struct Upcoming {
    pub table: Arc<BoundTable>,
    pub index: IndexRef,
    /// Values of the leading columns of the index.
    pub key: Vec<Expr>,
    /// Whether these are all, and there is one row at most.
    pub whole: bool,
    pub projection: Projection,
}

/// How two inputs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
}

/// For each row of `outer`, the rows of `inner`.
#[derive(Debug)]
pub struct NestedLoop {
    pub outer: Node,
    pub inner: Node,
    pub kind: JoinKind,
    pub on: Option<Expr>,
    /// Slots of `inner`, to be NULL where nothing matches.
    pub inner_slots: Vec<Slot>,
}

/// A join by equality: `inner` is read once and kept in a hash table.
#[derive(Debug)]
pub struct HashJoin {
    pub outer: Node,
    pub inner: Node,
    pub kind: JoinKind,
    /// Whether rows of `inner` without a match come, too (a full join).
    pub full: bool,
    pub outer_keys: Vec<Expr>,
    pub inner_keys: Vec<Expr>,
    pub on: Option<Expr>,
    pub inner_slots: Vec<Slot>,
    pub outer_slots: Vec<Slot>,
    /// Whether an operator above relies on the order of the outer rows.
    pub ordered: bool,
    /// The scan whose rows are written by the statement, if it is one of `outer`.
    pub target: Option<usize>,
}

/// A key of a sort.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// An aggregate of a group.
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub function: crate::functions::AggregateFn,
    pub args: Vec<Expr>,
    /// What is evaluated once for a group: the arguments in front of WITHIN GROUP. The values are those of `order`
    /// then.
    pub direct: Vec<Expr>,
    pub distinct: bool,
    pub filter: Option<Expr>,
    pub order: Vec<SortKey>,
    pub slot: Slot,
}

/// Several sets of keys that rows are grouped by: each row is in a group of each set.
#[derive(Clone, Debug)]
pub struct Sets {
    /// For each set, which of the keys it has; the others are NULL.
    pub sets: Vec<Vec<bool>>,
    /// Where the number of the set goes, from 1.
    pub slot: Slot,
}

/// A set operation other than UNION ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    Union,
    Intersect,
    IntersectAll,
    Except,
    ExceptAll,
}

/// What the statement calls the rows of an operator and their columns: for EXPLAIN.
#[derive(Clone, Debug, Default)]
pub struct Label {
    pub alias: String,
    pub columns: Vec<String>,
}

/// An operator, called what EXPLAIN calls it. Slots that it names are written before the next operator is called.
#[derive(Debug)]
pub enum Node {
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
    pub fn is_kept(&self) -> bool {
        match self {
            Self::CteScan { recursive, .. } => *recursive,
            Self::Filter { input, .. } | Self::Project { input, .. } => input.is_kept(),
            _ => false,
        }
    }
}

/// A call of a set-returning function in a select list.
#[derive(Clone, Debug)]
pub struct SetItem {
    pub call: SetCall,
    /// The slots of its columns.
    pub slots: Vec<Slot>,
    /// The slot of the row as one value, and its fields, if it has several columns.
    pub row: Option<(Slot, Arc<Fields>)>,
}

impl SetItem {
    /// The slots that it fills.
    pub fn made(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().chain(self.row.as_ref().map(|(row, _)| row))
    }

    /// Whether its result is in a slot.
    pub fn makes(&self, slot: Slot) -> bool {
        self.made().any(|made| *made == slot)
    }
}

/// A statement, compiled.
#[derive(Debug)]
pub struct Plan {
    pub root: Node,
    /// The result's values; empty for statements without RETURNING.
    pub output: Vec<Expr>,
    pub kind: Kind,
    /// The number of slots, scans and kept inputs.
    pub slots: usize,
    pub scans: usize,
    pub keeps: usize,
    /// The nesting of the deepest expression.
    pub depth: usize,
    /// Tables that the plan depends on: oid and engine table.
    pub tables: Vec<(u32, TableId)>,
    /// Views and sequences that it was made from.
    pub relations: Vec<u32>,
    /// It reads the system catalogs: any change of the catalog is one of what it reads.
    pub whole_catalog: bool,
    /// Tables whose rows decided how they are joined, and how many that were.
    pub estimates: Vec<(Arc<BoundTable>, f64)>,
    /// When these were compared with what there is, in microseconds.
    pub compared: AtomicU64,
    /// Whether its last run has read much: the next one begins with a snapshot, if it may.
    pub reads_much: AtomicBool,
    /// Whether blocks that run it are to read a snapshot from then on: others write to what it reads while it runs, or
    /// its rows are on their way before it has ended.
    pub contended: AtomicBool,
    /// Whether it has the same rows whenever it is run on the same state: it calls no volatile function.
    pub steady: bool,
    /// Whether a literal in it means something else at another time, as `'today'` does: it is not kept.
    pub momentary: bool,
    pub writes: bool,
    /// Whether it writes rows of other tables than temporary ones.
    pub lasting: bool,
    /// The clause by which it locks rows, if it does: `FOR UPDATE`.
    pub locks: Option<&'static str>,
    /// Whether it has parts that write, all of which see the rows as of its start.
    pub parts: bool,
    /// Whether one of them has ON CONFLICT, and asks what others insert.
    pub conflicts: bool,
    /// Whether it calls functions that may write: a scan has found all of its rows before they see the first.
    pub calls: bool,
    /// Whether it reads a materialized view that has no rows yet: it is not to be run.
    pub unpopulated: bool,
    /// Whether it would be another one if it knew the values of parameters.
    pub wants_values: bool,
    /// The cursor whose row it writes, and the table that this is one of.
    pub current_of: Option<CurrentOf>,
    /// What it needs to be allowed to do, if anything.
    pub needs: Option<Box<needs::Needs>>,
    /// How many of its tables, and of its relations, it names itself: policies name the others.
    pub named: (usize, usize),
    /// What it has of row-level security: whom it was made for.
    pub secured: Option<Box<secured::Secured>>,
    /// Whether it may be outdated while the catalog is the same: tables may have become larger or smaller, or it may
    /// be run by somebody else.
    pub is_conditional: bool,
}

/// WHERE CURRENT OF: the row that a cursor is on.
#[derive(Clone, Debug)]
pub struct CurrentOf {
    /// As it is written.
    pub cursor: String,
    /// The number of the parameter that holds the cursor's name, if a variable of a routine does.
    pub variable: Option<usize>,
    /// The table that the row is of, and its name.
    pub table: u32,
    pub name: String,
}

/// What the tag of a statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

impl Kind {
    /// The statement, as messages call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Merge => "MERGE",
        }
    }
}
