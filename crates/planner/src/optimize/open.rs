//! Conditions go into queries in FROM that group their rows, number them or put those of several queries together:
//! into their tables, where an index may serve them.

use super::planner::Planner;
use super::{Asked, rows};
use crate::plan::expr::Expr;
use crate::plan::joins::{Open, OpenPart};
use crate::plan::{Node, Slot};
use std::collections::HashSet;

impl Planner<'_> {
    /// Plans what is left to plan of a query in FROM, and takes the conditions that it can check in it.
    pub(super) fn open(
        &mut self,
        node: Node,
        open: Open,
        slots: &[Slot],
        conditions: &mut Vec<Expr>,
        bound: &HashSet<Slot>,
    ) -> Node {
        // in the plan of a subquery no slot can be put in place of another
        let moves = matches!(open.part, OpenPart::Sides(_));
        let within = |condition: &Expr| {
            let mut within = self.available(condition, bound) && !condition.has_volatile();
            within &= !open.barrier || condition.is_leakproof();
            within &= !(moves && condition.has_subquery());
            let mut reads = false;
            condition.slots(&mut |slot| {
                reads |= open.pushable.contains(&slot);
                // those of others have values where it is read for each row of theirs
                let around = !self.is_own(slot) || bound.contains(&slot) && !slots.contains(&slot);
                within &= open.pushable.contains(&slot) || around;
            });
            // what reads nothing of it is checked once, and not in each side
            within && reads
        };
        let (taken, left): (Vec<Expr>, Vec<Expr>) = std::mem::take(conditions).into_iter().partition(within);
        *conditions = left;
        self.complete(node, open, taken)
    }

    /// Puts rows under conditions where they are missing.
    fn complete(&mut self, mut node: Node, open: Open, conditions: Vec<Expr>) -> Node {
        let place = bottom(&mut node);
        match open.part {
            OpenPart::Rows(tree, mut own) => {
                own.extend(conditions);
                let asked = Asked { order: &[], groups: None, few: false };
                *place = rows(&mut *self.statement, *tree, own, &asked).node;
            }
            OpenPart::Sides(sides) => {
                let (slots, both) = match place {
                    Node::Append { inputs, slots } => (&*slots, inputs.iter_mut().collect::<Vec<_>>()),
                    Node::SetOp { left, right, slots, .. } => (&*slots, vec![&mut **left, &mut **right]),
                    _ => (&Vec::new(), Vec::new()),
                };
                debug_assert_eq!(both.len(), 2, "a set operation has two sides");
                for ((input, from), side) in both.into_iter().zip(sides) {
                    let moved = |condition: &Expr| {
                        let slot = |slot: Slot| slots.iter().position(|&to| to == slot).map(|at| from[at]);
                        super::pull_up::moved(condition.clone(), &slot)
                    };
                    let (mut taken, mut left): (Vec<Expr>, Vec<Expr>) = (Vec::new(), Vec::new());
                    for condition in conditions.iter().map(moved) {
                        let mut within = side.is_some();
                        condition.slots(&mut |slot| {
                            let has = |side: &Open| side.pushable.contains(&slot);
                            within &= side.as_deref().is_some_and(has) || !from.contains(&slot);
                        });
                        if within { taken.push(condition) } else { left.push(condition) }
                    }
                    let mut filled = std::mem::replace(input, Node::Result);
                    if let Some(side) = side {
                        filled = self.complete(filled, *side, taken);
                    }
                    *input = match Expr::all(left) {
                        Some(predicate) => Node::Filter { input: Box::new(filled), predicate },
                        None => filled,
                    };
                }
            }
        }
        node
    }
}

/// The operator at the bottom of those that change or drop single rows, or group them.
fn bottom(node: &mut Node) -> &mut Node {
    match node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Aggregate { input, .. }
        | Node::WindowAgg { input, .. }
        | Node::ProjectSet { input, .. }
        | Node::Distinct { input, .. }
        | Node::Sort { input, .. } => bottom(input),
        other => other,
    }
}
