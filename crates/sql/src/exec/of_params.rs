//! Expressions over parameters and constants, computed without a run of their own: most of those in a body of PL/pgSQL.

use super::context::Context;
use super::eval::{admit, compare, passes};
use super::integers;
use crate::memory::Memory;
use scaledb_planner::functions::ScalarFn;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::func::Interrupt;
use scaledb_types::{Result, Value};
use std::borrow::Cow;

/// What is computed, and with what.
#[derive(Clone, Copy)]
pub(crate) struct OverParams<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) memory: &'c Memory<'c>,
    pub(crate) params: &'c [Value],
}

impl<'c> OverParams<'c> {
    /// The value of an expression over these parameters; `None` of one that has other operands, or calls with more
    /// than two arguments: a run computes it, which begins anew.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn value(self, expr: &'c Expr) -> Result<Option<Value>> {
        match expr {
            Expr::Const(value) => return Ok(Some(value.clone())),
            Expr::Param(number) => return Ok(Some(self.params[*number].clone())),
            Expr::Call(_) => {
                if let Some(value) = integers::call(expr, |expr| self.at_hand(expr)) {
                    return Ok(Some(value));
                }
            }
            Expr::Compare(op, pair) => {
                if let (Some(left), Some(right)) = (self.at_hand(&pair.0), self.at_hand(&pair.1)) {
                    return Ok(Some(compare(*op, left, right)));
                }
                if let Some(truth) = integers::comparison(*op, &pair.0, &pair.1, |expr| self.at_hand(expr)) {
                    return Ok(Some(Value::Bool(truth)));
                }
            }
            _ => {}
        }
        Ok(self.operand(expr)?.map(Cow::into_owned))
    }

    /// What an expression has without being computed.
    #[inline]
    fn at_hand(self, expr: &'c Expr) -> Option<&'c Value> {
        match expr {
            Expr::Const(value) => Some(value),
            Expr::Param(number) => Some(&self.params[*number]),
            _ => None,
        }
    }

    fn operand(self, expr: &'c Expr) -> Result<Option<Cow<'c, Value>>> {
        Ok(Some(match expr {
            Expr::Const(value) => Cow::Borrowed(value),
            Expr::Param(number) => Cow::Borrowed(&self.params[*number]),
            Expr::Compare(op, pair) => {
                let Some(left) = self.operand(&pair.0)? else { return Ok(None) };
                if left.is_null() {
                    return Ok(Some(left));
                }
                let Some(right) = self.operand(&pair.1)? else { return Ok(None) };
                Cow::Owned(compare(*op, &left, &right))
            }
            Expr::Call(call) => return self.call(&call.0, &call.1),
            Expr::And(list) => return self.connective(list, false),
            Expr::Or(list) => return self.connective(list, true),
            Expr::Not(inner) => match self.operand(inner)? {
                None => return Ok(None),
                Some(value) => match *value {
                    Value::Bool(truth) => Cow::Owned(Value::Bool(!truth)),
                    _ => value,
                },
            },
            Expr::Test(test, inner) => match self.operand(inner)? {
                None => return Ok(None),
                Some(value) => Cow::Owned(Value::Bool(passes(*test, &value))),
            },
            Expr::Case(branches, other) => {
                for (condition, result) in branches {
                    let Some(truth) = self.operand(condition)? else { return Ok(None) };
                    if truth.is_true() {
                        return self.operand(result);
                    }
                }
                return self.operand(other);
            }
            Expr::Coalesce(list) => {
                for part in list {
                    let Some(value) = self.operand(part)? else { return Ok(None) };
                    if !value.is_null() {
                        return Ok(Some(value));
                    }
                }
                Cow::Owned(Value::Null)
            }
            _ => return Ok(None),
        }))
    }

    /// A call of a function of one or two arguments.
    fn call(self, function: &ScalarFn, args: &'c [Expr]) -> Result<Option<Cow<'c, Value>>> {
        let context = self.context;
        let check = || context.check_cancel();
        let interrupt = Interrupt::new(&check, self.memory.room());
        let value = match args {
            [one] => {
                let Some(one) = self.operand(one)? else { return Ok(None) };
                function.call_within(context.env, &[one.into_owned()], interrupt)?
            }
            [one, two] => {
                let Some(one) = self.operand(one)? else { return Ok(None) };
                let Some(two) = self.operand(two)? else { return Ok(None) };
                function.call_within(context.env, &[one.into_owned(), two.into_owned()], interrupt)?
            }
            _ => return Ok(None),
        };
        admit(self.memory, &value)?;
        Ok(Some(Cow::Owned(value)))
    }

    /// AND or OR, as in any run.
    fn connective(self, parts: &'c [Expr], deciding: bool) -> Result<Option<Cow<'c, Value>>> {
        let mut unknown = false;
        for part in parts {
            let Some(value) = self.operand(part)? else { return Ok(None) };
            match *value {
                Value::Bool(truth) if truth == deciding => return Ok(Some(value)),
                Value::Null => unknown = true,
                _ => {}
            }
        }
        Ok(Some(Cow::Owned(if unknown { Value::Null } else { Value::Bool(!deciding) })))
    }
}
