//! Expressions whose values an index has: conditions and orders read them as columns of the table, which they are.
//!
//! That is so where the rows of the table are there: behind an outer join, what is computed of a row that is not there
//! need not be NULL, and its columns are.

use super::Statement;
use super::implied::implied;
use crate::plan::expr::Expr;
use crate::plan::joins::{Held, Tree};
use scaledb_types::Value;
use std::convert::Infallible;

/// Puts columns in place of the expressions whose values they have, in the conditions of a tree and those on its rows.
/// What there is to replace, for other expressions over its rows.
pub(super) fn replace_all(
    statement: &mut dyn Statement,
    tree: &mut Tree,
    conditions: &mut Vec<Expr>,
) -> Vec<Held> {
    let mut computed = Vec::new();
    there(tree, &mut computed);
    if !computed.is_empty() {
        hoist(tree, conditions);
    }
    within(statement, tree);
    replace_in(statement, conditions, &mut computed);
    computed
}

/// Takes the conditions of inner joins, which must hold of all rows: together they may say which rows an index has.
fn hoist(tree: &mut Tree, conditions: &mut Vec<Expr>) {
    if let Tree::Inner(parts, on) = tree {
        conditions.append(on);
        parts.iter_mut().for_each(|part| hoist(part, conditions));
    }
}

/// What the tables have whose rows are there in all rows of a tree.
fn there(tree: &Tree, out: &mut Vec<Held>) {
    match tree {
        Tree::Leaf(leaf) => out.extend(leaf.computed.iter().cloned()),
        Tree::Inner(parts, _) => parts.iter().for_each(|part| there(part, out)),
        Tree::Left(left, ..) => there(left, out),
        Tree::Full(..) => {}
        Tree::Derived(derived) => there(&derived.tree, out),
    }
}

/// The conditions of joins within a tree, and those of its partial indexes.
fn within(statement: &mut dyn Statement, tree: &mut Tree) {
    let mut computed = Vec::new();
    let on = match tree {
        Tree::Leaf(leaf) => {
            computed.extend(leaf.computed.iter().filter(|held| held.only.is_none()).cloned());
            leaf.partial.iter_mut().for_each(|(_, predicate)| replace(predicate, &computed));
            return;
        }
        Tree::Inner(parts, on) => {
            parts.iter_mut().for_each(|part| within(statement, part));
            parts.iter().for_each(|part| there(part, &mut computed));
            on
        }
        Tree::Derived(derived) => {
            within(statement, &mut derived.tree);
            there(&derived.tree, &mut computed);
            &mut derived.conditions
        }
        Tree::Left(left, right, on) | Tree::Full(left, right, on) => {
            for side in [left, right] {
                within(statement, side);
                there(side, &mut computed);
            }
            on
        }
    };
    replace_in(statement, on, &mut computed);
}

/// Replaces in conditions that must all hold; what has its values only in other rows leaves `computed`.
fn replace_in(statement: &mut dyn Statement, conditions: &mut Vec<Expr>, computed: &mut Vec<Held>) {
    if computed.is_empty() {
        return;
    }
    conditions.iter().for_each(|condition| note(statement, condition, computed));
    let (mut partly, always): (Vec<Held>, Vec<Held>) =
        computed.drain(..).partition(|held| held.only.is_some());
    let mut more = Vec::new();
    for condition in conditions.iter_mut() {
        // other indexes may help with a condition that is an expression itself
        if let Some(held) = always.iter().find(|held| held.expr.same(condition)) {
            more.push(Expr::Slot(held.slot));
        } else {
            replace(condition, &always);
        }
    }
    conditions.append(&mut more);
    for held in &mut partly {
        replace(&mut held.expr, &always);
        held.only.iter_mut().for_each(|only| replace(only, &always));
    }
    partly.retain(|held| held.only.as_ref().is_none_or(|only| implied(conditions, only)));
    // these conditions stay, besides: they may say which rows are in the index
    more.extend(conditions.iter().filter(|condition| has(condition, &partly)).cloned());
    more.iter_mut().for_each(|condition| replace(condition, &partly));
    conditions.append(&mut more);
    computed.extend(always.into_iter().chain(partly));
    for held in computed.iter() {
        let mut reads = false;
        conditions.iter().for_each(|condition| condition.slots(&mut |slot| reads |= slot == held.slot));
        if reads {
            statement.note_read(held.slot);
        }
    }
}

const NOTHING: Expr = Expr::Const(Value::Null);

/// Whether something in an expression is one of others.
fn has(expr: &Expr, computed: &[Held]) -> bool {
    let mut found = computed.iter().any(|held| held.expr.same(expr));
    expr.children(&mut |child| found = found || has(child, computed));
    found
}

/// Puts slots in place of what they have the values of.
fn replace(expr: &mut Expr, computed: &[Held]) {
    fn replaced(expr: Expr, computed: &[Held]) -> Expr {
        if let Some(held) = computed.iter().find(|held| held.expr.same(&expr)) {
            return Expr::Slot(held.slot);
        }
        let Ok(expr) = expr.map_children::<Infallible>(&mut |child| Ok(replaced(child, computed)));
        expr
    }
    if has(expr, computed) {
        *expr = replaced(std::mem::replace(expr, NOTHING), computed);
    }
}

/// An expression over the rows of a tree, by columns where they have its values.
pub(super) fn by_columns(statement: &mut dyn Statement, expr: &Expr, computed: &[Held]) -> Expr {
    note(statement, expr, computed);
    let (partly, always): (Vec<Held>, Vec<Held>) =
        computed.iter().cloned().partition(|held| held.only.is_some());
    let mut expr = expr.clone();
    replace(&mut expr, &always);
    if !matches!(expr, Expr::Slot(_)) {
        replace(&mut expr, &partly);
    }
    expr
}

/// Notes that an expression could be one of others if it had values in place of parameters.
fn note(statement: &mut dyn Statement, expr: &Expr, computed: &[Held]) {
    let constant = computed.iter().filter(|held| has_constant(&held.expr));
    let shapes: Vec<Expr> = constant.map(|held| shape(&held.expr)).collect();
    if !shapes.is_empty() && could_be(expr, &shapes) {
        statement.note_values();
    }
}

fn could_be(expr: &Expr, shapes: &[Expr]) -> bool {
    let mut could = has_parameter(expr) && shapes.iter().any(|own| own.same(&shape(expr)));
    expr.children(&mut |child| could = could || could_be(child, shapes));
    could
}

/// An expression without its constants and parameters.
fn shape(expr: &Expr) -> Expr {
    fn bare(expr: Expr) -> Expr {
        if matches!(expr, Expr::Const(_) | Expr::Param(_)) {
            return NOTHING;
        }
        let Ok(expr) = expr.map_children::<Infallible>(&mut |child| Ok(bare(child)));
        expr
    }
    bare(expr.clone())
}

fn has_constant(expr: &Expr) -> bool {
    let mut found = matches!(expr, Expr::Const(_));
    expr.children(&mut |child| found |= has_constant(child));
    found
}

fn has_parameter(expr: &Expr) -> bool {
    let mut found = matches!(expr, Expr::Param(_));
    expr.children(&mut |child| found |= has_parameter(child));
    found
}
