//! Queries in FROM that only filter, pick and compute, as those of most views: their tables are joined with those
//! around them, so that an index of theirs serves a condition from outside, and joins are ordered across.
//!
//! ```text
//! SELECT .. FROM a, (SELECT x, y + 1 AS z FROM b WHERE c) q WHERE q.x = a.x AND q.z > 0
//!                          ─► a ⋈ b under c, b.x = a.x, b.y + 1 > 0; then z := y + 1
//! ```
//!
//! A condition of the query holds for all rows that come out, and is checked with those around it, which stand behind
//! it. What the query computes is put in place of its columns in conditions, and is computed of the rows that are
//! left. On the side of an outer join whose rows may be missing it is computed there, since it is NULL then; the
//! conditions of that side are conditions of the join.

use crate::plan::Slot;
use crate::plan::expr::Expr;
use crate::plan::joins::{Derived, Tree};
use scaledb_types::Value;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// What is computed of rows, in this order, and the slots that it goes to.
pub(super) type Made = Vec<(Expr, Slot)>;

/// Pulls up what can be in a tree of joins under conditions; what is to be computed of the rows that come out.
pub(super) fn pull_up(tree: Tree, conditions: &mut Vec<Expr>) -> (Tree, Made) {
    if !tree.has_derived() {
        return (tree, Vec::new());
    }
    let mut fixed = HashSet::new();
    tree.each_expr(&mut |expr| fix(expr, &mut fixed));
    conditions.iter().for_each(|condition| fix(condition, &mut fixed));
    let mut outer = Vec::new();
    tree.outer_of_leaves(&mut outer);
    fixed.extend(outer);
    large(&tree, &mut HashMap::new(), &mut fixed);
    let (tree, made) = level(tree, conditions, &fixed);
    let reads = |expr: &Expr| reads_any(expr, &made);
    debug_assert!(!conditions.iter().any(reads), "no condition reads what is computed behind it");
    (tree, made)
}

/// The nodes of an expression that are put in place of a column, at most: queries in each other may double them with
/// each level.
const MOST: usize = 256;

/// Adds the slots of what is computed by larger expressions, with all that they are computed from.
fn large(tree: &Tree, sizes: &mut HashMap<Slot, usize>, fixed: &mut HashSet<Slot>) {
    match tree {
        Tree::Leaf(_) => {}
        Tree::Inner(parts, _) => parts.iter().for_each(|part| large(part, sizes, fixed)),
        Tree::Left(left, right, _) | Tree::Full(left, right, _) => {
            large(left, sizes, fixed);
            large(right, sizes, fixed);
        }
        Tree::Derived(derived) => {
            large(&derived.tree, sizes, fixed);
            for (expr, slot) in &derived.exprs {
                let size = size_of_expr(expr, sizes);
                if size > MOST {
                    fixed.insert(*slot);
                }
                // what stays where it is counts as a column
                sizes.insert(*slot, if size > MOST { 1 } else { size });
            }
        }
    }
}

fn size_of_expr(expr: &Expr, sizes: &HashMap<Slot, usize>) -> usize {
    if let Expr::Slot(slot) = expr {
        return sizes.get(slot).copied().unwrap_or(1);
    }
    let mut size: usize = 1;
    expr.children(&mut |child| size = size.saturating_add(size_of_expr(child, sizes)));
    size
}

/// Slots that are read where nothing can be put in their place: by plans of subqueries.
fn fix(expr: &Expr, fixed: &mut HashSet<Slot>) {
    if expr.has_subquery() {
        expr.slots(&mut |slot| _ = fixed.insert(slot));
    }
}

/// A tree whose rows all come out: what it computes is put in place of its slots in it, and in the conditions.
fn level(tree: Tree, conditions: &mut Vec<Expr>, fixed: &HashSet<Slot>) -> (Tree, Made) {
    let mut made = Vec::new();
    let mut tree = lift(tree, conditions, &mut made, fixed);
    if !made.is_empty() {
        tree.each_expr_mut(&mut |expr| replace(expr, &made));
        conditions.iter_mut().for_each(|condition| replace(condition, &made));
    }
    (tree, made)
}

fn lift(tree: Tree, conditions: &mut Vec<Expr>, made: &mut Made, fixed: &HashSet<Slot>) -> Tree {
    match tree {
        Tree::Leaf(leaf) => Tree::Leaf(leaf),
        Tree::Inner(parts, on) => {
            let parts = parts.into_iter().map(|part| lift(part, conditions, made, fixed));
            Tree::Inner(parts.collect(), on)
        }
        Tree::Left(left, right, mut on) => {
            let left = lift(*left, conditions, made, fixed);
            let (right, own) = level(*right, &mut on, fixed);
            Tree::Left(Box::new(left), Box::new(computing(right, Vec::new(), own)), on)
        }
        Tree::Full(left, right, on) => {
            let side = |tree: Tree| {
                let mut conditions = Vec::new();
                let (tree, own) = level(tree, &mut conditions, fixed);
                Box::new(computing(tree, conditions, own))
            };
            Tree::Full(side(*left), side(*right), on)
        }
        Tree::Derived(derived) => {
            let Derived { tree, conditions: mut own, exprs, outer } = *derived;
            if exprs.iter().any(|(expr, slot)| expr.has_subquery() || fixed.contains(slot)) {
                let (tree, mut inner) = level(tree, &mut own, fixed);
                inner.extend(exprs);
                return Tree::Derived(Box::new(Derived { tree, conditions: own, exprs: inner, outer }));
            }
            own.append(conditions);
            *conditions = own;
            let tree = lift(tree, conditions, made, fixed);
            made.extend(exprs);
            tree
        }
    }
}

/// A tree whose rows are filtered and computed of where it stands.
fn computing(tree: Tree, conditions: Vec<Expr>, exprs: Made) -> Tree {
    if conditions.is_empty() && exprs.is_empty() {
        return tree;
    }
    let mut derived = Derived { tree, conditions, exprs, outer: Vec::new() };
    derived.outer = derived.reads_around();
    Tree::Derived(Box::new(derived))
}

fn reads_any(expr: &Expr, made: &Made) -> bool {
    let mut reads = false;
    expr.slots(&mut |slot| reads |= made.iter().any(|(_, own)| *own == slot));
    reads
}

/// Puts what is computed in place of the slots that it goes to. What was computed last may read what was computed
/// before it.
pub(super) fn replace(expr: &mut Expr, made: &Made) {
    fn replaced(expr: Expr, by: &Expr, of: Slot) -> Expr {
        if matches!(expr, Expr::Slot(slot) if slot == of) {
            return by.clone();
        }
        let Ok(expr) = expr.map_children::<Infallible>(&mut |child| Ok(replaced(child, by, of)));
        expr
    }
    if expr.has_subquery() {
        return;
    }
    for one in made.iter().rev() {
        let mut reads = false;
        expr.slots(&mut |slot| reads |= slot == one.1);
        if reads {
            *expr = replaced(std::mem::replace(expr, Expr::Const(Value::Null)), &one.0, one.1);
        }
    }
}

/// An expression over the slots that others stand for.
pub(super) fn moved(expr: Expr, slot: &dyn Fn(Slot) -> Option<Slot>) -> Expr {
    if let Expr::Slot(own) = expr {
        return Expr::Slot(slot(own).unwrap_or(own));
    }
    let Ok(expr) = expr.map_children::<Infallible>(&mut |child| Ok(moved(child, slot)));
    expr
}
