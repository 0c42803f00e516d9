//! What is read nowhere is not kept: columns that only the way to a row settles are not loaded, those that only the
//! scan's own filter reads stand apart, and a hash join keeps of its inner rows what is read above it.
//!
//! ```text
//!   all reads of a slot  -  those by the scan's filter          0: for the filter alone
//!                        -  those within the inner side         0: not kept in the hash table
//! ```

use crate::plan::expr::Expr;
use crate::plan::{Aggregate, Cte, HashJoin, Node, Scan, Slot, SortKey};
use std::collections::HashMap;
use std::sync::Arc;

/// How often each slot is read.
#[derive(Default)]
struct Reads(HashMap<Slot, usize>);

/// Trims a plan that is prepared, of whose rows these expressions and slots are read. One that writes or locks is left
/// as it is: more of its rows is read than its expressions say.
pub fn trim<'e>(node: &mut Node, exprs: impl IntoIterator<Item = &'e Expr>, slots: &[Slot]) {
    let mut all = Reads::default();
    if !all.node(node) {
        return;
    }
    exprs.into_iter().for_each(|expr| all.expr(expr));
    slots.iter().for_each(|&slot| all.slot(slot));
    cut(node, &all);
}

fn cut(node: &mut Node, all: &Reads) {
    match node {
        Node::Scan(scan) => cut_scan(scan, all),
        Node::HashJoin(join) => {
            cut_inner(join, all);
            cut(&mut join.outer, all);
            cut(&mut join.inner, all);
        }
        Node::NestedLoop(join) => {
            cut(&mut join.outer, all);
            cut(&mut join.inner, all);
        }
        Node::With { ctes, input } => {
            for cte in ctes {
                if let Some(node) = Arc::get_mut(&mut cte.node) {
                    cut(node, all);
                }
                if let Some(recursive) = cte.recursive.as_mut().and_then(Arc::get_mut) {
                    cut(&mut recursive.node, all);
                }
            }
            cut(input, all);
        }
        Node::Append { inputs, .. } => inputs.iter_mut().for_each(|(input, _)| cut(input, all)),
        Node::SetOp { left, right, .. } => {
            cut(&mut left.0, all);
            cut(&mut right.0, all);
        }
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Sort { input, .. }
        | Node::Distinct { input, .. }
        | Node::LockRows { input, .. }
        | Node::Limit { input, .. }
        | Node::Materialize { input, .. }
        | Node::ProjectSet { input, .. }
        | Node::WindowAgg { input, .. } => cut(input, all),
        Node::Result
        | Node::ComputedScan { .. }
        | Node::ValuesScan { .. }
        | Node::FunctionScan { .. }
        | Node::CteScan { .. }
        | Node::ModifyTable(_) => {}
    }
}

fn cut_scan(scan: &mut Scan, all: &Reads) {
    let mut own = Reads::default();
    scan.filter.iter().for_each(|filter| own.expr(filter));
    scan.loads.retain_for(|slot| all.of(slot) > 0, |slot| all.of(slot) > own.of(slot));
    scan.projection = scan.loads.projection(&scan.table);
}

fn cut_inner(join: &mut HashJoin, all: &Reads) {
    let mut within = Reads::default();
    within.node(&join.inner);
    join.inner_keys.iter().for_each(|key| within.expr(key));
    join.inner_slots.retain(|&slot| all.of(slot) > within.of(slot));
    join.outer_slots.retain(|&slot| all.of(slot) > 0);
}

impl Reads {
    fn of(&self, slot: Slot) -> usize {
        self.0.get(&slot).copied().unwrap_or(0)
    }

    fn slot(&mut self, slot: Slot) {
        *self.0.entry(slot).or_default() += 1;
    }

    fn slots(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|&slot| self.slot(slot));
    }

    fn expr(&mut self, expr: &Expr) {
        expr.slots(&mut |slot| self.slot(slot));
    }

    fn keys(&mut self, keys: &[SortKey]) {
        keys.iter().for_each(|key| self.expr(&key.expr));
    }

    /// Counts what an operator reads, and those below it; false if it does not say all that is read.
    fn node(&mut self, node: &Node) -> bool {
        match node {
            Node::ModifyTable(_) | Node::LockRows { .. } => return false,
            Node::Result | Node::ComputedScan { .. } | Node::CteScan { .. } => {}
            Node::Scan(scan) => {
                scan.access.exprs(&mut |expr| self.expr(expr));
                scan.filter.iter().for_each(|filter| self.expr(filter));
                return scan.locked.is_none();
            }
            Node::ValuesScan { rows, .. } => rows.iter().flatten().for_each(|expr| self.expr(expr)),
            Node::FunctionScan { call, .. } => call.args().iter().for_each(|arg| self.expr(arg)),
            Node::Filter { input, predicate } => {
                self.expr(predicate);
                return self.node(input);
            }
            Node::NestedLoop(join) => {
                join.on.iter().for_each(|on| self.expr(on));
                return self.node(&join.outer) && self.node(&join.inner);
            }
            Node::HashJoin(join) => {
                join.inner_keys.iter().chain(&join.outer_keys).chain(&join.on).for_each(|key| self.expr(key));
                return self.node(&join.outer) && self.node(&join.inner);
            }
            Node::Project { input, exprs } => {
                exprs.iter().for_each(|(expr, _)| self.expr(expr));
                return self.node(input);
            }
            Node::Aggregate { input, keys, aggregates, .. } => {
                keys.iter().for_each(|(expr, _)| self.expr(expr));
                self.aggregates(aggregates);
                return self.node(input);
            }
            Node::Sort { input, keys, carry, .. } => {
                self.keys(keys);
                self.slots(carry);
                return self.node(input);
            }
            Node::Distinct { input, on, order } => {
                on.iter().chain(order.iter().flatten()).for_each(|expr| self.expr(expr));
                return self.node(input);
            }
            Node::Limit { input, limit, offset, ties } => {
                limit.iter().chain(offset).for_each(|expr| self.expr(expr));
                self.slots(ties);
                return self.node(input);
            }
            Node::Append { inputs, .. } => {
                inputs.iter().for_each(|(_, from)| self.slots(from));
                return inputs.iter().all(|(input, _)| self.node(input));
            }
            Node::SetOp { left, right, .. } => {
                self.slots(&left.1);
                self.slots(&right.1);
                return self.node(&left.0) && self.node(&right.0);
            }
            Node::Materialize { input, depends, slots, .. } => {
                self.slots(&depends.slots);
                self.slots(slots);
                return self.node(input);
            }
            Node::With { ctes, input } => return self.ctes(ctes) && self.node(input),
            Node::ProjectSet { input, sets } => {
                sets.iter().flat_map(|set| set.call.args()).for_each(|arg| self.expr(arg));
                return self.node(input);
            }
            Node::WindowAgg { input, windows, carry } => {
                for window in windows {
                    window.partition.iter().chain(window.exprs()).for_each(|expr| self.expr(expr));
                    self.keys(&window.order);
                }
                self.slots(carry);
                return self.node(input);
            }
        }
        true
    }

    fn ctes(&mut self, ctes: &[Cte]) -> bool {
        ctes.iter().all(|cte| {
            self.slots(&cte.slots);
            let recursive = cte.recursive.as_ref().is_none_or(|recursive| {
                self.slots(&recursive.slots);
                self.node(&recursive.node)
            });
            self.node(&cte.node) && recursive
        })
    }

    fn aggregates(&mut self, aggregates: &[Aggregate]) {
        for Aggregate { args, filter, order, direct, .. } in aggregates {
            args.iter().chain(filter).chain(direct).for_each(|expr| self.expr(expr));
            self.keys(order);
        }
    }
}
