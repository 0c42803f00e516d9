//! Evaluating expressions.

use super::{Exec, weight};
use crate::plan::expr::{Compare, Expr, Test};
use scaledb_engine::Worker;
use scaledb_types::func::Interrupt;
use scaledb_types::numeric::Exact;
use scaledb_types::{Array, Numeric, Result, SqlError, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// The truth of a comparison; NULL if a side is NULL.
#[inline]
pub(crate) fn compare(op: Compare, left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Int4(a), Value::Int4(b)) => Value::Bool(op.holds(a.cmp(b))),
        (Value::Int8(a), Value::Int8(b)) => Value::Bool(op.holds(a.cmp(b))),
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        (a, b) => Value::Bool(op.holds(a.cmp(b))),
    }
}

/// Operators within each other that are computed without values in between. An operand that is not short is met again
/// at each level above it, so without a bound a long sum would be walked once for each of its operators.
const SHORT_DEPTH: u32 = 8;

impl<'a, W: Worker> Exec<'a, W> {
    /// What an expression has without being computed.
    #[inline]
    fn at_hand<'s>(&'s self, expr: &'s Expr) -> Option<&'s Value> {
        match expr {
            Expr::Slot(slot) => Some(&self.frame[*slot]),
            Expr::Const(value) => Some(value),
            Expr::Param(number) => Some(&self.params[*number]),
            _ => None,
        }
    }

    /// The value of an expression of numerics whose mantissas fit words, as its result does: without a value of each
    /// part in between. `None` of all others, and of those that are nested deeper than [`SHORT_DEPTH`].
    #[inline]
    pub(super) fn short(&self, expr: &Expr) -> Option<(i64, u16)> {
        self.short_within(expr, SHORT_DEPTH)
    }

    fn short_within(&self, expr: &Expr, depth: u32) -> Option<(i64, u16)> {
        if let Expr::Call(call) = expr {
            return self.short_call(call.0.exact()?, &call.1, depth.checked_sub(1)?);
        }
        match self.at_hand(expr)? {
            Value::Numeric(number) => number.short(),
            _ => None,
        }
    }

    fn short_call(&self, exact: Exact, args: &[Expr], depth: u32) -> Option<(i64, u16)> {
        let [left, right] = args else { return None };
        exact.of_short(self.short_within(left, depth)?, self.short_within(right, depth)?)
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Result<Value> {
        match expr {
            Expr::Slot(slot) => Ok(self.frame[*slot].clone()),
            Expr::Const(value) => Ok(value.clone()),
            Expr::Param(number) => Ok(self.params[*number].clone()),
            Expr::Compare(op, pair) => {
                if let (Some(left), Some(right)) = (self.at_hand(&pair.0), self.at_hand(&pair.1)) {
                    return Ok(compare(*op, left, right));
                }
                let left = self.eval(&pair.0)?;
                if left.is_null() {
                    return Ok(Value::Null);
                }
                if let Some(right) = self.at_hand(&pair.1) {
                    return Ok(compare(*op, &left, right));
                }
                let right = self.eval(&pair.1)?;
                Ok(compare(*op, &left, &right))
            }
            Expr::Call(call) => {
                if let Some(exact) = call.0.exact()
                    && let Some((mantissa, scale)) = self.short_call(exact, &call.1, SHORT_DEPTH)
                {
                    return Ok(Value::Numeric(Numeric::small(mantissa, scale)));
                }
                self.call(&call.0, &call.1)
            }
            Expr::Session(call) => {
                let mut args = Vec::with_capacity(call.1.len());
                for arg in &call.1 {
                    args.push(self.eval(arg)?);
                }
                self.context.call(&call.0, &args)
            }
            Expr::And(list) => {
                let mut unknown = false;
                for part in list {
                    match self.eval(part)? {
                        Value::Bool(false) => return Ok(Value::Bool(false)),
                        Value::Null => unknown = true,
                        _ => {}
                    }
                }
                Ok(if unknown { Value::Null } else { Value::Bool(true) })
            }
            Expr::Or(list) => {
                let mut unknown = false;
                for part in list {
                    match self.eval(part)? {
                        Value::Bool(true) => return Ok(Value::Bool(true)),
                        Value::Null => unknown = true,
                        _ => {}
                    }
                }
                Ok(if unknown { Value::Null } else { Value::Bool(false) })
            }
            Expr::Not(inner) => Ok(match self.eval(inner)? {
                Value::Bool(v) => Value::Bool(!v),
                other => other,
            }),
            Expr::Test(test, inner) => {
                let truth = |value: &Value| match test {
                    Test::Null => value.is_null(),
                    Test::NotNull => !value.is_null(),
                    Test::True => value.is_true(),
                    Test::NotTrue => !value.is_true(),
                    Test::False => matches!(value, Value::Bool(false)),
                    Test::NotFalse => !matches!(value, Value::Bool(false)),
                };
                if let Some(value) = self.at_hand(inner) {
                    return Ok(Value::Bool(truth(value)));
                }
                Ok(Value::Bool(truth(&self.eval(inner)?)))
            }
            Expr::Distinct(negated, pair) => {
                let (left, right) = (self.eval(&pair.0)?, self.eval(&pair.1)?);
                Ok(Value::Bool((left == right) == *negated))
            }
            Expr::Once(slot, pair) => {
                let value = self.eval(&pair.0)?;
                // expressions over one row run in a frame that is as long as the row
                if self.frame.len() <= *slot {
                    self.frame.resize(slot + 1, Value::Null);
                }
                self.frame[*slot] = value;
                let result = self.eval(&pair.1);
                self.frame[*slot] = Value::Null;
                result
            }
            Expr::Case(branches, other) => {
                for (condition, result) in branches {
                    if self.eval(condition)?.is_true() {
                        return self.eval(result);
                    }
                }
                self.eval(other)
            }
            Expr::Coalesce(list) => {
                for part in list {
                    let value = self.eval(part)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expr::Extreme(greatest, list) => {
                let wanted = if *greatest { Ordering::Greater } else { Ordering::Less };
                let mut best = Value::Null;
                for part in list {
                    let value = self.eval(part)?;
                    if !value.is_null() && (best.is_null() || value.cmp(&best) == wanted) {
                        best = value;
                    }
                }
                Ok(best)
            }
            Expr::In(value, list) => {
                let value = self.eval(value)?;
                let mut unknown = value.is_null();
                if unknown {
                    return Ok(Value::Null);
                }
                for part in list {
                    let hit = match self.at_hand(part) {
                        Some(part) => compare(Compare::Eq, &value, part),
                        None => compare(Compare::Eq, &value, &self.eval(part)?),
                    };
                    match hit {
                        Value::Bool(true) => return Ok(hit),
                        Value::Null => unknown = true,
                        _ => {}
                    }
                }
                Ok(if unknown { Value::Null } else { Value::Bool(false) })
            }
            Expr::Quantified(all, op, pair) => {
                let left = self.eval(&pair.0)?;
                let Value::Array(array) = self.eval(&pair.1)? else { return Ok(Value::Null) };
                quantify(*all, array.values(), |item| Ok(compare(*op, &left, item)))
            }
            Expr::QuantifiedCall(all, parts) => {
                let left = self.eval(&parts.1)?;
                let Value::Array(array) = self.eval(&parts.2)? else { return Ok(Value::Null) };
                let env = self.context.env;
                quantify(*all, array.values(), |item| parts.0.call(env, &[left.clone(), item.clone()]))
            }
            Expr::Array(element, list) => {
                let mut values = Vec::with_capacity(list.len());
                for part in list {
                    values.push(self.eval(part)?);
                }
                if element.array {
                    let nested = Array::nested(scaledb_types::Type { array: false, ..*element }, &values)?;
                    return Ok(Value::Array(Arc::new(nested)));
                }
                Ok(Value::Array(Arc::new(Array::new(*element, values))))
            }
            Expr::Subquery(sub) => self.subquery(sub),
        }
    }

    /// Calls a function; one that is strict is NULL if an argument is.
    #[inline]
    fn call(&mut self, function: &crate::functions::ScalarFn, args: &[Expr]) -> Result<Value> {
        let context = self.context;
        let env = context.env;
        let check = || context.check_cancel();
        let interrupt = Interrupt::new(&check, self.memory.room());
        let value = match args {
            [one] => {
                let one = self.eval(one)?;
                function.call_within(env, &[one], interrupt)
            }
            [one, two] => {
                let values = [self.eval(one)?, self.eval(two)?];
                function.call_within(env, &values, interrupt)
            }
            _ => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.eval(arg)?);
                }
                function.call_within(env, &values, interrupt)
            }
        }?;
        // large values are made by functions: those that rows and clients bring have limits of their own
        match &value {
            Value::Text(text) => self.memory.admit(text.len())?,
            Value::Bytea(bytes) => self.memory.admit(bytes.len())?,
            Value::Array(_) => self.memory.admit(weight(&value))?,
            _ => {}
        }
        Ok(value)
    }

    /// The truth of a condition: NULL is false.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn holds(&mut self, expr: &Expr) -> Result<bool> {
        Ok(self.eval(expr)?.is_true())
    }
}

/// ANY and ALL over an array.
fn quantify(all: bool, items: &[Value], mut test: impl FnMut(&Value) -> Result<Value>) -> Result<Value> {
    let mut unknown = false;
    for item in items {
        match test(item)? {
            Value::Bool(truth) if truth != all => return Ok(Value::Bool(truth)),
            Value::Null => unknown = true,
            Value::Bool(_) => {}
            _ => return Err(SqlError::internal("a comparison that is not boolean")),
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(all) })
}
