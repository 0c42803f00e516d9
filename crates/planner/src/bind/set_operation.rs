//! UNION, INTERSECT and EXCEPT: the rows of two queries as those of one.

use super::coerce::common_of;
use super::scope::Scope;
use super::tail::Tail;
use super::{Binder, Bound, Output, Typed, unsupported};
use crate::plan::expr::Expr;
use crate::plan::joins::{Derived, Open, OpenPart, Tree};
use crate::plan::{Node, SetKind, Slot};
use scaledb_types::cast::Context;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};

impl Binder<'_> {
    pub(super) fn set_operation(
        &mut self,
        op: SetOperator,
        quantifier: SetQuantifier,
        left: &SetExpr,
        right: &SetExpr,
    ) -> Result<Bound> {
        let all = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => return Err(unsupported("BY NAME")),
        };
        let what = set_word(op);
        let mut sides = Vec::new();
        let pulled = std::mem::take(&mut self.pulled);
        let references = self.recursive_references.len();
        for side in [left, right] {
            let here = self.recursive_references.len();
            self.scopes.push(Scope::default());
            // the other side decides what a literal is
            self.leaves_open = true;
            self.pulled = pulled;
            let bound = self.set_expr(side, Tail::default());
            self.leaves_open = false;
            let scope = self.scopes.pop().unwrap_or_default();
            for slot in scope.outer {
                let outer = &mut self.scope().outer;
                if !outer.contains(&slot) {
                    outer.push(slot);
                }
            }
            sides.push(bound?);
            if sides.len() == 2 && what == "EXCEPT" {
                self.refuse_recursion(here, what)?;
            }
        }
        if all && what != "UNION" {
            self.refuse_recursion(references, what)?;
        }
        let (Some(right), Some(left)) = (sides.pop(), sides.pop()) else {
            return Err(SqlError::internal("two sides"));
        };
        self.combine(op, all, left, right)
    }

    /// The rows of two queries as those of one.
    pub(super) fn combine(
        &mut self,
        op: SetOperator,
        all: bool,
        mut left: Bound,
        mut right: Bound,
    ) -> Result<Bound> {
        let what = set_word(op);
        if left.output.len() != right.output.len() {
            return Err(unequal(what));
        }
        let mut output = Vec::new();
        let slots = self.new_slots(left.output.len());
        for ((a, b), &slot) in left.output.iter_mut().zip(&mut right.output).zip(&slots) {
            let both = [&*a, &*b].map(|side| Typed::new(side.expr.clone(), side.ty));
            let ty = common_of(&both, what)?;
            if let (Some(fields), Some(others)) = (self.fields_of(&a.expr), self.fields_of(&b.expr))
                && fields.types == others.types
            {
                self.records.insert(slot, fields);
            }
            for side in [&mut *a, &mut *b] {
                let typed = Typed::new(side.expr.clone(), side.ty);
                side.expr = self.coerce(typed, ty, Context::Implicit)?.expr;
                side.ty = ty;
            }
            output.push(Output { name: a.name.clone(), expr: Expr::Slot(slot), ty, origin: (0, 0) });
        }
        // the rows of both are those of the union: a column that is not read there is read nowhere
        let appends = matches!(op, SetOperator::Union) && all;
        let mut side = |mut bound: Bound| {
            let (rows, open) = (bound.rows.take(), bound.open.take());
            let (node, columns) =
                if appends { self.open_columns(bound, &[]) } else { self.slots_of(bound, &[]) };
            let slots = columns.iter().map(|column| column.slot).collect::<Vec<Slot>>();
            match rows {
                Some(rows) => ((Node::Result, slots), Some(Box::new(open_rows(rows, node)))),
                None => ((node, slots), open),
            }
        };
        let ((left, left_open), (right, right_open)) = (side(left), side(right));
        let open = (left_open.is_some() || right_open.is_some()).then(|| {
            let part = OpenPart::Sides([left_open, right_open]);
            Box::new(Open { pushable: slots.iter().copied().collect(), barrier: false, part })
        });
        let kind = match (op, all) {
            (SetOperator::Union, true) => {
                let inputs = vec![left, right];
                return Ok(Bound { open, ..Bound::new(Node::Append { inputs, slots }, output) });
            }
            (SetOperator::Union, false) => SetKind::Union,
            (SetOperator::Intersect, false) => SetKind::Intersect,
            (SetOperator::Intersect, true) => SetKind::IntersectAll,
            (_, false) => SetKind::Except,
            (_, true) => SetKind::ExceptAll,
        };
        let node = Node::SetOp { kind, left: Box::new(left), right: Box::new(right), slots };
        Ok(Bound { open, ..Bound::new(node, output) })
    }
}

/// A side whose tables and conditions are known, and what is computed of their rows.
fn open_rows((tree, conditions): (Tree, Vec<Expr>), node: Node) -> Open {
    let tree = match node {
        Node::Project { exprs, .. } => {
            let mut derived = Derived { tree, conditions: Vec::new(), exprs, outer: Vec::new() };
            derived.outer = derived.reads_around();
            Tree::Derived(Box::new(derived))
        }
        _ => tree,
    };
    let mut slots = Vec::new();
    tree.slots(&mut slots);
    let part = OpenPart::Rows(Box::new(tree), conditions);
    Open { pushable: slots.into_iter().collect(), barrier: false, part }
}

/// The word for an operation on two queries.
fn set_word(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except | SetOperator::Minus => "EXCEPT",
    }
}

/// The error of a set operation, or of a recursive query, whose two queries have different numbers of columns.
pub(super) fn unequal(what: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("each {what} query must have the same number of columns"))
}
