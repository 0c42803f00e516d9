//! From syntax trees to plans: names are resolved, types are found, operators are chosen.

mod access;
mod case;
mod clauses;
mod coerce;
pub mod dml;
mod domain;
mod element;
pub mod expr;
pub mod from;
pub mod function;
pub mod generated;
mod group_keys;
mod grouping;
pub mod labels;
pub mod literal;
pub mod lock;
mod materialized;
pub mod mentioned;
pub mod names;
pub mod noted;
mod operator;
pub mod policy;
pub mod privileges;
pub mod query;
mod routine;
pub mod scope;
mod search_cycle;
mod select;
mod select_list;
mod set_operation;
mod special_call;
mod stars;
mod subquery;
mod tail;
mod type_call;
pub mod updatable;
pub mod variables;
mod variadic;
mod whole_row;
pub mod window;
pub mod with;

use crate::optimize::Statement;
use crate::optimize::prepare::prepare;
use crate::optimize::trim::trim;
use crate::plan::expr::Expr;
use crate::plan::joins::{Open, Tree};
use crate::plan::secured::Reader;
use crate::plan::statistics::TableStatistics;
use crate::plan::{BoundTable, Computed, ForeignKey, Kind, Node, Plan, Slot};
use names::Naming;
use scaledb_base::TableId;
use scaledb_catalog::{Catalog, TableDesc};
use scaledb_parse::{MAX_DEPTH, too_deep};
use scaledb_sync::atomic::{AtomicBool, AtomicU64};
use scaledb_types::{Env, Fields, Result, SqlError, Type, Value};
use scope::Scope;
use sqlparser::tokenizer::{Location, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// The foreign keys of a table, and those that refer to it.
pub type Keys = (Vec<Arc<ForeignKey>>, Vec<Arc<ForeignKey>>);

/// A system catalog, and its columns.
pub type SystemTable = (Computed, &'static [(&'static str, Type)]);

/// What the binder needs of the database.
pub trait Lookup {
    /// The table of an oid, with the engine's table behind it.
    fn table(&self, oid: u32) -> Result<Arc<BoundTable>>;
    /// A table that the engine has not made, and that no rows are read of.
    fn unmade(&self, desc: &TableDesc) -> Result<BoundTable>;
    /// The foreign keys of a table, and those that refer to it.
    fn foreign_keys(&self, oid: u32) -> Result<Keys>;
    /// What is known of the rows of a table.
    fn statistics(&self, table: &BoundTable) -> Option<Arc<TableStatistics>>;
    /// What the database is called, for names that say it; none where a text is read again that was kept with another
    /// name of it.
    fn database(&self) -> Option<&str>;
    /// Schemas to look names up in.
    fn search_path(&self) -> &[String];
    /// The system catalog of a name, and its columns.
    fn system_table(&self, schema: Option<&str>, name: &str) -> Option<SystemTable>;
    /// The rows that a statement has written, if a trigger that runs calls them so: whether they are the new ones, and
    /// their table.
    fn written(&self, name: &str) -> Option<(bool, &TableDesc)>;
    /// Why a table of the library has no such name here, if there is one.
    fn absent(&self, name: &str) -> Option<String>;
    /// For whom policies are chosen.
    fn reader(&self) -> Reader;
}

/// An expression and its type.
#[derive(Clone, Debug)]
pub struct Typed {
    pub expr: Expr,
    pub ty: Type,
    /// Where it begins, if it is a literal, a parameter or a name: what is wrong with it is found out by what it
    /// becomes a part of.
    pub start: Option<Location>,
}

impl Typed {
    pub fn new(expr: Expr, ty: Type) -> Self {
        Self { expr, ty, start: None }
    }

    pub fn constant(value: Value, ty: Type) -> Self {
        Self::new(Expr::Const(value), ty)
    }

    /// One that the statement has at a place.
    #[must_use]
    pub fn from(self, span: Span) -> Self {
        Self { start: Some(span.start), ..self }
    }
}

/// A column of a bound query.
#[derive(Clone, Debug)]
pub struct Output {
    pub name: String,
    pub expr: Expr,
    pub ty: Type,
    /// The table and column that it comes from.
    pub origin: (u32, i16),
}

/// A bound query: rows, and what is computed from each.
#[derive(Debug)]
pub struct Bound {
    pub node: Node,
    pub output: Vec<Output>,
    /// How to find its rows by what it compares with its surroundings.
    pub lookup: Option<crate::plan::expr::Lookup>,
    /// Its tables and the conditions on them, if whoever reads it in FROM plans them together with others: there is no
    /// node then.
    pub rows: Option<(Tree, Vec<Expr>)>,
    /// What of it whoever reads it in FROM plans, with conditions from there: its place is at the bottom of the node.
    pub open: Option<Box<Open>>,
}

impl Bound {
    pub fn new(node: Node, output: Vec<Output>) -> Self {
        Self { node, output, lookup: None, rows: None, open: None }
    }
}

/// A WITH query in scope.
#[derive(Clone, Debug)]
pub struct CteDef {
    pub name: String,
    pub number: usize,
    pub columns: Vec<(String, Type)>,
    /// Columns behind those, of SEARCH and CYCLE, while the recursive term is bound: their names, those that only the
    /// planner knows, and their types. No `*` has them there.
    pub hidden: Vec<(String, &'static str, Type)>,
    /// The fields of columns that are records, by their numbers, as far as they are known.
    pub records: Vec<(usize, Arc<Fields>)>,
    pub stage: with::Stage,
    /// How deep it nests: what names it nests deeper.
    pub height: usize,
    /// If it can be bound as a query in FROM where it is read: how many were defined before it, and in how many
    /// subqueries it stands that may run for each row of others.
    pub place: Option<(usize, usize)>,
}

/// Binds one statement.
pub struct Binder<'b> {
    /// The statement, for places in it; empty while something from the catalog is bound.
    pub text: &'b str,
    pub catalog: &'b Catalog,
    pub lookup: &'b dyn Lookup,
    pub env: &'b Env,
    /// Types of the parameters, as far as they are known.
    pub params: Vec<Option<Type>>,
    /// The variables of the routine that the statement is a part of.
    pub variables: Option<&'b dyn variables::Variables>,
    pub slots: usize,
    pub scans: usize,
    pub keeps: usize,
    /// Which slots are read.
    pub used: Vec<bool>,
    /// The fields of rows that are values: by the slot of the row, their names, slots and types.
    pub composites: HashMap<Slot, Vec<(String, Slot, Type)>>,
    /// The fields of records that are columns of subqueries, as far as they are known.
    records: HashMap<Slot, Arc<Fields>>,
    /// Tables in scope, the innermost query last.
    pub scopes: Vec<Scope>,
    /// Of the aggregates whose arguments are being bound, the innermost last: the level of the query that they stand
    /// in, and the innermost level up to it of which a column was named. Constants are folded, so that the finished
    /// expressions may have lost some of the columns that were named.
    pub named: Vec<(usize, Option<usize>)>,
    pub ctes: Vec<CteDef>,
    /// Tables that the plan depends on.
    pub tables: Vec<(u32, TableId)>,
    /// Tables whose rows decided how they are joined, and how many that were.
    pub estimates: Vec<(Arc<BoundTable>, f64)>,
    /// Views and sequences that the plan depends on.
    pub relations: Vec<u32>,
    /// Whether it reads a materialized view that has no rows yet.
    pub unpopulated: bool,
    /// Whether the plan reads the system catalogs.
    pub whole_catalog: bool,
    pub depth: usize,
    pub deepest: usize,
    /// In the query of a view: the columns of tables that a `*` means end at these numbers.
    pub known_columns: Vec<(u32, i16)>,
    /// What names and stars in the text of the query mean, if somebody wants to know.
    pub noted: Option<Vec<noted::Noted>>,
    /// Whether the column that was found last is one of a relation, by its own name.
    found_own: bool,
    /// The view that it is one of by its own name, and its number there.
    found_in_view: Option<(u32, i16)>,
    /// Where names are looked up.
    pub naming: Naming,
    /// Whether the query at hand may be a statement that writes: WITH at the top, and what follows it.
    pub may_write: bool,
    /// Whether what is written waits until all is read: WITH contains statements that write, or what is done with a row
    /// that is written reads.
    pub writes: bool,
    /// Whether it writes to other tables than temporary ones.
    pub lasting: bool,
    /// Whether an INSERT has ON CONFLICT.
    pub conflicts: bool,
    /// Whether it calls functions that may write.
    pub calls: bool,
    /// Where WITH queries are read, by their numbers.
    pub read_ctes: HashMap<usize, Vec<with::Reading>>,
    /// The WITH queries that are being bound, outer ones first.
    pub within: Vec<usize>,
    /// Which WITH queries stand in FROM where they are read.
    pub placed: with::Placed,
    /// What columns are called that subqueries compute.
    first_names: labels::FirstNames,
    /// Recursive queries that were referred to from inside of them.
    pub recursive_references: Vec<usize>,
    /// Calls of functions that may answer differently each time.
    pub volatile: usize,
    /// Whether a literal means something else at another time.
    pub momentary: bool,
    /// The next SELECT leaves the types of its literals and parameters open: columns that they are for decide.
    pub leaves_open: bool,
    /// What the query at hand says about locking rows.
    pub locking: lock::Locking,
    /// What the query around the next one says about locking its rows.
    pub inherited: Vec<lock::Clause>,
    /// Whether that one does the locking, so that only rows that come out of it are locked.
    pub lifts: bool,
    /// Whether the query that is bound next may leave its tables to the query around it.
    pub pulled: bool,
    /// What the statement uses, which it needs privileges for.
    pub uses: privileges::Uses,
    /// The strongest lock of rows in the statement.
    pub locks: Option<scaledb_parse::locking::Strength>,
    /// Whether the plan would be another one if it knew the values of parameters.
    wants_values: bool,
    /// The cursor whose row the statement writes, and the table that this is one of.
    current_of: Option<crate::plan::CurrentOf>,
    /// What is known of domains.
    domains: domain::Domains,
    /// What is known of policies.
    pub policies: policy::Policies,
}

impl<'b> Binder<'b> {
    /// An error with the place of what it is about, unless it has one.
    pub fn at(&self, span: Span, error: SqlError) -> SqlError {
        self.beginning_at(Some(span.start), error)
    }

    /// An error with the place where an expression begins, if that is known.
    fn beginning_at(&self, start: Option<Location>, error: SqlError) -> SqlError {
        let Some(start) = start else {
            return error;
        };
        if self.text.is_empty() || start.line == 0 {
            return error;
        }
        error.position(scaledb_parse::position_of(self.text, start.line, start.column))
    }

    /// Binds something from the catalog, which has its own text, and names that mean what they meant when it was kept.
    pub fn apart<R>(&mut self, naming: Naming, f: impl FnOnce(&mut Self) -> R) -> R {
        let text = std::mem::take(&mut self.text);
        let naming = std::mem::replace(&mut self.naming, naming);
        let result = f(self);
        (self.text, self.naming) = (text, naming);
        result
    }

    pub fn new(
        catalog: &'b Catalog,
        lookup: &'b dyn Lookup,
        env: &'b Env,
        params: Vec<Option<Type>>,
    ) -> Self {
        Self {
            text: "",
            catalog,
            lookup,
            env,
            params,
            variables: None,
            slots: 0,
            scans: 0,
            keeps: 0,
            used: Vec::new(),
            composites: HashMap::new(),
            records: HashMap::new(),
            scopes: Vec::new(),
            named: Vec::new(),
            ctes: Vec::new(),
            tables: Vec::new(),
            estimates: Vec::new(),
            relations: Vec::new(),
            unpopulated: false,
            whole_catalog: false,
            known_columns: Vec::new(),
            noted: None,
            found_own: false,
            found_in_view: None,
            naming: Naming::Statement,
            depth: 0,
            deepest: 0,
            may_write: true,
            writes: false,
            lasting: false,
            conflicts: false,
            calls: false,
            read_ctes: HashMap::new(),
            within: Vec::new(),
            placed: with::Placed::default(),
            first_names: HashMap::new(),
            recursive_references: Vec::new(),
            volatile: 0,
            momentary: false,
            leaves_open: false,
            locking: lock::Locking::default(),
            inherited: Vec::new(),
            lifts: false,
            pulled: false,
            uses: privileges::Uses::default(),
            locks: None,
            wants_values: false,
            current_of: None,
            domains: domain::Domains::default(),
            policies: policy::Policies::default(),
        }
    }

    /// A new slot.
    pub fn slot(&mut self) -> Slot {
        self.slots += 1;
        self.used.push(false);
        self.slots - 1
    }

    pub fn new_slots(&mut self, count: usize) -> Vec<Slot> {
        (0..count).map(|_| self.slot()).collect()
    }

    /// A new place for kept rows.
    pub fn keep(&mut self) -> usize {
        self.keeps += 1;
        self.keeps - 1
    }

    /// Runs `f` one level deeper.
    ///
    /// # Errors
    /// 54001 if that is too deep.
    pub fn deeper<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Notes that an expression nests so many levels deeper than what is being bound.
    ///
    /// # Errors
    /// 54001 if that is too deep.
    pub fn nests(&mut self, levels: usize) -> Result<()> {
        let depth = self.depth.saturating_add(levels);
        if depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.deepest = self.deepest.max(depth);
        Ok(())
    }

    /// Notes that the plan reads these slots.
    pub fn mark(&mut self, expr: &Expr) {
        let used = &mut self.used;
        expr.slots(&mut |slot| used[slot] = true);
    }

    /// The plan of a bound statement.
    pub fn finish(mut self, bound: Bound, kind: Kind, writes: bool) -> (Plan, Vec<Type>) {
        for output in &bound.output {
            self.mark(&output.expr);
        }
        let mut root = bound.node;
        let mut output: Vec<Expr> = bound.output.into_iter().map(|output| output.expr).collect();
        output.iter_mut().for_each(Expr::simplify);
        prepare(&mut root, &mut self.used, output.iter().any(Expr::needs_worker));
        trim(&mut root, &output, &[]);
        let named = (self.tables.len(), self.relations.len());
        let secured = self.finish_policies();
        let is_estimated = !self.estimates.is_empty();
        let params = self.params.into_iter().map(|ty| ty.unwrap_or(Type::TEXT)).collect();
        let plan = Plan {
            root,
            output,
            kind,
            slots: self.slots,
            scans: self.scans,
            keeps: self.keeps,
            depth: self.deepest,
            tables: self.tables,
            estimates: self.estimates,
            compared: AtomicU64::new(0),
            reads_much: AtomicBool::new(false),
            contended: AtomicBool::new(false),
            steady: self.volatile == 0,
            momentary: self.momentary,
            relations: self.relations,
            unpopulated: self.unpopulated,
            whole_catalog: self.whole_catalog,
            writes: writes || self.writes,
            lasting: self.lasting,
            locks: self.locks.map(scaledb_parse::locking::Strength::statement),
            parts: self.writes,
            conflicts: self.conflicts,
            calls: self.calls,
            wants_values: self.wants_values,
            current_of: self.current_of,
            needs: self.uses.finish(),
            named,
            is_conditional: is_estimated || secured.is_some(),
            secured,
        };
        (plan, params)
    }
}

impl Statement for Binder<'_> {
    fn is_in_another(&self) -> bool {
        self.scopes.len() > 1
    }

    fn slot(&mut self) -> Slot {
        self.slot()
    }

    fn keep(&mut self) -> usize {
        self.keep()
    }

    fn note_read(&mut self, slot: Slot) {
        self.used[slot] = true;
    }

    fn note_values(&mut self) {
        self.wants_values = true;
    }

    fn statistics(&mut self, table: &Arc<BoundTable>) -> Option<Arc<TableStatistics>> {
        let found = self.lookup.statistics(table)?;
        if !self.estimates.iter().any(|(known, _)| known.info.id == table.info.id) {
            self.estimates.push((table.clone(), found.rows));
        }
        Some(found)
    }
}

/// 0A000, with what can be done about it.
#[cold]
pub fn unsupported(what: impl Into<String>) -> SqlError {
    SqlError::unsupported(format!("{} is not supported", what.into()))
}
