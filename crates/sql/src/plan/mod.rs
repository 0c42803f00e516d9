//! Compiled statements: trees of operators over a frame of slots.
//!
//! A slot holds one value: a column of the row that a scan is at, a parameter of an aggregate, a result. Slots
//! are numbered when a statement is bound; a run has a frame with all of them. Operators fill slots and
//! call the next one, so no row is ever copied from one operator to another, except where it must
//! outlive its scan (sorts, hash tables, batches).

pub(crate) mod cache;
mod computed;
pub(crate) mod depends;
pub(crate) mod expr;
pub(crate) mod factor;
pub(crate) mod joins;
pub(crate) mod kind;
pub(crate) mod place;
pub(crate) mod point;
mod set_call;
pub(crate) mod statistics;
pub(crate) mod window;

use expr::Expr;
use place::{Loads, Places};
use scaledb_base::TableId;
use scaledb_catalog::{ColumnDesc, TableDesc};
use scaledb_engine::{Order, TableInfo};
use scaledb_locks::Mode;
use scaledb_row::Projection;
use scaledb_sync::atomic::AtomicU64;
use scaledb_types::{Result, SqlError, SqlState, Type};
use std::sync::Arc;

pub(crate) use computed::Computed;
pub(crate) use set_call::SetCall;
pub(crate) use window::{Window, WindowFn};

/// A place in the frame.
pub(crate) type Slot = usize;

/// A table as plans use it: the descriptor and the engine's table behind it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) desc: Arc<TableDesc>,
    pub(crate) info: Arc<TableInfo>,
    /// The types of the columns.
    pub(crate) types: Vec<Type>,
    /// The columns of the primary key; none if the engine numbers the rows.
    pub(crate) primary: Vec<IndexColumn>,
    /// The columns of the secondary indexes.
    pub(crate) secondary: Vec<Vec<IndexColumn>>,
    /// Columns whose keys have a form of their own: position, and the engine's column of the key.
    pub(crate) key_columns: Vec<(usize, usize)>,
    /// Where rows have the columns.
    pub(crate) places: Places,
}

/// The type of a column.
///
/// # Errors
/// XX001 if there is none.
pub(crate) fn column_type(column: &ColumnDesc) -> Result<Type> {
    let ty = Type::from_oid(column.type_oid).ok_or_else(|| {
        SqlError::new(SqlState::DATA_CORRUPTED, format!("column {} has an unknown type", column.name))
    })?;
    Ok(ty.with_typmod(column.typmod))
}

/// A column of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexColumn {
    /// Its position in the table.
    pub(crate) position: usize,
    /// The engine's column that holds its key.
    pub(crate) engine: usize,
    /// Whether that is a column of its own.
    pub(crate) separate: bool,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl Table {
    /// The columns of an index.
    pub(crate) fn index(&self, index: IndexRef) -> &[IndexColumn] {
        match index {
            IndexRef::Primary => &self.primary,
            IndexRef::Secondary(number) => &self.secondary[number],
        }
    }

    /// The engine's id of an index.
    pub(crate) fn index_id(&self, index: IndexRef) -> TableId {
        match index {
            IndexRef::Primary => self.info.id,
            IndexRef::Secondary(number) => self.info.indexes[number].id,
        }
    }

    /// The secondary indexes that are unique, which is checked late.
    pub(crate) fn late(&self) -> Vec<usize> {
        let indexes = self.desc.indexes.iter().enumerate();
        indexes.filter(|(_, index)| index.deferrable.is_some()).map(|(number, _)| number).collect()
    }

    /// The name of an index.
    /// The oid of an index; that of the table if it has no primary key.
    #[inline]
    pub(crate) fn index_oid(&self, index: IndexRef) -> u32 {
        match index {
            IndexRef::Primary => self.desc.primary_key.as_ref().map_or(self.desc.oid, |key| key.oid),
            IndexRef::Secondary(number) => self.desc.indexes[number].oid,
        }
    }

    pub(crate) fn index_name(&self, index: IndexRef) -> &str {
        match index {
            IndexRef::Primary => self.desc.primary_key.as_ref().map_or("", |key| key.name.as_str()),
            IndexRef::Secondary(number) => &self.desc.indexes[number].name,
        }
    }
}

/// The values of a key column that a scan looks for.
#[derive(Debug)]
pub(crate) enum KeyValue {
    One(Expr),
    /// `IN (..)`.
    List(Vec<Expr>),
    /// `= ANY (array)`.
    Array(Expr),
}

impl KeyValue {
    /// Calls `f` with each expression that it is made of.
    pub(crate) fn exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::One(expr) | Self::Array(expr) => f(expr),
            Self::List(list) => list.iter().for_each(f),
        }
    }
}

/// An end of a range of the column behind the equal ones.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) value: Expr,
    pub(crate) inclusive: bool,
}

/// How a scan finds its rows.
#[derive(Debug)]
pub(crate) enum Access {
    /// By all columns of the primary key or of a unique index.
    Point { index: TableId, key: Vec<KeyValue> },
    /// By leading columns of a key, and perhaps a range of the next one; all rows if there are none.
    Range { index: TableId, key: Vec<KeyValue>, low: Option<Bound>, high: Option<Bound>, order: Order },
}

impl Access {
    /// What a scan is counted for: the table if it reads all of it as it is, else the index.
    pub(crate) fn counted(&self, table: &Table, index: IndexRef) -> u32 {
        match self {
            Self::Range { key, low: None, high: None, order: Order::Forward, .. }
                if key.is_empty() && index == IndexRef::Primary =>
            {
                table.desc.oid
            }
            _ => table.index_oid(index),
        }
    }

    /// Calls `f` with each expression that the access is made of.
    pub(crate) fn exprs<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        let (key, bounds) = match self {
            Self::Point { key, .. } => (key, None),
            Self::Range { key, low, high, .. } => (key, Some(low.iter().chain(high))),
        };
        key.iter().for_each(|value| value.exprs(f));
        bounds.into_iter().flatten().for_each(|bound| f(&bound.value));
    }
}

/// Which index of a table: its primary key, or the secondary one of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexRef {
    Primary,
    Secondary(usize),
}

/// A scan of a table.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) table: Arc<Table>,
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

/// What a scan does for those who lock its rows.
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
    pub(crate) table: Arc<Table>,
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
    /// Whether somebody relies on the order of the outer rows.
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
        /// `None`: nobody relies on it, or on more of a row than what `on` reads, and those that do not fit the memory
        /// may come later.
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
    /// INSERT, UPDATE or DELETE with RETURNING, in WITH or at the top.
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
    /// them, so nobody should collect them once more.
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
    /// The slots of its columns, and their types.
    pub(crate) slots: Vec<Slot>,
    pub(crate) types: Vec<Type>,
    /// The slot of the row as one value, if it has several columns.
    pub(crate) row: Option<Slot>,
}

/// Whether PostgreSQL takes a WITH query as if it stood where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inlined {
    /// It is MATERIALIZED, recursive, volatile, or locks or writes.
    Never,
    /// If it is read in one place.
    Once,
    /// It is NOT MATERIALIZED.
    Always,
}

/// A common table expression.
#[derive(Debug)]
pub(crate) struct Cte {
    pub(crate) name: String,
    pub(crate) number: usize,
    pub(crate) node: Arc<Node>,
    pub(crate) slots: Vec<Slot>,
    /// Whether its rows are read; they are evaluated at the end if they are not.
    pub(crate) read: bool,
    /// Where those that read them have their columns, if what none of them uses is not computed.
    pub(crate) readers: Option<Vec<Vec<Slot>>>,
    pub(crate) inlined: Inlined,
    /// The part that refers to itself.
    pub(crate) recursive: Option<Arc<Recursive>>,
}

/// The part of a WITH query that refers to the query.
#[derive(Debug)]
pub(crate) struct Recursive {
    pub(crate) node: Node,
    pub(crate) slots: Vec<Slot>,
    /// Whether the rows are made distinct.
    pub(crate) distinct: bool,
    /// Whether they are handed on as they come: one reads them, and finding them once more would find the same.
    pub(crate) streams: bool,
}

impl Cte {
    /// The operator that its rows come from, what only computes columns left out.
    pub(crate) fn source(&self) -> &Node {
        let mut node = &*self.node;
        while let Node::Project { input, .. } = node {
            node = input;
        }
        node
    }
}

/// A statement that writes.
#[derive(Debug)]
pub(crate) enum Modify {
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

/// What is checked about a row that is written: slots hold the new row.
#[derive(Debug)]
pub(crate) struct Checks {
    /// Columns that refuse NULL.
    pub(crate) not_null: Vec<usize>,
    /// CHECK constraints: name and condition.
    pub(crate) checks: Vec<(String, Expr)>,
    /// Foreign keys of this table.
    pub(crate) references: Vec<Arc<ForeignKey>>,
    /// Foreign keys of others that refer to this table.
    pub(crate) referred: Vec<Arc<ForeignKey>>,
    /// Secondary indexes that are unique, which is checked late.
    pub(crate) late: Vec<usize>,
}

impl Checks {
    /// Whether an update is compared with the row that was there.
    pub(crate) fn compares(&self) -> bool {
        !(self.references.is_empty() && self.referred.is_empty() && self.late.is_empty())
    }
}

/// A foreign key, ready to be checked from both sides.
#[derive(Debug)]
pub(crate) struct ForeignKey {
    pub(crate) desc: scaledb_catalog::ForeignKeyDesc,
    pub(crate) from: Arc<Table>,
    pub(crate) to: Arc<Table>,
    /// Positions of the columns.
    pub(crate) from_columns: Vec<usize>,
    pub(crate) to_columns: Vec<usize>,
    /// The unique index of `to`, and for each of its columns the number of the foreign key's column.
    pub(crate) unique: IndexRef,
    pub(crate) key_order: Vec<usize>,
    /// An index of `from` that begins with the columns, if there is one, and their order in it.
    pub(crate) index: Option<(IndexRef, Vec<usize>)>,
    /// The values of SET DEFAULT.
    pub(crate) set_default: Vec<scaledb_types::Value>,
}

/// INSERT.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) table: Arc<Table>,
    pub(crate) source: Node,
    /// Whether the source reads tables, so that it must be read to its end first.
    pub(crate) reads: bool,
    /// For each column of the table its value.
    pub(crate) values: Vec<Expr>,
    /// The slots of the new row, by column.
    pub(crate) row: Vec<Slot>,
    pub(crate) checks: Checks,
    pub(crate) conflict: Option<OnConflict>,
    pub(crate) returning: Option<Vec<Expr>>,
    pub(crate) returning_slots: Vec<Slot>,
}

/// ON CONFLICT.
#[derive(Debug)]
pub(crate) struct OnConflict {
    /// The unique index; `None` for any.
    pub(crate) index: Option<IndexRef>,
    /// What to do with the row that is there; nothing if `None`.
    pub(crate) update: Option<Box<ConflictUpdate>>,
}

/// ON CONFLICT DO UPDATE.
#[derive(Debug)]
pub(crate) struct ConflictUpdate {
    /// The slots of the row that is there, by column.
    pub(crate) existing: Vec<Slot>,
    pub(crate) set: Vec<(usize, Expr)>,
    pub(crate) filter: Option<Expr>,
}

/// UPDATE.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) table: Arc<Table>,
    /// Finds the rows: scan `target` names them.
    pub(crate) source: Node,
    pub(crate) target: usize,
    /// The old row's slots, by column.
    pub(crate) old: Vec<Slot>,
    /// The new row's slots, by column.
    pub(crate) row: Vec<Slot>,
    pub(crate) set: Vec<(usize, Expr)>,
    /// The columns that are set.
    pub(crate) columns: Vec<usize>,
    /// What the new row takes over: its slots, and those of the old row, where these are loaded.
    pub(crate) copies: Vec<(Slot, Slot)>,
    /// Whether a column of the primary key is set: rows are then deleted and inserted.
    pub(crate) moves: bool,
    /// Columns whose old values are needed (all, if rows move or constraints or RETURNING ask).
    pub(crate) projection: Projection,
    pub(crate) checks: Checks,
    pub(crate) returning: Option<Vec<Expr>>,
    pub(crate) returning_slots: Vec<Slot>,
}

/// DELETE.
#[derive(Debug)]
pub(crate) struct Delete {
    pub(crate) table: Arc<Table>,
    pub(crate) source: Node,
    pub(crate) target: usize,
    pub(crate) old: Vec<Slot>,
    pub(crate) checks: Checks,
    pub(crate) returning: Option<Vec<Expr>>,
    pub(crate) returning_slots: Vec<Slot>,
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
    pub(crate) estimates: Vec<(Arc<Table>, f64)>,
    /// When these were compared with what there is, in microseconds.
    pub(crate) compared: AtomicU64,
    pub(crate) writes: bool,
    /// The clause by which it locks rows, if it does: `FOR UPDATE`.
    pub(crate) locks: Option<&'static str>,
    /// Whether it has parts that write, all of which see the rows as of its start.
    pub(crate) parts: bool,
    /// Whether one of them has ON CONFLICT, and asks what others insert.
    pub(crate) conflicts: bool,
}

/// What the tag of a statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Select,
    Insert,
    Update,
    Delete,
}
