//! How many rows parts of a plan yield, from what statistics say of tables.

use super::order::{Condition, Giving, Index, Mask, NEVER, Part, share, share_of_all};
use super::planner::Planner;
use crate::plan::expr::{Compare, Expr};
use crate::plan::joins::{Open, OpenPart, Tree};
use crate::plan::statistics::{ColumnStatistics, FEW, TableStatistics};
use crate::plan::{BoundTable, IndexRef, Node, Slot};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Rows of what nothing is known of.
const UNKNOWN: f64 = 1_000.0;

/// What is known of the tables of a query.
#[derive(Default)]
pub(super) struct Facts {
    /// By the number of the scan.
    tables: HashMap<usize, Arc<TableStatistics>>,
    /// The scan and the column of each slot.
    columns: HashMap<Slot, (usize, usize)>,
}

impl Facts {
    /// The column that an expression is.
    fn column(&self, expr: &Expr) -> Option<&ColumnStatistics> {
        let (scan, column) = self.columns.get(&super::access::widened(expr)?.0)?;
        self.tables.get(scan)?.columns.get(*column)
    }

    /// The share of rows that a condition leaves.
    pub(super) fn share(&self, condition: &Expr) -> f64 {
        share(condition, &|expr| self.column(expr))
    }

    /// The share of rows that conditions leave together.
    pub(super) fn share_of_all<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> f64 {
        share_of_all(conditions, &|expr| self.column(expr))
    }

    /// The rows of a table. What has none may have been filled since.
    pub(super) fn rows(&self, scan: usize) -> f64 {
        let rows = self.tables.get(&scan).map_or(UNKNOWN, |table| table.rows);
        if rows < 1.0 { FEW } else { rows }
    }
}

impl Planner<'_> {
    /// Looks up the statistics of the tables of a tree.
    pub(super) fn learn(&mut self, tree: &Tree) {
        match tree {
            Tree::Leaf(leaf) => {
                if let Some(open) = &leaf.open {
                    self.learn_open(open);
                }
                let Some(table) = leaf.scanned() else { return };
                if let Some(found) = self.statement.statistics(table) {
                    let scan = leaf.number();
                    let columns = leaf.slots.iter().enumerate().map(|(at, &slot)| (slot, (scan, at)));
                    self.facts.columns.extend(columns);
                    self.facts.tables.insert(scan, found);
                }
            }
            Tree::Inner(parts, _) => parts.iter().for_each(|part| self.learn(part)),
            Tree::Left(left, right, _) | Tree::Full(left, right, _) => {
                self.learn(left);
                self.learn(right);
            }
            Tree::Derived(derived) => self.learn(&derived.tree),
        }
    }

    fn learn_open(&mut self, open: &Open) {
        match &open.part {
            OpenPart::Rows(tree, _) => self.learn(tree),
            OpenPart::Sides(sides) => sides.iter().flatten().for_each(|side| self.learn_open(side)),
        }
    }

    /// The rows of what is not planned yet, and what it costs to read them.
    fn rows_of_open(&self, open: &Open) -> (f64, f64) {
        match &open.part {
            OpenPart::Rows(tree, conditions) => {
                let (rows, cost) = self.rows_of(tree);
                ((rows * self.facts.share_of_all(conditions)).max(1.0), cost * 2.0)
            }
            OpenPart::Sides(sides) => {
                let sides = sides.iter().map(|side| match side {
                    Some(open) => self.rows_of_open(open),
                    None => (UNKNOWN, UNKNOWN * 2.0),
                });
                sides.fold((0.0, 0.0), |(rows, cost), (r, c)| (rows + r, cost + c))
            }
        }
    }

    /// The rows of a tree, and what it costs to read them, without conditions from outside.
    fn rows_of(&self, tree: &Tree) -> (f64, f64) {
        match tree {
            Tree::Leaf(leaf) => match leaf.node() {
                Some(node) if let Some(open) = &leaf.open => {
                    let (rows, cost) = self.rows_of_open(open);
                    (if groups(node) { rows.powf(0.8) } else { rows }, cost)
                }
                Some(node) => {
                    let rows = node_rows(node);
                    (rows, rows * 2.0)
                }
                None => {
                    let rows = self.facts.rows(leaf.number());
                    (rows, rows)
                }
            },
            Tree::Inner(parts, on) => {
                let all = parts.iter().map(|part| self.rows_of(part));
                let (rows, cost) = all.fold((1.0, 0.0), |(rows, cost), (r, c)| (rows * r, cost + c));
                let rows = rows * self.facts.share_of_all(on);
                (rows.max(1.0), cost * 2.0)
            }
            Tree::Left(left, right, _) => {
                let (left, right) = (self.rows_of(left), self.rows_of(right));
                (left.0, (left.1 + right.1) * 2.0)
            }
            Tree::Full(left, right, _) => {
                let (left, right) = (self.rows_of(left), self.rows_of(right));
                (left.0 + right.0, (left.1 + right.1) * 2.0)
            }
            Tree::Derived(derived) => {
                let (rows, cost) = self.rows_of(&derived.tree);
                let rows = rows * self.facts.share_of_all(&derived.conditions);
                (rows.max(1.0), cost)
            }
        }
    }

    /// Trees that are to be joined, and the conditions on them, for the choice of an order.
    pub(super) fn parts(
        &self,
        trees: &[&Tree],
        conditions: &[Expr],
        bound: &HashSet<Slot>,
    ) -> (Vec<Part>, Vec<Condition>) {
        let mut places: HashMap<Slot, usize> = HashMap::new();
        for (number, tree) in trees.iter().enumerate() {
            let mut slots = Vec::new();
            tree.slots(&mut slots);
            places.extend(slots.into_iter().map(|slot| (slot, number)));
        }
        let place = |slot: Slot| match places.get(&slot) {
            Some(number) => 1 << number,
            None if bound.contains(&slot) || !self.is_own(slot) => 0,
            None => NEVER,
        };
        let needs = |expr: &Expr| {
            let mut mask: Mask = 0;
            expr.slots(&mut |slot| mask |= place(slot));
            mask
        };
        let known: Vec<Condition> = conditions
            .iter()
            .map(|condition| Condition {
                needs: needs(condition),
                share: self.facts.share(condition),
                sides: match condition {
                    Expr::Compare(Compare::Eq, pair) => Some((needs(&pair.0), needs(&pair.1))),
                    _ => None,
                },
            })
            .collect();
        let parts = trees.iter().enumerate().map(|(number, tree)| {
            let bit = 1 << number;
            let (raw, mut cost) = self.rows_of(tree);
            let own = known.iter().zip(conditions).filter(|(known, _)| known.needs == bit);
            let rows = (raw * self.facts.share_of_all(own.map(|(_, condition)| condition))).max(1e-3);
            let mut outer = Vec::new();
            tree.outer(&mut outer);
            let mut part = Part { raw, rows, ..Part::default() };
            part.needs = outer.into_iter().map(place).fold(0, |mask, place| mask | place) & !bit;
            if let Some(leaf) = tree.leaf()
                && let Some(table) = leaf.scanned()
            {
                part.indexes = indexes(table, &leaf.slots, conditions, &needs);
                for index in &part.indexes {
                    cost = cost.min(index.cost_alone(&known, raw));
                }
            }
            part.cost = cost;
            part.first = true;
            part
        });
        (parts.collect(), known)
    }
}

/// The indexes of a table, with the conditions that give values to their columns.
fn indexes(
    table: &BoundTable,
    slots: &[Slot],
    conditions: &[Expr],
    needs: &dyn Fn(&Expr) -> Mask,
) -> Vec<Index> {
    let all = std::iter::once(IndexRef::Primary).chain((0..table.secondary.len()).map(IndexRef::Secondary));
    let one = |index: IndexRef| {
        let columns = table.index_columns(index).iter().map(|column| {
            let slot = slots[column.position];
            let giving = conditions.iter().enumerate().filter_map(|(number, condition)| {
                let mut mask = 0;
                super::access::equal_to(condition, slot, column.ty)?.exprs(&mut |expr| mask |= needs(expr));
                Some((number, mask))
            });
            giving.collect::<Giving>()
        });
        let unique = match index {
            IndexRef::Primary => !table.primary.is_empty(),
            IndexRef::Secondary(number) => table.desc.indexes[number].is_unique_at_once(),
        };
        Index { unique, columns: columns.collect() }
    };
    all.map(one).filter(|index| index.columns.first().is_some_and(|column| !column.is_empty())).collect()
}

/// Rows that a plan reads of tables at the least, if all of its rows are asked for.
pub(super) fn rows_read(node: &Node) -> f64 {
    match node {
        Node::Scan(scan) => scan.rows,
        Node::NestedLoop(join) => rows_read(&join.outer),
        Node::HashJoin(join) => rows_read(&join.outer) + rows_read(&join.inner),
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Sort { input, .. }
        | Node::Distinct { input, .. }
        | Node::Materialize { input, .. }
        | Node::WindowAgg { input, .. } => rows_read(input),
        _ => 0.0,
    }
}

/// Whether rows are grouped on the way up.
fn groups(node: &Node) -> bool {
    match node {
        Node::Aggregate { .. } | Node::Distinct { .. } => true,
        Node::Filter { input, .. } | Node::Project { input, .. } | Node::WindowAgg { input, .. } => {
            groups(input)
        }
        _ => false,
    }
}

/// The rows of an operator.
fn node_rows(node: &Node) -> f64 {
    match node {
        Node::Result => 1.0,
        Node::Scan(scan) => scan.rows,
        Node::ComputedScan { .. } | Node::CteScan { .. } => UNKNOWN,
        Node::ValuesScan { rows, .. } => rows.len() as f64,
        Node::FunctionScan { .. } => 100.0,
        Node::Filter { input, .. } => node_rows(input) / 3.0,
        Node::NestedLoop(join) => node_rows(&join.outer) * node_rows(&join.inner).max(0.1),
        Node::HashJoin(join) => node_rows(&join.outer).max(node_rows(&join.inner)),
        Node::Aggregate { keys, .. } if keys.is_empty() => 1.0,
        Node::Aggregate { input, .. } => node_rows(input).powf(0.8),
        Node::Limit { input, limit: Some(Expr::Const(limit)), .. } => {
            node_rows(input).min(limit.as_i64().map_or(UNKNOWN, |limit| limit as f64))
        }
        Node::Project { input, .. }
        | Node::Sort { input, .. }
        | Node::Distinct { input, .. }
        | Node::Limit { input, .. }
        | Node::Materialize { input, .. }
        | Node::With { input, .. }
        | Node::ProjectSet { input, .. }
        | Node::LockRows { input, .. }
        | Node::WindowAgg { input, .. } => node_rows(input),
        Node::Append { inputs, .. } => inputs.iter().map(|(input, _)| node_rows(input)).sum(),
        Node::SetOp { left, .. } => node_rows(&left.0),
        Node::ModifyTable(_) => UNKNOWN,
    }
}
