//! WITH: queries that are kept, and those that refer to themselves.

use super::lock;
use super::names::fold;
use super::scope::Scope;
use super::search_cycle::{self, Following};
use super::set_operation::unequal;
use super::tail::{Tail, tail_of};
use super::{Binder, Bound, CteDef, Output, Typed, unsupported};
use crate::plan::{Cte, Inlined, Node, Recursive, Slot};
use scaledb_parse::search_cycle::{Clauses, clauses_of};
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type, common_type};
use sqlparser::ast::{self, CteAsMaterialized, Query, SetExpr, SetOperator, SetQuantifier};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How far a WITH query is bound, and so what it means to refer to it.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// It has been bound, and its readers are outside of it. `recursive`: it refers to itself.
    Whole { recursive: bool },
    /// The query writes, and has no RETURNING.
    Silent,
    /// The query's recursive term is being bound.
    Recursive,
    /// The query must not be referred to.
    Barred(Bar),
}

/// Why a WITH query must not be referred to yet.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// The query stands further behind.
    Forward,
    /// The query's first term is being bound.
    First,
    /// The query is no union of a first and a recursive term.
    Form,
}

impl Bar {
    #[cold]
    pub(super) fn error(self, name: &str) -> SqlError {
        match self {
            Self::Forward => unsupported(format!("a reference to the WITH query \"{name}\" before it"))
                .hint(format!("Write \"{name}\" before the queries that refer to it.")),
            Self::First => {
                let within = "must not appear within its non-recursive term";
                invalid_recursion(format!("recursive reference to query \"{name}\" {within}"))
            }
            Self::Form => {
                let form = "does not have the form non-recursive-term UNION [ALL] recursive-term";
                invalid_recursion(format!("recursive query \"{name}\" {form}"))
            }
        }
    }
}

/// A place where a WITH query is read.
#[derive(Debug)]
pub struct Reading {
    /// Where its columns are.
    pub(super) slots: Vec<Slot>,
    /// The WITH queries that it stands in.
    pub(super) within: Vec<usize>,
    /// The number of the WITH query, if it can be bound as a query in FROM there.
    pub(super) place: Option<usize>,
}

/// WITH queries that are bound as queries in FROM, each where it is read: they are planned with the tables around them
/// then, so that an index of theirs serves a condition from there, as PostgreSQL does it.
///
/// That there is one such place is known when the statement has been bound: then it is bound once more.
#[derive(Debug, Default)]
pub struct Placed {
    /// The numbers of those that can be, in the order in which the statement defines them.
    pub found: Vec<usize>,
    /// The numbers of those that are.
    chosen: HashSet<usize>,
    /// How many have been defined.
    defined: usize,
    /// In how many places each is read, by its number among what is kept: in queries that nobody reads, too.
    reads: HashMap<usize, usize>,
    /// Those that are bound, by their numbers among what is kept, until they stand where they are read.
    bound: HashMap<usize, Option<Bound>>,
    /// How many subqueries are being bound that may run for each row of others.
    pub(super) repeated: usize,
}

impl Placed {
    /// A WITH query is read.
    pub(super) fn note_read(&mut self, number: usize) {
        *self.reads.entry(number).or_default() += 1;
    }

    pub(super) fn is_read_once(&self, number: usize) -> bool {
        self.reads.get(&number) == Some(&1)
    }

    /// Whether a WITH query stands where it is read.
    pub(super) fn stands(&self, number: usize) -> bool {
        self.bound.contains_key(&number)
    }

    /// A WITH query whose place this is. None if it has none, or stands in it by now.
    pub(super) fn take(&mut self, number: usize) -> Option<Bound> {
        self.bound.get_mut(&number)?.take()
    }

    /// Those that the statement was found to have.
    pub fn of(found: Vec<usize>) -> Self {
        Self { chosen: found.into_iter().collect(), ..Self::default() }
    }
}

/// Whether a query writes nothing.
fn is_query(body: &SetExpr) -> bool {
    !matches!(body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// 42P19.
#[cold]
fn invalid_recursion(what: String) -> SqlError {
    SqlError::new(SqlState::INVALID_RECURSION, what)
}

/// The columns of a WITH query, under the names that it gives them.
fn named(name: &str, columns: &[Output], aliases: &[String]) -> Result<Vec<(String, Type)>> {
    if aliases.len() > columns.len() {
        let (there, wanted) = (columns.len(), aliases.len());
        let what =
            format!("WITH query \"{name}\" has {there} columns available but {wanted} columns specified");
        return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, what));
    }
    let renamed = columns.iter().enumerate();
    let renamed = renamed.map(|(at, column)| {
        let ty = if column.ty.base == Base::Unknown { Type::TEXT } else { column.ty };
        (aliases.get(at).unwrap_or(&column.name).clone(), ty)
    });
    Ok(renamed.collect())
}

/// The clause behind a query that says something of all its rows.
fn clause_of(tail: &Tail<'_>) -> Option<&'static str> {
    match () {
        () if !tail.order.is_empty() => Some("ORDER BY"),
        () if tail.offset.is_some() => Some("OFFSET"),
        () if tail.limit.is_some() => Some("LIMIT"),
        () if !tail.locks.is_empty() => Some("FOR UPDATE/SHARE"),
        () => None,
    }
}

impl Binder<'_> {
    pub(super) fn with(&mut self, with: &ast::With, may_write: bool) -> Result<Vec<Cte>> {
        let mut ctes = Vec::new();
        let numbers: Vec<usize> = with.cte_tables.iter().map(|_| self.keep()).collect();
        let mut names = HashSet::new();
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            if let SetExpr::Merge(_) = &*cte.query.body {
                let error = SqlError::unsupported("MERGE not supported in WITH query");
                return Err(self.at(cte.alias.name.span, error));
            }
            if !names.insert(name.clone()) {
                let what = format!("WITH query name \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_ALIAS, what));
            }
        }
        let first = self.ctes.len();
        if with.recursive {
            // a name means the query of this WITH also before it
            for (cte, &number) in with.cte_tables.iter().zip(&numbers).rev() {
                let (name, stage) = (fold(&cte.alias.name), Stage::Barred(Bar::Forward));
                self.stage(name, number, Vec::new(), stage);
            }
        }
        let around = self.within.len();
        for (cte, number) in with.cte_tables.iter().zip(numbers) {
            let name = fold(&cte.alias.name);
            // one that could not be bound has left its own
            self.within.truncate(around);
            self.within.push(number);
            let volatile = self.volatile;
            let uses = self.uses.count();
            let defined = self.placed.defined;
            self.placed.defined += 1;
            let is_placed = self.placed.chosen.contains(&defined);
            let mut reads_outer = false;
            let deepest = std::mem::replace(&mut self.deepest, self.depth);
            let aliases: Vec<String> = cte.alias.columns.iter().map(|column| fold(&column.name)).collect();
            let clauses = cte.from.as_ref().map(|from| clauses_of(from).ok_or_else(search_cycle::misspelt));
            let clauses = clauses.transpose()?;
            let is_union = matches!(&*cte.query.body, SetExpr::SetOperation { op: SetOperator::Union, .. });
            if clauses.is_some() && !(with.recursive && is_union) {
                return Err(search_cycle::not_recursive());
            }
            let bound = match &*cte.query.body {
                SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right }
                    if with.recursive =>
                {
                    let all = matches!(set_quantifier, SetQuantifier::All);
                    let own = self.stage(name.clone(), number, Vec::new(), Stage::Barred(Bar::First));
                    if let Some(inner) = &cte.query.with {
                        ctes.extend(self.with(inner, false)?);
                    }
                    let cte = self.union_cte(&cte.query, (left, right, all), own, (&aliases, clauses))?;
                    // what its own WITH has named ends with it
                    self.ctes.truncate(own + 1);
                    cte
                }
                _ => {
                    let bar = Stage::Barred(Bar::Form);
                    let own = with.recursive.then(|| self.stage(name.clone(), number, Vec::new(), bar));
                    self.may_write = may_write;
                    self.pulled = is_placed;
                    let bound = self.deeper(|binder| binder.query_in_scope(&cte.query));
                    self.may_write = false;
                    let (bound, outer) = bound?;
                    reads_outer = !outer.is_empty();
                    let silent = bound.output.is_empty()
                        && matches!(
                            &*cte.query.body,
                            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_)
                        );
                    let stage = if silent { Stage::Silent } else { Stage::Whole { recursive: false } };
                    let columns = named(&name, &bound.output, &aliases)?;
                    let own = match own {
                        Some(own) => {
                            self.ctes[own].columns = columns;
                            self.ctes[own].stage = stage;
                            own
                        }
                        None => self.stage(name.clone(), number, columns, stage),
                    };
                    let outputs = bound.output.iter().enumerate();
                    let records =
                        outputs.filter_map(|(at, output)| Some((at, self.fields_of(&output.expr)?)));
                    self.ctes[own].records = records.collect();
                    let inlined = match cte.materialized {
                        Some(CteAsMaterialized::Materialized) => Inlined::Never,
                        _ if self.volatile != volatile || !cte.query.locks.is_empty() => Inlined::Never,
                        _ if !is_query(&cte.query.body) => Inlined::Never,
                        Some(CteAsMaterialized::NotMaterialized) => Inlined::Always,
                        None => Inlined::Once,
                    };
                    if is_placed {
                        debug_assert!(inlined != Inlined::Never && !reads_outer, "it can be placed");
                        self.placed.bound.insert(number, Some(bound));
                        let (node, slots) = (Arc::new(Node::Result), Vec::new());
                        Cte { name, number, node, slots, read: true, readers: None, inlined, recursive: None }
                    } else {
                        self.kept(name, number, bound, inlined)
                    }
                }
            };
            if is_query(&cte.query.body) {
                self.uses.of_cte(number, uses);
            }
            self.within.truncate(around);
            // a row of it takes as many levels, wherever it is asked for
            let height = self.deepest - self.depth;
            self.deepest = self.deepest.max(deepest);
            if let Some(def) = self.ctes.iter_mut().rev().find(|def| def.number == number) {
                def.height = height;
                let can = !reads_outer && bound.inlined != Inlined::Never;
                def.place = can.then_some((defined, self.placed.repeated));
            }
            ctes.push(bound);
        }
        // those that stand for queries further behind are behind nothing now
        let barred = |def: &CteDef| matches!(def.stage, Stage::Barred(Bar::Forward));
        let mut number = 0;
        self.ctes.retain(|def| {
            number += 1;
            number <= first || !barred(def)
        });
        Ok(ctes)
    }

    /// Puts a WITH query in scope; its place there.
    fn stage(&mut self, name: String, number: usize, columns: Vec<(String, Type)>, stage: Stage) -> usize {
        let (hidden, records, height, place) = (Vec::new(), Vec::new(), 0, None);
        self.ctes.push(CteDef { name, number, columns, hidden, records, stage, height, place });
        self.ctes.len() - 1
    }

    /// A WITH query that does not refer to itself.
    fn kept(&mut self, name: String, number: usize, bound: Bound, inlined: Inlined) -> Cte {
        let (node, columns) = match inlined {
            Inlined::Never => self.slots_of(bound, &[]),
            Inlined::Once | Inlined::Always => self.open_columns(bound, &[]),
        };
        let slots = columns.iter().map(|column| column.slot).collect();
        let node = Arc::new(node);
        Cte { name, number, node, slots, read: true, readers: None, inlined, recursive: None }
    }

    /// A union that may refer to itself: at `own` in scope.
    fn union_cte(
        &mut self,
        query: &Query,
        (left, right, all): (&SetExpr, &SetExpr, bool),
        own: usize,
        (aliases, clauses): (&[String], Option<Clauses>),
    ) -> Result<Cte> {
        let CteDef { name, number, .. } = self.ctes[own].clone();
        let references = self.recursive_references.len();
        let volatile = self.volatile;
        let mut first = self.term(left)?;
        let mut columns = named(&name, &first.output, aliases)?;
        self.ctes[own].columns.clone_from(&columns);
        let following = match &clauses {
            Some(clauses) => {
                search_cycle::check_terms(left, right)?;
                let following = self.following(clauses, &columns)?;
                first = self.begin_following(first, &following, own)?;
                Some(following)
            }
            None => None,
        };
        self.ctes[own].stage = Stage::Recursive;
        self.placed.repeated += 1;
        let next = match &following {
            Some(following) => self.term(&following.passed_on(right)).map_err(|error| {
                // one that does not read the query has not what it is to pass on
                let reads = self.recursive_references[references..].contains(&number);
                let missing = error.code() == SqlState::UNDEFINED_COLUMN && !reads;
                if missing { search_cycle::not_recursive() } else { error }
            }),
            None => self.term(right),
        };
        self.placed.repeated -= 1;
        let mut next = next?;
        let tail = tail_of(query)?;
        let itself = self.recursive_references[references..].contains(&number);
        self.ctes[own].stage = Stage::Whole { recursive: itself };
        if !itself && following.is_some() {
            return Err(search_cycle::not_recursive());
        }
        if !itself {
            lock::refuse(&lock::clauses(tail.locks)?, "UNION/INTERSECT/EXCEPT")?;
            let bound = self.combine(SetOperator::Union, all, first, next)?;
            let bound = self.with_tail(bound, tail)?;
            self.ctes[own].columns = named(&name, &bound.output, aliases)?;
            return Ok(self.kept(name, number, bound, Inlined::Never));
        }
        if let Some(clause) = clause_of(&tail) {
            return Err(unsupported(format!("{clause} in a recursive query")));
        }
        let passed = following.as_ref().map_or(0, Following::passed);
        if next.output.len() != columns.len() + passed {
            return Err(unequal("UNION"));
        }
        for (at, (output, (_, ty))) in next.output.iter_mut().zip(&columns).enumerate() {
            let overall = common_type(&[*ty, output.ty], "UNION")?;
            if overall != *ty {
                let what = format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    at + 1,
                    ty.sql_name(),
                    overall.sql_name()
                );
                return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what)
                    .hint("Cast the output of the non-recursive term to the correct type."));
            }
            let typed = Typed::new(output.expr.clone(), output.ty);
            output.expr = self.coerce(typed, *ty, Context::Implicit)?.expr;
            output.ty = *ty;
        }
        if let Some(following) = &following {
            following.check_names(&columns)?;
            next = self.follow(next, following)?;
            columns.extend(following.columns());
            self.ctes[own].hidden.clear();
            self.ctes[own].columns = columns;
        }
        let (node, first_columns) = self.slots_of(first, &[]);
        let slots: Vec<Slot> = first_columns.iter().map(|column| column.slot).collect();
        let (next, next_columns) = self.slots_of(next, &[]);
        let next_slots = next_columns.iter().map(|column| column.slot).collect();
        let streams = all && self.volatile == volatile;
        let recursive = Recursive { node: next, slots: next_slots, distinct: !all, streams };
        let recursive = Some(Arc::new(recursive));
        let (node, inlined) = (Arc::new(node), Inlined::Never);
        Ok(Cte { name, number, node, slots, read: true, readers: None, inlined, recursive })
    }

    fn term(&mut self, body: &SetExpr) -> Result<Bound> {
        self.scopes.push(Scope::default());
        self.leaves_open = true;
        let bound = self.deeper(|binder| binder.set_expr(body, Tail::default()));
        self.leaves_open = false;
        self.scopes.pop();
        bound
    }

    /// Notes that a recursive query refers to itself.
    ///
    /// # Errors
    /// 42P19 if it has done so already.
    pub(super) fn refer_recursively(&mut self, cte: &CteDef) -> Result<()> {
        if self.recursive_references.contains(&cte.number) {
            let name = &cte.name;
            let what = format!("recursive reference to query \"{name}\" must not appear more than once");
            return Err(invalid_recursion(what));
        }
        self.recursive_references.push(cte.number);
        self.scope().recursive = true;
        Ok(())
    }

    /// Refuses references of recursive queries to themselves, from one on.
    ///
    /// # Errors
    /// 42P19 if there is one.
    pub(super) fn refuse_recursion(&self, from: usize, within: &str) -> Result<()> {
        for number in &self.recursive_references[from..] {
            // one that is whole by now stands in there altogether
            let open = |cte: &&CteDef| cte.number == *number && matches!(cte.stage, Stage::Recursive);
            if let Some(cte) = self.ctes.iter().find(open) {
                let name = &cte.name;
                let what = format!("recursive reference to query \"{name}\" must not appear within {within}");
                return Err(invalid_recursion(what));
            }
        }
        Ok(())
    }
}
