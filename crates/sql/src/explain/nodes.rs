//! From the operators of a plan to those that PostgreSQL would show.
//!
//! Conditions and columns that have operators of their own here are properties of the ones below there; what a hash
//! join keeps is an operator there, and none here.

use super::expressions::{Extent, Own};
use super::names::Names;
use super::sites::Reaching;
use super::{Child, Data, Detail, Explained, Shown};
use crate::exec::measure::Measures;
use scaledb_parse::lex::quoted;
use scaledb_planner::plan::expr::{Ask, Compare, Expr, Subquery};
use scaledb_planner::plan::{Node, Plan};
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
    pub(super) pending: Vec<usize>,
    /// Recursive queries whose second term is being described.
    pub(super) growing: Vec<usize>,
    /// Those that are run once, and WITH queries: they stand at the top of the query at hand.
    pub(super) first: Vec<Child>,
}

/// A text, as JSON, XML and YAML show it.
pub(super) fn text(text: impl Into<String>) -> Data {
    Data::Text(text.into())
}

impl Detail {
    pub(super) fn text(key: &'static str, value: String) -> Self {
        Self { line: Some(format!("{key}: {value}")), fields: vec![(key, Data::Text(value))] }
    }

    pub(super) fn list(key: &'static str, values: Vec<String>) -> Self {
        let line = Some(format!("{key}: {}", values.join(", ")));
        Self { line, fields: vec![(key, Data::List(values))] }
    }
}

impl Shown {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { title: kind.to_owned(), kind, ..Self::default() }
    }

    pub(super) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Conditions on its rows are properties of it.
    pub(super) fn filtering(mut self) -> Self {
        self.filters = true;
        self
    }

    pub(super) fn over(mut self, relationship: &'static str, node: Shown) -> Self {
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
        self.returned(output, &mut shown);
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
                Ask::Scalar | Ask::Exists | Ask::Array(_) | Ask::Row(_) | Ask::One(..) if once => {
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
    pub(super) fn take_subplans(&mut self, shown: &mut Shown) {
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
    pub(super) fn condition(
        &mut self,
        key: &'static str,
        condition: Option<&'p Expr>,
        own: Own,
        to: &mut Shown,
    ) {
        if let Some(condition) = condition {
            let text = self.expr(condition, own);
            to.details.push(Detail::text(key, text));
        }
    }

    /// The operators below, then the subqueries of the one at hand.
    pub(super) fn finish(&mut self, mut shown: Shown, below: &[(&'static str, &'p Node)]) -> Shown {
        let own = std::mem::take(&mut self.pending);
        for (relationship, node) in below {
            let node = self.node(node);
            shown.children.push(Child { relationship, label: None, node });
        }
        self.pending.splice(0..0, own);
        self.take_subplans(&mut shown);
        shown
    }

    pub(super) fn node(&mut self, node: &'p Node) -> Shown {
        let mut shown = self.operator(node);
        self.handed_on(node, &mut shown);
        self.measured(node, &mut shown);
        shown
    }

    fn operator(&mut self, node: &'p Node) -> Shown {
        match node {
            Node::Result => Shown::new("Result").filtering(),
            Node::Scan(scan) => self.scan(node, scan),
            Node::ComputedScan { rows, label, slots } => self.computed_scan(*rows, label, slots),
            Node::ValuesScan { rows, .. } => self.values_scan(rows),
            Node::FunctionScan { call, label, slots, .. } => self.function_scan(call, label, slots),
            Node::Filter { input, predicate } => self.filter(input, predicate),
            Node::NestedLoop(join) => self.nested_loop(node, join),
            Node::HashJoin(join) => self.hash_join(node, join),
            Node::Project { input, exprs } => self.project(input, exprs),
            Node::Aggregate { input, keys, sets, aggregates } => {
                self.aggregation(input, (keys, sets.as_ref()), aggregates)
            }
            Node::Sort { input, keys, .. } => self.sort(input, keys),
            Node::Distinct { input, on, order } => self.distinct(input, on, order.is_some()),
            Node::Limit { input, limit, offset, .. } => self.limit(input, limit.iter().chain(offset)),
            Node::LockRows { input, .. } => self.finish(Shown::new("LockRows"), &[("Outer", input)]),
            Node::Append { .. } => self.append(node),
            Node::SetOp { kind, left, right, .. } => self.set_operation(*kind, left, right),
            Node::Materialize { input, .. } => self.finish(Shown::new("Materialize"), &[("Outer", input)]),
            Node::With { ctes, input } => self.with(ctes, input),
            Node::CteScan { number, slots, label, .. } => self.cte_scan(*number, label, slots),
            Node::ModifyTable(modify) => self.modify(modify),
            Node::ProjectSet { input, sets } => self.project_set(input, sets),
            Node::WindowAgg { input, windows, .. } => self.windows(input, windows),
        }
    }
}

/// Says what relation an operator is about.
pub(super) fn relation(
    head: &str,
    (schema, name): (&str, &str),
    alias: &str,
    verbose: bool,
    shown: &mut Shown,
) {
    let head = if verbose { format!("{head} {}.", quoted(schema)) } else { format!("{head} ") };
    let alias_shown = if name == alias { String::new() } else { format!(" {}", quoted(alias)) };
    shown.title = format!("{head}{}{alias_shown}", quoted(name));
    shown.about.push(("Relation Name", text(name)));
    if verbose {
        shown.about.push(("Schema", text(schema)));
    }
    shown.about.push(("Alias", text(alias)));
}
