//! What it costs to read a tree of joins, or a query in FROM, anew for each row of others: little, if an index of one
//! of its tables finds what conditions compare with that row, and indexes find the rest.
//!
//! ```text
//! SELECT .. FROM a LEFT JOIN (b JOIN c ON c.bid = b.id) ON b.aid = a.id
//!                          ─► for each row of a: b by its index on aid, then c by its index on bid
//! ```

use super::order::{Condition, Mask, NEVER, Part, step};
use super::planner::Planner;
use crate::plan::Slot;
use crate::plan::expr::Expr;
use crate::plan::joins::{Leaf, Open, OpenPart, Tree};
use std::collections::HashSet;

/// What it costs to begin operators anew, beside their rows: they clear what they keep.
const BEGIN: f64 = 8.0;

impl Planner<'_> {
    /// What it costs to read a part that is no table for one row of those that are joined before it, if an index in it
    /// serves the conditions between them.
    pub(super) fn look_within(
        &self,
        part: &mut Part,
        tree: &Tree,
        (bit, known): (Mask, &[Condition]),
        conditions: &[Expr],
        bound: &HashSet<Slot>,
    ) {
        if part.needs != 0 || tree.leaf().is_some_and(|leaf| leaf.open.is_none()) {
            return;
        }
        let mut own = Vec::new();
        tree.slots(&mut own);
        let (mut others, mut needs) = (bound.clone(), 0);
        let mut on = Vec::new();
        for (known, condition) in known.iter().zip(conditions) {
            if known.needs & bit != 0 && known.needs & NEVER == 0 {
                needs |= known.needs & !bit;
                on.push(condition.clone());
                condition.slots(&mut |slot| {
                    if self.is_own(slot) && !own.contains(&slot) {
                        others.insert(slot);
                    }
                });
            }
        }
        // else a whole tree costs less: it is read once
        if needs != 0 && self.is_served(tree, &on, &others) {
            part.within = Some((needs, BEGIN + self.cost(tree, &on, &others)));
        }
    }

    fn cost(&self, tree: &Tree, conditions: &[Expr], bound: &HashSet<Slot>) -> f64 {
        match tree {
            Tree::Leaf(leaf) => match leaf.open.as_deref() {
                Some(Open { pushable, barrier, part: OpenPart::Rows(tree, own) }) => {
                    let conditions = [&checked((pushable, *barrier), conditions, bound)[..], own].concat();
                    self.cost(tree, &conditions, bound) * 2.0 + BEGIN
                }
                _ => self.parts(&[tree], conditions, bound).0[0].cost,
            },
            Tree::Inner(parts, on) => {
                let mut all = Vec::new();
                let mut conditions = [conditions, on].concat();
                flat(parts, &mut all, &mut conditions);
                self.way(&all, &conditions, bound, false).cost
            }
            Tree::Left(left, right, on) => {
                let rows = self.parts(&[left], conditions, bound).0[0].rows;
                let (mut parts, known) = self.parts(&[left, right], on, bound);
                self.look_within(&mut parts[1], right, (2, &known), on, bound);
                self.cost(left, conditions, bound) + step(&parts[1], 2, &known, 1, rows).0
            }
            Tree::Full(..) => self.parts(&[tree], &[], bound).0[0].cost,
            Tree::Derived(derived) => {
                self.cost(&derived.tree, &[conditions, &derived.conditions].concat(), bound)
            }
        }
    }

    /// Whether an index serves a condition with one of the slots `bound`.
    pub(super) fn is_served(&self, tree: &Tree, conditions: &[Expr], bound: &HashSet<Slot>) -> bool {
        match tree {
            Tree::Leaf(leaf) => match leaf.open.as_deref() {
                Some(Open { pushable, barrier, part: OpenPart::Rows(tree, _) }) => {
                    self.is_served(tree, &checked((pushable, *barrier), conditions, bound), bound)
                }
                Some(_) => false,
                None => self.has_key(leaf, conditions, bound),
            },
            Tree::Inner(parts, _) => parts.iter().any(|part| self.is_served(part, conditions, bound)),
            Tree::Left(left, ..) => self.is_served(left, conditions, bound),
            Tree::Full(..) => false,
            Tree::Derived(derived) => self.is_served(&derived.tree, conditions, bound),
        }
    }

    fn has_key(&self, leaf: &Leaf, conditions: &[Expr], bound: &HashSet<Slot>) -> bool {
        let reads = |&number: &usize| {
            let mut reads = false;
            conditions[number].slots(&mut |slot| reads |= bound.contains(&slot));
            reads
        };
        let candidate = self.candidate(leaf, conditions, bound, false);
        candidate.is_some_and(|found| found.score.1 > 0 && found.consumed.iter().any(reads))
    }
}

/// The conditions that can be checked in a query that is not planned yet.
fn checked(
    (pushable, barrier): (&HashSet<Slot>, bool),
    conditions: &[Expr],
    bound: &HashSet<Slot>,
) -> Vec<Expr> {
    let within = |condition: &&Expr| {
        let mut within = !condition.has_volatile() && (!barrier || condition.is_leakproof());
        condition.slots(&mut |slot| within &= pushable.contains(&slot) || bound.contains(&slot));
        within
    };
    conditions.iter().filter(within).cloned().collect()
}

/// The parts of inner joins within an inner join are parts of it, and so are their conditions.
fn flat<'t>(parts: &'t [Tree], all: &mut Vec<&'t Tree>, conditions: &mut Vec<Expr>) {
    for part in parts {
        match part {
            Tree::Inner(parts, on) => {
                conditions.extend(on.iter().cloned());
                flat(parts, all, conditions);
            }
            other => all.push(other),
        }
    }
}
