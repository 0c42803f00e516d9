//! From the operators of a plan to those that PostgreSQL would show.
//!
//! Conditions and columns that have operators of their own here are properties of the ones below there; what a hash
//! join keeps is an operator there, and none here.

use super::expressions::{Extent, Own, compared};
use super::figures::together;
use super::names::Names;
use super::sites::Reaching;
use super::{Child, Data, Detail, Explained, Shown};
use crate::exec::measure::Measures;
use crate::plan::expr::{Ask, Compare, Expr, Subquery};
use crate::plan::{
    Access, Cte, HashJoin, IndexRef, Insert, JoinKind, KeyValue, Modify, NestedLoop, Node, Plan, Scan,
    SetKind, Window,
};
use crate::system::functions::quoted;
use scaledb_engine::Order;
use scaledb_types::Env;
use std::sync::Arc;

/// Stack for expressions and operators that are nested deeply.
const STACK: usize = 16 << 20;

/// A plan as it is shown.
///
/// With `measures`, with what its operators have done.
pub(crate) fn describe(
    plan: &Plan,
    env: &Env,
    reach: &Reaching<'_>,
    verbose: bool,
    measures: Option<&Measures>,
) -> Explained {
    stacker::maybe_grow(STACK, STACK, || {
        let mut describer = Describer {
            names: Names::new(&plan.root, &plan.output),
            env,
            reach,
            verbose,
            measures,
            extent: Extent::default(),
            foreign: false,
            of_groups: false,
            subplans: Vec::new(),
            params: 0,
            pending: Vec::new(),
            growing: Vec::new(),
            first: Vec::new(),
        };
        Explained { root: describer.query(&plan.root, &plan.output) }
    })
}

/// A subquery of an expression.
struct Subplan<'p> {
    sub: &'p Arc<Subquery>,
    /// What stands for it.
    text: String,
    label: String,
    /// Whether an operator has it.
    placed: bool,
}

/// What is known while a plan is described.
pub(super) struct Describer<'p> {
    pub(super) names: Names<'p>,
    pub(super) env: &'p Env,
    pub(super) reach: &'p Reaching<'p>,
    pub(super) verbose: bool,
    pub(super) measures: Option<&'p Measures>,
    pub(super) extent: Extent,
    /// The expression at hand is computed by an operator further down.
    pub(super) foreign: bool,
    /// The expression at hand is one over groups.
    pub(super) of_groups: bool,
    subplans: Vec<Subplan<'p>>,
    /// Subqueries whose results have numbers.
    params: usize,
    /// Subqueries of the operator at hand, by their places in the list.
    pending: Vec<usize>,
    /// Recursive queries whose second term is being described.
    growing: Vec<usize>,
    /// Those that are run once, and WITH queries: they stand at the top of the query at hand.
    first: Vec<Child>,
}

fn text(text: impl Into<String>) -> Data {
    Data::Text(text.into())
}

impl Detail {
    pub(super) fn text(key: &'static str, value: String) -> Self {
        Self { line: Some(format!("{key}: {value}")), fields: vec![(key, Data::Text(value))] }
    }

    fn list(key: &'static str, values: Vec<String>) -> Self {
        let line = Some(format!("{key}: {}", values.join(", ")));
        Self { line, fields: vec![(key, Data::List(values))] }
    }
}

impl Shown {
    fn new(kind: &'static str) -> Self {
        Self { title: kind.to_owned(), kind, ..Self::default() }
    }

    fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Conditions on its rows are properties of it.
    fn filtering(mut self) -> Self {
        self.filters = true;
        self
    }

    fn over(mut self, relationship: &'static str, node: Shown) -> Self {
        self.children.push(Child { relationship, label: None, node });
        self
    }
}

impl<'p> Describer<'p> {
    /// A query: its operators, with what is run once for it at the top.
    pub(super) fn query(&mut self, node: &'p Node, output: &'p [Expr]) -> Shown {
        let first = std::mem::take(&mut self.first);
        let pending = std::mem::take(&mut self.pending);
        let mut shown = self.node(node);
        output.iter().for_each(|expr| self.place(expr));
        self.take_subplans(&mut shown);
        let own = std::mem::replace(&mut self.first, first);
        shown.children.splice(0..0, own);
        self.pending = pending;
        shown
    }

    /// Notes the subqueries of an expression that is not shown itself.
    pub(super) fn place(&mut self, expr: &'p Expr) {
        if let Expr::Subquery(sub) = expr {
            self.subplan(sub, true);
        }
        expr.children(&mut |child| self.place(child));
    }

    /// What stands for a subquery; the operator at hand is to have it, unless it is computed further down.
    pub(super) fn subplan(&mut self, sub: &'p Arc<Subquery>, places: bool) -> String {
        let places = places && !self.foreign;
        let known = self.subplans.iter().position(|known| Arc::ptr_eq(known.sub, sub));
        let at = known.unwrap_or_else(|| {
            let number = self.subplans.len() + 1;
            let once = sub.keep.is_some();
            let (text, label) = match sub.ask {
                Ask::Any(_, Compare::Eq) if once => {
                    (format!("(hashed SubPlan {number})"), format!("SubPlan {number}"))
                }
                Ask::Scalar | Ask::Exists | Ask::Array(_) if once => {
                    self.params += 1;
                    let param = self.params - 1;
                    (format!("${param}"), format!("InitPlan {number} (returns ${param})"))
                }
                _ => (format!("(SubPlan {number})"), format!("SubPlan {number}")),
            };
            self.subplans.push(Subplan { sub, text, label, placed: false });
            self.subplans.len() - 1
        });
        if places && !std::mem::replace(&mut self.subplans[at].placed, true) {
            self.pending.push(at);
        }
        self.subplans[at].text.clone()
    }

    /// Puts the subqueries that were noted below an operator, or to what stands at the top.
    fn take_subplans(&mut self, shown: &mut Shown) {
        for at in std::mem::take(&mut self.pending) {
            let (sub, label) = (self.subplans[at].sub, self.subplans[at].label.clone());
            let node = self.query(&sub.node, &sub.output);
            if label.starts_with("InitPlan") {
                self.first.push(Child { relationship: "InitPlan", label: Some(label), node });
                continue;
            }
            let kept = format!("{label} (all rows, kept by their keys)");
            shown.children.push(Child { relationship: "SubPlan", label: Some(label), node });
            if let Some(node) = self.kept_rows(sub) {
                shown.children.push(Child { relationship: "SubPlan", label: Some(kept), node });
            }
        }
    }

    /// A condition, if there is one.
    fn condition(&mut self, key: &'static str, condition: Option<&'p Expr>, own: Own, to: &mut Shown) {
        if let Some(condition) = condition {
            let text = self.expr(condition, own);
            to.details.push(Detail::text(key, text));
        }
    }

    /// The operators below, then the subqueries of the one at hand.
    fn finish(&mut self, mut shown: Shown, below: &[(&'static str, &'p Node)]) -> Shown {
        let own = std::mem::take(&mut self.pending);
        for (relationship, node) in below {
            let node = self.node(node);
            shown.children.push(Child { relationship, label: None, node });
        }
        self.pending.splice(0..0, own);
        self.take_subplans(&mut shown);
        shown
    }

    fn node(&mut self, node: &'p Node) -> Shown {
        let mut shown = self.operator(node);
        self.measured(node, &mut shown);
        shown
    }

    fn operator(&mut self, node: &'p Node) -> Shown {
        match node {
            Node::Result => Shown::new("Result").filtering(),
            Node::Scan(scan) => self.scan(node, scan),
            Node::ComputedScan { rows, label, slots } => {
                let mut shown = Shown::new("Seq Scan").filtering();
                let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
                let alias = alias.to_owned();
                relation("Seq Scan on", (rows.schema(), rows.name()), &alias, self.verbose, &mut shown);
                shown
            }
            Node::ValuesScan { rows, .. } => {
                rows.iter().flatten().for_each(|expr| self.place(expr));
                let shown = match rows.len() {
                    1 => Shown::new("Result"),
                    _ => {
                        let mut shown = Shown::new("Values Scan").titled("Values Scan on \"*VALUES*\"");
                        shown.about.push(("Alias", text("*VALUES*")));
                        shown
                    }
                };
                self.finish(shown.filtering(), &[])
            }
            Node::FunctionScan { call, label, slots, .. } => {
                call.args().iter().for_each(|arg| self.place(arg));
                let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
                let mut shown = Shown::new("Function Scan").filtering();
                shown.title = on("Function Scan on", call.name(), alias);
                shown.about.push(("Function Name", text(call.name())));
                shown.about.push(("Alias", text(alias)));
                self.finish(shown, &[])
            }
            Node::Filter { input, predicate } => self.filter(input, predicate),
            Node::NestedLoop(join) => self.nested_loop(node, join),
            Node::HashJoin(join) => self.hash_join(node, join),
            Node::Project { input, exprs } => {
                let mut shown = self.node(input);
                exprs.iter().for_each(|(expr, _)| self.place(expr));
                self.take_subplans(&mut shown);
                shown
            }
            Node::Aggregate { input, keys, sets, aggregates } => {
                let mut shown = Shown::new("Aggregate").filtering();
                let strategy = if keys.is_empty() { "Plain" } else { "Hashed" };
                shown.manner = vec![("Strategy", text(strategy)), ("Partial Mode", text("Simple"))];
                if !keys.is_empty() {
                    shown.title = "HashAggregate".to_owned();
                    // the number of the set is no key of the statement
                    let shown_keys = &keys[..keys.len() - usize::from(sets.is_some())];
                    let names: Vec<String> =
                        shown_keys.iter().map(|(expr, _)| self.expr(expr, None)).collect();
                    for set in sets.iter().flat_map(|sets| &sets.sets) {
                        let of_set = names.iter().zip(set).filter(|(_, has)| **has);
                        let of_set: Vec<String> = of_set.map(|(name, _)| name.clone()).collect();
                        let of_set = if of_set.is_empty() { vec!["()".to_owned()] } else { of_set };
                        shown.details.push(Detail::list("Group Key", of_set));
                    }
                    if sets.is_none() {
                        shown.details.push(Detail::list("Group Key", names));
                    }
                }
                for aggregate in aggregates {
                    let exprs = aggregate.args.iter().chain(&aggregate.direct).chain(&aggregate.filter);
                    exprs.for_each(|expr| self.place(expr));
                    aggregate.order.iter().for_each(|key| self.place(&key.expr));
                }
                self.finish(shown, &[("Outer", input)])
            }
            Node::Sort { input, keys, .. } => {
                let keys = keys.iter().map(|key| self.sort_key(key)).collect();
                let mut shown = Shown::new("Sort");
                shown.details.push(Detail::list("Sort Key", keys));
                self.finish(shown, &[("Outer", input)])
            }
            Node::Distinct { input, on, order } => {
                let keys: Vec<String> = on.iter().map(|expr| self.expr(expr, None)).collect();
                let shown = if order.is_none() { hashed_groups(keys) } else { Shown::new("Unique") };
                self.finish(shown, &[("Outer", input)])
            }
            Node::Limit { input, limit, offset } => {
                limit.iter().chain(offset).for_each(|expr| self.place(expr));
                self.finish(Shown::new("Limit"), &[("Outer", input)])
            }
            Node::LockRows { input, .. } => self.finish(Shown::new("LockRows"), &[("Outer", input)]),
            Node::Append { .. } => {
                let mut inputs = Vec::new();
                appended(node, &mut inputs);
                let below: Vec<_> = inputs.into_iter().map(|input| ("Member", input)).collect();
                self.finish(Shown::new("Append"), &below)
            }
            Node::SetOp { kind: SetKind::Union, left, right, .. } => {
                let keys = left.1.iter().map(|slot| self.slot(*slot, None)).collect();
                let below = [("Member", &left.0), ("Member", &right.0)];
                let mut append = self.finish(Shown::new("Append"), &below);
                together(&mut append);
                hashed_groups(keys).over("Outer", append)
            }
            Node::SetOp { kind, left, right, .. } => {
                let command = match kind {
                    SetKind::Union => "Union",
                    SetKind::Intersect => "Intersect",
                    SetKind::IntersectAll => "Intersect All",
                    SetKind::Except => "Except",
                    SetKind::ExceptAll => "Except All",
                };
                let mut shown = Shown::new("SetOp").titled(format!("HashSetOp {command}"));
                shown.manner.push(("Strategy", text("Hashed")));
                shown.about.push(("Command", text(command)));
                self.finish(shown, &[("Outer", &left.0), ("Inner", &right.0)])
            }
            Node::Materialize { input, .. } => self.finish(Shown::new("Materialize"), &[("Outer", input)]),
            Node::With { ctes, input } => {
                for cte in ctes {
                    let node = self.cte(cte);
                    let label = Some(format!("CTE {}", quoted(&cte.name)));
                    self.first.push(Child { relationship: "InitPlan", label, node });
                }
                self.node(input)
            }
            Node::CteScan { number, slots, label, .. } => {
                let name = self.names.cte(*number);
                let alias = self.names.other(slots).map_or(&label.alias[..], |at| self.names.alias(at));
                let kind = if self.growing.contains(number) { "WorkTable Scan" } else { "CTE Scan" };
                let mut shown = Shown::new(kind).filtering();
                shown.title = on(&format!("{kind} on"), name, alias);
                shown.about.push(("CTE Name", text(name)));
                shown.about.push(("Alias", text(alias)));
                shown
            }
            Node::ModifyTable(modify) => self.modify(modify),
            Node::ProjectSet { input, sets } => {
                sets.iter().flat_map(|set| set.call.args()).for_each(|arg| self.place(arg));
                self.finish(Shown::new("ProjectSet"), &[("Outer", input)])
            }
            Node::WindowAgg { input, windows, .. } => self.windows(input, windows),
        }
    }

    /// An operator for each window that is another than that before it, over the sort that it does, if it does one.
    fn windows(&mut self, input: &'p Node, windows: &'p [Window]) -> Shown {
        let mut sorts: Vec<Vec<String>> = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            window.partition.iter().chain(window.exprs()).for_each(|expr| self.place(expr));
            window.order.iter().for_each(|key| self.place(&key.expr));
            let before = number.checked_sub(1).map(|before| &windows[before]);
            match before.filter(|before| window.sorts_as(before)) {
                None => sorts.push(self.window_keys(window)),
                Some(before) if !window.frame.same(&before.frame) => sorts.push(Vec::new()),
                Some(_) => {}
            }
        }
        let mut shown = self.finish(Shown::new("WindowAgg"), &[("Outer", input)]);
        let Some(at) = shown.children.iter().position(|child| child.relationship == "Outer") else {
            return shown;
        };
        let mut below = shown.children.remove(at).node;
        for (number, keys) in sorts.into_iter().enumerate() {
            if number > 0 {
                below = Shown::new("WindowAgg").over("Outer", below);
                together(&mut below);
            }
            if !keys.is_empty() {
                below = Shown::new("Sort").over("Outer", below);
                below.details.push(Detail::list("Sort Key", keys));
                together(&mut below);
            }
        }
        shown.children.insert(at, Child { relationship: "Outer", label: None, node: below });
        shown
    }

    /// What the rows of a window are sorted by.
    fn window_keys(&mut self, window: &'p Window) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        let partition = window.partition.iter().filter(|expr| !matches!(expr, Expr::Const(_)));
        let partition: Vec<&'p Expr> = partition.collect();
        for (number, expr) in partition.iter().enumerate() {
            if !partition[..number].iter().any(|known| known.same(expr)) {
                keys.push(self.unsorted_key(expr));
            }
        }
        for key in &window.order {
            let known = partition.iter().any(|expr| expr.same(&key.expr));
            if !known && !matches!(key.expr, Expr::Const(_)) {
                keys.push(self.sort_key(key));
            }
        }
        keys
    }

    /// A condition is a property of the operator below, if that can have one.
    fn filter(&mut self, input: &'p Node, predicate: &'p Expr) -> Shown {
        let own = self.own_of(input);
        let condition = match input {
            Node::Aggregate { .. } => self.having(predicate),
            _ => self.expr(predicate, own),
        };
        let pending = std::mem::take(&mut self.pending);
        let mut shown = self.node(input);
        let has_one =
            shown.details.iter().any(|detail| detail.fields.iter().any(|(key, _)| *key == "Filter"));
        if !shown.filters || has_one {
            shown = Shown::new("Result").filtering().over("Outer", shown);
        }
        let once = shown.kind == "Result" && shown.children.is_empty();
        shown.details.push(Detail::text(if once { "One-Time Filter" } else { "Filter" }, condition));
        if !once {
            self.removed("Rows Removed by Filter", predicate, self.loops(input), &mut shown);
        }
        self.pending.splice(0..0, pending);
        self.take_subplans(&mut shown);
        shown
    }

    /// The relation that an operator reads itself.
    fn own_of(&self, node: &'p Node) -> Own {
        match node {
            Node::Scan(scan) => self.names.scan(scan.number),
            Node::ComputedScan { slots, .. }
            | Node::FunctionScan { slots, .. }
            | Node::CteScan { slots, .. }
            | Node::ValuesScan { slots, .. } => self.names.other(slots),
            Node::Project { input, .. } | Node::With { input, .. } => self.own_of(input),
            _ => None,
        }
    }

    fn scan(&mut self, node: &'p Node, scan: &'p Scan) -> Shown {
        let own = self.names.scan(scan.number);
        let alias = own.map_or(scan.alias.clone(), |at| self.names.alias(at).to_owned());
        let conditions = self.index_conditions(scan, own);
        let backward = matches!(scan.access, Access::Range { order: Order::Backward, .. });
        let whole = conditions.is_empty() && scan.index == IndexRef::Primary && !backward;
        let desc = &scan.table.desc;
        let names = (&desc.schema[..], &desc.name[..]);
        let mut shown = if whole {
            let mut shown = Shown::new("Seq Scan");
            relation("Seq Scan on", names, &alias, self.verbose, &mut shown);
            shown
        } else {
            let index = scan.table.index_name(scan.index);
            let mut shown = Shown::new("Index Scan");
            let direction = if backward { "Backward" } else { "Forward" };
            shown.about = vec![("Scan Direction", text(direction)), ("Index Name", text(index))];
            let words = if backward { "Index Scan Backward" } else { "Index Scan" };
            let head = format!("{words} using {} on", quoted(index));
            relation(&head, names, &alias, self.verbose, &mut shown);
            shown
        };
        if !conditions.is_empty() {
            shown.details.push(Detail::text("Index Cond", Self::all(conditions)));
        }
        shown.details.extend(self.sites_of_scan(scan));
        self.condition("Filter", scan.filter.as_ref(), own, &mut shown);
        if let Some(filter) = &scan.filter {
            self.removed("Rows Removed by Filter", filter, self.loops(node), &mut shown);
        }
        self.finish(shown.filtering(), &[])
    }

    fn index_conditions(&mut self, scan: &'p Scan, own: Own) -> Vec<String> {
        let columns = scan.table.index(scan.index);
        let name = |at: usize| {
            let column = columns.get(at).map_or("", |column| &scan.table.desc.columns[column.position].name);
            quoted(column)
        };
        let mut conditions = Vec::new();
        let (key, low, high) = match &scan.access {
            Access::Point { key, .. } => (key, None, None),
            Access::Range { key, low, high, .. } => (key, low.as_ref(), high.as_ref()),
        };
        for (at, value) in key.iter().enumerate() {
            let name = self.qualified(own, &name(at));
            conditions.push(match value {
                KeyValue::One(expr) => compared(&name, Compare::Eq, &self.operand(expr, own)),
                KeyValue::List(list) => format!("({name} = ANY ({}))", self.any_list(list, own)),
                KeyValue::Array(expr) => format!("({name} = ANY ({}))", self.expr(expr, own)),
            });
        }
        let name = self.qualified(own, &name(key.len()));
        for (bound, inclusive, exclusive) in
            [(low, Compare::Ge, Compare::Gt), (high, Compare::Le, Compare::Lt)]
        {
            if let Some(bound) = bound {
                let op = if bound.inclusive { inclusive } else { exclusive };
                conditions.push(compared(&name, op, &self.operand(&bound.value, own)));
            }
        }
        conditions
    }

    /// The name of a column of the relation at hand.
    fn qualified(&self, own: Own, name: &str) -> String {
        match own {
            Some(own) if self.verbose => format!("{}.{name}", quoted(self.names.alias(own))),
            _ => name.to_owned(),
        }
    }

    fn nested_loop(&mut self, node: &'p Node, join: &'p NestedLoop) -> Shown {
        let mut shown = Shown::new("Nested Loop").filtering();
        if join.kind == JoinKind::Left {
            shown.title = "Nested Loop Left Join".to_owned();
        }
        shown.about.push(("Join Type", text(if join.kind == JoinKind::Left { "Left" } else { "Inner" })));
        self.condition("Join Filter", join.on.as_ref(), None, &mut shown);
        if let Some(on) = &join.on {
            self.removed("Rows Removed by Join Filter", on, self.loops(node), &mut shown);
        }
        self.finish(shown, &[("Outer", &join.outer), ("Inner", &join.inner)])
    }

    fn hash_join(&mut self, node: &'p Node, join: &'p HashJoin) -> Shown {
        let (word, kind) = match (join.full, join.kind) {
            (true, _) => (" Full", "Full"),
            (_, JoinKind::Left) => (" Left", "Left"),
            (_, JoinKind::Inner) => ("", "Inner"),
        };
        let mut shown = Shown::new("Hash Join").titled(format!("Hash{word} Join")).filtering();
        shown.about.push(("Join Type", text(kind)));
        let mut pairs = Vec::new();
        for (outer, inner) in join.outer_keys.iter().zip(&join.inner_keys) {
            let (outer, inner) = (self.operand(outer, None), self.operand(inner, None));
            pairs.push(compared(&outer, Compare::Eq, &inner));
        }
        shown.details.push(Detail::text("Hash Cond", Self::all(pairs)));
        self.condition("Join Filter", join.on.as_ref(), None, &mut shown);
        if let Some(on) = &join.on {
            self.removed("Rows Removed by Join Filter", on, self.loops(node), &mut shown);
        }
        let pending = std::mem::take(&mut self.pending);
        let outer = self.node(&join.outer);
        let inner = self.node(&join.inner);
        let mut hash = Shown::new("Hash");
        hash.figures = inner.figures;
        self.memory_of(node, &mut hash);
        let hash = hash.over("Outer", inner);
        let mut shown = shown.over("Outer", outer).over("Inner", hash);
        self.pending.splice(0..0, pending);
        self.take_subplans(&mut shown);
        shown
    }

    fn cte(&mut self, cte: &'p Cte) -> Shown {
        let first = self.query(&cte.node, &[]);
        let Some(recursive) = &cte.recursive else { return first };
        self.growing.push(cte.number);
        let next = self.query(&recursive.node, &[]);
        self.growing.pop();
        let mut union = Shown::new("Recursive Union").over("Outer", first).over("Inner", next);
        // of distinct rows, some may have been dropped
        if !recursive.distinct {
            together(&mut union);
        }
        union
    }

    fn modify(&mut self, modify: &'p Modify) -> Shown {
        let (word, table, source, scan) = match modify {
            Modify::Insert(insert) => ("Insert", &insert.table, &insert.source, None),
            Modify::Update(update) => ("Update", &update.table, &update.source, Some(update.target)),
            Modify::Delete(delete) => ("Delete", &delete.table, &delete.source, Some(delete.target)),
        };
        let desc = &table.desc;
        let alias = scan.and_then(|scan| self.names.scan(scan)).map(|at| self.names.alias(at).to_owned());
        let alias = alias.unwrap_or_else(|| desc.name.clone());
        let mut shown = Shown::new("ModifyTable");
        shown.manner.push(("Operation", text(word)));
        relation(&format!("{word} on"), (&desc.schema, &desc.name), &alias, self.verbose, &mut shown);
        let returning = match modify {
            Modify::Insert(insert) => {
                self.conflict(insert, &mut shown);
                insert.values.iter().for_each(|expr| self.place(expr));
                &insert.returning
            }
            Modify::Update(update) => {
                update.set.iter().for_each(|(_, expr)| self.place(expr));
                &update.returning
            }
            Modify::Delete(delete) => &delete.returning,
        };
        returning.iter().flatten().for_each(|expr| self.place(expr));
        shown.details.extend(self.primaries(table));
        self.finish(shown, &[("Outer", source)])
    }

    /// ON CONFLICT.
    fn conflict(&mut self, insert: &'p Insert, shown: &mut Shown) {
        let Some(conflict) = &insert.conflict else { return };
        let resolution = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        shown.details.push(Detail::text("Conflict Resolution", resolution.to_owned()));
        if let Some(index) = conflict.index {
            let name = quoted(insert.table.index_name(index));
            shown.details.push(Detail::list("Conflict Arbiter Indexes", vec![name]));
        }
        if let Some(update) = &conflict.update {
            update.set.iter().for_each(|(_, expr)| self.place(expr));
            self.condition("Conflict Filter", update.filter.as_ref(), None, shown);
        }
    }
}

/// The inputs of appends within appends.
fn appended<'p>(node: &'p Node, out: &mut Vec<&'p Node>) {
    match node {
        Node::Append { inputs, .. } => inputs.iter().for_each(|(input, _)| appended(input, out)),
        other => out.push(other),
    }
}

fn hashed_groups(keys: Vec<String>) -> Shown {
    let mut shown = Shown::new("Aggregate").titled("HashAggregate").filtering();
    shown.manner = vec![("Strategy", text("Hashed")), ("Partial Mode", text("Simple"))];
    shown.details.push(Detail::list("Group Key", keys));
    shown
}

/// `Seq Scan on t a`.
fn on(head: &str, name: &str, alias: &str) -> String {
    if name == alias {
        format!("{head} {}", quoted(name))
    } else {
        format!("{head} {} {}", quoted(name), quoted(alias))
    }
}

/// Says what relation an operator is about.
fn relation(head: &str, (schema, name): (&str, &str), alias: &str, verbose: bool, shown: &mut Shown) {
    let head = if verbose { format!("{head} {}.", quoted(schema)) } else { format!("{head} ") };
    let alias_shown = if name == alias { String::new() } else { format!(" {}", quoted(alias)) };
    shown.title = format!("{head}{}{alias_shown}", quoted(name));
    shown.about.push(("Relation Name", text(name)));
    if verbose {
        shown.about.push(("Schema", text(schema)));
    }
    shown.about.push(("Alias", text(alias)));
}
