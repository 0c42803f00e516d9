//! CASE and NULLIF: what they compare several times is computed once.

use super::{Binder, Typed};
use crate::plan::Slot;
use crate::plan::expr::Expr;
use scaledb_types::cast::Context;
use scaledb_types::func::resolve_operator;
use scaledb_types::{Base, Result, Type, Value};
use sqlparser::ast::{self, Expr as Ast};

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&Ast>,
        conditions: &[ast::CaseWhen],
        other: Option<&Ast>,
    ) -> Result<Typed> {
        // a literal is text here, whatever it is compared with
        let operand = operand.map(|operand| self.expr_decided(operand)).transpose()?;
        let (operand, once) = match operand.map(|operand| self.once(operand)) {
            Some((operand, once)) => (Some(operand), once),
            None => (None, None),
        };
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        // PostgreSQL lets the ELSE branch come first where types are chosen
        results.push(match other {
            Some(other) => self.expr(other)?,
            None => Typed::constant(Value::Null, Type::UNKNOWN),
        });
        for branch in conditions {
            let condition = self.expr(&branch.condition)?;
            tests.push(match &operand {
                Some(operand) => self.comparison("=", operand.clone(), condition)?.expr,
                None => self.boolean(condition, "CASE/WHEN")?,
            });
            results.push(self.expr(&branch.result)?);
        }
        let (mut results, ty) = self.unify(results, "CASE")?;
        let other = results.remove(0);
        let case = Expr::Case(tests.into_iter().zip(results).collect(), Box::new(other));
        Ok(Typed::new(read_once(once, case), ty))
    }

    /// An expression that stands for another in several places, and the value that it reads, if that is to be computed.
    fn once(&mut self, operand: Typed) -> (Typed, Option<(Slot, Expr)>) {
        if matches!(operand.expr, Expr::Const(_) | Expr::Slot(_) | Expr::Param(_)) {
            return (operand, None);
        }
        let slot = self.slot();
        (Typed::new(Expr::Slot(slot), operand.ty), Some((slot, operand.expr)))
    }

    /// `NULLIF(first, second)`.
    pub(super) fn nullif(&mut self, first: Typed, second: Typed) -> Result<Typed> {
        // the result is what the operator compares on its left
        let own = first.ty;
        let (first, once) = self.once(first);
        let left = resolve_operator("=", Some(own), second.ty)?.args.first().copied();
        let equal = self.comparison("=", first.clone(), second)?;
        let first = match left {
            Some(left) if left.base != own.base && (own.base == Base::Unknown || !left.array) => {
                self.coerce(first, left, Context::Implicit)?
            }
            _ if own.base == Base::Unknown => self.coerce(first, Type::TEXT, Context::Implicit)?,
            _ => first,
        };
        let case = Expr::Case(vec![(equal.expr, Expr::Const(Value::Null))], Box::new(first.expr));
        Ok(Typed::new(read_once(once, case), first.ty.value_type()))
    }
}

/// An expression that reads a value that is computed once, if there is one.
fn read_once(once: Option<(Slot, Expr)>, reads: Expr) -> Expr {
    match once {
        Some((slot, value)) => Expr::Once(slot, Box::new((value, reads))),
        None => reads,
    }
}
