//! Evaluating expressions.

use super::{Exec, integers, weight};
use crate::memory::Memory;
use scaledb_engine::Worker;
use scaledb_planner::plan::Slot;
use scaledb_planner::plan::expr::{Compare, Expr, Test};
use scaledb_types::func::Interrupt;
use scaledb_types::numeric::Exact;
use scaledb_types::{Array, Numeric, Result, SqlError, Type, Value};
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

/// The truth of IS NULL and its kin.
#[inline]
pub(super) fn passes(test: Test, value: &Value) -> bool {
    match test {
        Test::Null => value.is_null(),
        Test::NotNull => !value.is_null(),
        Test::True => value.is_true(),
        Test::NotTrue => !value.is_true(),
        Test::False => matches!(value, Value::Bool(false)),
        Test::NotFalse => !matches!(value, Value::Bool(false)),
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
            Expr::Compare(op, pair) => self.eval_compare(*op, &pair.0, &pair.1),
            Expr::Call(call) => {
                if let Some(exact) = call.0.exact()
                    && let Some((mantissa, scale)) = self.short_call(exact, &call.1, SHORT_DEPTH)
                {
                    return Ok(Value::Numeric(Numeric::small(mantissa, scale)));
                }
                if let Some(value) = integers::call(expr, |expr| self.at_hand(expr)) {
                    return Ok(value);
                }
                self.call(&call.0, &call.1)
            }
            Expr::Session(call) => {
                let args = self.eval_all(&call.1)?;
                self.context.call(&call.0, &args)
            }
            Expr::Routine(call) => self.routine(&call.0, &call.1),
            Expr::And(list) => self.connective(list, false),
            Expr::Or(list) => self.connective(list, true),
            Expr::Not(inner) => Ok(match self.eval(inner)? {
                Value::Bool(v) => Value::Bool(!v),
                other => other,
            }),
            Expr::Test(test, inner) => {
                let truth = match self.at_hand(inner) {
                    Some(value) => passes(*test, value),
                    None => passes(*test, &self.eval(inner)?),
                };
                Ok(Value::Bool(truth))
            }
            Expr::Distinct(negated, pair) => {
                let (left, right) = (self.eval(&pair.0)?, self.eval(&pair.1)?);
                Ok(Value::Bool((left == right) == *negated))
            }
            Expr::Once(slot, pair) => self.once(*slot, &pair.0, &pair.1),
            Expr::Case(branches, other) => self.case(branches, other),
            Expr::Coalesce(list) => self.coalesce(list),
            Expr::Extreme(greatest, list) => self.extreme(*greatest, list),
            Expr::In(value, list) => self.in_list(value, list),
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
            Expr::Array(element, list) => self.array(*element, list),
            Expr::Domain(domain) => self.domain(domain),
            Expr::Subquery(sub) => self.subquery(sub),
        }
    }

    /// A comparison; its operands are not copied where they need not be computed.
    #[inline]
    fn eval_compare(&mut self, op: Compare, left: &Expr, right: &Expr) -> Result<Value> {
        if let (Some(left), Some(right)) = (self.at_hand(left), self.at_hand(right)) {
            return Ok(compare(op, left, right));
        }
        if let Some(truth) = integers::comparison(op, left, right, |expr| self.at_hand(expr)) {
            return Ok(Value::Bool(truth));
        }
        let left = self.eval(left)?;
        if left.is_null() {
            return Ok(Value::Null);
        }
        if let Some(right) = self.at_hand(right) {
            return Ok(compare(op, &left, right));
        }
        let right = self.eval(right)?;
        Ok(compare(op, &left, &right))
    }

    /// The values of expressions, in their order.
    pub(super) fn eval_all(&mut self, exprs: &[Expr]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.eval(expr)?);
        }
        Ok(values)
    }

    /// AND or OR: this value as soon as a part has it, else NULL if a part is NULL, else the other value.
    #[inline]
    fn connective(&mut self, parts: &[Expr], deciding: bool) -> Result<Value> {
        let mut unknown = false;
        for part in parts {
            match self.eval(part)? {
                Value::Bool(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
                Value::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { Value::Null } else { Value::Bool(!deciding) })
    }

    /// An expression over an operand that is evaluated once, into a slot.
    fn once(&mut self, slot: Slot, operand: &Expr, result: &Expr) -> Result<Value> {
        let value = self.eval(operand)?;
        // expressions over one row run in a frame that is as long as the row
        if self.frame.len() <= slot {
            self.frame.resize(slot + 1, Value::Null);
        }
        self.frame[slot] = value;
        let value = self.eval(result);
        self.frame[slot] = Value::Null;
        value
    }

    fn case(&mut self, branches: &[(Expr, Expr)], other: &Expr) -> Result<Value> {
        for (condition, result) in branches {
            if self.eval(condition)?.is_true() {
                return self.eval(result);
            }
        }
        self.eval(other)
    }

    fn coalesce(&mut self, list: &[Expr]) -> Result<Value> {
        for part in list {
            let value = self.eval(part)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        Ok(Value::Null)
    }

    /// GREATEST or LEAST of those that are not NULL.
    fn extreme(&mut self, greatest: bool, list: &[Expr]) -> Result<Value> {
        let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
        let mut best = Value::Null;
        for part in list {
            let value = self.eval(part)?;
            if !value.is_null() && (best.is_null() || value.cmp(&best) == wanted) {
                best = value;
            }
        }
        Ok(best)
    }

    fn in_list(&mut self, value: &Expr, list: &[Expr]) -> Result<Value> {
        let value = self.eval(value)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        let mut unknown = false;
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

    /// ARRAY[..]: of arrays, one with more dimensions.
    fn array(&mut self, element: Type, list: &[Expr]) -> Result<Value> {
        let values = self.eval_all(list)?;
        let array = if element.array {
            Array::nested(Type { array: false, ..element }, &values)?
        } else {
            Array::new(element, values)
        };
        Ok(Value::Array(Arc::new(array)))
    }

    /// Calls a function; one that is strict is NULL if an argument is.
    #[inline]
    fn call(&mut self, function: &scaledb_planner::functions::ScalarFn, args: &[Expr]) -> Result<Value> {
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
                let values = self.eval_all(args)?;
                function.call_within(env, &values, interrupt)
            }
        }?;
        admit(&self.memory, &value)?;
        Ok(value)
    }

    /// The truth of a condition: NULL is false.
    ///
    /// # Errors
    /// What its functions refuse.
    pub(crate) fn holds(&mut self, expr: &Expr) -> Result<bool> {
        // of several, those behind one that is not true are not computed
        let conditions = if let Expr::And(list) = expr { list } else { std::slice::from_ref(expr) };
        self.hold(conditions)
    }
}

/// Refuses a value that is too large. Functions make such values: those that rows and clients bring have limits of
/// their own.
///
/// # Errors
/// 53200.
#[inline]
pub(super) fn admit(memory: &Memory<'_>, value: &Value) -> Result<()> {
    match value {
        Value::Text(text) => memory.admit(text.len()),
        Value::Bytea(bytes) => memory.admit(bytes.len()),
        Value::Array(_) | Value::Record(_) => memory.admit(weight(value)),
        _ => Ok(()),
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
