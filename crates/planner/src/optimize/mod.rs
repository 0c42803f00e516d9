//! From what a query asks for to operators: access paths, the order of joins, MIN and MAX by an index, top-N,
//! subqueries without what ties them to their surroundings.
//!
//! The binder hands over one SELECT after another, tables and joins as they are written, and the conditions on them;
//! what comes back is operators. Nothing here looks at syntax.

mod access;
mod computed;
pub mod decorrelate;
mod estimate;
mod extreme;
mod foresee;
mod implied;
mod open;
mod order;
mod planner;
pub mod prepare;
mod pull_up;
mod range;
pub mod trim;
mod within;

use crate::plan::expr::Expr;
use crate::plan::joins::{Held, Tree};
use crate::plan::statistics::TableStatistics;
use crate::plan::{Aggregate, BoundTable, Node, Slot, SortKey};
use extreme::extreme_of;
pub use implied::implied;
use planner::{Planner, Wish};
use pull_up::{Made, pull_up};
use scaledb_types::Value;
use std::sync::Arc;

/// The statement whose parts are planned.
pub trait Statement {
    /// Whether the query at hand stands in another one.
    fn is_in_another(&self) -> bool;
    /// A new slot.
    fn slot(&mut self) -> Slot;
    /// A new place for kept rows.
    fn keep(&mut self) -> usize;
    /// Notes that the plan reads a slot.
    fn note_read(&mut self, slot: Slot);
    /// Notes that the plan would be another one if it knew the values of parameters.
    fn note_values(&mut self);
    /// What is known of the rows of a table; the plan depends on it.
    fn statistics(&mut self, table: &Arc<BoundTable>) -> Option<Arc<TableStatistics>>;
}

/// What a query asks of the rows of its tables.
pub struct Asked<'q> {
    /// The order that they should come in.
    pub order: &'q [SortKey],
    /// The keys of groups and the aggregates over them, if it asks for groups.
    pub groups: Option<(&'q [Expr], &'q [Aggregate])>,
    /// Whether only the first rows are wanted.
    pub few: bool,
}

/// The rows of a query's tables.
pub struct Rows {
    pub node: Node,
    /// Whether they come in the order that was asked for.
    pub sorted: bool,
}

/// Plans the rows of tables under conditions, all of which hold for the rows that come out.
pub fn rows(statement: &mut dyn Statement, tree: Tree, mut conditions: Vec<Expr>, asked: &Asked<'_>) -> Rows {
    let Asked { order, groups, few } = *asked;
    let (mut tree, made) = pull_up(tree, &mut conditions);
    let mut order = order.to_vec();
    order.iter_mut().for_each(|key| pull_up::replace(&mut key.expr, &made));
    let computed = computed::replace_all(statement, &mut tree, &mut conditions);
    let order = &ordered_by(statement, &order, &computed)[..];
    let extreme =
        groups.and_then(|(keys, aggregates)| extreme_of(statement, keys, aggregates, &computed, &made));
    let Some((key, there)) = extreme else {
        let mut planner = Planner::new(statement, Wish { order, target: None, few });
        let node = planner.plan(tree, conditions);
        let sorted = planner.ordered && !order.is_empty();
        return Rows { node: computed_of(node, made), sorted };
    };
    conditions.push(there);
    let order = std::slice::from_ref(&key);
    let mut planner = Planner::new(statement, Wish { order, target: None, few: true });
    let mut node = planner.plan(tree, conditions);
    if planner.ordered {
        let one = Expr::Const(Value::Int8(1));
        node = first_of(node, Some(one), None, Vec::new());
    }
    Rows { node: computed_of(node, made), sorted: false }
}

/// What is computed of the rows of an operator.
fn computed_of(node: Node, exprs: Made) -> Node {
    if exprs.is_empty() { node } else { Node::Project { input: Box::new(node), exprs } }
}

/// An order, by columns where they have the values that it is by.
fn ordered_by<'o>(
    statement: &mut dyn Statement,
    order: &'o [SortKey],
    computed: &[Held],
) -> std::borrow::Cow<'o, [SortKey]> {
    if computed.is_empty() || order.is_empty() {
        return std::borrow::Cow::Borrowed(order);
    }
    let key =
        |key: &SortKey| SortKey { expr: computed::by_columns(statement, &key.expr, computed), ..key.clone() };
    order.iter().map(key).collect::<Vec<_>>().into()
}

/// The first rows of an operator, and those behind them that are equal in the slots `ties`; a sort keeps no others
/// then, if it is known how many these are.
pub fn first_of(mut node: Node, limit: Option<Expr>, offset: Option<Expr>, ties: Vec<Slot>) -> Node {
    if let Node::Sort { top, .. } = &mut node {
        *top = ties.is_empty();
    }
    Node::Limit { input: Box::new(node), limit, offset, ties }
}

/// Plans the rows that a statement writes: those of the scan of this number, joined to others.
pub fn written(statement: &mut dyn Statement, tree: Tree, mut conditions: Vec<Expr>, scan: usize) -> Node {
    let (mut tree, made) = pull_up(tree, &mut conditions);
    computed::replace_all(statement, &mut tree, &mut conditions);
    let wish = Wish { order: &[], target: Some(scan), few: false };
    computed_of(Planner::new(statement, wish).plan(tree, conditions), made)
}
